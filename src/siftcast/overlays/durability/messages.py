"""What durable nodes say to each other: a scheme's own messages with numbers, and how far they were taken."""

from __future__ import annotations

from typing import ClassVar

from siftcast.overlays.contract import Message

Epoch = tuple[int, int, int]
"""When a stream of control messages began: the sender's lineage, its life, and how often it began anew in that life."""
Ticket = tuple[str, int]
"""The place of an event among those of its publisher: the publisher's name in the network, and a sequence."""


class Relay(Message, frozen=True, gc=False):
    """A message that must not be lost: it is on the sender's disk until the receiver has it on its own.

    Numbers ascend by one on each link for as long as the sender keeps its disk, which `lineage` stands for. All before
    `base` were acknowledged. With `watched`, the sender waits until it has landed everywhere beyond the receiver too.
    With a ticket, nobody may queue its event until it is `released`.
    """

    control: ClassVar[bool] = False

    lineage: int
    base: int
    number: int
    content: Message
    watched: bool = False
    ticket: Ticket | None = None
    released: bool = True

    @property
    def event_id(self) -> str | None:
        return self.content.event_id

    @property
    def overhead_bytes(self) -> int:
        return self.content.overhead_bytes


class ControlRelay(Message, frozen=True, gc=False):
    """A message about routing, in its place among those of its epoch. A new epoch begins with an introduction."""

    epoch: Epoch
    number: int
    content: Message


class Release(Message, frozen=True, gc=False):
    """Events of these relays may be queued, with all parked ones of their publishers before them."""

    lineage: int
    numbers: tuple[int, ...]


class Greet(Message, frozen=True, gc=False):
    """Asks a node that was out of reach how far it has taken what was sent to it; repeated until it answers.

    The token tells the answer from what the node said before.
    """

    token: tuple[int, int]


class Acknowledge(Message, frozen=True, gc=False):
    """How far the sender of this, whose own lineage is `keeper`, has on its disk what the receiver sent it.

    Relays of `lineage` up to `kept` are safe, and landed but for `unlanded`, and done with but for `parked`, which wait
    for their release; control messages of `epoch` are safe up to `control_kept`. `greeted` is the token of the last
    `Greet`, if there was one.
    """

    keeper: int
    lineage: int
    kept: int
    unlanded: tuple[int, ...]
    parked: tuple[int, ...]
    epoch: Epoch
    control_kept: int
    greeted: tuple[int, int] = (0, 0)
