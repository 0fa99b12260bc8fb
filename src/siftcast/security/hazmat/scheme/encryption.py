"""To a header and a key, and back; and search tags. Sections 5.5.4 and 5.5.5 of the thesis.

The key of an event is a hash of e(g, g₂)^(αb) and of the whole header, so that whoever alters a header changes the key
for all subscribers alike: with a spoiled level alone, only holders of that credential would fail, and show it. A
commitment to the key is checked before anything is decrypted.

A tag is a hash of e(hs, H3(label))^bᵢ, of the event's id and of the dimension. The value e(hs, H3(label)) of a
credential is the same in all events of an epoch; it is remembered, which is what sealing costs four times less by.
"""

from __future__ import annotations

from collections.abc import Sequence
from hmac import compare_digest
from typing import NamedTuple

from siftcast.model.bounded_cache import remember
from siftcast.security.errors import UnopenedError
from siftcast.security.hazmat.derivation import BatchKey
from siftcast.security.hazmat.groups import G1, G2, GT, Groups, PointError
from siftcast.security.hazmat.scheme.epoch import SealingEpoch
from siftcast.security.hazmat.scheme.event_form import (
    ID_BYTES,
    SEARCH_BYTES,
    Part,
    SealedEvent,
    header_hash,
    write_header,
)
from siftcast.security.hazmat.scheme.randomness import HedgedStream
from siftcast.security.hazmat.scheme.scope import TAG, Path, Scope, value_hash

_KEY_WORD, _TAG_WORD = b"siftcast sealed event 1: KDF", b"siftcast sealed event 1: H4"
_REMEMBERED = 16_384
"""Credentials; about 1 kB each."""


class OpeningKeys(NamedTuple):
    """The keys for one dimension: the level, D1 negated, and D2."""

    level: int
    minus_opening: G2
    blinding: G2


class Encrypted(NamedTuple):
    """A header, and the key that belongs to it."""

    header: bytes
    hash: bytes
    key: BatchKey


class Encrypter:
    """Makes headers; remembers what belongs to a credential for an epoch."""

    def __init__(self, epoch: SealingEpoch) -> None:
        self._epoch = epoch
        self._known: dict[tuple[int, Path], tuple[G1, GT]] = {}

    def _of(self, dimension: int, path: Path) -> tuple[G1, GT]:
        """W(label), and the value that tags are powers of."""
        known = self._known.get((dimension, path))
        if known is None:
            epoch, groups = self._epoch, self._epoch.groups
            label = epoch.scope.subscriber_label(epoch.label_key, dimension, path)
            base = groups.pair(epoch.searching, groups.hash2(TAG, label))
            known = epoch.waters.of(label), base
            remember(self._known, (dimension, path), known, _REMEMBERED)
        return known

    def encrypt(self, stream: HedgedStream, leaves: Sequence[Path]) -> Encrypted:
        """A header for an event with these paths; the stream must be one of its own."""
        epoch, groups = self._epoch, self._epoch.groups
        id = stream.take(ID_BYTES)
        parts, total = [], 0
        for dimension, leaf in enumerate(leaves):
            scalar = stream.scalar()
            total += scalar
            point = groups.write1(groups.times1(groups.generator1, scalar))
            context = tag_context(epoch.scope, id, dimension)
            levels = []
            for length in range(len(leaf) + 1):
                element, base = self._of(dimension, leaf[:length])
                tag = tag_of(groups, groups.power(base, scalar), context)
                levels.append((groups.write1(groups.times1(element, scalar)), tag))
            parts.append(Part(point, levels))
        binding = groups.write1(groups.times1(epoch.binding, total))
        header = write_header(epoch.scope.digest, epoch.scope.epoch, id, binding, parts)
        hashed = header_hash(header)
        return Encrypted(header, hashed, event_key(groups, groups.power(epoch.opened, total), hashed))


def event_key(groups: Groups, value: GT, hashed: bytes) -> BatchKey:
    """The key of an event, and its commitment."""
    return BatchKey(value_hash(_KEY_WORD, groups.write_value(value), hashed))


def tag_context(scope: Scope, id: bytes, dimension: int) -> bytes:
    """What binds a tag to its event and its dimension."""
    return scope.context(b"tag", id, scope.dimensions[dimension])


def tag_of(groups: Groups, value: GT, context: bytes) -> bytes:
    """A search tag."""
    return value_hash(_TAG_WORD, groups.write_value(value), context)[:SEARCH_BYTES]


def decrypt_key(groups: Groups, event: SealedEvent, binding: G2, keys: Sequence[OpeningKeys]) -> BatchKey:
    """The key of an event, from a key for each dimension and the binding of their conjunction: 2d + 1 pairings.

    Raises UnopenedError unless the keys are for this event.
    """
    try:
        pairs = [(groups.read1(event.binding), binding)]
        for part, key in zip(event.parts, keys, strict=True):
            pairs.append((groups.read1(part.levels[key.level][0]), key.blinding))
            pairs.append((groups.read1(part.point), key.minus_opening))
    except PointError as error:
        raise UnopenedError("malformed", str(error)) from None
    found = event_key(groups, groups.pair_all(pairs), header_hash(event.header))
    if not compare_digest(found.commitment, event.commitment):
        raise UnopenedError("no-key", "the keys are not for this event, or it was altered")
    return found


def search(groups: Groups, scope: Scope, event: SealedEvent, dimension: int, level: int, searching: G2) -> bool:
    """Whether an event has the credential of a search key: one pairing."""
    part = event.parts[dimension]
    try:
        value = groups.pair(groups.read1(part.point), searching)
    except PointError as error:
        raise UnopenedError("malformed", str(error)) from None
    tag = tag_of(groups, value, tag_context(scope, event.id, dimension))
    return compare_digest(tag, part.levels[level][1])
