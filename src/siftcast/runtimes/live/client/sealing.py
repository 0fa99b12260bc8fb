"""How events are sealed as they are published: what was asked for is checked before anything is sent.

An event gets its id and source first, because both are in the clear and bound to what is sealed. What is sealed
together has one signature. There is no way from here to a plain payload: what cannot be sealed raises.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import time
from typing import Literal

from siftcast.model.showing import given, shown
from siftcast.overlays.clear_parts import with_payload
from siftcast.security import AnyKeys, Rings, Sealer, SealError

SealWord = Literal["payload"]
Part = tuple[bytes, bytes]
"""The clear part of an event, and its payload."""


@dataclass(frozen=True, slots=True)
class Sealing:
    """For whom payloads are sealed, and with what."""

    sealer: Sealer
    group: str

    def encode(self, parts: Sequence[Part]) -> list[bytes]:
        """The bytes of events with sealed payloads; raises SealError."""
        sealed = self.sealer.seal(self.group, parts, time())
        return [with_payload(clear, payload) for (clear, _), payload in zip(parts, sealed, strict=True)]


def sealing_of(seal: object, group: object, keys: AnyKeys | None, rings: Rings) -> Sealing | None:
    """What was asked for, or None for events as they are; raises SealError for what makes no sense or has no keys."""
    if seal is None:
        if group is not None or keys is not None:
            raise SealError("group and keys say how an event is sealed; add seal='payload'")
        return None
    if not isinstance(seal, str) or seal != "payload":
        raise SealError(f"seal is 'payload', or left out; not {given(seal)}")
    ring = rings.of(keys)
    if ring is None:
        raise SealError("an event is sealed with keys; give them here or to connect: keys=FOLDER")
    if group is None:
        raise SealError(f"a payload is sealed for a group; add group={shown(next(iter(ring.groups)))}")
    ring.look(time())
    ring.sealing_epoch(group)
    assert isinstance(group, str)  # or else the ring had no such group
    return Sealing(Sealer(ring), group)
