"""All schemes by name, and how the nodes of each are made from a plain layout and options.

A scenario, an experiment or a configuration file names a scheme; whoever runs it lays it out (a tree, a graph, and for
planned schemes a plan, all plain types of `space`) and gets a function that makes the node of each server.

To add a scheme: write its protocol in `protocols/`, an options dataclass that checks itself, and an entry below. A
scheme that must be planned names its plan in `plan`; the runtime that knows measurements makes it and hands it over in
`Layout.plan` (for the simulator: `runtimes/sim/layouts.py`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any

from siftcast.model.errors import SiftcastError
from siftcast.overlays.contract import NodeId, Protocol
from siftcast.overlays.delivery import AlongTree, Direct, NetworkMulticast, OnRing
from siftcast.overlays.links import Links, SourceTreeLinks, TreeLinks
from siftcast.overlays.protocols.broadcast import Broadcast
from siftcast.overlays.protocols.clustered import VARIANTS, Clustered
from siftcast.overlays.protocols.filter_based import FilterBased
from siftcast.overlays.protocols.kyra import Kyra
from siftcast.overlays.protocols.match_first import MatchFirst
from siftcast.overlays.protocols.multicast_based import MulticastBased, TreeOf
from siftcast.overlays.reuse import Reuse
from siftcast.overlays.tables import TableFactory
from siftcast.space import ContentGroups, SourceTrees, Tree

Factory = Callable[[NodeId], Protocol]


class SchemeError(SiftcastError):
    """There is no scheme of this name, or it has no such option."""

    code = "scheme"


@dataclass(frozen=True, slots=True)
class Layout:
    """What nodes are made from: the topology, and where their tables come from."""

    tree: Tree
    tables: TableFactory
    graph: SourceTrees | None = None
    plan: Any = None

    def links(self, node: NodeId) -> Links:
        """A node's view of the graph if there is one, else of the tree."""
        return TreeLinks.of(self.tree, node) if self.graph is None else SourceTreeLinks.of(self.graph, node)


@dataclass(frozen=True, slots=True)
class NoOptions:
    """Nothing to choose."""


@dataclass(frozen=True, slots=True)
class FilterOptions:
    """`graph` adds so many links a server to the tree; `unsafe` allows what is known to lose events."""

    summary: str = "none"
    advertisements: bool = False
    reuse: str = "never"
    graph: int = 0
    unsafe: bool = False

    def __post_init__(self) -> None:
        Reuse.parse(self.reuse)
        if self.graph < 0:
            raise ValueError(f"graph is a number of additional links a server, not {self.graph}")


@dataclass(frozen=True, slots=True)
class KyraOptions:
    """`trees` is 0 for as many as the largest clique has servers; `attribute` is the one to cut, or the first.

    With `join_singletons` a server that would be alone in its clique joins the nearest one that has room.
    """

    clique_ms_max: float = 100.0
    clique_servers_max: int = 0
    trees: int = 0
    balance_factor: int = 1
    attribute: str = ""
    summary: str = "none"
    reuse: str = "never"
    clique_delivery: str = "direct"
    join_singletons: bool = False

    def __post_init__(self) -> None:
        Reuse.parse(self.reuse)
        if min(self.clique_ms_max, self.clique_servers_max, self.trees) < 0 or self.balance_factor < 1:
            raise ValueError("limits of cliques and the number of trees are at least 0, the balance factor at least 1")


@dataclass(frozen=True, slots=True)
class MulticastOptions:
    """`attribute` is the one whose values are grouped, or the first; `unicast_below` a share of a group's members."""

    groups: int = 10
    attribute: str = ""
    unicast_below: float = 0.0

    def __post_init__(self) -> None:
        if self.groups < 1 or not 0 <= self.unicast_below <= 1:
            raise ValueError("there is at least one group, and unicast_below is a share between 0 and 1")


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """`clusters` of subscriptions, found from the first `sample_events`; `rendezvous` nodes at which events enter."""

    clusters: int = 10
    variant: str = "multicast"
    rendezvous: int = 1
    degree_max: int = 4
    sample_events: int = 200

    def __post_init__(self) -> None:
        if min(self.clusters, self.rendezvous, self.degree_max, self.sample_events) < 1:
            raise ValueError("clusters, rendezvous, degree_max and sample_events are at least 1")
        if self.variant not in VARIANTS:
            raise ValueError(f"variant is one of {', '.join(VARIANTS)}, not '{self.variant}'")


@dataclass(frozen=True, slots=True)
class GroupPlan:
    """The plan of multicast-based routing: groups of the content, the tree over any members, latencies in ms."""

    groups: ContentGroups
    tree_of: TreeOf
    distances: Sequence[Sequence[float]]


@dataclass(frozen=True, slots=True)
class Scheme:
    """A named way of delivering events."""

    name: str
    description: str
    options: Any
    make: Callable[[Layout, Any], Factory]
    plan: str | None = None

    def configure(self, changes: Mapping[str, object]) -> Any:
        """The options with some of them changed; unknown names and bad values raise `SchemeError`."""
        known = {each.name: type(getattr(self.options, each.name)) for each in dataclasses.fields(self.options)}
        for name, value in changes.items():
            if name not in known:
                listed = ", ".join(known) or "none"
                raise SchemeError(f"scheme '{self.name}' has no option '{name}' (options: {listed})")
            if type(value) is not known[name] and not (known[name] is float and type(value) is int):
                raise SchemeError(
                    f"option '{name}' of scheme '{self.name}' is of type {known[name].__name__}: {value!r}"
                )
        try:
            return dataclasses.replace(self.options, **changes)
        except ValueError as error:
            raise SchemeError(f"scheme '{self.name}': {error}") from None


def _filter_based(layout: Layout, options: FilterOptions) -> Factory:
    reuse = Reuse.parse(options.reuse)
    return lambda node: FilterBased(
        node,
        layout.links(node),
        layout.tables,
        summary=options.summary,
        advertisements=options.advertisements,
        reuse=reuse,
        unsafe=options.unsafe,
    )


def _broadcast(layout: Layout, _options: NoOptions) -> Factory:
    return lambda node: Broadcast(node, layout.links(node), layout.tables)


def _unicast(layout: Layout, _options: NoOptions) -> Factory:
    return lambda node: MatchFirst(node, layout.links(node), layout.tables, Direct())


def _ideal_multicast(layout: Layout, _options: NoOptions) -> Factory:
    return lambda node: MatchFirst(node, layout.links(node), layout.tables, NetworkMulticast())


def _match_early(layout: Layout, _options: NoOptions) -> Factory:
    def make(node: NodeId) -> Protocol:
        return MatchFirst(node, layout.links(node), layout.tables, AlongTree(node, layout.tree.next_hops(node)))

    return make


def _match_on_ring(layout: Layout, _options: NoOptions) -> Factory:
    return lambda node: MatchFirst(node, layout.links(node), layout.tables, OnRing(node, layout.tree.nodes))


def _kyra(layout: Layout, options: KyraOptions) -> Factory:
    reuse = Reuse.parse(options.reuse)
    return lambda node: Kyra(
        node,
        layout.plan,
        layout.tables,
        summary=options.summary,
        reuse=reuse,
        clique_delivery=options.clique_delivery,
    )


def _multicast_based(layout: Layout, options: MulticastOptions) -> Factory:
    plan: GroupPlan = layout.plan
    return lambda node: MulticastBased(
        node,
        layout.links(node),
        layout.tables,
        plan.groups,
        plan.tree_of,
        plan.distances[node],
        unicast_below=options.unicast_below,
    )


def _clustered(layout: Layout, options: ClusterOptions) -> Factory:
    return lambda node: Clustered(node, layout.plan, layout.tables, variant=options.variant)


_SCHEMES: Mapping[str, Scheme] = MappingProxyType(
    {
        scheme.name: scheme
        for scheme in (
            Scheme(
                "filter-based", "subscriptions flood a tree, events follow them back", FilterOptions(), _filter_based
            ),
            Scheme("kyra", "subscriptions move inside cliques, many small trees", KyraOptions(), _kyra, plan="kyra"),
            Scheme(
                "multicast-based",
                "groups of like interest, a tree each",
                MulticastOptions(),
                _multicast_based,
                plan="groups",
            ),
            Scheme(
                "clustered",
                "clusters of subscriptions that match the same events, a tree each",
                ClusterOptions(),
                _clustered,
                plan="clusters",
            ),
            Scheme("broadcast", "every event goes everywhere along a tree", NoOptions(), _broadcast),
            Scheme("unicast", "matched at the publisher, a copy to each server", NoOptions(), _unicast),
            Scheme("ideal-multicast", "matched at the publisher, network multicast", NoOptions(), _ideal_multicast),
            Scheme("match-early", "matched at the publisher, split along a tree", NoOptions(), _match_early),
            Scheme("match-on-ring", "matched at the publisher, split along a ring", NoOptions(), _match_on_ring),
        )
    }
)


def schemes() -> Mapping[str, Scheme]:
    """All schemes by name."""
    return _SCHEMES


def scheme(name: str) -> Scheme:
    """The scheme of this name; raises `SchemeError` with the nearest one."""
    if name not in _SCHEMES:
        nearest = get_close_matches(name, _SCHEMES, 1)
        hint = f"did you mean '{nearest[0]}'?" if nearest else f"there are {', '.join(_SCHEMES)}"
        raise SchemeError(f"there is no scheme '{name}'; {hint}")
    return _SCHEMES[name]
