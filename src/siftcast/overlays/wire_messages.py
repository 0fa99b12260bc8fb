"""The messages of a scheme as bytes, on a wire and on a disk, for any scheme: read off from the fields of their types.

A message is the msgpack array [kind, [field, field, …]], where `kind` is the name of its type, so that it means the
same whichever messages a later version adds. Some types of fields have a form of their own, wherever they stand: an
event is the bytes it came in, a filter is its text, a message inside a message is a message again, a wrapped one is
read only when it is opened, and what knows its own bytes (`to_wire`, `from_wire`) is those. Everything else is what
msgspec makes of it, checked when it is read. So a new scheme needs nothing here, as long as its messages are made of
these.

A message may grow: its last fields, which the version before does not know (`Message.grown`), are left out where they
hold their defaults, and in all that is written for a node of that version (`for_older`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import msgspec

from siftcast.model import DataError, Event, Filter, FilterLimits, SiftcastError
from siftcast.overlays.contract import Message
from siftcast.overlays.wire_events import EventLimits, decode_event, encode_event
from siftcast.overlays.wrapped import Wrapped

Convert = Callable[[Any], Any]
_LIMITS = FilterLimits(length_max=1_048_576, depth_max=150, terms_max=65_536)
"""Nodes merge and cut filters of clients, and what they make of them may be larger than what a client may send."""


class MessageCodec:
    """Writes and reads the messages of one scheme."""

    def __init__(
        self, messages: Sequence[type[Message]], event_limits: EventLimits | None = None, *, for_older: bool = False
    ) -> None:
        self.for_older = for_older
        self._limits = event_limits
        self._encode = msgspec.msgpack.Encoder().encode
        self._shapes = {kind: _Shape(kind, self) for kind in messages}
        self._kinds = {kind.__name__: shape for kind, shape in self._shapes.items()}
        self._decode_kind = msgspec.msgpack.Decoder(tuple[str, msgspec.Raw]).decode

    def encode(self, message: Message) -> bytes:
        """The bytes of a message; raises EventError if its event has no such form."""
        shape = self._shapes.get(type(message))
        if shape is None:
            raise DataError(f"{type(message).__name__} is not among the messages of this scheme")
        return self._encode((shape.name, shape.flatten(message)))

    def decode(self, data: bytes | msgspec.Raw) -> Message:
        """The message behind bytes; raises DataError."""
        try:
            name, fields = self._decode_kind(data)
            shape = self._kinds.get(name)
            if shape is None:
                raise DataError(f"it has no message '{name[:100]}'")
            return shape.build(fields)
        except (msgspec.DecodeError, SiftcastError, RecursionError, ValueError) as error:
            raise DataError(f"not a message of the scheme: {error}") from None

    def event_id(self, data: bytes) -> str | None:
        """The id of the event in the bytes of a message, without reading more than that; raises DataError."""
        try:
            name, fields = self._decode_kind(data)
            shape = self._kinds.get(name)
            return None if shape is None else shape.event_id(fields)
        except (msgspec.DecodeError, SiftcastError, RecursionError, ValueError, IndexError) as error:
            raise DataError(f"not a message of the scheme: {error}") from None

    def encode_wrapped(self, wrapped: Wrapped) -> msgspec.Raw:
        """What a delivery carries."""
        return wrapped.encoded(self.encode)

    def decode_wrapped(self, raw: msgspec.Raw) -> Wrapped:
        """What a delivery carries, not read yet."""
        return Wrapped.of_bytes(bytes(raw), self.decode, self.event_id)

    def encode_nested(self, message: Message) -> msgspec.Raw:
        """A message inside another."""
        return msgspec.Raw(self.encode(message))

    def decode_event(self, raw: msgspec.Raw) -> Event:
        """An event inside a message."""
        return decode_event(bytes(raw), self._limits)


class _Shape:
    """The fields of one message type, and how each is written and read."""

    def __init__(self, kind: type[Message], codec: MessageCodec) -> None:
        hints = get_type_hints(kind)
        names = kind.__struct_fields__
        forms = [_form(hints[name], codec) for name in names]
        self.name = kind.__name__
        self._kind = kind
        self._out = [(name, form[1]) for name, form in zip(names, forms, strict=True)]
        self._in = [(place, form[2]) for place, form in enumerate(forms) if form[2] is not None]
        kinds = tuple(form[0] for form in forms)
        self._decode: Callable[[msgspec.Raw], Any] = msgspec.msgpack.Decoder(tuple[kinds]).decode  # type: ignore[valid-type]
        self._defaults = kind.__struct_defaults__[len(kind.__struct_defaults__) - kind.grown :]
        self._for_older = codec.for_older
        self._shorter: dict[int, Callable[[msgspec.Raw], Any]] = {
            size: msgspec.msgpack.Decoder(tuple[kinds[:size]]).decode  # type: ignore[misc]
            for size in range(len(kinds) - kind.grown, len(kinds))
        }
        hinted = [hints[name] for name in names]
        self._event = next((place for place, hint in enumerate(hinted) if _is(hint, Event)), None)
        self._holds_messages = any(_is(hint, Message) or _is(hint, Wrapped) for hint in hinted)

    def flatten(self, message: Message) -> list[Any]:
        """The fields in their written form."""
        out = self._out if not self._defaults else self._out[: self._count_written(message)]
        return [getattr(message, name) if convert is None else convert(getattr(message, name)) for name, convert in out]

    def _count_written(self, message: Message) -> int:
        """How many fields are written of a message that has grown."""
        count = len(self._out)
        for default in reversed(self._defaults):
            if not self._for_older and getattr(message, self._out[count - 1][0]) != default:
                break
            count -= 1
        return count

    def build(self, fields: msgspec.Raw) -> Message:
        """The message of fields in their written form."""
        if self._shorter:
            decode = self._shorter.get(len(_decode_raws(fields)), self._decode)
            values = decode(fields)
        else:
            values = self._decode(fields)
        if self._in:
            values = list(values)
            for place, convert in self._in:
                if place < len(values):
                    values[place] = convert(values[place])
        return self._kind(*values)

    def event_id(self, fields: msgspec.Raw) -> str | None:
        """The id of the event among the fields."""
        if self._event is not None:
            return _decode_head(_decode_raws(fields)[self._event]).id
        return self.build(fields).event_id if self._holds_messages else None


class _Head(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """The beginning of an event on the wire; what follows is skipped."""

    id: str


_decode_head = msgspec.msgpack.Decoder(_Head).decode
_decode_raws = msgspec.msgpack.Decoder(tuple[msgspec.Raw, ...]).decode


def _is(hint: Any, kind: type) -> bool:
    return isinstance(hint, type) and issubclass(hint, kind)


def _raw_event(event: Event) -> msgspec.Raw:
    return msgspec.Raw(encode_event(event))


def parse_filter(text: str) -> Filter:
    """A filter that a node wrote, which may be larger than those of clients."""
    return Filter.parse(text, limits=_LIMITS)


def _form(hint: Any, codec: MessageCodec) -> tuple[Any, Convert | None, Convert | None]:
    """A field's type on the wire, and the ways there and back; None where nothing has to be done."""
    if _is(hint, Wrapped):
        return msgspec.Raw, codec.encode_wrapped, codec.decode_wrapped
    if _is(hint, Event):
        return msgspec.Raw, _raw_event, codec.decode_event
    if _is(hint, Filter):
        return str, str, parse_filter
    if _is(hint, Message):
        return msgspec.Raw, codec.encode_nested, codec.decode
    if isinstance(hint, type) and hasattr(hint, "from_wire"):
        return bytes, hint.to_wire, hint.from_wire  # type: ignore[attr-defined]
    parts = get_args(hint)
    if get_origin(hint) is tuple:
        if len(parts) == 2 and parts[1] is Ellipsis:
            inner, out, back = _form(parts[0], codec)
            return tuple[inner, ...], _each(out), _each(back)  # type: ignore[valid-type]
        forms = [_form(part, codec) for part in parts]
        return (
            tuple[tuple(form[0] for form in forms)],  # type: ignore[misc]
            _by_place([form[1] for form in forms]),
            _by_place([form[2] for form in forms]),
        )
    if get_origin(hint) in (Union, UnionType) and NoneType in parts and len(parts) == 2:
        inner, out, back = _form(next(part for part in parts if part is not NoneType), codec)
        return inner | None, _unless_none(out), _unless_none(back)
    return hint, None, None


def _each(convert: Convert | None) -> Convert | None:
    return None if convert is None else lambda values: tuple([convert(value) for value in values])


def _by_place(converts: Sequence[Convert | None]) -> Convert | None:
    if not any(converts):
        return None
    return lambda values: tuple(
        [value if convert is None else convert(value) for value, convert in zip(values, converts, strict=True)]
    )


def _unless_none(convert: Convert | None) -> Convert | None:
    return None if convert is None else lambda value: None if value is None else convert(value)
