"""When the events of a scenario are published: evenly, or in bursts.

    evenly       |    |    |    |    |    |    |         every interval_ms
    in bursts    |||      |  ||||      |                 the same mean interval; a burst's events are burst_ms apart

A burst is a run of events of one publisher, as the workload has them: an attack that a sensor reports, for example.
Where publishers take turns, each event is a burst of one. Bursts begin at random times, independent of each other, so
they may overlap. The seed decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import numpy as np


def publication_times(
    publishers: Sequence[str], interval_ms: float, burst_ms: float | None, rng: np.random.Generator
) -> list[float]:
    """The time of each event, in milliseconds after the first could be published."""
    if burst_ms is None:
        return [number * interval_ms for number in range(len(publishers))]
    lengths = [len(list(run)) for _, run in groupby(publishers)]
    starts = np.sort(rng.uniform(0.0, len(publishers) * interval_ms, len(lengths))).tolist()
    return [
        start + number * burst_ms for start, length in zip(starts, lengths, strict=True) for number in range(length)
    ]
