"""The regional data model: interest that fades with distance (Kyra, evaluation, B).

The probability that a subscription of server i matches an event of server j is min(1, c / distance(i, j)^g),
with g = 1 in the paper and c solved so that the mean over all pairs equals the asked interest rate.

To express that in a one-dimensional content space each value gets a home server; only the home publishes the
value, and interest in a value is interest in its home. The paper leaves open what distance(i, i) is: zero has
no inverse, so it counts as the smallest positive distance (which the cap mostly turns into certainty). Rejected:
certain interest in one's own events, which alone exceeds a 1 % rate below 100 servers.

Cost: O(servers^2) memory and O(servers^2 log servers) time for the matrix of probabilities.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from siftcast.model.errors import WorkloadError
from siftcast.workloads.content_values import Flags, Floats, Integers, scale_to_mean
from siftcast.workloads.parameters import require_count, require_fraction, require_positive


@dataclass(frozen=True, slots=True)
class RegionalModel:
    """Match probabilities between servers, and the home server of every value."""

    match_probability: Floats
    home: Integers

    @property
    def servers(self) -> int:
        """How many servers there are."""
        return int(self.match_probability.shape[0])

    def __len__(self) -> int:
        return self.home.size

    @property
    def popularity(self) -> Floats:
        """The expected share of servers interested in each value."""
        means: Floats = self.match_probability.mean(axis=0)
        return means[self.home]

    @property
    def volume(self) -> Floats:
        """The share of events carrying each value (equal)."""
        return np.full(len(self), 1.0 / len(self))

    def interest(self, rng: np.random.Generator) -> Flags:
        """Say which server (rows) wants which value (columns), by independent draws."""
        return rng.random((self.servers, len(self))) < self.match_probability[:, self.home]

    def interest_of(self, servers: Integers, rng: np.random.Generator) -> Flags:
        """Draw interests for any list of server numbers, one row each."""
        return rng.random((servers.size, len(self))) < self.match_probability[servers][:, self.home]


def regional_model(
    distances: Floats, interest_rate: float, *, values: int, rng: np.random.Generator, exponent: float = 1.0
) -> RegionalModel:
    """Build the model from a square matrix of distances between servers."""
    require_fraction("interest_rate", interest_rate)
    require_count("values", values, least=1)
    require_positive("exponent", exponent)
    matrix = np.asarray(distances, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.shape[0] == 0:
        raise WorkloadError(f"parameter 'distances' must be a square matrix, got the shape {matrix.shape}")
    if not (np.isfinite(matrix).all() and (matrix >= 0.0).all()):
        raise WorkloadError("parameter 'distances' must hold finite numbers of at least 0")
    positive = matrix[matrix > 0.0]
    least = float(positive.min()) if positive.size else 1.0
    nearness = np.maximum(matrix, least) ** -exponent
    probability = scale_to_mean(nearness.ravel(), interest_rate).reshape(matrix.shape)
    # Homes are dealt out in turn and shuffled: every server is home to as many values as any other, plus one.
    home = rng.permutation(np.arange(values, dtype=np.int64) % matrix.shape[0])
    return RegionalModel(probability, home)


def plane_distances(servers: int, rng: np.random.Generator) -> Floats:
    """Distances between random points of the unit square, where no real topology is at hand."""
    require_count("servers", servers, least=1)
    points = rng.random((servers, 2))
    offsets = points[:, None, :] - points[None, :, :]
    lengths: Floats = np.sqrt((offsets**2).sum(axis=2))
    return lengths
