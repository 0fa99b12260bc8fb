"""The scheme `rendezvous`: matchers on a ring of clusters, and any delivery (layering paper, 4.2).

The knobs are the paper's: R replicas of what a matcher keeps, for events per second and for failures; H parts of each
zone, for subscriptions per matcher. `siftcast plan ring` proposes them from a log of events and subscriptions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import ClassVar

from siftcast.overlays.contract import NodeId
from siftcast.overlays.protocols.layered import RendezvousLayers, RendezvousSettings
from siftcast.overlays.tables import TableFactory
from siftcast.schemes.circle_remarks import remarks_on
from siftcast.schemes.circles import CircleOptions, lay_out
from siftcast.schemes.contract import Factory, Scheme
from siftcast.schemes.delivery_plan import (
    DIRECT,
    MULTICAST,
    RING,
    check_delivery,
    delivery_cost,
    plan_delivery,
    remarks_on_links,
)
from siftcast.schemes.ground import Ground
from siftcast.schemes.matching_plan import LayersPlan, layered_nodes, matchers_of
from siftcast.space import RingPlan

SCATTER, WALK = VISITS = ("scatter", "walk")
FULL, LOG = ROUTING_TABLES = ("full", "log")
_KNOBS = ("clusters", "replicas", "parts")


@dataclass(frozen=True, slots=True)
class RendezvousOptions(CircleOptions):
    """The ring (see `CircleOptions`), how it is visited, how events are delivered, and applications of their own.

    `applications` names values of the attribute `application` with knobs that differ: "games: replicas=4; alerts:
    replicas=1, parts=6". `tables` says whether nodes know all others, or log N of them.
    """

    visit: str = SCATTER
    collect: bool = False
    confirm: str = "received"
    delivery: str = DIRECT
    tables: str = FULL
    application: str = "application"
    applications: str = ""
    retry_ms: float = 1_000.0
    catch_up_ms: float = 3_000.0
    open_max: int = 10_000
    clique_ms_max: float = 50.0

    def __post_init__(self) -> None:
        CircleOptions.__post_init__(self)
        if self.visit not in VISITS:
            raise ValueError(f"visit is one of {', '.join(VISITS)}, not '{self.visit}'")
        if self.tables not in ROUTING_TABLES:
            raise ValueError(f"tables is one of {', '.join(ROUTING_TABLES)}, not '{self.tables}'")
        check_delivery(self.delivery)
        self.settings()
        self.circles()

    def settings(self) -> RendezvousSettings:
        """What the finder of each node is made with."""
        return RendezvousSettings(
            walk=self.visit == WALK,
            collect=self.collect,
            confirm=self.confirm,
            retry_ms=self.retry_ms,
            catch_up_ms=self.catch_up_ms,
            open_max=self.open_max,
        )

    def circles(self) -> dict[str, CircleOptions]:
        """The knobs of each application; that of all others has no name."""
        base = {each.name: getattr(self, each.name) for each in fields(CircleOptions)}
        found = {"": CircleOptions(**base)}
        for text in filter(None, (part.strip() for part in self.applications.split(";"))):
            name, _, knobs = (part.strip() for part in text.partition(":"))
            changes = dict(_knob(each) for each in knobs.split(","))
            if not name or name in found:
                raise ValueError(f"each application has a name of its own: {text!r}")
            others = {**base, "clusters": 0, "zone_parts": "", "cluster_weights": ""}
            found[name] = CircleOptions(**{**others, **changes})
        return found


def _knob(text: str) -> tuple[str, int]:
    name, _, value = (part.strip() for part in text.partition("="))
    if name not in _KNOBS or not value.isdigit():
        raise ValueError(f"an application has {', '.join(_KNOBS)}, as in 'games: replicas=4, parts=1', not {text!r}")
    return name, int(value)


class RendezvousScheme(Scheme[RendezvousOptions, LayersPlan]):
    """The configurable ring."""

    name = "rendezvous"
    description = "matchers on a ring of clusters: R replicas, H parts, any delivery"
    protocol = RendezvousLayers
    options = RendezvousOptions()
    uses_schema = True
    sends_once = False
    examples: ClassVar = (
        {},
        {"replicas": 1, "parts": 2, "visit": "walk", "delivery": "tree"},
        {"replicas": 1, "parts": 3, "collect": True, "confirm": "matched", "delivery": "ring"},
        {"replicas": 1, "parts": 2, "tables": "log", "delivery": "cliques", "clique_ms_max": 1.5},
        {"confirm": "none", "rendezvous": "hash", "key": "kind", "zones": 3, "applications": "x: replicas=1, parts=2",
         "application": "kind"},
        {"replicas": 1, "rendezvous": "none", "parts": 2, "visit": "walk", "confirm": "none"},
    )  # fmt: skip

    def plan(self, ground: Ground, options: RendezvousOptions) -> LayersPlan:
        matchers = matchers_of(ground)
        circles = tuple(lay_out(ground, knobs, matchers, name) for name, knobs in options.circles().items())
        return LayersPlan(
            plan_delivery(ground, options.delivery, clique_ms_max=options.clique_ms_max),
            ring=RingPlan(circles, options.application),
            carried=plan_delivery(ground, RING, clique_ms_max=0.0) if options.tables == LOG else None,
        )

    def remarks(self, ground: Ground, options: RendezvousOptions, plan: LayersPlan) -> tuple[str, ...]:
        circles = () if plan.ring is None else plan.ring.circles
        found = [
            f"application {circle.name}: {remark}" if circle.name else remark
            for circle, knobs in zip(circles, options.circles().values(), strict=True)
            for remark in remarks_on(ground, knobs, circle)
        ]
        return (*found, *remarks_on_links(ground, options.delivery))

    def assign(self, plan: LayersPlan, nodes: Sequence[NodeId]) -> LayersPlan:
        return plan.renamed(nodes)

    def nodes(self, plan: LayersPlan, options: RendezvousOptions, tables: TableFactory) -> Factory:
        return layered_nodes(plan, tables, RendezvousLayers, options.settings())

    def contacts(self, plan: LayersPlan, node: NodeId) -> tuple[NodeId, ...]:
        return plan.contacts(node)

    def cost(self, plan: LayersPlan, ground: Ground) -> float | None:
        return delivery_cost(plan.delivery, ground)

    def keeps_order(self, options: RendezvousOptions) -> bool:
        return False  # each event goes by matchers of its own

    def objection(self, options: RendezvousOptions, *, sockets: bool, durable: bool) -> str:
        if sockets and options.delivery == MULTICAST:
            return "delivery = 'multicast' needs a network that multiplies messages; the simulator has one"
        if durable and (options.collect or options.confirm == "none"):
            return "a durable ring must not collect, and confirms what is matched or received"
        return ""


SCHEME = RendezvousScheme()
