"""Popularity and volume of the values of a one-dimensional integer content space (Kyra, evaluation, B).

A value's *popularity* is the share of servers interested in it; its *volume* is the share of events that
carry it. Kyra's first three data models differ in nothing else:

    model          popularity                        volume
    uniform        the interest rate, for all        equal
    zipf-uniform   min(1, c / rank)                  equal
    multimodal     min(1, c * Gaussian mixture)      the same mixture, normalised

`c` is solved so that the mean popularity over all values equals the asked interest rate. The cap at 1 is not
a detail: at an interest of 10 % and 1,000 values the twenty most popular values are wanted by everyone.
(The fourth model, regional, depends on who asks and lives in `regional.py`.)

Where the paper is silent: ranks are scattered over the content space by a random permutation (`scattered`),
and "the average distance between peaks" is taken between neighbouring peaks. Over all pairs the Gaussians
would be two deviations apart on average, which merges them into one; the name says that they are several.

Cost: O(values) to build, O(values log values) for the Zipf and multimodal scaling.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from siftcast.model.errors import WorkloadError
from siftcast.workloads.parameters import require_choice, require_count, require_fraction, require_positive

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

DRAWS = ("independent", "stratified")
PEAK_DISTANCES = ("neighbours", "pairs")


def scale_to_mean(shape: Floats, mean: float) -> Floats:
    """Return min(1, c * shape) with c solved exactly so that the result has the given mean."""
    require_fraction("mean", mean)
    descending = np.sort(np.asarray(shape, dtype=np.float64))[::-1]
    total = mean * descending.size
    # With the k largest capped at 1, c = (total - k) / (sum of the rest). The right k is the first for which
    # the largest uncapped value stays below 1; searching it beats bisection, which never ends exactly.
    rest = np.concatenate((np.cumsum(descending[::-1])[::-1], [0.0]))
    capped = np.arange(descending.size)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        factors = (total - capped) / rest[:-1]
        fits = (factors >= 0.0) & (factors * descending <= 1.0) & (rest[:-1] > 0.0)
    if fits.any():
        scaled: Floats = np.minimum(1.0, factors[int(np.argmax(fits))] * shape)
        return scaled
    if np.count_nonzero(descending) == descending.size and mean == 1.0:
        return np.ones_like(shape, dtype=np.float64)
    raise WorkloadError(f"parameter 'mean' of {mean} cannot be reached: too few values have a popularity above zero")


@dataclass(frozen=True, slots=True)
class ValueModel:
    """Popularity and volume of the values 0 .. n-1."""

    name: str
    popularity: Floats
    volume: Floats
    peaks: tuple[float, ...] = field(default=())

    def __len__(self) -> int:
        return self.popularity.size

    def interest(self, servers: int, rng: np.random.Generator, *, exact: bool = False) -> Flags:
        """Say which of `servers` (rows) want which value (columns).

        Independent draws by default; `exact` gives every value round(popularity * servers) random takers.
        """
        require_count("servers", servers)
        draws = rng.random((servers, len(self)))
        if not exact:
            return draws < self.popularity
        takers = np.rint(self.popularity * servers)
        return np.argsort(np.argsort(draws, axis=0), axis=0) < takers

    def draw_values(self, count: int, rng: np.random.Generator, *, draw: str = "independent") -> Integers:
        """Draw the values of `count` events by volume.

        `stratified` lets every block of n events hold each value as often as its volume says, give or take
        one: for an equal volume each value once a block, in random order. Averages stay, maxima shrink.
        """
        require_count("count", count)
        require_choice("draw", draw, DRAWS)
        ladder = np.cumsum(self.volume)
        ladder /= ladder[-1]
        if draw == "independent":
            positions = rng.random(count)
        else:
            size = len(self)
            blocks = -(-count // size)
            steps = (np.arange(size) + rng.random((blocks, 1))) / size
            positions = rng.permuted(steps, axis=1).ravel()[:count]
        return np.minimum(np.searchsorted(ladder, positions, side="right"), len(self) - 1).astype(np.int64)


def _equal_volume(values: int) -> Floats:
    return np.full(values, 1.0 / values)


def uniform_values(values: int, interest_rate: float) -> ValueModel:
    """Every value is equally popular and equally frequent."""
    require_count("values", values, least=1)
    require_fraction("interest_rate", interest_rate)
    return ValueModel("uniform", np.full(values, float(interest_rate)), _equal_volume(values))


def zipf_values(
    values: int,
    interest_rate: float,
    *,
    rng: np.random.Generator | None = None,
    exponent: float = 1.0,
) -> ValueModel:
    """Popularity min(1, c / rank^exponent), equal volume; with `rng`, ranks are scattered over the values."""
    require_count("values", values, least=1)
    require_fraction("interest_rate", interest_rate)
    require_positive("exponent", exponent)
    popularity = scale_to_mean(np.arange(1, values + 1, dtype=np.float64) ** -exponent, interest_rate)
    if rng is not None:
        popularity = rng.permutation(popularity)
    return ValueModel("zipf-uniform", popularity, _equal_volume(values))


def multimodal_values(
    values: int,
    interest_rate: float,
    *,
    peaks: Sequence[float],
    peak_distance: str = "neighbours",
) -> ValueModel:
    """Popularity and volume follow one mixture of equal Gaussians, sd = 1/4 of the mean peak distance."""
    require_count("values", values, least=2)
    require_fraction("interest_rate", interest_rate)
    require_choice("peak_distance", peak_distance, PEAK_DISTANCES)
    centres = np.sort(np.asarray(peaks, dtype=np.float64))
    require_count("peaks", int(centres.size), least=2)
    if peak_distance == "neighbours":
        mean_distance = float(np.diff(centres).mean())
    else:
        upper = np.triu_indices(centres.size, 1)
        mean_distance = float(np.abs(centres[:, None] - centres[None, :])[upper].mean())
    require_positive("peaks (mean distance)", mean_distance)
    offsets = np.arange(values)[:, None] - centres[None, :]
    density = np.exp(-0.5 * (offsets / (mean_distance / 4.0)) ** 2).sum(axis=1)
    volume = density / density.sum()
    return ValueModel(
        "multimodal",
        scale_to_mean(density, interest_rate),
        volume,
        tuple(float(centre) for centre in centres),
    )


def draw_peaks(values: int, rng: np.random.Generator, *, count: int = 5) -> tuple[float, ...]:
    """Choose distinct random peaks in the content space, in ascending order."""
    require_count("count", count, least=2, most=values)
    chosen = np.sort(rng.choice(values, size=count, replace=False))
    return tuple(float(peak) for peak in chosen)


def draw_weights(values: int, rng: np.random.Generator) -> Floats:
    """Event weights in (0, 1], uniform for every data model, as the paper assigns them to values."""
    require_count("values", values, least=1)
    return 1.0 - rng.random(values)
