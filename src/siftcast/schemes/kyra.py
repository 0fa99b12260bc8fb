"""The scheme `kyra`: subscriptions move inside cliques of near servers, many small trees join the cliques."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from siftcast.overlays.contract import NodeId
from siftcast.overlays.protocols.kyra import Kyra
from siftcast.overlays.reuse import Reuse
from siftcast.overlays.tables import TableFactory
from siftcast.schemes.contract import Factory, Scheme
from siftcast.schemes.ground import Ground
from siftcast.space import KyraLayout

_TREES_MAX = 10_000


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
        if self.trees > _TREES_MAX:
            raise ValueError(f"'trees' is at most {_TREES_MAX:,}")


class KyraScheme(Scheme[KyraOptions, KyraLayout]):
    """Kyra on cliques by latency and zones of equal load."""

    name = "kyra"
    description = "subscriptions move inside cliques, many small trees"
    protocol = Kyra
    options = KyraOptions()
    needs_schema = True
    examples: ClassVar = (
        {"clique_ms_max": 1.5},
        {"clique_ms_max": 2.5, "trees": 2, "summary": "covering", "reuse": "partial-2", "clique_delivery": "ring"},
    )

    def plan(self, ground: Ground, options: KyraOptions) -> KyraLayout:
        from siftcast.planning import plan_kyra
        from siftcast.schemes.content_cells import cut_content

        cells = cut_content(ground, options.attribute)
        return plan_kyra(
            ground.latencies_ms,
            cells.space,
            cells.edges,
            cells.loads(),
            clique_ms_max=options.clique_ms_max,
            clique_servers_max=options.clique_servers_max or None,
            trees=options.trees or None,
            balance_factor=options.balance_factor,
            join_singletons=options.join_singletons,
            axis=cells.axis,
        )

    def cost(self, plan: KyraLayout, ground: Ground) -> float:
        from siftcast.planning.path_delays import mean_kyra_delay_ms

        return mean_kyra_delay_ms(plan, ground.latencies_ms)

    def assign(self, plan: KyraLayout, nodes: Sequence[NodeId]) -> KyraLayout:
        return plan.renamed(nodes)

    def nodes(self, plan: KyraLayout, options: KyraOptions, tables: TableFactory) -> Factory:
        reuse = Reuse.parse(options.reuse)
        return lambda node: Kyra(
            node, plan, tables, summary=options.summary, reuse=reuse, clique_delivery=options.clique_delivery
        )

    def contacts(self, plan: KyraLayout, node: NodeId) -> tuple[NodeId, ...]:
        near = set(plan.clique_of(node).members)
        for tree in (*plan.trees.values(), plan.outside_tree):
            near.update(tree.neighbours.get(node, ()))
        return tuple(sorted(near - {node}))


SCHEME = KyraScheme()
