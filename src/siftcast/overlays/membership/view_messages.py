"""What nodes say to each other to keep their partial views (`partial_view`).

Every message that names nodes introduces them, so that its receiver may talk to them. All are `repeated`: a node whose
request is not answered asks somebody else, and views that disagree are found by the next shuffle.
"""

from __future__ import annotations

from typing import ClassVar

from siftcast.overlays.contract import Message, NodeId


class ViewMessage(Message, frozen=True, gc=False):
    """Part of keeping partial views."""

    repeated: ClassVar[bool] = True


class Join(ViewMessage, frozen=True, gc=False):
    """The sender enters the network through the receiver, which takes it for a neighbour and has others do so."""


class ForwardJoin(ViewMessage, frozen=True, gc=False):
    """Somebody joined; a random walk carries the news to a node that makes it a neighbour."""

    joiner: NodeId
    hops_left: int

    @property
    def introduces(self) -> tuple[NodeId, ...]:
        return (self.joiner,)


class NeighbourRequest(ViewMessage, frozen=True, gc=False):
    """Be my neighbour; one that is urgent is never refused."""

    urgent: bool


class NeighbourAnswer(ViewMessage, frozen=True, gc=False):
    """Whether the receiver, which asked or joined, is a neighbour of the sender now."""

    accepted: bool


class Disconnect(ViewMessage, frozen=True, gc=False):
    """The receiver is no neighbour of the sender; `peers` are others it may ask. With `leaving`, the sender is gone."""

    peers: tuple[NodeId, ...] = ()
    leaving: bool = False

    @property
    def introduces(self) -> tuple[NodeId, ...]:
        return self.peers


class Shuffle(ViewMessage, frozen=True, gc=False):
    """A sample of the views of `origin`, for whoever is at the end of a random walk."""

    origin: NodeId
    peers: tuple[NodeId, ...]
    hops_left: int

    @property
    def introduces(self) -> tuple[NodeId, ...]:
        return (self.origin, *self.peers)


class ShuffleReply(ViewMessage, frozen=True, gc=False):
    """A sample of as many, in exchange."""

    peers: tuple[NodeId, ...]

    @property
    def introduces(self) -> tuple[NodeId, ...]:
        return self.peers


VIEW_MESSAGES: tuple[type[ViewMessage], ...] = (
    Join,
    ForwardJoin,
    NeighbourRequest,
    NeighbourAnswer,
    Disconnect,
    Shuffle,
    ShuffleReply,
)
