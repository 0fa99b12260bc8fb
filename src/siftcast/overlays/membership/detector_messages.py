"""What nodes say to each other to detect failures (`detector`).

All are `repeated`: what is lost is asked again, or counts as silence, which is what they are about.
"""

from __future__ import annotations

from typing import ClassVar

from siftcast.overlays.contract import Message, NodeId

NOT_ACCUSED = -1


class Ping(Message, frozen=True, gc=False):
    """Are you there? `accused` is the incarnation of the receiver that is suspected, -1 if none is.

    An `errand` is for somebody else, by a node that need not watch the receiver.
    """

    repeated: ClassVar[bool] = True

    number: int
    accused: int = NOT_ACCUSED
    errand: bool = False


class Ack(Message, frozen=True, gc=False):
    """The sender is there, in this incarnation; `mutual`, if it takes the receiver for a neighbour as well."""

    repeated: ClassVar[bool] = True

    number: int
    incarnation: int
    mutual: bool = True


class ProbeRequest(Message, frozen=True, gc=False):
    """Ping the subject in my place."""

    repeated: ClassVar[bool] = True

    number: int
    subject: NodeId
    accused: int = NOT_ACCUSED

    @property
    def introduces(self) -> tuple[NodeId, ...]:
        return (self.subject,)


class ProbeAnswer(Message, frozen=True, gc=False):
    """What came of a probe: the subject's incarnation, or None if it did not answer."""

    repeated: ClassVar[bool] = True

    number: int
    subject: NodeId
    incarnation: int | None


DETECTOR_MESSAGES: tuple[type[Message], ...] = (Ping, Ack, ProbeRequest, ProbeAnswer)
