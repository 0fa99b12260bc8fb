"""Messages of a scheme in an epoch of their network, for whoever must look inside.

A scheme is planned again when its network changes, and its plans overlap for a while (`overlays.epochs`). What belongs
to the first plan travels as it is; what belongs to a later one travels in an envelope that says which.
"""

from __future__ import annotations

from typing import ClassVar

from siftcast.overlays.contract import Message
from siftcast.overlays.routing_rows import RoutingMessage

FIRST = 1
"""The epoch that a network begins with."""


class EpochControl(RoutingMessage, frozen=True, gc=False):
    """A control message of a scheme in an epoch. With `initial`, it is part of preparing for the epoch."""

    epoch: int
    content: Message
    initial: bool = False

    @property
    def signature(self) -> str:
        return f"epoch {self.epoch}: {self.content.signature}"


class EpochCarrier(Message, frozen=True, gc=False):
    """Any other message of a scheme in an epoch. With `again`, its event may have arrived before by another way."""

    control: ClassVar[bool] = False

    epoch: int
    content: Message
    again: bool = False

    @property
    def event_id(self) -> str | None:
        return self.content.event_id

    @property
    def overhead_bytes(self) -> int:
        return self.content.overhead_bytes

    @property
    def signature(self) -> str:
        return f"epoch {self.epoch}: {self.content.signature}"


class EpochRepeated(EpochCarrier, frozen=True, gc=False):
    """A message that its sender says again until it counts."""

    repeated: ClassVar[bool] = True


class EpochAssured(EpochCarrier, frozen=True, gc=False):
    """A message that a durable node must not lose, whatever it follows from."""

    must_arrive: ClassVar[bool] = True


def enveloped(epoch: int, message: Message, *, initial: bool, again: bool) -> Message:
    """A message of a scheme in the envelope that has its promises."""
    if message.repeated:
        return EpochRepeated(epoch, message, again)
    if message.control:
        return EpochControl(epoch, message, initial)
    return (EpochAssured if message.must_arrive else EpochCarrier)(epoch, message, again)


def opened(message: Message) -> tuple[int | None, Message]:
    """The epoch of a message that is in an envelope, and what is inside; else None, and the message."""
    if isinstance(message, EpochControl | EpochCarrier):
        return message.epoch, message.content
    return None, message
