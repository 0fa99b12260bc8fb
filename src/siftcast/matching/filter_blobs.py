"""Filters to bytes and back, by slot; what engines without an index of their own save."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from siftcast.model import Filter

_decode = msgspec.msgpack.Decoder(list[tuple[int, bytes]]).decode


def filters_to_bytes(filters: Mapping[int, Filter]) -> bytes:
    """The slots and trees of filters."""
    return msgspec.msgpack.encode([(slot, filter_.to_bytes()) for slot, filter_ in filters.items()])


def filters_from_bytes(blob: bytes) -> Iterator[tuple[int, Filter]]:
    """The slots and filters that `filters_to_bytes` wrote."""
    for slot, tree in _decode(blob):
        yield slot, Filter.from_bytes(tree)
