"""Network coordinates as a source of delays, and delays as they are measured.

Peers have the coordinates that users' nodes have (`space/coordinates.py`, Vivaldi). Each measures the delay to a few
peers drawn at random, one in each round, and moves. Any two then know about how far apart they are, although they never
measured it. What that is worth is seen by choosing neighbours by predicted delays.

Cost: rounds times peers.
"""

from __future__ import annotations

from random import Random

import numpy as np

from siftcast.experiments.underlay.world import Floats
from siftcast.space.coordinates import Coordinate

PROBED = 16
ROUNDS = 200


def predict(delays_ms: Floats, rng: np.random.Generator) -> Floats:
    """The delays between all peers, as their coordinates tell after many rounds."""
    peers = len(delays_ms)
    known = np.stack([rng.permutation(peers - 1)[:PROBED] for _ in range(peers)])
    known += known >= np.arange(peers)[:, None]  # never oneself
    places, random = [Coordinate()] * peers, Random(int(rng.integers(2**32)))
    for chosen in rng.integers(known.shape[1], size=(ROUNDS, peers)):
        partners = known[np.arange(peers), chosen].tolist()
        for peer, other in enumerate(partners):
            places[peer] = places[peer].moved(places[other], float(delays_ms[peer, other]), random)
    points = np.array([[place.x_ms, place.y_ms] for place in places])
    heights = np.array([place.height_ms for place in places])
    between = np.linalg.norm(points[:, None, :] - points[None, :, :], axis=2)
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
