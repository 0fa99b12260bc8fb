"""What servers of one clique say to each other: subscriptions that move, events that enter, final notifications."""

from __future__ import annotations

from typing import ClassVar

from siftcast.model import Event
from siftcast.overlays.contract import Message, NodeId
from siftcast.overlays.messages import Entry


class Entrust(Message, frozen=True, gc=False):
    """The sender's subscriptions, each reduced to the receiver's zone: the receiver is to be their proxy.

    With `outside` they are for events without a point, and not reduced. With `anew`, nothing else of this kind that
    the sender entrusted before is to be kept.
    """

    origin: NodeId
    entries: tuple[Entry, ...]
    outside: bool = False
    anew: bool = False


class Withdraw(Message, frozen=True, gc=False):
    """What was entrusted under these ids needs no proxy any more."""

    ids: tuple[str, ...]


class Handover(Message, frozen=True, gc=False):
    """An event for the one who answers for it in the publisher's clique, to be sent on its way from there."""

    control: ClassVar[bool] = False

    event: Event
    publisher: NodeId

    @property
    def event_id(self) -> str | None:
        return self.event.id


class Notification(Message, frozen=True, gc=False):
    """An event marked as the final notification: for the receiver's own subscribers, and to go nowhere else."""

    control: ClassVar[bool] = False

    event: Event

    @property
    def event_id(self) -> str | None:
        return self.event.id
