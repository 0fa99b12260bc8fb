"""Segments to bytes and back: the arrays as they are, so that loading rebuilds nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from siftcast.matching.filter_blobs import filters_from_bytes, filters_to_bytes
from siftcast.matching.tiles.general_segment import GeneralSegment
from siftcast.matching.tiles.index import Bitmap, TileIndex
from siftcast.matching.tiles.keys import Dimension, Mask, StringRanks
from siftcast.matching.tiles.residues import Residues
from siftcast.matching.tiles.rows import DimensionEntries, RowSet
from siftcast.matching.tiles.segment import IndexedSegment, PlainSegment, Segment
from siftcast.matching.tiles.sets import KeySets
from siftcast.matching.tiles.waiting_segment import WaitingSegment
from siftcast.model import Filter
from siftcast.model.like import LikePattern
from siftcast.model.values import Kind

Saved = dict[str, Any]


def save_segments(segments: Sequence[IndexedSegment], undecided: Mapping[int, Filter]) -> dict[str, bytes]:
    """All segments, and the filters that must be verified."""
    return {
        "segments": msgspec.msgpack.encode([_save(segment) for segment in segments]),
        "undecided": filters_to_bytes(undecided),
    }


def load_segments(blobs: Mapping[str, bytes], undecided: dict[int, Filter], *, is_ready: bool) -> list[Segment]:
    """The segments that were saved, waiting if there are no kernels yet; fills `undecided`."""
    undecided.update(filters_from_bytes(blobs["undecided"]))
    return [_load(saved, undecided, is_ready) for saved in msgspec.msgpack.decode(blobs["segments"])]


def _save(segment: IndexedSegment) -> Saved:
    rows, residues = segment.rows, segment.rows.residues
    return {
        "plain": isinstance(segment, PlainSegment),
        "live": segment.live,
        "alive": None if segment.alive is None else _array(segment.alive),
        "slots": _array(rows.slots),
        "residues": [_array(part) for part in (residues.doubtful, residues.rows, residues.tests, residues.wanted)],
        "tests": [(list(map(_bytes, path)), _bytes(pattern.source)) for path, pattern in residues.table],
        "index": {name: _array(array) for name, array in segment.index.arrays().items()},
        "dimensions": [
            {
                "path": list(map(_bytes, dimension[0])),
                "kind": getattr(dimension[1], "value", dimension[1]),
                "rows": _array(entries.rows),
                "lows": _array(entries.lows),
                "highs": _array(entries.highs),
                "strings": list(map(_bytes, rows.ranks[dimension].strings)) if dimension in rows.ranks else None,
                "sets": _save_sets(rows.sets[dimension]) if dimension in rows.sets else None,
            }
            for dimension, entries in rows.entries.items()
        ],
    }


def _load(saved: Saved, undecided: Mapping[int, Filter], is_ready: bool) -> Segment:
    entries: dict[Dimension, DimensionEntries] = {}
    ranks: dict[Dimension, StringRanks] = {}
    sets: dict[Dimension, KeySets] = {}
    for item in saved["dimensions"]:
        kind = item["kind"]
        dimension = tuple(map(_text, item["path"])), (Kind(kind) if kind in {known.value for known in Kind} else kind)
        entries[dimension] = DimensionEntries(_read(item["rows"]), _read(item["lows"]), _read(item["highs"]))
        if item["strings"] is not None:
            ranks[dimension] = StringRanks(list(map(_text, item["strings"])))
        if item["sets"] is not None:
            sets[dimension] = _load_sets(item["sets"])
    table = tuple((tuple(map(_text, path)), LikePattern(_text(source))) for path, source in saved["tests"])
    doubtful, demanding, tests, wanted = map(_read, saved["residues"])
    residues = Residues(doubtful, demanding, tests, wanted, table)
    rows = RowSet(_read(saved["slots"]), entries, ranks, residues, sets)
    index = TileIndex.from_arrays({name: _read(array) for name, array in saved["index"].items()})
    if not is_ready:
        waiting = WaitingSegment(rows, undecided, is_plain=saved["plain"], index=index)
        if saved["alive"] is not None:
            waiting.restore_alive(_living_rows(_read(saved["alive"]), index))
        return waiting
    segment = PlainSegment(rows, index) if saved["plain"] else GeneralSegment(rows, undecided, index)
    if saved["alive"] is not None:
        segment.restore_alive(_read(saved["alive"]), saved["live"])
    return segment


def _living_rows(alive: Bitmap, index: TileIndex) -> Mask:
    """Which rows live, where a bitmap says which positions do."""
    rows = np.empty(index.rows, bool)
    rows[index.order] = np.unpackbits(alive.view(np.uint8), bitorder="little")[: index.rows].astype(bool)
    return rows


def _save_sets(sets: KeySets) -> list[Any]:
    highs = None if sets.highs is sets.lows else _array(sets.highs)
    return [*(_array(part) for part in (sets.rows, sets.sets, sets.begins, sets.lows)), highs]


def _load_sets(saved: Sequence[Any]) -> KeySets:
    # Copied, since kernels would be compiled a second time for arrays that cannot be written.
    rows, sets, begins, lows = (_read(part).copy() for part in saved[:4])
    return KeySets(rows, sets, begins, lows, lows if saved[4] is None else _read(saved[4]).copy())


def _bytes(text: str) -> bytes:
    """Any text, even one with half a surrogate pair, which a filter may name."""
    return text.encode("utf-8", "surrogatepass")


def _text(saved: bytes) -> str:
    return saved.decode("utf-8", "surrogatepass")


def _array(array: np.ndarray[Any, np.dtype[Any]]) -> tuple[str, tuple[int, ...], bytes]:
    return array.dtype.str, array.shape, array.tobytes()


def _read(saved: Sequence[Any]) -> np.ndarray[Any, np.dtype[Any]]:
    kind, shape, blob = saved
    return np.frombuffer(blob, np.dtype(kind)).reshape(shape)
