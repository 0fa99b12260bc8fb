"""The eight servers of Figures 2 and 4: event 9, published at A, under filter-based routing and under Kyra (K12)."""

from __future__ import annotations

from typing import Any

from siftcast.model import Attribute, Event, Filter, Schema, Subscription
from siftcast.overlays.contract import Protocol, PublishRequested, SubscribeRequested
from siftcast.overlays.links import TreeLinks
from siftcast.overlays.loopback import Loopback
from siftcast.overlays.protocols.filter_based import FilterBased
from siftcast.overlays.protocols.kyra import Kyra
from siftcast.overlays.tables import matcher_tables
from siftcast.space import Clique, ContentSpace, KyraLayout, OwnedZones, Partition, Tree

A, B, C, D, E, F, G, H = range(8)
NAMES = "ABCDEFGH"
WANTED = {A: (1, 2), C: (7, 8), D: (0, 3), E: (5, 6), F: (2,), G: (4, 5, 6), H: (7, 9)}
"""The proxy subscriptions of Figure 4; whoever asks is its own proxy."""
TREE = Tree(range(8), [(A, C), (B, C), (C, E), (D, E), (E, F), (F, G), (G, H)])


def follow_example() -> dict[str, Any]:
    """The servers that event 9 passes, in order, and the trees' members."""
    layout = example_layout()
    tables = matcher_tables("brute_force")
    return {
        "fbr": _follow(lambda node: FilterBased(node, TreeLinks.of(TREE, node), tables)),
        "kyra": _follow(lambda node: Kyra(node, layout, tables)),
        "members": {f"t{tree}": "".join(NAMES[node] for node in found.nodes) for tree, found in layout.trees.items()},
    }


def example_layout() -> KyraLayout:
    """Zones and trees as Figure 4 lists them."""
    space = ContentSpace(Schema([Attribute("value", "int", (0, 9), 1)], name="example"))

    def zones(owners: tuple[int, ...], *places: float) -> OwnedZones:
        return OwnedZones(Partition.along(space, 0, places), owners)

    return KyraLayout(
        (
            Clique((A, B, C), zones((A, B, C), 4, 7), A),
            Clique((D, E), zones((D, E), 5), D),
            Clique((F, G, H), zones((F, G, H), 4, 7), F),
        ),
        zones((0, 1, 2), 4, 7),
        {
            0: Tree((A, D, F), [(A, D), (D, F)]),
            1: Tree((B, D, E, G), [(B, D), (D, E), (E, G)]),
            2: Tree((C, E, H), [(C, E), (E, H)]),
        },
        Tree((A, D, F), [(A, D), (D, F)]),
    )


def _follow(make: Any) -> str:
    def factory(node: int) -> Protocol:
        found: Protocol = make(node)
        return found

    net = Loopback(range(8), factory)
    for node, values in WANTED.items():
        filter_ = Filter.parse(f"value IN ({', '.join(map(str, values))})")
        net.do(node, SubscribeRequested((Subscription(f"s{node}", filter_),)))
    net.sent.clear()
    net.do(A, PublishRequested(Event({"value": 9}, id="e")))
    if net.delivered != [(H, "e", f"s{H}")]:
        raise AssertionError(f"event 9 is for H alone, not {net.delivered}")
    return "".join(NAMES[to] for _, to, _ in net.sent)
