"""What a delivery carries: a message that only its destinations read. On the way it is bytes.

The layering paper separates who must see the content from who must only pass it on. So a node that passes a `Parcel` on
takes its content as the bytes in which it came and sends these bytes; decoding an event at each hop costs more than
everything else a hop does. Whoever wraps a message has it; whoever receives a wrapped one has bytes, and
opens it if it is meant.

The id of the event inside is looked up in the bytes without reading the event, for those who record what happens.

What cannot be read is found out by its destination, not on the way: `open` raises DataError there.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from siftcast.model import DataError
from siftcast.overlays.contract import Message


class Wrapped:
    """A message, or the bytes of one with the ways to read them."""

    __slots__ = ("_decode", "_encoded", "_event_id_of", "_message")

    _decode: Callable[[bytes], Message]
    _event_id_of: Callable[[bytes], str | None]

    def __init__(self, message: Message) -> None:
        self._message: Message | None = message
        self._encoded: bytes | None = None

    @classmethod
    def of_bytes(
        cls,
        encoded: bytes,
        decode: Callable[[bytes], Message],
        event_id_of: Callable[[bytes], str | None],
    ) -> Wrapped:
        """A wrapped message from a wire or a disk; nothing of it is read yet."""
        made = cls.__new__(cls)
        made._message = None
        made._encoded = encoded
        made._decode = decode
        made._event_id_of = event_id_of
        return made

    def open(self) -> Message:
        """The message inside; raises DataError if the bytes are none."""
        if self._message is None:
            assert self._encoded is not None
            self._message = self._decode(self._encoded)
        return self._message

    @property
    def event_id(self) -> str | None:
        """The id of the event inside, if there is one and it can be read."""
        if self._message is not None:
            return self._message.event_id
        assert self._encoded is not None
        try:
            return self._event_id_of(self._encoded)
        except DataError:
            return None

    def encoded(self, encode: Callable[[Message], bytes]) -> msgspec.Raw:
        """The bytes it came in, or is given now."""
        if self._encoded is None:
            assert self._message is not None
            self._encoded = encode(self._message)
        return msgspec.Raw(self._encoded)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Wrapped) and self._shown() == other._shown()

    def __hash__(self) -> int:
        return hash(repr(self))

    def __repr__(self) -> str:
        return f"Wrapped({self._shown()!r})"

    def _shown(self) -> Message | bytes | None:
        try:
            return self.open()
        except DataError:
            return self._encoded
