"""What durable nodes say to each other: a scheme's own messages with numbers, and how far they were taken."""

from __future__ import annotations

from typing import ClassVar

from siftcast.model import Event, Filter
from siftcast.overlays.contract import Message, NodeId
from siftcast.overlays.durability.contract import QueuePolicy
from siftcast.overlays.durability.runs import Runs

Lineage = tuple[int, int]
"""A history without gaps: a counter, and a random number that tells two histories with the same counter apart.

A node has one, which stands for its disk; each stream of relays has one, which stands for its numbers. What lost a part
of its past goes on under a higher counter.
"""
UNKNOWN: Lineage = (0, 0)
Chapter = tuple[int, int, int, int]
"""When a stream of control messages began: the counter of the sender's lineage, its life, how often it began again in
that life, and the life's random number."""
NEVER: Chapter = (0, 0, 0, 0)
Ticket = tuple[str, int]
"""The place of an event among those of its publisher: the publisher's name in the network, and a sequence."""


def is_behind(own: Lineage, seen: Lineage) -> bool:
    """Whether somebody has seen a lineage that `own` neither is nor follows: then `own` is not the latest."""
    return seen != own and seen[0] >= own[0] and seen != UNKNOWN


class Relay(Message, frozen=True, gc=False):
    """A message that must not be lost: it is on the sender's disk until the receiver has it on its own.

    Numbers ascend by one in each `stream`. All before `base` were acknowledged. With `watched`, the sender waits until
    it has landed everywhere beyond the receiver too. With a ticket, nobody may queue its event until it is `released`.
    `session` is the token of the greeting that opened the link: a number may come again in another session with other
    content, if the sender went back to an older disk and nobody had taken it.
    """

    control: ClassVar[bool] = False

    stream: Lineage
    base: int
    number: int
    content: Message
    watched: bool = False
    ticket: Ticket | None = None
    released: bool = True
    session: tuple[int, int] = (0, 0)

    @property
    def introduces(self) -> tuple[NodeId, ...]:
        return self.content.introduces

    @property
    def event_id(self) -> str | None:
        return self.content.event_id

    @property
    def overhead_bytes(self) -> int:
        return self.content.overhead_bytes

    @property
    def signature(self) -> str:
        """What it carries, whatever number it is sent under."""
        return f"relay of {self.content.signature}"


class ControlRelay(Message, frozen=True, gc=False):
    """A message about routing, in its place among those of its chapter. A new chapter begins with an introduction."""

    chapter: Chapter
    number: int
    content: Message

    @property
    def introduces(self) -> tuple[NodeId, ...]:
        return self.content.introduces

    @property
    def signature(self) -> str:
        """What it carries, whatever number it is sent under."""
        return f"control relay of {self.content.signature}"


class TakeOver(Message, frozen=True, gc=False):
    """A durable subscription of a node that leaves, for its heir, with some of its events.

    Each event has the calendar's time at which it came, and whether it was acknowledged; dead letters have how often
    they were refused, and why.
    """

    control: ClassVar[bool] = False
    must_arrive: ClassVar[bool] = True
    grown: ClassVar[int] = 1

    subscription: str
    filter: Filter
    subscriber: str
    delay_ms_max: float | None
    policy: QueuePolicy
    events: tuple[tuple[Event, float, bool], ...] = ()
    letters: tuple[tuple[Event, int, str], ...] = ()
    bandwidth: float | None = None


class Release(Message, frozen=True, gc=False):
    """Events of these relays may be queued, with all parked ones of their publishers before them."""

    stream: Lineage
    numbers: tuple[int, ...]


class Greet(Message, frozen=True, gc=False):
    """Opens a link: nothing else is sent until it was answered. It is repeated until then.

    `keeper` is the lineage of whoever greets, `known` that of the receiver as far as it was seen. All relays of
    `stream` up to `kept` and all control messages of `chapter` up to `control_kept` were acknowledged by the receiver,
    who finds out so whether it still has them. The token tells the answer from what was said before.
    """

    token: tuple[int, int]
    keeper: Lineage
    known: Lineage
    stream: Lineage
    kept: int
    chapter: Chapter
    control_kept: int


class Acknowledge(Message, frozen=True, gc=False):
    """How far the sender of this, whose lineage is `keeper`, has on its disk what the receiver sent it.

    Relays of `stream` up to `kept` are safe, and landed but for `unlanded`, and done with but for `parked`, which wait
    for their release; control messages of `chapter` are safe up to `control_kept`. `known` is the receiver's lineage as
    far as it was seen, and `greeted` the token of its last `Greet`, if there was one.
    """

    keeper: Lineage
    known: Lineage
    stream: Lineage
    kept: int
    unlanded: Runs
    parked: Runs
    chapter: Chapter
    control_kept: int
    greeted: tuple[int, int] = (0, 0)
