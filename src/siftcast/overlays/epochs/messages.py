"""What nodes of a planned network say to each other beside what their scheme says."""

from __future__ import annotations

from typing import ClassVar, Self

from siftcast.model import Event, Filter
from siftcast.overlays.contract import Message, NodeId
from siftcast.overlays.envelopes import EpochAssured, EpochCarrier, EpochControl, EpochRepeated
from siftcast.overlays.epochs.view import Holdings, Member, View
from siftcast.overlays.routing_rows import Entry, RoutingMessage, RowChange, TableKey

_SERIAL = "=serial"
_NOTHING = Filter.parse("FALSE")

# -- standing in -------------------------------------------------------------------------------------


class Guard(RoutingMessage, frozen=True, gc=False):
    """The sender's durable subscriptions, for whoever would have to stand in for it; with `anew`, all of them.

    Or those `of` a node for which the sender stands in, so that it is stood in for should the sender be absent, too.
    Serials ascend over all lives of the sender, so that the latest of several guardians can be found. The serial is
    kept with the rows, in one that is no subscription.
    """

    table_kind: ClassVar[str] = "guard"
    restates: ClassVar[bool] = True

    serial: int
    entries: tuple[Entry, ...] = ()
    removed: tuple[str, ...] = ()
    anew: bool = False
    of: NodeId | None = None

    @property
    def row_change(self) -> RowChange:
        return RowChange(
            (-1 if self.of is None else self.of,),
            (*self.entries, (_SERIAL, _NOTHING, self.serial)),
            self.removed,
            self.anew,
        )

    @classmethod
    def restate(cls, table: TableKey, entries: tuple[Entry, ...]) -> Self:
        serial = next((origin for id, _, origin in entries if id == _SERIAL), 0)
        rows = tuple(entry for entry in entries if entry[0] != _SERIAL)
        return cls(serial, rows, anew=True, of=None if table[0] < 0 else table[0])


class Guarded(Message, frozen=True, gc=False):
    """The sender has on disk all of the receiver's subscriptions up to this serial."""

    repeated: ClassVar[bool] = True

    serial: int


class Unguarded(Message, frozen=True, gc=False):
    """Another node guards the sender by now, and has all of it: what the receiver has of it is out of date."""

    repeated: ClassVar[bool] = True


class HandOn(Message, frozen=True, gc=False):
    """An event for durable subscriptions of the receiver, from the node that stands in for it."""

    control: ClassVar[bool] = False
    must_arrive: ClassVar[bool] = True

    event: Event
    subscriptions: tuple[str, ...]

    @property
    def event_id(self) -> str | None:
        return self.event.id


class Consign(Message, frozen=True, gc=False):
    """An event of a node without a place in the plan, for the receiver to publish in its stead."""

    control: ClassVar[bool] = False

    event: Event
    again: bool = False

    @property
    def event_id(self) -> str | None:
        return self.event.id


# -- the view ----------------------------------------------------------------------------------------


class Issue(Message, frozen=True, gc=False):
    """The view as the sender knows it. The coordinator asks in rounds how far everyone is; round 0 asks nothing."""

    repeated: ClassVar[bool] = True

    view: View
    round: int = 0

    @property
    def introduces(self) -> tuple[NodeId, ...]:
        return tuple(member.node for member in self.view.members if member.is_expected)


class Progress(Message, frozen=True, gc=False):
    """How far the sender is with the view; `life` and `activity` change with whatever happens in epochs but the used.

    `settling` counts what keeps the newest epoch from being complete here, `draining` what still waits in older ones.
    `initial_sent` and `initial_taken` count messages that prepare epochs, for networks that acknowledge nothing.
    `guarded` is the serial of what the sender has told its guardian last, and whether that has it. `empty` is whether a
    node that leaves has handed over everything, `heirs` to whom. `wards` are those who told the sender, who guards
    them, what they hold.
    """

    repeated: ClassVar[bool] = True

    round: int
    version: int
    life: int
    activity: int
    settling: int
    draining: int
    initial_sent: int = 0
    initial_taken: int = 0
    guards: tuple[tuple[NodeId, int], ...] = ()
    guarded: tuple[int, bool] = (0, True)
    holdings: Holdings = Holdings()
    empty: bool = False
    heirs: tuple[NodeId, ...] = ()
    wards: tuple[tuple[NodeId, Holdings], ...] = ()


class AskToJoin(Message, frozen=True, gc=False):
    """A node wants to be a member; or is one that was absent, and is back."""

    repeated: ClassVar[bool] = True

    member: Member


class AskToLeave(Message, frozen=True, gc=False):
    """The sender wants to leave in peace."""

    repeated: ClassVar[bool] = True


class AskToForget(Message, frozen=True, gc=False):
    """A person declares that a node does not come back."""

    repeated: ClassVar[bool] = True

    node: NodeId


class AskToApply(Message, frozen=True, gc=False):
    """A person wants a plan by other settings than that of epoch `since`, and of any that has come after it."""

    repeated: ClassVar[bool] = True
    grown: ClassVar[int] = 1

    settings: bytes
    since: int = 0


class Awaits(Message, frozen=True, gc=False):
    """Who does not answer the coordinator, for a node that asked it for something."""

    repeated: ClassVar[bool] = True

    nodes: tuple[NodeId, ...]


class Miss(Message, frozen=True, gc=False):
    """The sender cannot reach these nodes."""

    repeated: ClassVar[bool] = True

    nodes: tuple[NodeId, ...]


class Decline(Message, frozen=True, gc=False):
    """What the receiver asked for is not to be had, and why."""

    repeated: ClassVar[bool] = True

    what: str
    reason: str


EPOCH_MESSAGES: tuple[type[Message], ...] = (
    EpochControl, EpochCarrier, EpochRepeated, EpochAssured, Guard, Guarded, Unguarded, HandOn, Consign,
)  # fmt: skip
"""What epochs say to each other, inside durability."""
VIEW_MESSAGES: tuple[type[Message], ...] = (
    Issue, Progress, AskToJoin, AskToLeave, AskToForget, AskToApply, Awaits, Miss, Decline,
)  # fmt: skip
"""What nodes say about the view, outside of it."""
