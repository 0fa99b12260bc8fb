"""Messages and events as bytes: what is kept on a disk, and what a runtime may put on a wire.

A message is one byte, its class's place among the scheme's messages (`Protocol.messages`), and its fields as a msgpack
array. A message within a message (a parcel's content) is kept as its own bytes. Filters travel as their text. An event
is an array of its own parts.

The values of an event come back as the model compares them: a decimal as the nearest float, a timestamp without a zone
in UTC, a date as its midnight; whole numbers beyond 64 bits stay what they are. What has no such form is refused
(`EventError`), at the door and not when it is read again.

Cost: about two microseconds for an event of a few attributes, either way; a filter is parsed when it is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, get_type_hints

import msgspec

from siftcast.model import DataError, Event, EventError, Filter, SiftcastError
from siftcast.model.values import normalise
from siftcast.overlays.contract import Message

_PLAIN = frozenset({str, float, bool, type(None), bytes})
_WHOLE = 1  # the extension that stands for whole numbers beyond 64 bits
_WORD_MIN, _WORD_MAX = -(2**63), 2**64 - 1


def _write_other(value: object) -> object:
    if isinstance(value, Filter):
        return str(value)
    raise EventError(f"a value of type {type(value).__name__} cannot be kept or sent")


def _read_other(kind: type, value: Any) -> object:
    if kind is Filter:
        return Filter.parse(value)
    raise NotImplementedError(f"fields of type {kind.__name__} cannot be read")


def _read_extension(code: int, data: memoryview) -> object:
    if code != _WHOLE:
        raise DataError(f"there is no extension {code}")
    return int(bytes(data))


_encoder = msgspec.msgpack.Encoder(enc_hook=_write_other)
_Parts = tuple[dict[str, Any], str, str, datetime | None, bytes]
_event_decoder = msgspec.msgpack.Decoder(_Parts, ext_hook=_read_extension)


def encode_event(event: Event) -> bytes:
    """An event as bytes; raises `EventError` for values that cannot be kept."""
    try:
        return _encoder.encode(_parts(event))
    except (UnicodeError, RecursionError, TypeError, OverflowError) as error:
        raise EventError(f"event '{event.id}' cannot be kept or sent: {error}") from None


def decode_event(data: bytes) -> Event:
    """The event that `encode_event` made bytes of; raises `DataError` for others."""
    try:
        return Event(*_event_decoder.decode(data))
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise DataError(f"these bytes hold no event: {error}") from None


def _parts(event: Event) -> tuple[object, ...]:
    time = event.time
    if time is not None and time.tzinfo is None:
        time = normalise(time)  # type: ignore[assignment]
    return _values(event.attributes), event.id, event.source, time, event.payload


def _values(values: Mapping[str, object]) -> Mapping[str, object]:
    for value in values.values():
        kind = type(value)
        if kind not in _PLAIN and not (kind is int and _WORD_MIN <= value <= _WORD_MAX):  # type: ignore[operator]
            return {name: _value(each) for name, each in values.items()}
    return values


def _value(value: object) -> object:
    kind = type(value)
    if kind in _PLAIN:
        return value
    if isinstance(value, Mapping):
        return {name: _value(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_value(each) for each in value]
    known = normalise(value)
    if type(known) is int and not _WORD_MIN <= known <= _WORD_MAX:
        return msgspec.msgpack.Ext(_WHOLE, str(known).encode())
    return known


class MessageFormat:
    """Reads and writes the messages of one scheme."""

    __slots__ = ("_places", "_shapes")

    def __init__(self, messages: Iterable[type[Message]]) -> None:
        listed = list(dict.fromkeys(messages))
        if len(listed) > 256:
            raise ValueError("a scheme has at most 256 kinds of messages")
        self._places = {kind: place for place, kind in enumerate(listed)}
        self._shapes = [_Shape(kind) for kind in listed]

    def encode(self, message: Message) -> bytes:
        """A message as bytes; raises `EventError` if its event has values that cannot be kept."""
        place = self._places.get(type(message))
        if place is None:
            raise DataError(f"{type(message).__name__} is not among the messages of this scheme")
        shape = self._shapes[place]
        fields: list[object] = [getattr(message, name) for name in shape.names]
        try:
            for number in shape.nested:
                fields[number] = self.encode(fields[number])  # type: ignore[arg-type]
            for number in shape.events:
                fields[number] = _parts(fields[number])  # type: ignore[arg-type]
            return bytes((place,)) + _encoder.encode(fields)
        except (UnicodeError, RecursionError, TypeError, OverflowError) as error:
            raise EventError(f"event '{message.event_id}' cannot be kept or sent: {error}") from None

    def decode(self, data: bytes) -> Message:
        """The message that `encode` made bytes of; raises `DataError` for anything else."""
        if not data or data[0] >= len(self._shapes):
            raise DataError("these bytes hold no message of this scheme")
        shape = self._shapes[data[0]]
        try:
            fields = list(shape.decoder.decode(memoryview(data)[1:]))
            for number in shape.nested:
                fields[number] = self.decode(fields[number])
            for number in shape.events:
                fields[number] = Event(*fields[number])
            return shape.kind(*fields)
        except (msgspec.DecodeError, ValueError, RecursionError, SiftcastError) as error:
            raise DataError(f"these bytes hold no {shape.kind.__name__}: {error}") from None


class _Shape:
    """One class of messages: its fields, and which of them are events or messages themselves."""

    __slots__ = ("decoder", "events", "kind", "names", "nested")

    def __init__(self, kind: type[Message]) -> None:
        self.kind = kind
        self.names = kind.__struct_fields__
        hints = get_type_hints(kind)
        types = [hints[name] for name in self.names]
        self.nested = [number for number, each in enumerate(types) if each is Message]
        self.events = [number for number, each in enumerate(types) if each is Event]
        wanted = tuple(bytes if each is Message else _Parts if each is Event else each for each in types)
        self.decoder = msgspec.msgpack.Decoder(
            tuple[wanted],  # type: ignore[valid-type]
            dec_hook=_read_other,
            ext_hook=_read_extension,
        )
