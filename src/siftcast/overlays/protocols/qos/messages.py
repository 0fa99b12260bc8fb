"""What peers of the QoS overlay say to each other.

A *peer* is a place of a node: place 0 publishes, the others subscribe, one for each class of bounds. `to` is the
receiver's place. Everything about a link is said again every round, so that nobody else has to keep it; `number`
counts what a child says and `stamp` what a parent says, so that what was overtaken on the way is known.
"""

from __future__ import annotations

from typing import ClassVar

from siftcast.model import Event
from siftcast.overlays.contract import Message, NodeId
from siftcast.space.dz import DzSet

PeerId = tuple[NodeId, int]
Rank = tuple[float, bool, float, float, PeerId]
"""Where a peer stands in the order of all; see `order.py`."""
PUBLISHING = 0
"""The place of a node's publishers."""


class QosMessage(Message, frozen=True, gc=False):
    """Part of keeping the overlay."""

    repeated: ClassVar[bool] = True
    renewed: ClassVar[bool] = True


class Profile(QosMessage, frozen=True, gc=False):
    """A subscribing peer as others see it.

    Where it stands: `own` is the volume of its own wishes, `claim_ms` its claim, and it is `open` if it passes on as
    much as it is asked to. What it gets (`wanted`), how late (`reach_ms`, infinite while it lacks some) and over how
    many links (`depth`). Whether it has a place for a child: `last` is the one that would have to go, if it is full,
    `room_below` how many levels lower there is room, and `spare` the bytes per second that it may still take on.
    """

    peer: PeerId
    wanted: DzSet
    own: float
    bound_ms: float
    claim_ms: float
    is_open: bool
    reach_ms: float
    depth: int
    last: Rank | None
    room_below: int
    spare: float

    def is_like(self, other: Profile) -> bool:
        """Whether it stands where another does."""
        return (self.own, self.bound_ms, self.claim_ms, self.is_open) == (
            other.own,
            other.bound_ms,
            other.claim_ms,
            other.is_open,
        )

    @property
    def introduces(self) -> tuple[NodeId, ...]:
        return (self.peer[0],)


class Advert(QosMessage, frozen=True, gc=False):
    """What a node publishes; nothing, once it has stopped. `beat` grows as long as the node lives.

    `last` is the child that would have to go if another came; None, if it has room.
    """

    publisher: NodeId
    offered: DzSet
    beat: int
    last: Rank | None = None

    @property
    def introduces(self) -> tuple[NodeId, ...]:
        return (self.publisher,)


class News(QosMessage, frozen=True, gc=False):
    """Publishers and peers that the sender knows of; the same is wanted back if it `asks`.

    `rates` are bytes per second that it receives in some cells (`rates.py`).
    """

    adverts: tuple[Advert, ...]
    profiles: tuple[Profile, ...]
    asks: bool
    rates: tuple[tuple[int, float], ...] = ()

    @property
    def introduces(self) -> tuple[NodeId, ...]:
        return (*(each.publisher for each in self.adverts), *(each.peer[0] for each in self.profiles))


class Connect(QosMessage, frozen=True, gc=False):
    """A peer wants the events of a region from now on, instead of what it wanted before.

    It `insists` where nobody has a place for it: a publisher then serves it beyond its degree. It is `modest` where it
    is served already: nobody goes for it.
    """

    to: int
    child: Profile
    region: DzSet
    number: int
    insists: bool = False
    is_modest: bool = False


class Status(QosMessage, frozen=True, gc=False):
    """A parent's word to a child: what it passes on, what of it it does not get itself yet, and from how far away.

    `above` are the peers through which it gets it; a child that finds itself there has come upon a circle. `profile` is
    the parent's own; publishing places have none, and say who is their `last` child.
    """

    to: int
    parent: PeerId
    profile: tuple[Profile, ...]
    region: DzSet
    lacking: DzSet
    above: frozenset[PeerId]
    reach_ms: float
    depth: int
    last: Rank | None
    number: int
    stamp: int


class Hint(QosMessage, frozen=True, gc=False):
    """A parent has no place, or none any more: others may. It says of itself what a `Status` does."""

    to: int
    parent: PeerId
    profile: tuple[Profile, ...]
    last: Rank | None
    others: tuple[Profile, ...]
    number: int
    stamp: int

    @property
    def introduces(self) -> tuple[NodeId, ...]:
        return tuple(each.peer[0] for each in self.others)


class Release(QosMessage, frozen=True, gc=False):
    """A child wants nothing more."""

    to: int
    child: PeerId
    number: int


CONTROL_MESSAGES: tuple[type[Message], ...] = (Profile, Advert, News, Connect, Status, Hint, Release)


class Forward(Message, frozen=True, gc=False):
    """An event on its way down, for places of the receiver; `elapsed_ms` is how old it was when it was sent."""

    control: ClassVar[bool] = False

    to: tuple[int, ...]
    event: Event
    point: DzSet
    elapsed_ms: float

    @property
    def event_id(self) -> str | None:
        return self.event.id
