"""Runs one configuration of the sweep."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from threadpoolctl import threadpool_limits

from siftcast.experiments.clustering.dissemination import measure_dissemination
from siftcast.experiments.clustering.quality import (
    measure_dimensions,
    measure_embedding,
    measure_false_positives,
    measure_kmeans,
)
from siftcast.experiments.clustering.times import measure_reduction, measure_scale

PARTS: dict[str, Callable[..., dict[str, Any]]] = {
    "dimensions": measure_dimensions,
    "false_positives": measure_false_positives,
    "embedding": measure_embedding,
    "kmeans": measure_kmeans,
    "reduction": measure_reduction,
    "scale": measure_scale,
    "moving": measure_dissemination,
    "churn": measure_dissemination,
}


def run(configuration: dict[str, Any]) -> dict[str, Any]:
    """The entry of the sweep."""
    asked = dict(configuration)
    part = PARTS[asked.pop("part")]
    # One thread a task: Spark runs as many tasks as there are cores, and times are those of one thread.
    with threadpool_limits(1):
        return part(**asked)
