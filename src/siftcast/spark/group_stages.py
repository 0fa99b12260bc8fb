"""Groups of subscriptions as Spark partitions, levels of the hierarchy as stages (thesis, 3.4).

    level 2   root        embed, cluster       ─┐ coordinates and centres go down, a stage for each level
    level 1   a   b       embed, project, select │
    level 0   c d e f     embed, project, select ▼   points stay where they are
                                               ─┐ centres with counts come back up, a stage for each level
              merge at b, a, then at the root   │
    level 0   c d e f     label                ◀┘ the last stage: every subscription joins its nearest centre

A row of a Spark table is a group; its task calls the functions of `planning.clustering` on it (`embed_group`,
`project_group`, `select_centres`, `merge_centres`), the same that run in one process, with the same random numbers. So
the answer is that of `SubscriptionClusters` with the same seed, up to rounding: a test compares them.

That is the k-means of selection and merge. For any other (`KMEANS`), the driver collects the points it needs and
finds the centres: those of the root for sampling, those of all groups for the central one and HP2PC.

The driver carries messages: to a group, its members' matches and what its parent knows of its landmarks; back from
it, the coordinates of its members if it has children, and its centres. The coordinates of the lowest level, the bulk,
stay with Spark from the stage that makes them to the stage that labels. Under `ncut` a child learns of all the
members of its parent, under `rassoc` only of its own landmarks.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from scipy import sparse
from threadpoolctl import threadpool_limits

from siftcast.planning.clustering import (
    Centres,
    EmbeddingPlan,
    Frame,
    GlobalEmbedding,
    Group,
    Hierarchy,
    MatchedEvents,
    embed_group,
    kmeans,
    merge_centres,
    nearest_centres,
    project_group,
    root_frame,
    select_centres,
)
from siftcast.planning.clustering.estimator import KMEANS
from siftcast.planning.clustering.hierarchy import GroupKey
from siftcast.planning.clustering.matched_events import Floats
from siftcast.spark.matched_numbers import Integers
from siftcast.spark.workers import map_batches

_CONTENT = "number int, content binary"
Work = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Labelled:
    """The centre (by its number) that every member of a base group is nearest to, and the centres."""

    members: Integers
    labels: Integers
    centres: Centres


@dataclass(frozen=True, slots=True)
class _Matches:
    """Matches of some subscriptions without the list of all events, which every group would carry."""

    indptr: Any
    indices: Any
    own: Integers
    universe: int

    @staticmethod
    def of(matched: MatchedEvents) -> _Matches:
        return _Matches(matched.matrix.indptr, matched.matrix.indices, matched.own, matched.universe)

    def unpack(self) -> MatchedEvents:
        shape = (len(self.own), self.universe)
        ones = np.ones(len(self.indices), dtype=np.float32)
        matrix = sparse.csr_matrix((ones, self.indices, self.indptr), shape=shape)
        return MatchedEvents(matrix, self.own, np.arange(self.universe))


@dataclass(frozen=True, slots=True)
class _ParentNews:
    """What a group learns of its parent: where some members are in the global space, and the parent's centres."""

    members: Integers
    matches: _Matches
    coordinates: Any
    spectrum: Any
    tie: float
    centres: Centres | None

    def frame(self) -> Frame:
        return Frame(self.members, self.matches.unpack(), self.coordinates, self.spectrum, self.tie)


@dataclass(frozen=True, slots=True)
class _Down:
    """A group on the way down; the root has no parent, and draws the first centres if any go down."""

    group: Group
    matches: _Matches
    plan: EmbeddingPlan
    parent: _ParentNews | None
    beginning: _Beginning | None


@dataclass(frozen=True, slots=True)
class _Beginning:
    """How the root draws the centres that groups select from."""

    k: int
    rng: np.random.Generator


@dataclass(frozen=True, slots=True)
class _Placed:
    """A group in the global space: what its children, and the merge, need of it."""

    members: Integers
    coordinates: Floats
    spectrum: Any
    tie: float
    selected: Centres | None


def cluster_groups(
    spark: SparkSession,
    known: MatchedEvents,
    hierarchy: Hierarchy,
    plan: EmbeddingPlan,
    k: int,
    rng: np.random.Generator,
    kmeans_name: str,
) -> Labelled:
    """Embeds, clusters and labels all members of the base groups, level by level."""
    beginning = _Beginning(k, rng) if kmeans_name == "hierarchical" else None
    above: dict[int, _Placed] = {}
    upper: dict[GroupKey, _Placed] = {}
    for level in reversed(hierarchy.levels[1:]):
        contents = [_descent(group, known, plan, above.get(_above(group)), beginning) for group in level]
        above = dict(enumerate(_collected(_stage(_dealt(spark, contents), _place_group))))
        upper |= {group.key: above[group.number] for group in level}
    contents = [_descent(group, known, plan, above.get(_above(group)), beginning) for group in hierarchy.base]
    base = _stage(_dealt(spark, contents), _place_group).persist()
    try:
        if beginning is not None:
            final = _merged(spark, base, hierarchy, upper)
        else:
            final = KMEANS[kmeans_name](_points(base, hierarchy, upper, plan, kmeans_name), k, rng)
        found = _collected(_stage(base, _Label(final, plan)))
    finally:
        base.unpersist()
    members = np.concatenate([group.members for group in hierarchy.base])
    return Labelled(members, np.concatenate(found), final)


def _merged(spark: SparkSession, base: DataFrame, hierarchy: Hierarchy, upper: dict[GroupKey, _Placed]) -> Centres:
    """The centres of the base groups, merged level by level up to the root."""
    centres: dict[int, Centres] = dict(enumerate(_collected(_stage(base, _centres_of))))
    for level in hierarchy.levels[1:]:
        merges = [([centres[child] for child in group.children], upper[group.key].selected) for group in level]
        centres = dict(enumerate(_collected(_stage(_dealt(spark, merges), _merge_group))))
    return centres[0]


def _points(
    base: DataFrame, hierarchy: Hierarchy, upper: dict[GroupKey, _Placed], plan: EmbeddingPlan, kmeans_name: str
) -> GlobalEmbedding:
    """The points that a k-means in the driver looks at."""
    coordinates = {key: placed.coordinates for key, placed in upper.items()}
    if kmeans_name != "sampling":
        coordinates |= {(0, number): each for number, each in enumerate(_collected(_stage(base, _coordinates_of)))}
    return GlobalEmbedding(hierarchy, {}, {}, coordinates).points(plan)


# -- in a task ---------------------------------------------------------------------------------------


def _place_group(task: _Down) -> _Placed:
    """Embeds a group, takes it into the global space, and moves its parent's centres to fit it."""
    group, plan, own = task.group, task.plan, task.matches.unpack()
    places = group.landmark_places()
    local = embed_group(own, places, plan, plan.generator(*group.key))
    if task.parent is None:
        top, begin = root_frame(group.members, own, local), task.beginning
        drawn = None if begin is None else kmeans(plan.points(top.coordinates), begin.k, begin.rng)
        return _Placed(group.members, top.coordinates, top.spectrum, top.tie, drawn)
    parent = task.parent
    coordinates = project_group(local, group.members, places, own, parent.frame(), plan)(local.coordinates)
    centres = None if parent.centres is None else select_centres(plan.points(coordinates), parent.centres)
    return _Placed(group.members, coordinates, parent.spectrum, parent.tie, centres)


def _centres_of(placed: _Placed) -> Centres | None:
    return placed.selected


def _coordinates_of(placed: _Placed) -> Floats:
    return placed.coordinates


def _merge_group(task: tuple[Sequence[Centres], Centres]) -> Centres:
    return merge_centres(*task)


@dataclass(frozen=True, slots=True)
class _Label:
    centres: Centres
    plan: EmbeddingPlan

    def __call__(self, placed: _Placed) -> Integers:
        return nearest_centres(self.plan.points(placed.coordinates), self.centres.points)


# -- between driver and tasks ------------------------------------------------------------------------


def _above(group: Group) -> int:
    return -1 if group.parent is None else group.parent


def _descent(
    group: Group, known: MatchedEvents, plan: EmbeddingPlan, parent: _Placed | None, beginning: _Beginning | None
) -> _Down:
    matches = _Matches.of(known.take(group.members))
    if parent is None:
        return _Down(group, matches, plan, None, beginning)
    # Least squares looks at the group's own landmarks in its parent; the cut weighs all that the parent has.
    told = group.landmarks if plan.extends else parent.members
    coordinates = parent.coordinates[np.searchsorted(parent.members, told)]
    news = _ParentNews(told, _Matches.of(known.take(told)), coordinates, parent.spectrum, parent.tie, parent.selected)
    return _Down(group, matches, plan, news, None)


def _dealt(spark: SparkSession, contents: Iterable[Any]) -> DataFrame:
    """A row for each group, and a partition for each row."""
    packed = [pickle.dumps(content, protocol=pickle.HIGHEST_PROTOCOL) for content in contents]
    table = pa.table({"number": pa.array(range(len(packed)), pa.int32()), "content": pa.array(packed, pa.binary())})
    return spark.createDataFrame(table).repartitionByRange(len(packed), "number")


def _stage(groups: DataFrame, work: Work) -> DataFrame:
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number, content in zip(batch.column(0), batch.column(1), strict=True):
                with threadpool_limits(limits=1):  # a core has a task of its own to run
                    result = work(pickle.loads(content.as_py()))
                done = pickle.dumps(result, protocol=pickle.HIGHEST_PROTOCOL)
                yield pa.RecordBatch.from_arrays(
                    [pa.array([number.as_py()], pa.int32()), pa.array([done], pa.binary())], ["number", "content"]
                )

    return map_batches(groups, run, _CONTENT)


def _collected(groups: DataFrame) -> list[Any]:
    """What the groups answered, in the order of their numbers."""
    table = groups.toArrow().sort_by("number")
    return [pickle.loads(content.as_py()) for content in table["content"]]
