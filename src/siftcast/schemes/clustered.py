"""The scheme `clustered`: subscriptions that match the same events in clusters, a tree for each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from siftcast.model import Event
from siftcast.overlays.contract import NodeId
from siftcast.overlays.protocols.clustered import VARIANTS, Clustered
from siftcast.overlays.tables import TableFactory
from siftcast.schemes.contract import Factory, Scheme
from siftcast.schemes.ground import Forecast, Ground
from siftcast.space import ClusterAssignment, ClusterLayout

if TYPE_CHECKING:
    import numpy as np


TREES = ("near", "core")


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """`clusters` of subscriptions, found from the first `sample_events`; `rendezvous` nodes at which events enter.

    In the `tree` of a cluster a node is under the one that is `near`est, or, as in a `core` tree, where its way from
    the root is shortest.
    """

    clusters: int = 10
    tree: str = "near"
    variant: str = "multicast"
    rendezvous: int = 1
    degree_max: int = 4
    sample_events: int = 200

    def __post_init__(self) -> None:
        if min(self.clusters, self.rendezvous, self.degree_max, self.sample_events) < 1:
            raise ValueError("clusters, rendezvous, degree_max and sample_events are at least 1")
        if self.variant not in VARIANTS:
            raise ValueError(f"variant is one of {', '.join(VARIANTS)}, not '{self.variant}'")
        if self.tree not in TREES:
            raise ValueError(f"tree is one of {', '.join(TREES)}, not '{self.tree}'")


class ClusteredScheme(Scheme[ClusterOptions, ClusterLayout]):
    """Clustered dissemination; clusters are found by which of the forecast events each subscription matches."""

    name = "clustered"
    description = "clusters of subscriptions that match the same events, a tree each"
    protocol = Clustered
    options = ClusterOptions()
    simulated_only = "its clusters are planned from measured traffic"
    sends_once = False  # but once for each cluster that wants it
    examples: ClassVar = (
        *({"clusters": 3, "variant": variant} for variant in VARIANTS),
        {"clusters": 3, "variant": "filtering", "tree": "core", "degree_max": 2},
    )

    def plan(self, ground: Ground, options: ClusterOptions) -> ClusterLayout:
        from siftcast.planning import plan_clusters

        return plan_clusters(
            ground.latencies_ms,
            ClusterAssignment()
            if ground.forecast is None
            else assign_forecast(ground.forecast, options.clusters, options.sample_events, ground.rng),
            rendezvous=options.rendezvous,
            degree_max=options.degree_max,
            shortest_ways=options.tree == "core",
        )

    def nodes(self, plan: ClusterLayout, options: ClusterOptions, tables: TableFactory) -> Factory:
        return lambda node: Clustered(node, plan, tables, variant=options.variant)

    def contacts(self, plan: ClusterLayout, node: NodeId) -> tuple[NodeId, ...]:
        """Any node may be next to any other in the tree of some cluster."""
        return tuple(other for other in range(len(plan.distances)) if other != node)


def assign_forecast(
    forecast: Forecast, clusters: int, sample_events: int, rng: np.random.Generator
) -> ClusterAssignment:
    """Clusters of the subscriptions that are forecast, by which of the first events each matches."""
    from siftcast.planning import assign_clusters, interest_clusters, matched_matrix

    rows = forecast.events.slice(0, sample_events).to_pylist()
    events = [Event({name: value for name, value in row.items() if value is not None}) for row in rows]
    filters = {item.id: item.filter for _, item in forecast.wanted}
    matched = matched_matrix(filters, events)
    labels = interest_clusters(matched, clusters, rng)
    return assign_clusters(list(filters), labels, events, matched, silent=clusters)


SCHEME = ClusteredScheme()
