"""Rings for the geometry rows: one zone for each cluster, each with H parts, laid out as the paper draws them.

The walk of zone t begins at the cluster t - ⌊H/2⌋, so that r lies in [-⌊H/2⌋, H - ⌊H/2⌋): the printed range, mended.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from siftcast.model import Event, Filter
from siftcast.model.values import Kind
from siftcast.space import ShardAxis, ShardPlan
from siftcast.space.ring_plan import Circle, Place, RingPlacement, RingPlan, cut_by_rank

KEYS = 1_000
KEY = "key"
_COLOURS = ("red", "green", "blue")


class Placing(Protocol):
    """Where subscriptions are kept and events go, as printed or as repaired."""

    def places(self, id: str, filter_: Filter) -> list[Place]: ...

    def visits(self, attributes: Mapping[str, object]) -> Mapping[int, tuple[int, ...]]: ...


@dataclass(frozen=True, slots=True)
class Shape:
    """R and H of an application."""

    replicas: int
    parts: int
    name: str = ""


def key_axis(zones: int) -> ShardAxis:
    """The primary key, cut into ranges of equal length."""
    return ShardAxis(KEY, Kind.NUMBER, tuple(KEYS * zone / zones for zone in range(1, zones)))


def circle(nodes: Sequence[int], shape: Shape) -> Circle:
    """X = N // R clusters of nodes in their order, a zone for each, and a span that begins at the first."""
    clusters = max(1, len(nodes) // shape.replicas)
    parts = min(shape.parts, clusters)
    axis = key_axis(clusters)
    zones = len(axis) + 1
    shards = ShardPlan((axis,), clusters, (0,) * zones, (0.0,) * zones, dealt=(parts,) * zones)
    starts = tuple((zone - parts // 2) % clusters for zone in range(len(axis)))
    return Circle(shards, cut_by_rank(nodes, clusters), (*starts, 0), shape.name)


def ring(nodes: int, *shapes: Shape) -> RingPlan:
    """A circle for each shape over the same nodes."""
    return RingPlan(tuple(circle(range(nodes), shape) for shape in shapes), "app" if len(shapes) > 1 else "")


def draw_filters(count: int, rng: np.random.Generator, names: Sequence[str] = ()) -> list[Filter]:
    """Filters that fix the key, bound it loosely or not at all, and name applications in several ways."""
    return [Filter.parse(_drawn_filter(rng, names)) for _ in range(count)]


def _drawn_filter(rng: np.random.Generator, names: Sequence[str]) -> str:
    low, other, width = (int(number) for number in rng.integers(0, KEYS, 3))
    colour = _COLOURS[int(rng.integers(len(_COLOURS)))]
    kinds = (
        f"key = {low}",
        f"key BETWEEN {low} AND {low + width // 20}",
        f"key >= {min(low, other)} AND key < {max(low, other)}",
        f"key IN ({low}, {other}, {width})",
        f"key = {low} OR colour = '{colour}'",
        f"NOT key = {low}",
        f"colour = '{colour}'",
        f"key < {low} AND colour = '{colour}'",
        "key IS NULL",
        "TRUE",
    )
    text = kinds[int(rng.integers(len(kinds)))]
    if not names:
        return text
    one, two = (names[int(number)] for number in rng.integers(0, len(names), 2))
    applications = (
        f"app = '{one}'",
        f"app = '{one}'",
        f"app IN ('{one}', '{two}')",
        f"NOT app = '{one}'",
        "app = 'nobody'",
        "TRUE",
    )
    return f"({text}) AND {applications[int(rng.integers(len(applications)))]}"


def draw_events(count: int, rng: np.random.Generator, names: Sequence[str] = ()) -> list[Event]:
    """Events, some of them without a key or with one of another kind, some of an application that has no circle."""
    found = []
    for number in range(count):
        attributes: dict[str, Any] = {"colour": _COLOURS[int(rng.integers(len(_COLOURS)))]}
        kind = rng.random()
        if kind < 0.9:
            attributes["key"] = int(rng.integers(KEYS))
        elif kind < 0.95:
            attributes["key"] = "not a number"
        if names:
            attributes["app"] = (*names, "nobody")[int(rng.integers(len(names) + 1))]
        found.append(Event(attributes, id=str(number)))
    return found


def count_meetings(placing: Placing, filters: Sequence[Filter], events: Sequence[Event]) -> dict[str, int]:
    """How often events meet the subscriptions that match them: `once` is right, `missed` and `again` are not."""
    kept = [placing.places(str(number), filter_) for number, filter_ in enumerate(filters)]
    found = {"once": 0, "missed": 0, "again": 0}
    for event in events:
        visited = placing.visits(event.attributes)
        for filter_, places in zip(filters, kept, strict=True):
            if filter_.matches(event):
                met = sum(visited.get(cluster, ()).count(label) for label, cluster in places)
                found["missed" if not met else "once" if met == 1 else "again"] += 1
    return found


def count_singles(placing: Placing, axis: ShardAxis, zone: int, count: int) -> dict[str, int]:
    """The same for an event, and subscriptions of the zone it lies in and of no other: those the paper speaks of."""
    edges = (0, *axis.cuts, KEYS)
    wanted = Filter.parse(f"key >= {edges[zone]} AND key < {edges[zone + 1]}")
    return count_meetings(placing, [wanted] * count, [Event({KEY: edges[zone]}, id="e")])


def placement(plan: RingPlan) -> RingPlacement:
    """The code that the live ring runs."""
    return RingPlacement(plan)
