"""What the nodes of layered schemes say to each other.

Everything names the node it began at, because it may come by way of others. An event is known by the search for those
who want it and not by its id: an event that is published again, in another epoch, is searched for again.
"""

from __future__ import annotations

from typing import ClassVar, Self

from siftcast.model import Event
from siftcast.overlays.contract import Message, NodeId
from siftcast.overlays.routing_rows import Entry, RoutingMessage, RowChange, TableKey

Visit = tuple[int, NodeId, tuple[int, ...]]
"""A cluster, the matcher of it that is asked, and the labels that are matched there."""
Search = tuple[NodeId, int]
"""One search for those who want an event: the publisher's node, and the number that it gave to it."""
Answer = tuple[int, int, tuple[NodeId, ...]]
"""The number of a search, the cluster that has matched, and the nodes it found where the publisher collects them."""


class Notice(Message, frozen=True, gc=False):
    """An event for a node whose subscribers want it. `keeper`, if there is one, waits for a receipt."""

    control: ClassVar[bool] = False

    event: Event
    origin: NodeId
    number: int = 0
    keeper: NodeId | None = None

    @property
    def event_id(self) -> str | None:
        return self.event.id

    @property
    def introduces(self) -> tuple[NodeId, ...]:
        return () if self.keeper is None else (self.keeper,)


# -- subscriptions, to matchers ------------------------------------------------------------------------


class Keep(RoutingMessage, frozen=True, gc=False):
    """Subscriptions of a node, to be matched under a label. With `anew`, the node has no others under it here."""

    table_kind: ClassVar[str] = "keep"
    restates: ClassVar[bool] = True

    origin: NodeId
    entries: tuple[Entry, ...]
    label: int
    anew: bool = False

    @property
    def row_change(self) -> RowChange:
        return RowChange((self.origin, self.label), self.entries, anew=self.anew)

    @property
    def introduces(self) -> tuple[NodeId, ...]:
        return (self.origin,)

    @classmethod
    def restate(cls, table: TableKey, entries: tuple[Entry, ...]) -> Self:
        return cls(table[0], entries, table[1], anew=True)


class Drop(RoutingMessage, frozen=True, gc=False):
    """Subscriptions that a node does not want matched under a label any more."""

    table_kind: ClassVar[str] = "keep"

    origin: NodeId
    ids: tuple[str, ...]
    label: int

    @property
    def row_change(self) -> RowChange:
        return RowChange((self.origin, self.label), removed=self.ids)


class Ask(Message, frozen=True, gc=False):
    """A matcher that has begun afresh asks what it is to keep."""

    repeated: ClassVar[bool] = True

    origin: NodeId

    @property
    def introduces(self) -> tuple[NodeId, ...]:
        return (self.origin,)


# -- events, to matchers -------------------------------------------------------------------------------


class Inquire(Message, frozen=True, gc=False):
    """An event to be matched at a cluster with these labels, and then at the clusters of `rest`."""

    control: ClassVar[bool] = False

    event: Event
    origin: NodeId
    number: int
    cluster: int
    labels: tuple[int, ...]
    rest: tuple[Visit, ...] = ()

    @property
    def event_id(self) -> str | None:
        return self.event.id

    @property
    def introduces(self) -> tuple[NodeId, ...]:
        return (self.origin, *(matcher for _, matcher, _ in self.rest))


class InquireAgain(Inquire, frozen=True, gc=False):
    """The same, at another matcher, because the one that was asked before has not answered."""

    must_arrive: ClassVar[bool] = True


class InquireBeside(InquireAgain, frozen=True, gc=False):
    """The same, of a matcher that may not know all by another one of its cluster, which answers nobody for it."""

    renewed: ClassVar[bool] = True


class Answers(Message, frozen=True, gc=False):
    """Searches that a matcher has seen to, for the node they began at."""

    repeated: ClassVar[bool] = True

    origin: NodeId
    answers: tuple[Answer, ...]


class Busy(Message, frozen=True, gc=False):
    """The sender has not caught up yet; if there is another matcher of the cluster, it should be asked."""

    repeated: ClassVar[bool] = True

    origin: NodeId
    number: int
    cluster: int


class Receipts(Message, frozen=True, gc=False):
    """Events that have arrived at a destination, for whoever sent it there."""

    repeated: ClassVar[bool] = True

    origin: NodeId
    searches: tuple[Search, ...]


LAYERED_MESSAGES: tuple[type[Message], ...] = (
    Notice, Keep, Drop, Ask, Inquire, InquireAgain, InquireBeside, Answers, Busy, Receipts,
)  # fmt: skip
