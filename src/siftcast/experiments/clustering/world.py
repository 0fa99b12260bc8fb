"""Workloads of chapter 3 as arrays: boxes, who matched what, and the classes that clusters are compared with.

Classes. The thesis compares clusters with "the correct classification" and does not say what that is. Around hot spots
(WL2) it is the hot spot that a subscription was made for. Uniform subscriptions (WL1) have no such thing; there it is
what k-means finds in the similarities before any dimension is taken away, which is what an embedding approximates.

Cost: matching is an AND of five rows of flags per event, O(events · subscriptions) bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from siftcast.model import Event, Filter, Subscription
from siftcast.planning.clustering import MatchedEvents, kmeans, matched_events, nearest_centres, similarities, unit_rows
from siftcast.space import ContentSpace
from siftcast.workloads import generate

Floats = npt.NDArray[np.floating[Any]]
Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
CLUSTERS = 50
SPOTS = 5
PRESETS = {"WL1": "clustering-uniform", "WL2": "clustering-hotspots"}


@dataclass(frozen=True, slots=True)
class World:
    """Subscriptions as boxes (ends inclusive), events as points, and which matches which."""

    subscriptions: tuple[Subscription, ...]
    low: Integers
    high: Integers
    points: Integers
    events: tuple[Event, ...]
    spots: Integers
    """The hot spot of each subscription, -1 for none."""

    def __len__(self) -> int:
        return len(self.subscriptions)

    def matches(self, start: int = 0, stop: int | None = None) -> tuple[Integers, Integers]:
        """Matching pairs of the events from `start` to before `stop`: subscriptions, and events' numbers."""
        inside = [
            (self.low[:, axis] <= value) & (value <= self.high[:, axis])
            for axis in range(self.low.shape[1])
            for value in range(int(self.points.max(initial=0)) + 1)
        ]
        values = len(inside) // self.low.shape[1]
        rows: list[Integers] = []
        chosen = range(start, len(self.points) if stop is None else stop)
        for point in self.points[chosen.start : chosen.stop].tolist():
            flags = inside[point[0]].copy()
            for axis, value in enumerate(point[1:], 1):
                flags &= inside[axis * values + value]
            rows.append(np.flatnonzero(flags))
        numbers = np.repeat(np.arange(chosen.start, chosen.stop), [len(row) for row in rows])
        return (np.concatenate(rows) if rows else np.zeros(0, dtype=np.int64)), numbers

    def recent(self, stop: int | None = None) -> MatchedEvents:
        """What each subscription matched last, before an event."""
        rows, numbers = self.matches(0, stop)
        return matched_events(rows, numbers, count=len(self))


def draw_world(workload: str, subscriptions: int, events: int, seed: int, **options: Any) -> World:
    """A workload of the thesis; the attributes are its schema's, in order."""
    drawn = generate(PRESETS[workload], events=events, subscriptions=subscriptions, seed=seed, **options)
    space = ContentSpace(drawn.schema)
    filters = [Filter.parse(text) for text in drawn.subscriptions["filter"].to_pylist()]
    boxes = [space.boxes(each)[0] for each in filters]
    attributes = drawn.attributes()
    points = np.column_stack([attributes[name].to_numpy() for name in attributes.column_names]).astype(np.int64)
    names = drawn.subscriptions.column_names
    spots = drawn.subscriptions["hot_spot"].to_pylist() if "hot_spot" in names else [None] * len(filters)
    return World(
        subscriptions=tuple(Subscription(f"s{number}", each) for number, each in enumerate(filters)),
        low=np.array([box.lows for box in boxes]).astype(np.int64),
        high=np.array([box.highs for box in boxes]).astype(np.int64) - 1,  # boxes end before their highs
        points=points,
        events=tuple(Event(row, id=f"e{number}") for number, row in enumerate(attributes.to_pylist())),
        spots=np.array([-1 if spot is None else spot for spot in spots], dtype=np.int64),
    )


def clusters_in(workload: str) -> int:
    """As many clusters as hot spots; 50, the one number the thesis states, where there are none."""
    return SPOTS if workload == "WL2" else CLUSTERS


def true_classes(world: World, matched: MatchedEvents, workload: str, seed: int) -> Integers:
    """The class of each subscription, -1 for those that have none."""
    if workload == "WL2":
        return world.spots
    classes = np.full(len(world), -1, dtype=np.int64)
    heard = np.flatnonzero(matched.matched)
    rows = unit_rows(similarities(matched.take(heard)).toarray())
    centres = kmeans(rows, clusters_in(workload), np.random.default_rng([seed, 1]))
    classes[heard] = nearest_centres(rows, centres.points)
    return classes
