"""Landmark trees (section 4.4.1): every peer in a tree below each landmark, placed by its route from there.

The rule: no child of a peer stands beside another that lies before it. As printed, a newcomer that lies before several
children adopts one of them, and the others stand beside it from then on. A peer at the landmark's own router lies
before all others and would become its only child (`same_router_adopts`, as printed); here it adopts nobody.
"""

from __future__ import annotations

import numpy as np

from siftcast.experiments.underlay.routes import is_before
from siftcast.experiments.underlay.world import Route, World


class LandmarkTree:
    """The tree below one landmark."""

    def __init__(self, world: World, root: int, *, adopts_all: bool = True, same_router_adopts: bool = False) -> None:
        self.root = root
        self.children: dict[int, list[int]] = {root: []}
        self._world = world
        self._adopts_all = adopts_all
        self._same_router_adopts = same_router_adopts
        self._routes: dict[int, Route] = {root: world.route(root, root)}

    def join(self, peer: int) -> None:
        """A peer comes, and is placed."""
        route = self._routes[peer] = self._world.route(self.root, peer)
        at = self.root
        while (below := self._before(at, route)) is not None:
            at = below
        children = self.children[at]
        # A peer at the landmark's own router lies before all others, and would become its only child.
        adopts = len(route) > 1 or self._same_router_adopts
        beyond = [each for each in children if adopts and is_before(route, self._routes[each])]
        if not self._adopts_all:
            beyond = beyond[:1]
        self.children[peer] = beyond
        self.children[at] = [each for each in children if each not in beyond] + [peer]

    def _before(self, at: int, route: Route) -> int | None:
        """Case 1: a child that lies before the newcomer; not one at the landmark's own router."""
        shared = len(route) == 1 or self._same_router_adopts
        known = [each for each in self.children[at] if shared or len(self._routes[each]) > 1]
        found = [each for each in known if is_before(self._routes[each], route)]
        return max(found, key=lambda each: len(self._routes[each]), default=None)

    def misplaced(self) -> int:
        """Children that stand beside one that lies before them."""
        return sum(
            any(
                other != each and len(self._routes[other]) > 1 and is_before(self._routes[other], self._routes[each])
                for other in children
            )
            for children in self.children.values()
            for each in children
        )


def plant(
    world: World,
    landmarks: int,
    rng: np.random.Generator,
    *,
    adopts_all: bool = True,
    same_router_adopts: bool = False,
) -> list[LandmarkTree]:
    """Trees below landmarks drawn at random, which all peers have joined in random order."""
    trees = []
    for root in rng.choice(world.peers, landmarks, replace=False).tolist():
        tree = LandmarkTree(world, root, adopts_all=adopts_all, same_router_adopts=same_router_adopts)
        for peer in rng.permutation(world.peers).tolist():
            if peer != root:
                tree.join(peer)
        trees.append(tree)
    return trees


def links_discovered(world: World, targets: list[list[int]]) -> float:
    """The share of the underlay that inferring the routes from peers to their targets shows."""
    found: set[tuple[int, int]] = set()
    for peer, others in enumerate(targets):
        for other in others:
            found |= world.links_of(peer, other)
    return len(found) / max(1, len(world.links_between_all))


def chosen_targets(world: World, kind: str, count: int, rng: np.random.Generator) -> list[list[int]]:
    """Targets by global knowledge (figure 4.3): landmarks for all, or each peer's nearest or farthest."""
    if kind == "landmarks":
        landmarks = rng.choice(world.peers, count, replace=False).tolist()
        return [[each for each in landmarks if each != peer] for peer in range(world.peers)]
    order = np.argsort(world.delays_ms, axis=1, kind="stable")
    # The first is the peer itself, at a delay of 0.
    chosen = order[:, 1 : count + 1] if kind == "nearest" else order[:, -count:]
    found: list[list[int]] = chosen.tolist()
    return found
