"""The scheme `filter-based`: subscriptions flood a tree, events follow them back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from siftcast.overlays.protocols.filter_based import FilterBased
from siftcast.overlays.reuse import Reuse
from siftcast.overlays.tables import TableFactory
from siftcast.schemes.contract import Factory
from siftcast.schemes.ground import Ground
from siftcast.schemes.tree_plan import MST, NEAR, TreePlan, TreeScheme, check_tree, plan_tree


@dataclass(frozen=True, slots=True)
class FilterOptions:
    """`tree` is `mst` or `core`, the latter over the `near` shortest links of each server and those of the mst.

    `graph` adds so many links per server to the tree; `unsafe` allows what is known to lose events.
    """

    summary: str = "none"
    advertisements: bool = False
    reuse: str = "never"
    graph: int = 0
    unsafe: bool = False
    tree: str = MST
    near: int = NEAR

    def __post_init__(self) -> None:
        Reuse.parse(self.reuse)
        check_tree(self.tree, self.near)
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
        {"tree": "core", "near": 2},
    )

    def plan(self, ground: Ground, options: FilterOptions) -> TreePlan:
        return plan_tree(ground, kind=options.tree, near=options.near, further_links=options.graph)

    def remarks(self, ground: Ground, options: FilterOptions, plan: TreePlan) -> tuple[str, ...]:
        if ground.tree is None or options.tree == MST:
            return ()
        return (f"tree = '{options.tree}' of no effect: events go by the links that are written down",)

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
