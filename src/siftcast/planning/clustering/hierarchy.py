"""Groups of subscriptions on levels, joined by landmarks: where distributed clustering runs (thesis, 3.4.1).

On the lowest level every subscription is in one group. Of each group some members, drawn uniformly, are its
*landmarks*; those of several groups are the members of one group on the level above, up to a single root. A group has
more landmarks than the embedding has dimensions if it has as many members, because fewer could not span the space.

    level 2                 root                    all landmarks of level 1
    level 1         a                   b           landmarks of their groups below
    level 0     c   d   e           f   g   h       every subscription once

Base groups are connected: any two members are joined by a chain of members that share events. NICE, which the thesis
adapts, groups by nearness in the network, which has nothing to do with interests, so members are drawn at random from
a connected component. Where such a draw is not connected, the component is cut along a spanning tree of subscriptions
and events instead, which always is (`_cut_tree`). Components smaller than a group are packed together: they have
nothing in common with anyone, so no grouping could connect them.

Cost: O(matches), about 1 s for 1,000,000 subscriptions of 20 matches, 4 s where the tree is needed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import breadth_first_order, connected_components

from siftcast.model import ClusteringError
from siftcast.planning.clustering.matched_events import Integers, MatchedEvents

GroupKey = tuple[int, int]
"""A level, from 0 for base groups, and the number of a group on it."""


@dataclass(frozen=True, slots=True)
class Group:
    """Members and landmarks (subscription numbers, ascending), and the numbers of the groups below and above."""

    level: int
    number: int
    members: Integers
    landmarks: Integers
    children: tuple[int, ...]
    parent: int | None

    @property
    def key(self) -> GroupKey:
        return self.level, self.number

    @property
    def parent_key(self) -> GroupKey:
        """The group above; the root has none, and is not asked."""
        assert self.parent is not None, f"group {self.number} of level {self.level} hangs on nothing"
        return self.level + 1, self.parent

    def landmark_places(self) -> Integers:
        """Where the landmarks stand among the members."""
        return np.searchsorted(self.members, self.landmarks)


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """Groups level by level, the lowest first; the last level is the root alone."""

    levels: tuple[tuple[Group, ...], ...]

    @property
    def root(self) -> Group:
        return self.levels[-1][0]

    @property
    def base(self) -> tuple[Group, ...]:
        return self.levels[0]


def build_hierarchy(
    base: tuple[Integers, ...],
    rng: np.random.Generator,
    *,
    levels: int,
    landmarks: float | int,
    dimensions: int,
) -> Hierarchy:
    """Levels above given base groups; `landmarks` is a share of each group (a float) or a number (an int)."""
    if levels < 1 or not base or (levels == 1 and len(base) > 1):
        raise ClusteringError(f"{levels} levels cannot hold {len(base)} base groups: one level is one group")
    check_landmarks(landmarks)
    built: list[tuple[Group, ...]] = []
    members, children = list(base), [()] * len(base)  # type: list[Integers], list[tuple[int, ...]]
    for level in range(levels):
        above = 0 if level == levels - 1 else _group_count(len(base), level + 1, levels)
        parents = np.array_split(np.arange(len(members)), above) if above else []
        parent_of = {int(child): number for number, below in enumerate(parents) for child in below}
        groups = tuple(
            Group(
                level,
                number,
                each,
                each if not above else _draw_landmarks(each, landmarks, dimensions, rng),
                children[number],
                parent_of.get(number),
            )
            for number, each in enumerate(members)
        )
        built.append(groups)
        members = [np.sort(np.concatenate([groups[child].landmarks for child in below])) for below in parents]
        children = [tuple(below.tolist()) for below in parents]
    return Hierarchy(tuple(built))


def connected_groups(
    matched: MatchedEvents, members: Integers, count: int, rng: np.random.Generator
) -> tuple[Integers, ...]:
    """`members` (all with matches) in about `count` base groups of similar size, connected where possible."""
    if count < 1 or not len(members):
        raise ClusteringError(f"{len(members)} subscriptions cannot be put into {count} groups")
    if count == 1:
        return (np.sort(members),)
    size = -(-len(members) // count)
    rows = matched.matrix[members]
    _, pieces = connected_components(_bipartite(rows), directed=False)
    piece = pieces[: len(members)]
    sizes = np.bincount(piece)
    order = np.lexsort((rng.random(len(members)), piece))
    starts = np.concatenate([[0], np.cumsum(sizes)])
    groups: list[Integers] = []
    for large in np.flatnonzero(sizes > 1.5 * size):
        places = order[starts[large] : starts[large + 1]]
        parts = np.array_split(places, max(1, round(len(places) / size)))
        groups += parts if _all_connected(rows, parts) else _cut_tree(rows[places], places, size)
    small = order[np.isin(piece[order], np.flatnonzero(sizes <= 1.5 * size))]
    if len(small):
        groups += _packed(small, piece, size)
    return tuple(np.sort(members[group]) for group in groups)


def _all_connected(rows: sparse.csr_matrix, parts: list[Integers]) -> bool:
    """One search for all parts: an event is another node for each of them."""
    chosen = rows[np.concatenate(parts)]
    part = np.repeat(np.arange(len(parts)), [len(each) for each in parts])
    entries = np.repeat(part, np.diff(chosen.indptr))
    pairs = np.unique(entries * chosen.shape[1] + chosen.indices, return_inverse=True)
    split = sparse.csr_matrix((chosen.data, pairs[1], chosen.indptr), shape=(chosen.shape[0], len(pairs[0])))
    found, _ = connected_components(_bipartite(split), directed=False)
    return bool(found == len(parts))


def _cut_tree(rows: sparse.csr_matrix, places: Integers, size: int) -> list[Integers]:
    """A connected component in connected groups of at most 2·size members, along a breadth-first tree.

    From the leaves up, each subscription hands itself and what hangs on it to the event above, and events hand what
    they gathered to the subscription above. All that an event gathers shares that event, so a bundle may be closed at
    any event once it is large enough. A subscription takes over the bundles of its events while it has room.
    """
    count = rows.shape[0]
    graph = _bipartite(rows)
    order, above = breadth_first_order(graph, 0, directed=False)
    link = list(range(len(above)))  # towards the bundle that a node has joined
    load = [1] * count + [0] * (len(above) - count)
    holder: list[int] = list(range(len(above)))  # the node that stands for a node's open bundle
    for node in order[:0:-1].tolist():
        upper = int(above[node])
        if load[node] == 0 or (node < count and load[node] >= size):
            continue
        if node < count:
            if load[upper] == 0:
                holder[upper] = node
            else:
                link[node] = holder[upper]
            load[upper] += load[node]
            load[upper] = 0 if load[upper] >= size else load[upper]
        elif load[upper] + load[node] <= 2 * size:
            link[holder[node]] = upper
            load[upper] += load[node]
    joined = np.asarray(link)
    while not np.array_equal(joined, joined[joined]):
        joined = joined[joined]
    label = joined[:count]
    sorted_places = np.argsort(label, kind="stable")
    ends = np.flatnonzero(np.diff(label[sorted_places])) + 1
    return [places[each] for each in np.split(sorted_places, ends)]


def _packed(places: Integers, piece: Integers, size: int) -> list[Integers]:
    """Small components, whole, in groups of about `size`; `places` come component by component."""
    component = piece[places]
    begins = np.flatnonzero(np.concatenate([[True], component[1:] != component[:-1]]))
    group = begins // size
    cuts = begins[1:][group[1:] != group[:-1]]
    return np.split(places, cuts)


def _bipartite(rows: sparse.csr_matrix) -> sparse.csr_matrix:
    """Subscriptions first, then events; edges only from the former, which an undirected search takes both ways."""
    count, events = rows.shape
    indptr = np.concatenate([rows.indptr, np.full(events, rows.indptr[-1], dtype=rows.indptr.dtype)])
    return sparse.csr_matrix((rows.data, rows.indices + count, indptr), shape=(count + events, count + events))


def _group_count(base: int, level: int, levels: int) -> int:
    """Groups thin out by the same factor from level to level, to one at the top."""
    share = (levels - 1 - level) / (levels - 1)
    return max(1, round(math.pow(base, share)))


def _draw_landmarks(members: Integers, landmarks: float | int, dimensions: int, rng: np.random.Generator) -> Integers:
    asked = int(landmarks) if isinstance(landmarks, int | np.integer) else int(np.ceil(landmarks * len(members)))
    count = min(len(members), max(asked, dimensions + 1))
    return np.sort(rng.choice(members, size=count, replace=False))


def check_landmarks(landmarks: float | int) -> None:
    """Raises ClusteringError unless it is a share or a number of landmarks."""
    whole = isinstance(landmarks, int | np.integer)
    number = isinstance(landmarks, int | float | np.number) and not isinstance(landmarks, bool)
    if not (number and (landmarks >= 1 if whole else 0 < landmarks <= 1)):
        raise ClusteringError(f"landmarks are a share in (0, 1] of a group or a whole number, not {landmarks!r}")
