"""What HOMED nodes say to each other.

`to` is the number of the receiver's place, `serial` that of the sender's. `split` names a split of the cube, which both
have on their paths, on different sides of it where nothing else is said. All control messages are repeated by their
senders until they count, so that nobody else has to keep them.
"""

from __future__ import annotations

from typing import ClassVar

from siftcast.model import Event, Filter
from siftcast.overlays.contract import Message, NodeId
from siftcast.overlays.protocols.homed.cube import Place

Realm = tuple[float, NodeId]
"""A network by its age: when it was founded, and by whom. Of two that meet, the older one takes the other in."""
Named = tuple[int, Place, int]
"""Somebody beyond a split, and its digest."""
Wanted = tuple[Place, int, Filter]
"""The filter of a place: whose, its version, and what it wants."""
Copy = tuple[int, int, int, int, tuple[int, int, int], int, tuple[tuple[Place, int], ...]]
"""A split as it is handed to a place that joins: id, rank, run, side; told, fresh and all bits; count, contacts."""


class HomedMessage(Message, frozen=True, gc=False):
    """Part of keeping the overlay."""

    repeated: ClassVar[bool] = True


class Join(HomedMessage, frozen=True, gc=False):
    """A place looks for its vertex; whoever covers it gives it a part of what it covers.

    `rank` is that of the last split that it passed. Guests, who have no place, count it down.
    """

    to: int
    joiner: Place
    digest: int
    rank: int = -1

    @property
    def introduces(self) -> tuple[NodeId, ...]:
        return (self.joiner[0],)


class Accept(HomedMessage, frozen=True, gc=False):
    """The path of the place that joins, the last split being between it and the sender."""

    to: int
    realm: Realm
    path: tuple[Copy, ...]

    @property
    def introduces(self) -> tuple[NodeId, ...]:
        return tuple({place[0] for copy in self.path for place, _ in copy[6]})


class Beat(HomedMessage, frozen=True, gc=False):
    """The sender is there, and this is what its side of the split holds; the receiver says the same of its own.

    `wanted` are splits above for which the sender has no contact.
    """

    to: int
    split: int
    side: int
    serial: int
    realm: Realm
    digest: int
    summary: int
    count: int
    filters: tuple[Wanted, ...] | None = None
    wanted: tuple[int, ...] = ()


class BeatAnswer(HomedMessage, frozen=True, gc=False):
    """What a beat says, from the other side, and others to talk to: beyond this split, or beyond one above.

    If `crowded`, the receiver is to take one of these in the sender's stead, which does not count on it any more.
    """

    to: int
    split: int
    side: int
    serial: int
    digest: int
    summary: int
    count: int
    filters: tuple[Wanted, ...] | None = None
    named: tuple[Named, ...] = ()
    relayed: tuple[tuple[int, int, int], ...] = ()
    branches: tuple[Named, ...] = ()
    crowded: bool = False

    @property
    def introduces(self) -> tuple[NodeId, ...]:
        return tuple({place[0] for _, place, _ in (*self.named, *self.branches)})


class Astray(HomedMessage, frozen=True, gc=False):
    """The receiver took the sender for a place that it has not, or not beyond this split."""

    to: int
    split: int
    serial: int
    realm: Realm


class Widen(HomedMessage, frozen=True, gc=False):
    """Beyond `split`, these bits are wanted as well: all on the other side must know before they count.

    `side` is that of their owner, a place; who is on the same side passes it on only. With a `version`, filters of the
    owner that came before are void.
    """

    to: int
    split: int
    side: int
    token: int
    bits: int
    low: int
    high: int
    owner: Place
    version: int = 0
    hops: int = 0


class Widened(HomedMessage, frozen=True, gc=False):
    """Everybody knows whom the receiver wanted to know."""

    token: int


class Farewell(HomedMessage, frozen=True, gc=False):
    """A place of the sender ends; beyond the split there are others instead, or nobody."""

    to: int
    split: int
    serial: int
    instead: tuple[tuple[Place, int], ...]

    @property
    def introduces(self) -> tuple[NodeId, ...]:
        return tuple({place[0] for place, _ in self.instead})


class Parted(HomedMessage, frozen=True, gc=False):
    """The sender talks no more to a place that ends."""

    to: int
    serial: int


class Greet(HomedMessage, frozen=True, gc=False):
    """The sender wants to know who has a place."""


class Gateways(HomedMessage, frozen=True, gc=False):
    """Nodes through which one gets into the network; which network that is, if the sender has a place itself.

    `others` are there, and may have no place.
    """

    nodes: tuple[NodeId, ...]
    realm: Realm | None
    others: tuple[NodeId, ...] = ()

    @property
    def introduces(self) -> tuple[NodeId, ...]:
        return tuple({*self.nodes, *self.others})


class Older(HomedMessage, frozen=True, gc=False):
    """There is an older network, which the sender is about to enter; so should the receiver, through it."""

    realm: Realm
    through: NodeId

    @property
    def introduces(self) -> tuple[NodeId, ...]:
        return (self.through,)


class Cast(Message, frozen=True, gc=False):
    """An event for a part of the cube (`low` and `high`, as in `cover_table`), but for the splits of ranks `skipped`.

    From a guest it is for the whole cube, to be spread by any place of the receiver (`to` is 0).
    """

    control: ClassVar[bool] = False

    to: int
    event: Event
    low: int
    high: int
    skipped: tuple[int, ...] = ()

    @property
    def event_id(self) -> str | None:
        return self.event.id


CONTROL_MESSAGES: tuple[type[Message], ...] = (
    Join,
    Accept,
    Beat,
    BeatAnswer,
    Astray,
    Widen,
    Widened,
    Farewell,
    Parted,
    Greet,
    Gateways,
    Older,
)
