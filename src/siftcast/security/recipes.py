"""Sealing and opening: the two calls that everything else needs, with no choice that could be made wrongly.

    sealed = Sealer(ring).seal("desk", [(clear, payload), …], now_s)      # bytes in the place of the payloads
    opened = Opener(ring).open(clear, sealed, now_s, kept=False)          # raises UnopenedError, never returns False

`clear` are the bytes of an event as far as they travel in the clear: what is sealed opens beside exactly these bytes
and no others. What is sealed together has one signature (`hash_tree`), so seal many at once where there are many.

An `Opener` does not know which events were there before; `Replays` does, by the run and the number of what was opened.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from siftcast.security.errors import UnopenedError
from siftcast.security.hazmat.derivation import BatchKey, hedged_salt
from siftcast.security.hazmat.envelope import (
    leaf_of,
    read_head,
    read_inside,
    scope_of,
    split_head,
    who_of,
    write_head,
    write_inside,
    write_place,
)
from siftcast.security.hazmat.hash_tree import BATCH_MAX, HashTree, Verifier
from siftcast.security.ring import HeldEpoch, KeyRing, Randomness

_RANDOM_BYTES = 32
_REMEMBERED = 256
"""How many batches; of one publisher, events of a batch come one after the other, or nearly so."""


class Opened(msgspec.Struct, frozen=True, gc=False):
    """A payload, and who sealed it for whom."""

    payload: bytes
    publisher: str
    group: str
    epoch: int
    run: bytes
    number: int

    def __repr__(self) -> str:
        return f"<a payload of '{self.publisher}' for group '{self.group}', epoch {self.epoch}, number {self.number}>"


class Sealer:
    """Seals as the publisher whose signing key a ring has."""

    __slots__ = ("_random", "_ring")

    def __init__(self, ring: KeyRing, random: Randomness = os.urandom) -> None:
        self._ring = ring
        self._random = random

    def seal(self, group: str, parts: Sequence[tuple[bytes, bytes]], now_s: float) -> list[bytes]:
        """The sealed form of each payload beside its clear part; raises SealError before anything is sealed."""
        self._ring.look(now_s)
        held = self._ring.sealing_epoch(group)
        sealed: list[bytes] = []
        for start in range(0, len(parts), BATCH_MAX):
            sealed += self._seal_some(held, parts[start : start + BATCH_MAX])
        return sealed

    def _seal_some(self, held: HeldEpoch, parts: Sequence[tuple[bytes, bytes]]) -> list[bytes]:
        signing, name = self._ring.signing, self._ring.name
        assert signing is not None  # or else the ring had raised
        assert name is not None
        scope, publisher = scope_of(held.key.group, held.key.epoch), name.encode()
        run, numbers = self._ring.next_numbers(len(parts))
        begun = [
            (clear, who_of(publisher, run, number), payload)
            for number, (clear, payload) in zip(numbers, parts, strict=True)
        ]
        tree = HashTree([leaf_of(scope, who, clear, payload) for clear, who, payload in begun])
        salt = hedged_salt(signing.seed, self._random(_RANDOM_BYTES), tree.root)
        key = held.key.batch_key(salt)
        sealed = []
        shared = write_head(scope, salt, key.commitment)
        for place, ((clear, who, payload), proof) in enumerate(zip(begun, tree.proofs(signing), strict=True)):
            head = shared + write_place(place)
            sealed.append(head + key.encrypt(place, write_inside(who, proof, payload), head + clear))
        return sealed


class _Batch(NamedTuple):
    """What is known of a batch of which an event was opened before."""

    held: HeldEpoch
    scope: bytes
    key: BatchKey
    signers: dict[bytes, tuple[str, Verifier]]


class Opener:
    """Opens what publishers of the groups of a ring have sealed.

    What events of a batch have in common is looked up and checked with the first of them, and remembered under the
    bytes that they share, for as long as the ring stays as it is.
    """

    __slots__ = ("_batches", "_ring", "_state")

    def __init__(self, ring: KeyRing) -> None:
        self._ring = ring
        self._state = ring.state
        self._batches: dict[bytes, _Batch] = {}

    def open(self, clear: bytes, sealed: bytes, now_s: float, *, kept: bool) -> Opened:
        """The payload behind a sealed one, as its publisher sealed it beside this clear part; raises UnopenedError.

        `kept` says that the event comes from a durable queue, which may be older than the last two epochs.
        """
        self._ring.look(now_s)
        shared, place, end = split_head(sealed)
        if self._state is not self._ring.state:
            self._state = self._ring.state
            self._batches.clear()
        batch = self._batches.get(shared) or self._begin_batch(shared, now_s)
        held = batch.held
        if now_s >= held.stale_from_s and not kept:
            raise UnopenedError("stale-epoch", f"epoch {held.key.epoch} of group '{held.group.name}' passes no longer")
        inside = read_inside(batch.key.decrypt(place, sealed[end:], sealed[:end] + clear))
        publisher, verifier = batch.signers.get(inside.publisher) or self._begin_signer(batch, inside.publisher, now_s)
        verifier.verify(leaf_of(batch.scope, inside.who, clear, inside.payload), inside.proof)
        return Opened(inside.payload, publisher, held.group.name, held.key.epoch, inside.run, inside.number)

    def _begin_batch(self, shared: bytes, now_s: float) -> _Batch:
        """What the head of a batch stands for, once its commitment is that of the group's key."""
        head = read_head(shared)
        held = self._find(head.group, head.epoch, now_s)
        key = held.key.batch_key(head.salt)
        key.check(head.commitment)
        batch = self._batches[shared] = _Batch(held, head.scope, key, {})
        if len(self._batches) > _REMEMBERED:
            del self._batches[next(iter(self._batches))]
        return batch

    def _find(self, group: bytes, epoch: int, now_s: float) -> HeldEpoch:
        held = self._ring.held(group, epoch)
        if held is None and self._ring.look(now_s, is_needed=True):
            held = self._ring.held(group, epoch)
        if held is not None:
            return held
        name = group.decode("ascii", "backslashreplace")
        if not self._ring.knows(group):
            raise UnopenedError("no-key", f"the key ring has no group '{name}'")
        raise UnopenedError("unknown-epoch", f"the key ring has no epoch {epoch} of group '{name}'")

    def _begin_signer(self, batch: _Batch, publisher: bytes, now_s: float) -> tuple[str, Verifier]:
        """What verifies events of a publisher of the group that was not revoked."""
        held = batch.held
        name, epoch = publisher.decode("ascii", "backslashreplace"), held.key.epoch
        found = held.group.publishers.get(name)
        if found is None and self._ring.look(now_s, is_needed=True):
            again = self._ring.held(held.key.group, epoch)
            found = None if again is None else again.group.publishers.get(name)
        if found is None:
            raise UnopenedError("unknown-publisher", f"'{name}' is no publisher of group '{held.group.name}'")
        if not found.may_seal(epoch):
            raise UnopenedError("revoked", f"publisher '{name}' was revoked from epoch {found.revoked_from} on")
        signer = batch.signers[publisher] = name, self._ring.verifier(found)
        return signer
