"""Dissemination inside clusters of subscriptions (thesis, sections 3.5 and 3.6.3).

    messages.py         what nodes say to each other
    node.py             a node: hands events in, delivers, passes on
    membership.py       its place in one cluster, by version
    rendezvous.py       where events enter: which clusters want this one?
    coordinator.py      every change is a new version of the whole; nothing is lost on the way
    cluster_tables.py   what the coordinator knows, and what each node was told

Subscriptions that match the same events are in one cluster (`ClusterLayout`, from any method of planning). A
publisher's node offers an event to a rendezvous, which sends it to the root of each cluster in which somebody wants
it. Two variants:

- **multicast**: it goes to all nodes of the cluster, each of which picks out what its subscribers want. Nobody
  matches on the way. Nodes that want nothing of it are false positives: the better the clusters, the fewer.
- **filtering**: nodes know what lies below each child, and send it only where somebody wants it. Fewer
  messages an event, and more to keep that knowledge.

The thesis leaves open how an event finds the clusters that want it; rendezvous nodes are ours. It forwards
subscriptions hop by hop; here the coordinator, which must know them anyway, tells each node what lies below it, for as
many messages. So that clusters may change under way, events have a version, and are handled by everyone as of that
version.

Links must not lose or reorder messages, as TCP's do not. What is under way when a node is lost may be lost; the
others are joined anew. While the coordinator is away events flow, and subscriptions wait for it.
"""

from siftcast.overlays.protocols.clustered.messages import (
    Cast,
    ClustersPlanned,
    Commit,
    Enrol,
    Flush,
    Prepare,
    Prepared,
    Resign,
    Submit,
)
from siftcast.overlays.protocols.clustered.node import VARIANTS, Clustered

__all__ = [
    "VARIANTS",
    "Cast",
    "Clustered",
    "ClustersPlanned",
    "Commit",
    "Enrol",
    "Flush",
    "Prepare",
    "Prepared",
    "Resign",
    "Submit",
]
