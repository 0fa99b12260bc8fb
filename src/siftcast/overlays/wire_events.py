"""Events as bytes, on a wire and on a disk: encoded once by whoever publishes, and passed on as they are.

A `WireEvent` is an `Event` that remembers the bytes it came in, so that a node that keeps it, delivers it to ten
connections and sends it to two neighbours copies bytes and encodes nothing. An event is the msgpack array

    [id, attributes, source, time, payload]

Attributes come back as the model compares them (`wire_values`): numbers, strings, booleans, timestamps in UTC, and
containers of these; a decimal as the nearest float, a date as its midnight, a UUID as its text. Whole numbers beyond 64
bits have no form in msgpack and travel as an extension, in digits. What has no such form is refused by an `EventError`
that names the attribute, at the door and not when it is read again.

Cost: about two microseconds for 200 bytes, either way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import msgspec

from siftcast.model import Event, EventError
from siftcast.overlays.wire_values import PLAIN, in_words, objection, plain_members, printable, read_extension


@dataclass(frozen=True, slots=True)
class EventLimits:
    """How large an event may be: bytes as encoded, and how deep containers nest in its attributes."""

    bytes_max: int = 262_144
    depth_max: int = 16


class Wire(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """The fields of an event as they travel."""

    id: str
    attributes: dict[str, Any]
    source: str = ""
    time: datetime | None = None
    payload: bytes = b""


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Wire, ext_hook=read_extension).decode


class WireEvent(Event):
    """An event and the bytes it is on the wire."""

    __slots__ = ("encoded",)
    encoded: bytes

    def __init__(self, wire: Wire, encoded: bytes) -> None:
        # The slots of a frozen dataclass are set past its guard; the generated __init__ takes four times as long.
        _set_id(self, wire.id)
        _set_attributes(self, wire.attributes)
        _set_source(self, wire.source)
        _set_time(self, wire.time)
        _set_payload(self, wire.payload)
        _set_encoded(self, encoded)

    def __reduce__(self) -> tuple[object, ...]:
        return decode_event, (self.encoded,)

    def __eq__(self, other: object) -> bool:
        """An event is the same whether it came over a wire or not."""
        if not isinstance(other, Event):
            return NotImplemented
        return _parts(self) == _parts(other)

    __hash__ = Event.__hash__


def _parts(event: Event) -> tuple[object, ...]:
    return event.attributes, event.id, event.source, event.time, event.payload


def _setter(kind: type, name: str) -> Any:
    return kind.__dict__[name].__set__


_set_attributes, _set_id, _set_source, _set_time, _set_payload = (
    _setter(Event, name) for name in ("attributes", "id", "source", "time", "payload")
)
_set_encoded = _setter(WireEvent, "encoded")


def encode_event(event: Event) -> bytes:
    """The bytes of an event; raises EventError if it has no such form."""
    if isinstance(event, WireEvent):
        return event.encoded
    return encode_fields(event.id, event.attributes, event.source, event.time, event.payload)


def encode_fields(
    id: str, attributes: Mapping[str, object], source: str = "", time: datetime | None = None, payload: bytes = b""
) -> bytes:
    """The bytes of an event with these fields; raises EventError if it has no such form."""
    if time is not None and time.tzinfo is None:
        time = time.replace(tzinfo=UTC)
    try:
        plain = plain_members(attributes)
        try:
            return _encode(Wire(id, plain, source, time, payload))
        except OverflowError:
            return _encode(Wire(id, in_words(plain), source, time, payload))
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        problem = _problem(id, attributes, source, time) or error
        raise EventError(f"the event '{printable(id)}' cannot be kept or sent: {problem}") from None


def _problem(id: str, attributes: Mapping[str, object], source: str, time: datetime | None) -> str | None:
    """Why these fields have no form; None if that is not known."""
    try:
        found = objection(attributes)
    except RecursionError:
        return "its attributes are nested too deeply, or contain themselves"
    if found is not None:
        return found
    for name, text in (("id", id), ("source", source)):
        if printable(text) != text:
            return f"its {name} holds half of a surrogate pair, which UTF-8 cannot write"
    try:
        if time is not None:
            time.astimezone(UTC)
    except OverflowError:
        return "its time leaves the years 1 to 9999 in UTC"
    return None


def decode_wire(encoded: bytes) -> Wire:
    """The fields of an event; raises EventError."""
    try:
        return _decode(encoded)
    except (msgspec.DecodeError, RecursionError, ValueError, TypeError) as error:
        raise EventError(f"not an event: {error}") from None


def decode_event(encoded: bytes, limits: EventLimits | None = None) -> WireEvent:
    """The event behind bytes; raises EventError for anything else, and for what the limits forbid."""
    if limits is not None and len(encoded) > limits.bytes_max:
        raise EventError(f"the event has {len(encoded):,} bytes, the limit is {limits.bytes_max:,} (event_bytes_max)")
    wire = decode_wire(encoded)
    if limits is not None:
        for value in wire.attributes.values():
            if type(value) not in PLAIN and _is_deeper(value, limits.depth_max - 1):
                deep = f"more than {limits.depth_max} levels deep (event_depth_max)"
                raise EventError(f"the attributes are nested {deep}")
    return WireEvent(wire, encoded)


def _is_deeper(value: object, levels: int) -> bool:
    if isinstance(value, dict):
        return levels <= 0 or any(_is_deeper(each, levels - 1) for each in value.values())
    if isinstance(value, list):
        return levels <= 0 or any(_is_deeper(each, levels - 1) for each in value)
    return False
