"""Runs one configuration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from siftcast.experiments.homed.covering import measure_covering
from siftcast.experiments.homed.example import follow_example
from siftcast.experiments.homed.pitfalls import draw_cast, measure_printed
from siftcast.experiments.homed.setup import Configuration

Found = dict[str, Any]


def run(configuration: Configuration) -> Found:
    """The entry of the sweep."""
    return PARTS[configuration["part"]](configuration)


def _example(configuration: Configuration) -> Found:
    return follow_example()


def _covering(configuration: Configuration) -> Found:
    return measure_covering(configuration["pairs"], configuration["seed"])


def _printed(configuration: Configuration) -> Found:
    seed = configuration["seed"]
    cast = draw_cast(
        configuration["identifiers"], configuration["bits"], configuration["nodes"], configuration["samples"], seed
    )
    cube = f"{configuration['identifiers']}, {configuration['bits']} bits, {configuration['nodes']:,} nodes"
    return {"cube": cube, **measure_printed(cast, np.random.default_rng([seed, 2]))}


PARTS: dict[str, Callable[[Configuration], Found]] = {
    "example": _example,
    "covering": _covering,
    "printed": _printed,
}
