"""The scheme `filter-based`: subscriptions flood a tree, events follow them back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from siftcast.overlays.protocols.filter_based import FilterBased
from siftcast.overlays.reuse import Reuse
from siftcast.overlays.tables import TableFactory
from siftcast.schemes.contract import Factory
from siftcast.schemes.ground import Ground
from siftcast.schemes.tree_plan import TreePlan, TreeScheme, plan_tree


@dataclass(frozen=True, slots=True)
class FilterOptions:
    """`graph` adds so many links per server to the tree; `unsafe` allows what is known to lose events."""

    summary: str = "none"
    advertisements: bool = False
    reuse: str = "never"
    graph: int = 0
    unsafe: bool = False

    def __post_init__(self) -> None:
        Reuse.parse(self.reuse)
        if self.graph < 0:
            raise ValueError(f"graph is a number of additional links per server, not {self.graph}")


class FilterBasedScheme(TreeScheme[FilterOptions]):
    """Filter-based routing, as Siena does it."""

    name = "filter-based"
    description = "subscriptions flood a tree, events follow them back"
    protocol = FilterBased
    options = FilterOptions()
    examples: ClassVar = (
        {},
        {"summary": "covering"},
        {"summary": "merging"},
        {"reuse": "always"},
        {"reuse": "partial-2"},
        {"summary": "covering", "reuse": "partial-2"},
        {"advertisements": True},
        {"graph": 2},
        {"graph": 1, "summary": "covering"},
        {"graph": 2, "summary": "merging"},
        {"graph": 2, "reuse": "always"},
        {"graph": 1, "reuse": "partial-1"},
        {"graph": 2, "summary": "merging", "reuse": "partial-1"},
        {"graph": 1, "advertisements": True, "summary": "covering"},
    )

    def plan(self, ground: Ground, options: FilterOptions) -> TreePlan:
        return plan_tree(ground, further_links=options.graph)

    def nodes(self, plan: TreePlan, options: FilterOptions, tables: TableFactory) -> Factory:
        reuse = Reuse.parse(options.reuse)
        return lambda node: FilterBased(
            node,
            plan.links(node),
            tables,
            summary=options.summary,
            advertisements=options.advertisements,
            reuse=reuse,
            unsafe=options.unsafe,
        )

    def advertises(self, options: FilterOptions) -> bool:
        return options.advertisements


SCHEME = FilterBasedScheme()
