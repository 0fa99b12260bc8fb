"""Copies of hot shards: how many tasks should share the events of a zone.

Cutting the subscriptions finer does not help a zone where most events are: each of its parts still meets all of them.
Copies do, at the price of building each matcher again (the layering paper's R beside its H, sections 4.1 and 4.2). The
time of a stage on so many slots is at least

    time = max(work of all tasks / slots, work of the largest task)
    work of a task = BUILD · subscriptions in it + its events · (1 + subscriptions in it / MET)

and heaviest-first scheduling comes near it. While the largest task decides, its zone gets a copy more; the best of
these plans is taken if it saves a tenth. So a plan whose tasks are even enough for the slots stays as it was.

The unit is what one copy of an event costs on its way through the shuffle and a matcher that finds little, 3 to 4 µs.
The costs of matching are set low on purpose: a copy that does not pay is worse than none.
"""

from __future__ import annotations

from dataclasses import replace
from heapq import heapify, heapreplace

from siftcast.space.shard_plan import ShardPlan

BUILD = 5.0  # 13 µs to parse and index a subscription, and its way through the shuffle
MET = 200_000.0  # among so many subscriptions more, an event takes twice the time
_WORTH = 0.9


def deal_events(plan: ShardPlan, *, events: int, slots: int) -> ShardPlan:
    """The plan with copies of the shards that would keep the others waiting, for so many events and tasks at once."""
    tasks = _Tasks(plan, events)
    copies = [1] * len(plan.parts)
    before = tasks.time(slots)
    best, least = copies.copy(), before
    while (zone := tasks.largest(slots)) is not None and copies[zone] < slots:
        tasks.copy(zone)
        copies[zone] += 1
        now = tasks.time(slots)
        if now < least:
            best, least = copies.copy(), now
    if least >= _WORTH * before:
        return replace(plan, replicas=())
    reason = (
        f"{sum(count > 1 for count in best)} zones have copies that share their events: so {events:,} events take "
        f"about {least / before:.0%} of the time on {slots} slots."
    )
    return replace(plan, replicas=tuple(best), reason=f"{plan.reason}\n{reason}".strip())


class _Tasks:
    """The work of all tasks of a stage, the largest known at any time."""

    def __init__(self, plan: ShardPlan, events: int) -> None:
        self._parts = plan.parts
        sizes = [count / max(1, parts) for count, parts in zip(plan.counts, self._parts, strict=True)]
        self._building = [BUILD * size for size in sizes]
        self._matching = [
            share * events * (1 + size / MET) for share, size in zip(plan.event_shares, sizes, strict=True)
        ]
        self._copies = [1] * len(sizes)
        self._heap = [(-self._work(zone), zone) for zone, parts in enumerate(self._parts) if parts]
        heapify(self._heap)
        self._total = -sum(work * self._parts[zone] for work, zone in self._heap)

    def _work(self, zone: int) -> float:
        return self._building[zone] + self._matching[zone] / self._copies[zone]

    def time(self, slots: int) -> float:
        """How long the stage takes at least."""
        return max(self._total / slots, -self._heap[0][0]) if self._heap else 0.0

    def largest(self, slots: int) -> int | None:
        """The zone of the largest task, if that decides the time."""
        if not self._heap or -self._heap[0][0] <= self._total / slots:
            return None
        return self._heap[0][1]

    def copy(self, zone: int) -> None:
        """Gives the zone of the largest task a copy more."""
        self._copies[zone] += 1
        self._total += self._parts[zone] * self._building[zone]
        heapreplace(self._heap, (-self._work(zone), zone))
