"""Embedding group by group: local coordinates, then projections from level to level (thesis, 3.4.2).

Each group embeds its members alone (`embed_group`): under `rassoc` its landmarks, to which the others are extended;
under `ncut` all members. Such coordinates mean nothing outside the group. The root's are the global ones. Every other
group finds the map M that takes its local coordinates to the global ones of the level above, as well as it can
(`project_group`), and its members' global coordinates follow:

    rassoc   least squares between its landmarks here and in the parent group; SVD, so a rank too low does no harm
    ncut     least Σ w_ij |y_i - M x_j|² over parent members i and own members j, in closed form

The functions take and return plain values and know no other group, so groups may be Spark partitions and levels
stages. `embed_levels` is the same loop in one process.

Three repairs of what is printed, each shown by a test:
- Maps have a constant part. A linear map leaves a group's mean at the origin, wherever its members belong.
- The mean of neighbours' coordinates shrinks them by the eigenvalue, level by level, so targets of `ncut` are divided
  by it, as in the Nyström extension. Without that, not even one group alone gives back the centralized embedding.
- The printed closed form weights members by their degree in the group; the minimum of (3.4) needs their degree towards
  the parent. They differ where a member shares little with the parent group. `as_printed` does all three as printed.

Cost: a group of n members, m landmarks and p parent members takes O(n·m) (rassoc) or O(n² + n·p) (ncut) similarities.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from siftcast.planning.clustering.embedding import SIGMA, CutEmbedding, Embedding, embedding_named
from siftcast.planning.clustering.hierarchy import GroupKey, Hierarchy
from siftcast.planning.clustering.kmeans import unit_rows
from siftcast.planning.clustering.matched_events import Floats, Integers, MatchedEvents
from siftcast.planning.clustering.similarity import block_similarities

_BLOCK_ROWS = 8_192


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingPlan:
    """What every group must agree on; the seed gives each its own random numbers, wherever it runs."""

    method: str = "rassoc"
    dimensions: int = 20
    similarity: str = "jaccard"
    sigma: float = SIGMA
    seed: int = 0
    spherical: bool = True
    from_landmarks: bool = False
    as_printed: bool = False

    @property
    def extends(self) -> bool:
        """Whether a group embeds its landmarks only: always under `rassoc`, and on demand under `ncut`."""
        return self.method == "rassoc" or self.from_landmarks

    def points(self, coordinates: Floats) -> Floats:
        """What k-means sees: directions, or the coordinates themselves."""
        return unit_rows(coordinates) if self.spherical else coordinates

    def generator(self, *step: int) -> np.random.Generator:
        """The random numbers of a step, such as a group by its key."""
        return np.random.default_rng([self.seed, *step])


@dataclass(frozen=True, slots=True)
class LocalEmbedding:
    """A group's own coordinates, and the embedding of its landmarks that places others beside them."""

    coordinates: Floats
    degrees: Floats
    landmarks: Embedding


@dataclass(frozen=True, slots=True)
class Projection:
    """From local to global coordinates: x ↦ x·matrix + offset."""

    matrix: Floats
    offset: Floats

    def __call__(self, coordinates: Floats) -> Floats:
        projected: Floats = coordinates @ self.matrix + self.offset
        return projected


@dataclass(frozen=True, slots=True)
class Frame:
    """A parent group as its children see it: its members, what they matched, and where they are in the global space."""

    members: Integers
    matched: MatchedEvents
    coordinates: Floats
    spectrum: Floats
    tie: float


@dataclass(frozen=True, slots=True)
class GlobalEmbedding:
    """All groups in one space: local embeddings, projections and coordinates by their keys."""

    hierarchy: Hierarchy
    local: dict[GroupKey, LocalEmbedding]
    projections: dict[GroupKey, Projection]
    coordinates: dict[GroupKey, Floats]

    def points(self, plan: EmbeddingPlan) -> GlobalEmbedding:
        """The same with every group's coordinates as k-means sees them."""
        return replace(self, coordinates={key: plan.points(rows) for key, rows in self.coordinates.items()})

    def of_all(self, count: int) -> Floats:
        """A row for each of `count` subscriptions, NaN for those in no group."""
        rows = np.full((count, self.coordinates[0, 0].shape[1]), np.nan)
        for group in self.hierarchy.base:
            rows[group.members] = self.coordinates[0, group.number]
        return rows


def embed_group(
    matched: MatchedEvents, landmarks: Integers, plan: EmbeddingPlan, rng: np.random.Generator
) -> LocalEmbedding:
    """Local coordinates of a group from the matches of its members; `landmarks` are places among them."""
    embed = embedding_named(plan.method)
    known = matched.take(landmarks) if plan.extends else matched
    embedding = embed(block_similarities(known, known, name=plan.similarity), plan.dimensions, rng, sigma=plan.sigma)
    degrees = embedding.degrees if isinstance(embedding, CutEmbedding) else np.ones(len(known))
    if not plan.extends:
        kept = _restricted(embedding, landmarks)
        return LocalEmbedding(embedding.coordinates, degrees, kept)
    if len(known) == len(matched):
        return LocalEmbedding(embedding.coordinates, degrees, embedding)
    coordinates = extend_rows(embedding, matched, known, plan)
    coordinates[landmarks] = embedding.coordinates
    return LocalEmbedding(coordinates, np.ones(len(matched)), embedding)


def extend_rows(embedding: Embedding, matched: MatchedEvents, known: MatchedEvents, plan: EmbeddingPlan) -> Floats:
    """Coordinates of any subscriptions from their similarities to known ones, a block of rows at a time."""
    blocks = [
        embedding.extend(
            block_similarities(matched.take(slice(start, start + _BLOCK_ROWS)), known, name=plan.similarity)
        )
        for start in range(0, len(matched), _BLOCK_ROWS)
    ]
    return np.concatenate(blocks) if blocks else np.zeros((0, plan.dimensions))


def root_frame(members: Integers, matched: MatchedEvents, local: LocalEmbedding) -> Frame:
    """The root's own coordinates are the global ones."""
    tie = local.landmarks.tie if isinstance(local.landmarks, CutEmbedding) else 0.0
    return Frame(members, matched, local.coordinates, local.landmarks.spectrum, tie)


def project_group(
    local: LocalEmbedding,
    members: Integers,
    landmarks: Integers,
    matched: MatchedEvents,
    parent: Frame,
    plan: EmbeddingPlan,
) -> Projection:
    """The map of a group into the space of its parent; `landmarks` are places among the members."""
    if plan.extends:
        places = np.searchsorted(parent.members, members[landmarks])
        return linear_projection(
            local.coordinates[landmarks], parent.coordinates[places], with_offset=not plan.as_printed
        )
    similarity = block_similarities(matched, parent.matched, name=plan.similarity)
    if plan.as_printed:
        parent = replace(parent, spectrum=np.ones_like(parent.spectrum), tie=0.0)
    frame = CutEmbedding(parent.coordinates, parent.spectrum, np.ones(len(parent.members)), parent.tie, plan.sigma)
    reach = frame.weights_towards(similarity)
    return linear_projection(
        local.coordinates,
        frame.extend(similarity),
        weights=local.degrees if plan.as_printed else reach,
        with_offset=not plan.as_printed,
    )


def linear_projection(
    local: Floats, wanted: Floats, *, weights: Floats | None = None, with_offset: bool = True
) -> Projection:
    """The map with the least (weighted) sum of squares, the shortest of them where the rank leaves a choice."""
    share = np.ones(len(local)) if weights is None else weights
    if not share.sum() > 0:
        # Nobody here has anything in common with the parent group: the origin is the mean of all.
        return Projection(np.zeros((local.shape[1], wanted.shape[1])), np.zeros(wanted.shape[1]))
    here = share @ local / share.sum() if with_offset else np.zeros(local.shape[1])
    there = share @ wanted / share.sum() if with_offset else np.zeros(wanted.shape[1])
    root = np.sqrt(share)[:, None]
    matrix, *_ = np.linalg.lstsq(root * (local - here), root * (wanted - there), rcond=1e-9)
    return Projection(matrix, there - here @ matrix)


def frame_below(parent: Frame, members: Integers, matched: MatchedEvents, coordinates: Floats) -> Frame:
    """The frame of a group under `parent`, for its own children."""
    return Frame(members, matched, coordinates, parent.spectrum, parent.tie)


def embed_levels(matched: MatchedEvents, hierarchy: Hierarchy, plan: EmbeddingPlan) -> GlobalEmbedding:
    """All groups of all levels, in this process: local embeddings first, then projections from the root down."""
    local = {
        group.key: embed_group(matched.take(group.members), group.landmark_places(), plan, plan.generator(*group.key))
        for level in hierarchy.levels
        for group in level
    }
    top = hierarchy.root
    frames = {top.key: root_frame(top.members, matched.take(top.members), local[top.key])}
    projections: dict[GroupKey, Projection] = {}
    for level in hierarchy.levels[-2::-1]:
        for group in level:
            key, parent = group.key, frames[group.parent_key]
            own = matched.take(group.members)
            projections[key] = project_group(local[key], group.members, group.landmark_places(), own, parent, plan)
            frames[key] = frame_below(parent, group.members, own, projections[key](local[key].coordinates))
    return GlobalEmbedding(hierarchy, local, projections, {key: frame.coordinates for key, frame in frames.items()})


def _restricted(embedding: Embedding, landmarks: Integers) -> Embedding:
    """An embedding of all members as seen from the landmarks alone: a uniform sample of the neighbours."""
    assert isinstance(embedding, CutEmbedding)
    share = len(landmarks) / max(len(embedding.coordinates), 1)
    return replace(
        embedding,
        coordinates=embedding.coordinates[landmarks],
        degrees=embedding.degrees[landmarks],
        tie=embedding.tie * share,
    )
