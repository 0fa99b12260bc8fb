"""What clustering costs in time: rows C5 and C6, group by group, in CPU time on one thread.

Groups work at the same time on different peers, so what counts is the slowest branch. Each group's work is measured
separately, best of a few repeats, and a round of clustering is then replayed over links of 224 to 384 ms, each drawn
once:

    control message down, level by level    project, select centres       (links × levels - 1)
    centres up                               merge                         (links × levels - 1)
    final centres down, to every subscriber                                (links × levels)

C5 has two columns. The thesis decomposes matrices in full (JAMA), in time that grows with the cube, and its savings
are those of the cube. `full` does the same with LAPACK: all singular values of centred similarities, and the
generalised eigenproblem as printed. `ours` asks ARPACK for the few that are needed, which leaves less to save.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import process_time
from typing import Any, TypeVar

import numpy as np
from scipy import linalg, sparse

from siftcast.experiments.clustering.world import CLUSTERS, clusters_in, draw_world, true_classes
from siftcast.planning.clustering import (
    Centres,
    EmbeddingPlan,
    Frame,
    Group,
    Hierarchy,
    LocalEmbedding,
    MatchedEvents,
    accuracy,
    block_similarities,
    build_hierarchy,
    connected_groups,
    embed_group,
    entropy,
    false_positives,
    frame_below,
    kmeans,
    merge_centres,
    nearest_centres,
    project_group,
    root_frame,
    select_centres,
)
from siftcast.planning.clustering.embedding import cut_weights
from siftcast.planning.clustering.hierarchy import GroupKey

LINK_MS = (224.0, 384.0)
Found = dict[str, Any]
Result = TypeVar("Result")


def best_of(repeats: int, work: Callable[[], Result]) -> tuple[Result, float]:
    """What work gives, and the least CPU time it took."""
    times: list[float] = []
    for _ in range(repeats):
        begun = process_time()
        result = work()
        times.append(process_time() - begun)
    return result, min(times)


@dataclass(slots=True)
class Spent:
    """Seconds of one group: embedding its members, projecting them, and k-means of selection and merge."""

    local: float = 0.0
    projection: float = 0.0
    select: float = 0.0
    merge: float = 0.0

    @property
    def all(self) -> float:
        return self.local + self.projection + self.select + self.merge


class Round:
    """One round of clustering over a hierarchy, with the time each group takes."""

    def __init__(
        self, matched: MatchedEvents, hierarchy: Hierarchy, plan: EmbeddingPlan, *, clusters: int, repeats: int
    ) -> None:
        self.hierarchy = hierarchy
        self.spent: dict[GroupKey, Spent] = {}
        self._matched, self._plan, self._repeats = matched, plan, repeats
        self.frames: dict[GroupKey, Frame] = {}
        self._local: dict[GroupKey, LocalEmbedding] = {}
        for level in hierarchy.levels[::-1]:
            for group in level:
                self._embed(group)
        self._selected: dict[GroupKey, Centres] = {}
        self.centres = self._cluster(clusters)

    def _embed(self, group: Group) -> None:
        key, plan = group.key, self._plan
        own, landmarks = self._matched.take(group.members), group.landmark_places()
        spent = self.spent[key] = Spent()

        def local() -> LocalEmbedding:
            return embed_group(own, landmarks, plan, plan.generator(*key))

        self._local[key], spent.local = best_of(self._repeats, local)
        if group.parent is None:
            self.frames[key] = root_frame(group.members, own, self._local[key])
            return
        parent = self.frames[group.parent_key]

        def projected() -> Frame:
            projection = project_group(self._local[key], group.members, landmarks, own, parent, plan)
            return frame_below(parent, group.members, own, projection(self._local[key].coordinates))

        self.frames[key], spent.projection = best_of(self._repeats, projected)

    def _cluster(self, clusters: int) -> Centres:
        plan = self._plan
        for level in self.hierarchy.levels[::-1]:
            for group in level:
                key = group.key
                points = plan.points(self.frames[key].coordinates)

                def select(group: Group = group, points: Any = points) -> Centres:
                    if group.parent is None:
                        return kmeans(points, clusters, plan.generator(99))
                    return select_centres(points, self._selected[group.parent_key])

                self._selected[key], self.spent[key].select = best_of(self._repeats, select)
        below = {group.number: self._selected[group.key] for group in self.hierarchy.base}
        for level in self.hierarchy.levels[1:]:
            merged: dict[int, Centres] = {}
            for group in level:
                key = group.key

                def merge(group: Group = group, key: GroupKey = key, below: Any = below) -> Centres:
                    return merge_centres([below[child] for child in group.children], self._selected[key])

                merged[group.number], self.spent[key].merge = best_of(self._repeats, merge)
            below = merged
        return below[0]

    def reduction_seconds(self) -> float:
        """Local embeddings, all at once, then projections down the slowest branch."""
        arrived = self._arrivals(lambda spent: spent.projection)
        down = max(arrived[group.key] for group in self.hierarchy.base)
        return max(each.local for each in self.spent.values()) + down

    def clustering_seconds(self, rng: np.random.Generator) -> float:
        """From the root's first message until every subscriber knows the clusters; local embeddings are there."""
        links = {key: float(rng.uniform(*LINK_MS)) / 1_000 for key in self.spent}
        arrived = self._arrivals(lambda spent: spent.projection + spent.select, links)
        for level in self.hierarchy.levels[1:]:
            for group in level:
                ready = max(arrived[group.level - 1, child] + links[group.level - 1, child] for child in group.children)
                arrived[group.key] = ready + self.spent[group.key].merge
        last = self._arrivals(lambda _: 0.0, links, arrived[self.hierarchy.root.key])
        members = [float(rng.uniform(*LINK_MS, len(group.members)).max()) / 1_000 for group in self.hierarchy.base]
        return max(last[0, number] + slowest for number, slowest in enumerate(members))

    def load_of_root(self) -> float:
        """The root's peer coordinates a group on every level: all of one branch, the dearest."""
        group = self.hierarchy.root
        total = self.spent[group.key].all
        while group.children:
            below = self.hierarchy.levels[group.level - 1]
            group = max((below[child] for child in group.children), key=lambda each: self.spent[each.key].all)
            total += self.spent[group.key].all
        return total

    def load_of_base(self) -> float:
        """The dearest coordinator of the lowest level."""
        return max(self.spent[group.key].all for group in self.hierarchy.base)

    def _arrivals(
        self, cost: Callable[[Spent], float], links: dict[GroupKey, float] | None = None, begun: float = 0.0
    ) -> dict[GroupKey, float]:
        """When each group is done, if work goes from the root down."""
        done: dict[GroupKey, float] = {}
        for level in self.hierarchy.levels[::-1]:
            for group in level:
                key = group.key
                told = begun if group.parent is None else done[group.parent_key]
                link = 0.0 if links is None or group.parent is None else links[key]
                done[key] = told + link + cost(self.spent[key])
        return done


def measure_reduction(
    method: str, subscriptions: int, events: int, groups: int, shapes: list[list[float]], repeats: int, seed: int
) -> Found:
    """C5: seconds of dimensionality reduction for each (levels, landmarks), with both kinds of decomposition."""
    matched = draw_world("WL1", subscriptions, events, seed).recent()
    members = np.flatnonzero(matched.matched)
    plan = EmbeddingPlan(method=method, dimensions=20, seed=seed)
    found: Found = {}
    _warm_up(matched, members, plan)
    for levels, landmarks in [(1, 1.0), *((int(height), share) for height, share in shapes)]:
        rng = np.random.default_rng([seed, 7])
        base = connected_groups(matched, members, 1 if levels == 1 else groups, rng)
        hierarchy = build_hierarchy(base, rng, levels=levels, landmarks=landmarks, dimensions=plan.dimensions)
        measured = Round(matched, hierarchy, plan, clusters=clusters_in("WL1"), repeats=repeats)
        ours, path = measured.reduction_seconds(), np.random.default_rng([seed, 8])
        embeds = max(each.local for each in measured.spent.values())
        full = max(full_seconds(matched, group, plan, min(repeats, 2)) for level in hierarchy.levels for group in level)
        links = float(path.uniform(*LINK_MS, levels - 1).sum()) / 1_000
        found[f"{levels} {landmarks}"] = {
            "ours": ours,
            "full": ours - embeds + full,
            "projection": ours - embeds,
            "links": links,
        }
    return found


def full_seconds(matched: MatchedEvents, group: Group, plan: EmbeddingPlan, repeats: int) -> float:
    """Similarities of a group and their decomposition in full."""
    members = group.landmarks if plan.extends else group.members
    own = matched.take(members)

    def decompose() -> Any:
        similarity = block_similarities(own, own, name=plan.similarity)
        dense = np.asarray(similarity.toarray() if sparse.issparse(similarity) else similarity, dtype=np.float64)
        if plan.method == "rassoc":
            return linalg.svd(dense - dense.mean(axis=0))
        weights = cut_weights(dense, plan.sigma)
        degrees = np.diag(weights.sum(axis=1))
        return linalg.eigh(degrees - weights, degrees)

    return best_of(repeats, decompose)[1]


def _warm_up(matched: MatchedEvents, members: Any, plan: EmbeddingPlan) -> None:
    few = matched.take(members[:100])
    embed_group(few, np.arange(50), plan, plan.generator(0))


def measure_scale(
    method: str, workload: str, subscriptions: int, events: int, group_size: int, repeats: int, seed: int
) -> Found:
    """C6: a round of Table 3.1 at a size, its time with links, the load of coordinators, and how good it is."""
    options = {"hot_share": 1.0} if workload == "WL2" else {}
    world = draw_world(workload, subscriptions, events, seed, **options)
    matched = world.recent()
    members = np.flatnonzero(matched.matched)
    groups = max(1, round(len(members) / group_size))
    rng = np.random.default_rng([seed, 9])
    plan = EmbeddingPlan(method=method, dimensions=50, seed=seed)
    base = connected_groups(matched, members, groups, rng)
    hierarchy = build_hierarchy(base, rng, levels=4, landmarks=0.25, dimensions=plan.dimensions)
    _warm_up(matched, members, plan)
    measured = Round(matched, hierarchy, plan, clusters=CLUSTERS, repeats=repeats)
    labels = np.full(len(world), CLUSTERS, dtype=np.int64)
    for group in hierarchy.base:
        points = plan.points(measured.frames[group.key].coordinates)
        labels[group.members] = nearest_centres(points, measured.centres.points)
    last = false_positives(*world.matches(max(0, events - 500)), labels)
    found: Found = {
        "seconds": measured.clustering_seconds(rng),
        "root_load": measured.load_of_root(),
        "base_load": measured.load_of_base(),
        "root_members": len(hierarchy.root.members),
        "groups": len(base),
        "false_positive_share": last.share,
    }
    if workload == "WL2":
        classes = true_classes(world, matched, workload, seed)
        found |= {"entropy": entropy(classes, labels), "accuracy": accuracy(classes, labels)}
    return found
