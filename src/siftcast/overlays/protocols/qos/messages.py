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
PUBLISHING = 0
"""The place of a node's publishers."""


class QosMessage(Message, frozen=True, gc=False):
    """Part of keeping the overlay."""

    repeated: ClassVar[bool] = True


class Profile(QosMessage, frozen=True, gc=False):
    """A subscribing peer as others see it.

    What it wants and its bound say where it stands; how late it gets its events (`reach_ms`, infinite while it lacks
    some) and how many more children it can have (`room`) are for those that choose.
    """

    peer: PeerId
    wanted: DzSet
    bound_ms: float
    reach_ms: float
    room: int

    def is_like(self, other: Profile) -> bool:
        """Whether it stands where another does, and wants the same."""
        return self.bound_ms == other.bound_ms and (self.wanted is other.wanted or self.wanted == other.wanted)

    @property
    def introduces(self) -> tuple[NodeId, ...]:
        return (self.peer[0],)


class Advert(QosMessage, frozen=True, gc=False):
    """What a node publishes; nothing, once it has stopped. `beat` grows as long as the node lives."""

    publisher: NodeId
    offered: DzSet
    beat: int

    @property
    def introduces(self) -> tuple[NodeId, ...]:
        return (self.publisher,)


class News(QosMessage, frozen=True, gc=False):
    """Publishers and peers that the sender knows of; the same is wanted back if it `asks`."""

    adverts: tuple[Advert, ...]
    profiles: tuple[Profile, ...]
    asks: bool

    @property
    def introduces(self) -> tuple[NodeId, ...]:
        return (*(each.publisher for each in self.adverts), *(each.peer[0] for each in self.profiles))


class Connect(QosMessage, frozen=True, gc=False):
    """A peer wants the events of a region from now on, instead of what it wanted before.

    With `adopt`, the receiver is asked to want the region itself, if it does not yet.
    """

    to: int
    child: Profile
    region: DzSet
    number: int
    adopt: bool = False


class Status(QosMessage, frozen=True, gc=False):
    """A parent's word to a child: what it passes on, whether it gets that itself, and from how far away.

    `above` are the peers through which it gets it; a child that finds itself there has come upon a circle. `profile` is
    the parent's own; publishing places have none.
    """

    to: int
    parent: PeerId
    profile: tuple[Profile, ...]
    region: DzSet
    is_served: bool
    above: frozenset[PeerId]
    reach_ms: float
    number: int
    stamp: int


class Hint(QosMessage, frozen=True, gc=False):
    """A parent has no place, or none any more: others may. Of the `adopters`, each would have to widen."""

    to: int
    parent: PeerId
    others: tuple[Profile, ...]
    adopters: tuple[Profile, ...]
    number: int
    stamp: int

    @property
    def introduces(self) -> tuple[NodeId, ...]:
        return tuple(each.peer[0] for each in (*self.others, *self.adopters))


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
