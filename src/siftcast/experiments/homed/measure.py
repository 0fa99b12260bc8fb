"""Runs one configuration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from siftcast.experiments.homed.covering import measure_covering
from siftcast.experiments.homed.example import follow_example
from siftcast.experiments.homed.growth import measure_growth
from siftcast.experiments.homed.pitfalls import draw_cast, measure_printed
from siftcast.experiments.homed.recovery import measure_recovery
from siftcast.experiments.homed.setup import SLOW_BEATS, Configuration
from siftcast.experiments.homed.variants import measure_variant

Found = dict[str, Any]


def run(configuration: Configuration) -> Found:
    """The entry of the sweep."""
    return PARTS[configuration["part"]](configuration)


def _example(asked: Configuration) -> Found:
    return follow_example()


def _covering(asked: Configuration) -> Found:
    return measure_covering(asked["pairs"], asked["seed"])


def _printed(asked: Configuration) -> Found:
    cast = draw_cast(asked["identifiers"], asked["bits"], asked["nodes"], asked["samples"], asked["seed"])
    cube = f"{asked['identifiers']}, {asked['bits']} bits, {asked['nodes']:,} nodes"
    return {"cube": cube, **measure_printed(cast, np.random.default_rng([asked["seed"], 2]))}


def _growth(asked: Configuration) -> Found:
    workload, nodes, seed = asked["workload"], asked["nodes"], asked["seed"]
    return measure_growth(workload, nodes, seed, SLOW_BEATS, asked["probes"], asked["events"])


def _recovery(asked: Configuration) -> Found:
    return measure_recovery(asked["workload"], asked["nodes"], asked["seed"], asked["crashes"], asked["events"])


def _variant(asked: Configuration) -> Found:
    return measure_variant(asked["variant"], asked["nodes"], asked["seed"], asked["events"])


PARTS: dict[str, Callable[[Configuration], Found]] = {
    "example": _example,
    "covering": _covering,
    "printed": _printed,
    "growth": _growth,
    "recovery": _recovery,
    "variants": _variant,
}
