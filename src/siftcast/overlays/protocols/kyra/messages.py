"""What servers of one clique say to each other: subscriptions that move, events that enter, final notifications."""

from __future__ import annotations

from typing import ClassVar, Self

from siftcast.model import Event
from siftcast.overlays.contract import Message, NodeId
from siftcast.overlays.routing_rows import Entry, RoutingMessage, RowChange, TableKey


class Entrust(RoutingMessage, frozen=True, gc=False):
    """The sender's subscriptions, each reduced to the receiver's zone: the receiver is to be their proxy.

    With `outside` they are for events without a point, and not reduced. With `anew`, nothing else of this kind that
    the sender entrusted before is to be kept.
    """

    table_kind: ClassVar[str] = "entrust"
    restates: ClassVar[bool] = True

    origin: NodeId
    entries: tuple[Entry, ...]
    outside: bool = False
    anew: bool = False

    @property
    def row_change(self) -> RowChange:
        return RowChange((self.origin, int(self.outside)), self.entries, anew=self.anew)

    @classmethod
    def restate(cls, table: TableKey, entries: tuple[Entry, ...]) -> Self:
        return cls(table[0], entries, bool(table[1]), anew=True)


class Withdraw(RoutingMessage, frozen=True, gc=False):
    """What was entrusted under these ids needs no proxy any more."""

    table_kind: ClassVar[str] = "entrust"

    ids: tuple[str, ...]

    @property
    def row_change(self) -> RowChange:
        return RowChange(None, removed=self.ids)


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
