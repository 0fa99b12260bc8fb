"""What nodes of a clustered network say to each other, and how they are told of new clusters."""

from __future__ import annotations

from typing import ClassVar

from siftcast.model import Event, Filter
from siftcast.overlays.contract import Message, NodeId, Stimulus
from siftcast.space import ClusterAssignment

Wanted = tuple[str, Filter]
"""A subscription's id and what it wants."""
Place = tuple[NodeId | None, tuple[NodeId, ...]]
"""A node's parent in a tree (the root has none) and its children."""


class ClustersPlanned(Stimulus, frozen=True, gc=False):
    """Whoever plans has found other clusters; for the coordinator. Subscriptions that are not named stay where they
    are, and new ones go where the assignment's placement says."""

    assignment: ClusterAssignment


# -- events --------------------------------------------------------------------------------------------


class Submit(Message, frozen=True, gc=False):
    """An event from its publisher's node, for a rendezvous to find the clusters that want it."""

    control: ClassVar[bool] = False

    event: Event

    @property
    def event_id(self) -> str | None:
        return self.event.id


class Cast(Message, frozen=True, gc=False):
    """An event on its way down the tree of a cluster, as things were at a version."""

    control: ClassVar[bool] = False

    event: Event
    publisher: NodeId
    cluster: int
    version: int

    @property
    def event_id(self) -> str | None:
        return self.event.id


# -- subscriptions, to the coordinator -----------------------------------------------------------------


class Enrol(Message, frozen=True, gc=False):
    """Subscriptions of the sender that need a cluster, or have a new filter. With `anew`, it has no others.

    `version` is the last one the sender heard of, so that a coordinator that lost its memory goes on from there.
    """

    entries: tuple[Wanted, ...]
    version: int
    anew: bool = False


class Resign(Message, frozen=True, gc=False):
    """Subscriptions of the sender that are no more."""

    ids: tuple[str, ...]


# -- changes, from the coordinator ---------------------------------------------------------------------


class ClusterChange(Message, frozen=True, gc=False):
    """What changes for a node in one cluster: its place in the tree, its subscriptions, and what lies below.

    A node that is no longer in the tree has no place. What goes is still needed for events of earlier versions, until
    they are through (`Flush`).
    """

    cluster: int
    place: Place | None
    own_added: tuple[str, ...] = ()
    own_removed: tuple[str, ...] = ()
    below_added: tuple[tuple[NodeId, tuple[Wanted, ...]], ...] = ()
    below_removed: tuple[tuple[NodeId, tuple[str, ...]], ...] = ()


class Prepare(Message, frozen=True, gc=False):
    """Be ready for events of a version. With `anew`, forget all that was said before."""

    version: int
    changes: tuple[ClusterChange, ...]
    anew: bool = False


class Prepared(Message, frozen=True, gc=False):
    """The sender is ready for events of this version."""

    version: int


class Commit(Message, frozen=True, gc=False):
    """All nodes are ready: from now on events are of this version. For every rendezvous.

    `flush` names the clusters in which earlier versions are to be over. With `anew`, nothing but what is said here
    holds.
    """

    version: int
    added: tuple[tuple[str, Filter, int], ...]
    removed: tuple[str, ...]
    roots: tuple[tuple[int, NodeId], ...]
    flush: tuple[int, ...]
    anew: bool = False


class Flush(Message, frozen=True, gc=False):
    """Behind this, no event of an earlier version comes this way, in this cluster. A rendezvous flushes what it sends
    to roots (`entering`), and a parent what it sends to its children; one node may be both."""

    version: int
    cluster: int
    entering: bool = False
