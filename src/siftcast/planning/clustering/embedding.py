"""Subscriptions as points in few dimensions, near each other where they receive the same events (thesis, 3.3.1.3).

`rassoc`, Ratio Association: principal components. A subscription is the column of its similarities to all; the mean
column is subtracted, W̄ = UΛVᵀ is decomposed, and the coordinates are ΛVᵀ, which is UᵀW̄.

`ncut`, Normalized Cut: the smallest solutions of (D - W)q = λDq but the constant one. The thesis prints the weights as
exp(-sim/σ²), which is largest for pairs that have nothing in common. Here they are exp(-(1 - sim)/σ²), on pairs that
share an event. We take the largest eigenvectors v of D^-½ W D^-½, which are the same with q = D^-½ v, because ARPACK
finds large ones fast. Coordinates are scaled by √(sum of degrees), which makes them independent of the number of
points.

A graph in several pieces has several constant solutions, and tiny pieces would use up all dimensions. Such a graph is
tied together: every pair gets the weight (mean degree)/n on top, a term of rank one that is never written out
(regularised spectral clustering). A connected graph is left alone.

Both extend to points they have not seen from similarities to those they have (Nyström): UᵀW̄, and the mean of
neighbours' coordinates over the eigenvalue. Extending a known point gives its own coordinates, which a test checks.
A point that shares nothing with anyone goes to where zero similarities lead, under `ncut` to the origin.
Dimensions beyond the rank of the matrix are zero, so shapes never depend on the data.

Centring and ties are linear operators around the sparse matrix, so cost is O(iterations · pairs) and memory that of the
pairs. Directions have signs by their largest entry; the generator only gives ARPACK its start.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh, svds

from siftcast.model import ClusteringError
from siftcast.planning.clustering.matched_events import Floats

SIGMA = 0.7
_DENSE_POINTS_MAX = 256
_DOUBLE_POINTS_MAX = 8_192
_SPARSE_SHARE = 0.3
_ROUNDS = 50
_RANK_TOLERANCE = 1e-6
_SYMMETRY_TOLERANCE = 1e-4
Matrix = Any  # a square ndarray or csr_matrix


@dataclass(frozen=True, slots=True)
class LinearEmbedding:
    """Ratio Association: coordinates of the points, and what projects others into the same space."""

    coordinates: Floats
    spectrum: Floats
    mean: Floats
    directions: Floats

    def extend(self, similarity: Matrix) -> Floats:
        """Coordinates of new points (rows) from their similarities to the embedded ones (columns)."""
        return _times(similarity, self.directions) - self.mean @ self.directions


@dataclass(frozen=True, slots=True)
class CutEmbedding:
    """Normalized Cut: coordinates of the points, their degrees, and what extends them to others."""

    coordinates: Floats
    spectrum: Floats
    degrees: Floats
    tie: float
    sigma: float

    def extend(self, similarity: Matrix) -> Floats:
        """Coordinates of new points (rows) from their similarities to the embedded ones (columns)."""
        weights = cut_weights(similarity, self.sigma)
        count = len(self.coordinates)
        degrees = np.asarray(weights.sum(axis=1), dtype=np.float64).ravel() + self.tie
        pulled = _times(weights, self.coordinates) + self.tie / count * self.coordinates.sum(axis=0)
        usable = np.abs(self.spectrum) > _RANK_TOLERANCE
        inverse = np.where(usable, 1.0 / np.where(usable, self.spectrum, 1.0), 0.0)
        reach = np.where(degrees > 0, 1.0 / np.where(degrees > 0, degrees, 1.0), 0.0)
        extended: Floats = pulled * inverse * reach[:, None]
        return extended

    def weights_towards(self, similarity: Matrix) -> Floats:
        """How much weight each new point (row) has towards the embedded ones, without ties."""
        weights: Floats = np.asarray(cut_weights(similarity, self.sigma).sum(axis=1), dtype=np.float64).ravel()
        return weights


Embedding = LinearEmbedding | CutEmbedding


def ratio_association(
    similarity: Matrix, dimensions: int, rng: np.random.Generator, *, sigma: float = SIGMA
) -> LinearEmbedding:
    """Principal components of the similarities; `sigma` is for the other method and means nothing here."""
    matrix = _square(similarity, dimensions)
    count = matrix.shape[0]
    mean = np.asarray(matrix.mean(axis=0), dtype=np.float64).ravel()
    wanted = min(dimensions, count)
    if _is_small(count, wanted):
        centred = _dense(matrix) - mean
        _, values, rows = linalg.svd(centred, full_matrices=False)
        values, directions = values[:wanted], rows[:wanted].T
    else:
        # Similarities are symmetric, so the transpose needs no other matrix.
        operator = _operator(
            count,
            lambda x: _times(matrix, x) - mean @ x,
            lambda x: _times(matrix, x) - mean[:, None] * x.sum(axis=0),
        )
        values, rows = _largest_singular(operator, wanted, rng)
        directions = rows.T
    values = np.where(values > _RANK_TOLERANCE * max(values.max(initial=0.0), 1.0), values, 0.0)
    directions = _signed(np.where(values > 0, directions, 0.0))
    coordinates = np.asarray(_times(matrix, directions)) - mean @ directions
    return LinearEmbedding(
        _padded(coordinates, dimensions), _padded(values[None], dimensions)[0], mean, _padded(directions, dimensions)
    )


def normalized_cut(
    similarity: Matrix, dimensions: int, rng: np.random.Generator, *, sigma: float = SIGMA
) -> CutEmbedding:
    """The smallest non-constant solutions of the generalised eigenproblem of the weighted graph."""
    weights = cut_weights(_square(similarity, dimensions), sigma)
    count = weights.shape[0]
    degrees = np.asarray(weights.sum(axis=1), dtype=np.float64).ravel()
    pieces, _ = connected_components(sparse.csr_matrix(weights), directed=False)
    tie = float(degrees.mean()) if pieces > 1 else 0.0
    degrees = degrees + tie
    if not degrees.all():
        # Only where nobody shares anything with anybody, not even with itself: every point is as good as another.
        return CutEmbedding(np.zeros((count, dimensions)), np.zeros(dimensions), np.ones(count), 0.0, sigma)
    root = np.sqrt(degrees)
    volume = float(degrees.sum())

    def apply(x: Floats) -> Floats:
        """The normalised weights without their constant solution, times columns."""
        scaled = x / root[:, None]
        pulled = _times(weights, scaled) + tie / count * scaled.sum(axis=0)
        applied: Floats = pulled / root[:, None] - np.outer(root, root @ x) / volume
        return applied

    wanted = min(dimensions, count - 1)
    if _is_small(count, wanted):
        normalised = (_dense(weights) + tie / count) / np.outer(root, root) - np.outer(root, root) / volume
        values, vectors = linalg.eigh(normalised)
        values, vectors = values[::-1][:wanted], vectors[:, ::-1][:, :wanted]
    else:
        operator = _operator(count, apply, apply)
        values, vectors = _largest_eigen(operator, wanted, rng)
    coordinates = _signed(vectors) / root[:, None] * np.sqrt(volume)
    # A value of zero is the constant solution that was taken out, or noise; neither says anything of the graph.
    coordinates = np.where(np.abs(values) > _RANK_TOLERANCE, coordinates, 0.0)
    return CutEmbedding(_padded(coordinates, dimensions), _padded(values[None], dimensions)[0], degrees, tie, sigma)


Embed = Callable[..., Embedding]
EMBEDDINGS: dict[str, Embed] = {"rassoc": ratio_association, "ncut": normalized_cut}


def embedding_named(name: str) -> Embed:
    """A method of the registry, called with similarities, dimensions, a generator and sigma."""
    if not isinstance(name, str) or name not in EMBEDDINGS:
        raise ClusteringError(f"there is no method {name!r}; there are {', '.join(EMBEDDINGS)}")
    return EMBEDDINGS[name]


def cut_weights(similarity: Matrix, sigma: float = SIGMA) -> Matrix:
    """exp(-(1 - sim)/σ²) where two share an event, and 0 elsewhere."""
    if not sigma > 0:
        raise ClusteringError(f"sigma, the width of a neighbourhood, must be above 0, not {sigma}")
    if sparse.issparse(similarity):
        weights = similarity.tocsr(copy=True)
        weights.data = np.where(weights.data > 0, np.exp((weights.data - 1.0) / sigma**2), 0.0)
        return weights
    return np.where(similarity > 0, np.exp((similarity - 1.0) / sigma**2), 0.0)


def _square(similarity: Matrix, dimensions: int) -> Matrix:
    if similarity.ndim != 2 or similarity.shape[0] != similarity.shape[1] or not similarity.shape[0]:
        raise ClusteringError(f"an embedding needs similarities of all to all, not of the shape {similarity.shape}")
    if dimensions < 1:
        raise ClusteringError(f"an embedding has at least one dimension, not {dimensions}")
    # Doubles cost twice the memory and buy identities to the last digits; for many points nobody can tell.
    kind = np.float64 if similarity.shape[0] <= _DOUBLE_POINTS_MAX else np.float32
    matrix = similarity.astype(kind)
    # Solvers take symmetry for granted. One product with any vector tells, and costs a step of theirs.
    probe = np.cos(np.arange(matrix.shape[0], dtype=kind))
    if np.abs(matrix @ probe - matrix.T @ probe).max() > _SYMMETRY_TOLERANCE * np.abs(matrix).sum(axis=1).max():
        raise ClusteringError("an embedding needs similarities that are symmetric: each to another as that to it")
    # Each of many products skips the zeros of a sparse matrix, so it pays to leave them out of a full one.
    if not sparse.issparse(matrix) and np.count_nonzero(matrix) < _SPARSE_SHARE * matrix.size:
        matrix = sparse.csr_matrix(matrix)
    return matrix


def _operator(count: int, apply: Callable[[Floats], Floats], turned: Callable[[Floats], Floats]) -> LinearOperator:
    """A square operator, and its transpose, from functions on columns."""
    return LinearOperator(
        (count, count),
        dtype=np.float64,
        matvec=lambda x: apply(x.reshape(count, 1)).ravel(),
        rmatvec=lambda x: turned(x.reshape(count, 1)).ravel(),
        matmat=apply,
        rmatmat=turned,
    )


def _largest_singular(operator: LinearOperator, wanted: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Singular values, falling, and right vectors (rows)."""
    count = operator.shape[0]
    start = rng.standard_normal(count)
    options = {"v0": start, "tol": _tolerance(count), "solver": "arpack", "return_singular_vectors": "vh"}
    try:
        _, values, rows = svds(operator, k=wanted, **options)
    except ArpackError:
        # Krylov spaces end early where many values are equal. Iterating a block of vectors has no such end.
        block = _iterated(lambda x: operator.rmatmat(operator.matmat(x)), count, wanted, rng)
        _, values, turned = linalg.svd(operator.matmat(block), full_matrices=False)
        rows = turned @ block.T
    order = np.argsort(-values, kind="stable")[:wanted]
    return values[order], rows[order]


def _largest_eigen(operator: LinearOperator, wanted: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Eigenvalues from the largest down, and vectors (columns), of values that are all at least -1."""
    count = operator.shape[0]
    try:
        start = rng.standard_normal(count)
        values, vectors = eigsh(operator, k=wanted, which="LA", v0=start, tol=_tolerance(count))
    except ArpackError:
        block = _iterated(lambda x: operator.matmat(x) + x, count, wanted, rng)
        values, turned = linalg.eigh(block.T @ operator.matmat(block))
        vectors = block @ turned
    order = np.argsort(-values, kind="stable")[:wanted]
    return values[order], vectors[:, order]


def _iterated(apply: Callable[[Floats], Floats], count: int, wanted: int, rng: np.random.Generator) -> Floats:
    """An orthonormal basis close to the leading vectors of a positive operator, and some more for good measure."""
    block, _ = linalg.qr(rng.standard_normal((count, min(count, wanted + 10))), mode="economic")
    before = np.zeros(block.shape[1])
    for _ in range(_ROUNDS):
        block, triangle = linalg.qr(apply(block), mode="economic")
        sizes = np.abs(np.diag(triangle))
        if np.allclose(sizes, before, rtol=1e-12, atol=1e-14):
            break
        before = sizes
    found: Floats = block
    return found


def _is_small(count: int, wanted: int) -> bool:
    return count <= _DENSE_POINTS_MAX or wanted >= count // 3


def _tolerance(count: int) -> float:
    return 1e-10 if count <= _DOUBLE_POINTS_MAX else 1e-4


def _times(matrix: Matrix, vectors: Floats) -> Floats:
    """A product in the matrix's own precision: it would else be converted each time."""
    product: Floats = np.asarray(matrix @ vectors.astype(matrix.dtype, copy=False), dtype=np.float64)
    return product


def _dense(matrix: Matrix) -> Floats:
    array: Floats = np.asarray(matrix.toarray() if sparse.issparse(matrix) else matrix, dtype=np.float64)
    return array


def _signed(vectors: Floats) -> Floats:
    if not vectors.size:
        return vectors
    peaks = vectors[np.argmax(np.abs(vectors), axis=0), np.arange(vectors.shape[1])]
    return vectors * np.where(peaks < 0, -1.0, 1.0)


def _padded(columns: Floats, dimensions: int) -> Floats:
    return np.pad(columns, ((0, 0), (0, dimensions - columns.shape[1])))
