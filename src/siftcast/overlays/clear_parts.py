"""The clear part of an event: its bytes up to its payload, which a sealed payload is bound to.

An event is published once as bytes, and these travel as they are (`wire_events`). So the bytes before the payload are
the canonical form of everything in the clear: id, attributes, source and time. A receiver cuts them off again, and an
event whose bytes anybody changed, even to other bytes of the same meaning, has another clear part and does not open.

    [id, attributes, source, time, payload]     one msgpack array; the payload is last, after its own length
    └────── the clear part ──────┘

Rejected: a canonical form of the values, to be made on both sides. It costs as much as encoding the event again, and
whatever it took for equal (1 and 1.0, 0.0 and -0.0, two names in another order) a broker could swap.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from siftcast.model import EventError
from siftcast.overlays.wire_events import encode_fields

_NO_PAYLOAD = b"\xc4\x00"


def clear_part(id: str, attributes: Mapping[str, object], source: str = "", time: datetime | None = None) -> bytes:
    """The clear part of an event with these fields; raises EventError if it has no such form."""
    return encode_fields(id, attributes, source, time)[: -len(_NO_PAYLOAD)]


def with_payload(clear: bytes, payload: bytes) -> bytes:
    """The bytes of the event with this clear part and payload."""
    return clear + _length_of(payload) + payload


def clear_part_of(encoded: bytes, payload: bytes) -> bytes:
    """The clear part of an event that came as bytes; raises EventError where the payload is not all that follows it."""
    end = _length_of(payload) + payload
    if not encoded.endswith(end):
        raise EventError("the payload of the event is not where events have it")
    return encoded[: -len(end)]


def _length_of(payload: bytes) -> bytes:
    """The length as msgpack writes it, in its shortest form: that of others is refused."""
    length = len(payload)
    if length < 1 << 8:
        return b"\xc4" + length.to_bytes(1, "big")
    if length < 1 << 16:
        return b"\xc5" + length.to_bytes(2, "big")
    return b"\xc6" + length.to_bytes(4, "big")
