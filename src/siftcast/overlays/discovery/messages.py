"""What peers of a discovery overlay say to each other.

All are `repeated`: who is not answered asks somebody else, and what went wrong is mended by the next walk. A peer's
coordinate travels with what it says anyway (`Where`), so that coordinates cost no message of their own.
"""

from __future__ import annotations

from math import isfinite
from typing import ClassVar

from siftcast.overlays.contract import Message, NodeId
from siftcast.overlays.discovery.routes import Route
from siftcast.space.coordinates import Coordinate

Where = tuple[float, float, float, float]
"""A coordinate in a message: x, y, height, error."""
Adopted = tuple[NodeId, Route | None]
"""A peer that is to be taken over, and the route to it."""
Beat = tuple[NodeId, int]
"""A peer, and how often it has beaten."""
_LOST_IN_SPACE = Coordinate()


def where(coordinate: Coordinate) -> Where:
    """A coordinate as a message has it."""
    return coordinate.x_ms, coordinate.y_ms, coordinate.height_ms, coordinate.error


def coordinate_of(place: Where) -> Coordinate:
    """The coordinate in a message; one that is none stands for nothing known."""
    found = Coordinate(*place)
    return found if found.is_sound else _LOST_IN_SPACE


def is_delay(delay_ms: float | None) -> bool:
    """Whether a number from a message can be a delay."""
    return delay_ms is not None and isfinite(delay_ms) and delay_ms >= 0


class DiscoveryMessage(Message, frozen=True, gc=False):
    """Part of keeping a discovery overlay."""

    repeated: ClassVar[bool] = True


class Place(DiscoveryMessage, frozen=True, gc=False):
    """Find the place of a newcomer among your neighbours.

    The newcomer itself asks first, and whoever finds it to lie beyond a neighbour hands it on there, with the rest of
    the route and the delay as far as they are known. `passed` are those it has come by. One that is `urgent` has no
    neighbours, and is not sent away; one that is `entering` comes from outside. Whoever was handed on before and heard
    of nobody, as those farther on may not reach it, `stays` with the receiver.
    """

    newcomer: NodeId
    place: Where
    route: Route | None = None
    delay_ms: float | None = None
    passed: tuple[NodeId, ...] = ()
    urgent: bool = False
    entering: bool = False
    stays: bool = False

    @property
    def introduces(self) -> tuple[NodeId, ...]:
        return (self.newcomer,)


class LinkRequest(DiscoveryMessage, frozen=True, gc=False):
    """Let us be neighbours.

    With how far it is, and the route from the receiver to the sender. The receiver is to take over `adopted` from the
    sender, or gives up its link to `replaced`, or is a `distant` neighbour. `entering` answers a newcomer.
    """

    place: Where
    delay_ms: float
    route: Route | None = None
    adopted: tuple[Adopted, ...] = ()
    replaced: NodeId | None = None
    distant: bool = False
    urgent: bool = False
    entering: bool = False

    @property
    def introduces(self) -> tuple[NodeId, ...]:
        return tuple(node for node, _ in self.adopted)


class LinkAnswer(DiscoveryMessage, frozen=True, gc=False):
    """Whether the sender is a neighbour of the receiver now; if not, `peers` are others to ask."""

    place: Where
    accepted: bool
    peers: tuple[NodeId, ...] = ()

    @property
    def introduces(self) -> tuple[NodeId, ...]:
        return self.peers


class Part(DiscoveryMessage, frozen=True, gc=False):
    """The receiver is no neighbour of the sender any more; `peers` are others to ask. One `leaving` is gone."""

    peers: tuple[NodeId, ...] = ()
    leaving: bool = False

    @property
    def introduces(self) -> tuple[NodeId, ...]:
        return self.peers


class Walk(DiscoveryMessage, frozen=True, gc=False):
    """A walk visits the receiver: `left` targets may still be found on this branch, and `ttl` peers be visited.

    `way_ms` is how long its way from the walker was, without the last miles of the peers in between.
    """

    walker: NodeId
    number: int
    place: Where
    way_ms: float
    left: int
    ttl: int

    @property
    def introduces(self) -> tuple[NodeId, ...]:
        return (self.walker,)


class Visited(DiscoveryMessage, frozen=True, gc=False):
    """The receiver's walk has come by; how far the sender is, if it measured that. `ended` targets are not pursued."""

    number: int
    place: Where
    delay_ms: float | None
    ended: int = 0


class DistanceRequest(DiscoveryMessage, frozen=True, gc=False):
    """How far are you from this peer?"""

    subject: NodeId

    @property
    def introduces(self) -> tuple[NodeId, ...]:
        return (self.subject,)


class DistanceAnswer(DiscoveryMessage, frozen=True, gc=False):
    """The delay to the subject; None if it does not answer."""

    subject: NodeId
    delay_ms: float | None


class Standing(DiscoveryMessage, frozen=True, gc=False):
    """Where the sender, a neighbour, stands now."""

    place: Where


class Census(DiscoveryMessage, frozen=True, gc=False):
    """The peers of the smallest numbers that the sender knows; `asks` for those of the receiver."""

    beats: tuple[Beat, ...]
    asks: bool = False

    @property
    def introduces(self) -> tuple[NodeId, ...]:
        return tuple(node for node, _ in self.beats)


class TreePlace(DiscoveryMessage, frozen=True, gc=False):
    """Find the place of a newcomer in the tree of a landmark; its route from there, unless that is to be inferred."""

    root: NodeId
    newcomer: NodeId
    route: Route | None = None

    @property
    def introduces(self) -> tuple[NodeId, ...]:
        return (self.newcomer,)


class TreeParent(DiscoveryMessage, frozen=True, gc=False):
    """The sender is the receiver's parent in the tree of a landmark, and `adopted` are its children there."""

    root: NodeId
    route: Route
    adopted: tuple[Adopted, ...] = ()

    @property
    def introduces(self) -> tuple[NodeId, ...]:
        return tuple(node for node, _ in self.adopted)


class TreeLeave(DiscoveryMessage, frozen=True, gc=False):
    """The sender is no child of the receiver in the tree of a landmark any more."""

    root: NodeId


TREE_MESSAGES: tuple[type[DiscoveryMessage], ...] = (TreePlace, TreeParent, TreeLeave)
DISCOVERY_MESSAGES: tuple[type[DiscoveryMessage], ...] = (
    Place,
    LinkRequest,
    LinkAnswer,
    Part,
    Walk,
    Visited,
    DistanceRequest,
    DistanceAnswer,
    Standing,
    Census,
    *TREE_MESSAGES,
)
