"""The scheme `layered`: any matching with any delivery, by their names (layering paper, section 3).

    matching    publisher   every node knows all subscriptions, and matches what its publishers publish
                hub         one matcher (or some replicas) knows them all, and publishers hand their events to it
                ring        matchers on a ring of clusters, with its defaults; `rendezvous` has all its knobs
                clusters    as hub, and whole clusters of subscriptions are found, which want the same events
    delivery    direct, tree, ring, cliques, multicast

Kyra, filter-based routing and HOMED match while they deliver, and have no such seam.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from siftcast.overlays.contract import NodeId
from siftcast.overlays.protocols.layered import AnyLayers, RendezvousSettings
from siftcast.overlays.tables import TableFactory
from siftcast.schemes.circle_remarks import remarks_on
from siftcast.schemes.circles import NO_RENDEZVOUS, CircleOptions, lay_out
from siftcast.schemes.clustered import assign_forecast
from siftcast.schemes.contract import Factory, Scheme
from siftcast.schemes.delivery_plan import (
    MULTICAST,
    TREE,
    check_delivery,
    delivery_cost,
    plan_delivery,
    remarks_on_links,
)
from siftcast.schemes.ground import Ground
from siftcast.schemes.matching_plan import LayersPlan, layered_nodes, matchers_of
from siftcast.schemes.tree_plan import plan_tree
from siftcast.space import ClusterAssignment, RingPlan

PUBLISHER, HUB, RING, CLUSTERS = MATCHINGS = ("publisher", "hub", "ring", "clusters")


@dataclass(frozen=True, slots=True)
class LayeredOptions:
    """`replicas` of each matcher, `parts` of a ring's zones, `clusters` of subscriptions; see `rendezvous`."""

    matching: str = RING
    delivery: str = TREE
    replicas: int = 1
    parts: int = 1
    key: str = ""
    confirm: str = "received"
    clusters: int = 10
    sample_events: int = 200
    clique_ms_max: float = 50.0

    def __post_init__(self) -> None:
        if self.matching not in MATCHINGS:
            raise ValueError(f"matching is one of {', '.join(MATCHINGS)}, not '{self.matching}'")
        if min(self.clusters, self.sample_events) < 1:
            raise ValueError("clusters and sample_events are at least 1")
        check_delivery(self.delivery)
        CircleOptions(replicas=self.replicas, parts=self.parts)
        self.settings()

    def settings(self) -> RendezvousSettings:
        """What a finder that asks matchers is made with."""
        return RendezvousSettings(confirm=self.confirm)

    def knobs(self) -> CircleOptions:
        """The ring, where there is one."""
        return CircleOptions(replicas=self.replicas, parts=self.parts, key=self.key)


class LayeredScheme(Scheme[LayeredOptions, LayersPlan]):
    """Two layers, chosen apart."""

    name = "layered"
    description = "any matching (publisher, hub, ring, clusters) with any delivery (direct, tree, ring, cliques)"
    protocol = AnyLayers
    options = LayeredOptions()
    uses_schema = True
    sends_once = False
    examples: ClassVar = (
        {"matching": "publisher", "delivery": "cliques", "clique_ms_max": 1.5},
        {"matching": "hub", "delivery": "tree", "replicas": 2},
        {"matching": "clusters", "delivery": "ring", "clusters": 3},
    )
    """Every pair is tried by tests of its own."""

    def plan(self, ground: Ground, options: LayeredOptions) -> LayersPlan:
        delivery = plan_delivery(ground, options.delivery, clique_ms_max=options.clique_ms_max)
        if options.matching == PUBLISHER:
            return LayersPlan(delivery, flood=plan_tree(ground))
        matchers = matchers_of(ground)
        if options.matching == RING:
            return LayersPlan(delivery, ring=RingPlan((lay_out(ground, options.knobs(), matchers),)))
        hubs = _middle(ground, matchers, options.replicas)
        knobs = CircleOptions(clusters=1, rendezvous=NO_RENDEZVOUS)
        ring = RingPlan((lay_out(ground, knobs, hubs),))
        if options.matching == HUB:
            return LayersPlan(delivery, ring=ring)
        interests = ClusterAssignment()
        if ground.forecast is not None:
            interests = assign_forecast(ground.forecast, options.clusters, options.sample_events, ground.rng)
        return LayersPlan(delivery, ring=ring, interests=interests)

    def remarks(self, ground: Ground, options: LayeredOptions, plan: LayersPlan) -> tuple[str, ...]:
        if options.matching != RING or plan.ring is None:
            return ()
        found = remarks_on(ground, options.knobs(), plan.ring.circles[0])
        return (*found, *remarks_on_links(ground, options.delivery))

    def assign(self, plan: LayersPlan, nodes: Sequence[NodeId]) -> LayersPlan:
        return plan.renamed(nodes)

    def nodes(self, plan: LayersPlan, options: LayeredOptions, tables: TableFactory) -> Factory:
        return layered_nodes(plan, tables, AnyLayers, options.settings())

    def contacts(self, plan: LayersPlan, node: NodeId) -> tuple[NodeId, ...]:
        return plan.contacts(node)

    def cost(self, plan: LayersPlan, ground: Ground) -> float | None:
        return delivery_cost(plan.delivery, ground)

    def keeps_order(self, options: LayeredOptions) -> bool:
        return options.matching == PUBLISHER  # others ask matchers, of which one may fail and another be asked

    def objection(self, options: LayeredOptions, *, sockets: bool, durable: bool) -> str:
        if sockets and options.delivery == MULTICAST:
            return "delivery = 'multicast' needs a network that multiplies messages; the simulator has one"
        if durable and options.confirm == "none":
            return "a durable network confirms what is matched or received"
        return ""


def _middle(ground: Ground, matchers: Sequence[int], count: int) -> tuple[int, ...]:
    """The matchers nearest to all nodes."""
    total = ground.latencies_ms.sum(axis=1)
    nearest = sorted(matchers, key=lambda place: (total[place], place))
    return tuple(sorted(nearest[:count]))


SCHEME = LayeredScheme()
