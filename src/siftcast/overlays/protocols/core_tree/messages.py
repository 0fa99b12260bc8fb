"""What peers of a core tree say to each other.

`Beat` and `Ballot` are said again and again, so that nobody else has to keep them; `number` says which is the later of
two. What tables are made of (`TreeNews`, `Unlink`) is said once and must arrive, in order; it names its link by a
number that the child has chosen, so that words about a link that is gone mean nothing.
"""

from __future__ import annotations

from typing import ClassVar

import msgspec

from siftcast.model import Event
from siftcast.overlays.contract import Message, NodeId

CELL, CORES = 0, 1
"""The two trees: that of a cell, and the one that joins the cores."""


class Choice(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """The cores, the root core first, as a leader has chosen them; version 0 is a peer's own, before any choice.

    With the mean delay and the mean weight of all links, which make the potentials of peers comparable.
    """

    leader: NodeId
    version: int
    cores: tuple[NodeId, ...]
    delay_ms: float = 0.0
    weight: float = 0.0


class Reach(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """CORE_SPT: how far the sender is from a target, over whom, and by which round of the target."""

    target: NodeId
    round: int
    weight: float
    over: NodeId


class Beat(Message, frozen=True, gc=False):
    """A peer's standing, for its neighbours.

    `leader` is its way to the leader, `reaches` are its ways to the cores that it passes on, `relay` is its own core.
    `links` are the tree links to the receiver that the sender holds as a child. `matched` sketches which events it
    wanted lately.
    """

    repeated: ClassVar[bool] = True

    number: int
    leader: Reach
    choice: Choice
    relay: NodeId | None
    reaches: tuple[Reach, ...]
    links: tuple[tuple[int, int], ...] = ()
    matched: bytes = b""


class Ballot(Message, frozen=True, gc=False):
    """Votes on their way up: the best candidates of a branch, which cores are there, and how many peers and links.

    `edges` are the links themselves, where the leader scores paths: O(peers · degree) bytes near it.
    """

    repeated: ClassVar[bool] = True

    number: int
    peers: int
    votes: tuple[tuple[NodeId, float], ...]
    present: tuple[NodeId, ...]
    links: int
    delays_ms: float
    weights: float
    edges: tuple[tuple[NodeId, NodeId, float], ...] = ()


class Seek(Message, frozen=True, gc=False):
    """A peer has lost its way to a target, which is asked for a new round; passed on towards it."""

    repeated: ClassVar[bool] = True

    target: NodeId
    round: int


class TreeNews(Message, frozen=True, gc=False):
    """What is wanted over a tree link, or not any more; the first one from below is JOIN_CORE.

    `root` is the core that the tree is of. With `moved`, it may have been wanted elsewhere before, and the events of
    the last seconds may have missed it.
    """

    network: int
    link: int
    root: NodeId
    upward: bool
    moved: bool
    content: Message


class Unlink(Message, frozen=True, gc=False):
    """A tree link is no more."""

    network: int
    link: int


class Passed(Message, frozen=True, gc=False):
    """An event on one of the trees; `late`, if it had passed before somebody came."""

    control: ClassVar[bool] = False

    network: int
    event: Event
    elapsed_ms: float
    late: bool = False

    @property
    def event_id(self) -> str | None:
        return self.event.id


class CoreParcel(Message, frozen=True, gc=False):
    """An event from core to core, on the shortest way to each; `hops` are the peers that it may still pass."""

    control: ClassVar[bool] = False

    cores: tuple[NodeId, ...]
    event: Event
    elapsed_ms: float
    hops: int
    late: bool = False

    @property
    def event_id(self) -> str | None:
        return self.event.id


CORE_TREE_MESSAGES: tuple[type[Message], ...] = (Beat, Ballot, Seek, TreeNews, Unlink, Passed, CoreParcel)
