"""Do the views of peers hold together? What is in them, seen from above, where the whole network can be seen.

A protocol that keeps views says what is in them in its `state()`: `neighbours` (links that carry events), `spare` and
`sampled` (names kept). Protocols without `neighbours` are not looked at. From that follow

- **connectivity**: the largest group of running nodes that reach each other over neighbours, either way;
- **symmetry**: the share of neighbours that have each other;
- **in-degree**: how many running nodes hold the name of a node. A spread that is small beside the mean says that nobody
  is about to be forgotten, and nobody is a hub;
- **freshness**: the share of names that belong to nobody who runs;
- **knowledge**: how many names a node holds, at most. No node may know everyone.

Cost: O(names) in numpy; ten thousand nodes of fifty names take a second, most of it to ask them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from siftcast.overlays.contract import NodeId, Protocol
from siftcast.runtimes.sim.checkers.columns import Flags, Integers
from siftcast.runtimes.sim.checkers.outcomes import Outcome, outcome_of

View = Literal["neighbours", "spare", "sampled"]
_VIEWS: tuple[View, ...] = ("neighbours", "spare", "sampled")


@dataclass(frozen=True, slots=True)
class _Links:
    """From which place to which; -1 for a name of nobody who runs."""

    source: Integers
    target: Integers

    @property
    def live(self) -> Flags:
        flags: Flags = self.target >= 0
        return flags


@dataclass(frozen=True, slots=True)
class Membership:
    """The views of all nodes that run."""

    nodes: tuple[NodeId, ...]
    links: Mapping[View, _Links]
    known_max: int

    @property
    def component_sizes(self) -> Integers:
        """The sizes of groups that hold together, largest first."""
        links, count = self.links["neighbours"], len(self.nodes)
        live = links.live
        graph = coo_array((np.ones(live.sum()), (links.source[live], links.target[live])), shape=(count, count))
        _, group = connected_components(graph, directed=False)
        sizes: Integers = np.sort(np.bincount(group))[::-1]
        return sizes

    @property
    def connected_share(self) -> float:
        """The share of nodes in the largest group."""
        return float(self.component_sizes[0]) / len(self.nodes) if self.nodes else 0.0

    @property
    def symmetric_share(self) -> float:
        """The share of links between neighbours that both ends have."""
        links = self.links["neighbours"]
        live = links.live
        there = links.source[live] * len(self.nodes) + links.target[live]
        back = links.target[live] * len(self.nodes) + links.source[live]
        return float(np.isin(there, back).mean()) if len(there) else 1.0

    def in_degrees(self, view: View) -> Integers:
        """How many running nodes hold each node's name."""
        links = self.links[view]
        degrees: Integers = np.bincount(links.target[links.live], minlength=len(self.nodes))
        return degrees

    def sizes(self, view: View) -> Integers:
        """How many names each node holds."""
        sizes: Integers = np.bincount(self.links[view].source, minlength=len(self.nodes))
        return sizes

    def dead_share(self, view: View) -> float:
        """The share of names that belong to nobody who runs."""
        links = self.links[view]
        return float(1.0 - links.live.mean()) if len(links.target) else 0.0

    @property
    def knows_everyone(self) -> bool:
        """Whether some node holds the names of all others; in a network that fits into one view it may."""
        return self.known_max >= len(self.nodes) - 1

    @property
    def outcome(self) -> Outcome:
        """Passed, if all nodes hold together; vacuous with fewer than two."""
        return outcome_of(faults=len(self.component_sizes) - 1 if self.nodes else 0, required=len(self.nodes) - 1)


def membership(protocols: Mapping[NodeId, Protocol]) -> Membership:
    """What the views of the running nodes hold now."""
    states = {node: state for node in sorted(protocols) if "neighbours" in (state := protocols[node].state())}
    nodes = tuple(states)
    place = {node: number for number, node in enumerate(nodes)}
    links: dict[View, _Links] = {}
    for view in _VIEWS:
        rows = [state.get(view, ()) for state in states.values()]
        counts = np.array([len(row) for row in rows], dtype=np.int64)
        targets = np.fromiter((place.get(name, -1) for row in rows for name in row), np.int64, int(counts.sum()))
        links[view] = _Links(np.repeat(np.arange(len(nodes)), counts), targets)
    known = (len({name for view in _VIEWS for name in state.get(view, ())}) for state in states.values())
    return Membership(nodes, links, max(known, default=0))
