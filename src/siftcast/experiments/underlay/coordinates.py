"""Network coordinates as a source of delays: Vivaldi with heights (Dabek et al., 2004).

Each peer has a point in three dimensions and a height above it, which stands for its last mile. It measures the delay
to a few peers drawn at random, one in each round, and moves as a spring would, the less the surer it is of itself:

    x += c·w·(rtt - |x - y|)·u(x - y)        w = own error / (own error + the other's)

Any two peers then know about how far apart they are, although they never measured it. What that is worth is seen by
choosing neighbours by predicted delays.

Cost: rounds times peers, in a few array operations for each round.
"""

from __future__ import annotations

import numpy as np

from siftcast.experiments.underlay.world import Floats

DIMENSIONS = 3
PROBED = 16
ROUNDS = 400
_GAIN = 0.25


def predict(delays_ms: Floats, rng: np.random.Generator) -> Floats:
    """The delays between all peers, as their coordinates tell after many rounds."""
    peers = len(delays_ms)
    unit = float(delays_ms.mean())
    known = np.stack([rng.permutation(peers - 1)[:PROBED] for _ in range(peers)])
    known += known >= np.arange(peers)[:, None]  # never oneself
    places = rng.normal(0.0, 0.1, (peers, DIMENSIONS)) * unit
    heights = np.full(peers, 0.05 * unit)
    errors = np.ones(peers)
    rows = np.arange(peers)
    for _ in range(ROUNDS):
        other = known[rows, rng.integers(known.shape[1], size=peers)]
        measured = np.maximum(delays_ms[rows, other], 1e-3)
        apart = places - places[other]
        predicted = np.maximum(np.linalg.norm(apart, axis=1) + heights + heights[other], 1e-9)
        weight = errors / (errors + errors[other])
        wrong = np.abs(predicted - measured) / measured
        errors = np.clip(wrong * _GAIN * weight + errors * (1 - _GAIN * weight), 1e-3, 2.0)
        push = _GAIN * weight * (measured - predicted) / predicted
        places = places + push[:, None] * apart
        heights = np.maximum(heights + push * (heights + heights[other]), 1e-3 * unit)
    between = np.linalg.norm(places[:, None, :] - places[None, :, :], axis=2)
    found: Floats = between + (heights[:, None] + heights[None, :])
    np.fill_diagonal(found, 0.0)
    return found


def relative_errors(predicted_ms: Floats, delays_ms: Floats) -> Floats:
    """For each pair with a delay above 0, by which part of it the prediction is wrong."""
    pairs = np.triu(delays_ms > 0, 1)
    found: Floats = np.abs(predicted_ms - delays_ms)[pairs] / delays_ms[pairs]
    return found


def with_noise(delays_ms: Floats, noise: float, rng: np.random.Generator) -> Floats:
    """What peers measure if each pair is wrong by up to a share of its delay, the same both ways."""
    factors = np.triu(rng.uniform(1.0 - noise, 1.0 + noise, delays_ms.shape), 1)
    found: Floats = delays_ms * (factors + factors.T)
    return found
