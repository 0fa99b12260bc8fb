"""Runs one configuration of the sweep."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from siftcast.experiments.qos.examples import follow_examples, measure_mapping
from siftcast.experiments.qos.networks import (
    measure_churn,
    measure_constraints,
    measure_construction,
    measure_fixed_view,
    measure_pieces,
    measure_shock,
)
from siftcast.experiments.qos.pitfalls import measure_pitfall
from siftcast.experiments.qos.properties import measure_bandwidth, measure_properties
from siftcast.experiments.qos.users import measure_users


def _examples(seed: int) -> dict[str, Any]:
    return follow_examples()


PARTS: dict[str, Callable[..., dict[str, Any]]] = {
    "examples": _examples,
    "mapping": measure_mapping,
    "properties": measure_properties,
    "construction": measure_construction,
    "fixed view": measure_fixed_view,
    "churn": measure_churn,
    "shock": measure_shock,
    "pieces": measure_pieces,
    "constraints": measure_constraints,
    "bandwidth": measure_bandwidth,
    "printed": measure_pitfall,
    "users": measure_users,
}


def run(configuration: dict[str, Any]) -> dict[str, Any]:
    """The entry of the sweep."""
    asked = dict(configuration)
    return PARTS[asked.pop("part")](**asked)
