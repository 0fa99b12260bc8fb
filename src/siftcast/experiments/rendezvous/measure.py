"""Runs one configuration of the sweep."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from siftcast.experiments.rendezvous.hops import measure_best, measure_idle, measure_queues, measure_replicas
from siftcast.experiments.rendezvous.placements import measure_applications, measure_load, measure_meetings
from siftcast.experiments.rendezvous.runs import (
    measure_application,
    measure_layers,
    measure_pair,
    measure_shared,
)

PARTS: dict[str, Callable[..., dict[str, Any]]] = {
    "meetings": measure_meetings,
    "load": measure_load,
    "idle": measure_idle,
    "replicas": measure_replicas,
    "queues": measure_queues,
    "best": measure_best,
    "circles": measure_applications,
    "shared": measure_shared,
    "pair": measure_pair,
    "application": measure_application,
    "layers": measure_layers,
}


def run(configuration: dict[str, Any]) -> dict[str, Any]:
    """The entry of the sweep."""
    asked = dict(configuration)
    return PARTS[asked.pop("part")](**asked)
