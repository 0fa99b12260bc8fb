"""Choosing box widths so that an event matches the asked share of subscriptions.

Chapters 3 and 4 of the thesis fix the outcome ("each event matches 5 % of subscriptions") and leave the
width of a subscription open. For uniform events the width follows from a formula (see `boxes.py`). With hot
spots it does not, so it is found by bisection on a pilot: sample boxes and sample events whose random
numbers stay fixed while the mean length moves. The pilot has streams of its own, so calibration changes no
event.

Cost: ROUNDS evaluations of PILOT_SIZE^2 pairs, about 0.5 s for five attributes. The result is as exact as
the pilot is large: the rate over other draws differs by some hundredths of itself.
"""

from __future__ import annotations

from siftcast.model.errors import WorkloadError
from siftcast.workloads.boxes import BoxDraws
from siftcast.workloads.content_values import Integers
from siftcast.workloads.parameters import require_fraction

PILOT_SIZE = 2_000
ROUNDS = 16


def uniform_length(match_rate: float, dimensions: int) -> float:
    """The mean length at which uniform events hit uniform boxes at the given rate."""
    require_fraction("match_rate", match_rate)
    return float(match_rate ** (1.0 / dimensions))


def calibrate_length(pilot_boxes: BoxDraws, pilot_points: Integers, *, match_rate: float) -> float:
    """Find the mean length at which the pilot's points hit the pilot's boxes at the given rate."""
    require_fraction("match_rate", match_rate)
    shortest, longest = 0.0, 1.0
    least = pilot_boxes.boxes(shortest).match_rate(pilot_points)
    if match_rate < least:
        raise WorkloadError(
            f"parameter 'match_rate' of {match_rate} is too small: "
            f"boxes of one value in each attribute already match {least:.4f}"
        )
    for _ in range(ROUNDS):
        middle = (shortest + longest) / 2.0
        if pilot_boxes.boxes(middle).match_rate(pilot_points) < match_rate:
            shortest = middle
        else:
            longest = middle
    return longest
