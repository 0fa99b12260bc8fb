"""Sealing and opening: the two calls that everything else needs, with no choice that could be made wrongly.

    sealed = Sealer(ring).seal("desk", [(clear, payload), …], now_s)      # bytes in the place of the payloads
    opened = Opener(ring).open(clear, sealed, now_s, kept=False)          # raises UnopenedError, never returns False

`clear` are the bytes of an event as far as they travel in the clear: what is sealed opens beside exactly these bytes
and no others. What is sealed together has one signature (`hash_tree`), so seal many at once where there are many.

An `Opener` does not know which events were there before; `Replays` does, by the token of what was opened.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import msgspec

from siftcast.security.errors import UnopenedError
from siftcast.security.groups import GroupPublisher
from siftcast.security.hazmat.derivation import hedged_salt
from siftcast.security.hazmat.envelope import (
    Inside,
    leaf_of,
    read_head,
    read_inside,
    scope_of,
    who_of,
    write_head,
    write_inside,
)
from siftcast.security.hazmat.hash_tree import BATCH_MAX, HashTree
from siftcast.security.ring import HeldEpoch, KeyRing, Randomness

_RANDOM_BYTES = 32


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
        for place, ((clear, who, payload), proof) in enumerate(zip(begun, tree.proofs(signing), strict=True)):
            head = write_head(scope, salt, key.commitment, place)
            sealed.append(head + key.encrypt(place, write_inside(who, proof, payload), head + clear))
        return sealed


class Opener:
    """Opens what publishers of the groups of a ring have sealed."""

    __slots__ = ("_ring",)

    def __init__(self, ring: KeyRing) -> None:
        self._ring = ring

    def open(self, clear: bytes, sealed: bytes, now_s: float, *, kept: bool) -> Opened:
        """The payload behind a sealed one, as its publisher sealed it beside this clear part; raises UnopenedError.

        `kept` says that the event comes from a durable queue, which may be older than the last two epochs.
        """
        self._ring.look(now_s)
        head = read_head(sealed)
        held = self._find(head.group, head.epoch, now_s)
        if now_s >= held.stale_from_s and not kept:
            raise UnopenedError("stale-epoch", f"epoch {head.epoch} of group '{held.group.name}' passes no longer")
        key = held.key.committed_key(head.salt, head.commitment)
        inside = read_inside(key.decrypt(head.place, sealed[head.end :], sealed[: head.end] + clear))
        publisher = self._publisher(held, inside, now_s)
        leaf = leaf_of(head.scope, inside.who, clear, inside.payload)
        self._ring.verifier(publisher).verify(leaf, inside.proof)
        return Opened(inside.payload, publisher.name, held.group.name, head.epoch, inside.run, inside.number)

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

    def _publisher(self, held: HeldEpoch, inside: Inside, now_s: float) -> GroupPublisher:
        """Who is said to have sealed, unless it was revoked; the signature is still to be verified."""
        name, epoch = inside.publisher.decode("ascii", "backslashreplace"), held.key.epoch
        found = held.group.publishers.get(name)
        if found is None and self._ring.look(now_s, is_needed=True):
            again = self._ring.held(held.key.group, epoch)
            found = None if again is None else again.group.publishers.get(name)
        if found is None:
            raise UnopenedError("unknown-publisher", f"'{name}' is no publisher of group '{held.group.name}'")
        if not found.may_seal(epoch):
            raise UnopenedError("revoked", f"publisher '{name}' was revoked from epoch {found.revoked_from} on")
        return found
