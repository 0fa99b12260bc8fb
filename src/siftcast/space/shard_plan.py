"""Which shard keeps which subscription, and why: the plan of sharded matching.

    axis 0   zone 0 │ zone 1 │ … │ zone k      subscriptions that want a few zones of the first attribute
    axis 1   zone 0 │ …                        of the others, those that want a few zones of a second
    span     part 0 │ part 1 │ …               all others, divided by a hash of their id

A zone with more subscriptions than a shard should hold is divided by the same hash. A shard is one part of one zone, or
of the span; shards are numbered in this order.

Invariants, from which "same results as one matcher" follows:

 1. A subscription is in zones of at most one axis, or in the span, never in both; and in one part of each of them.
 2. An event goes to all parts of its zone on each axis, of which there is at most one, and to all parts of the span.
 3. A subscription in zones of an axis can be true only for events that have one of those zones (`shard_axes`).

By 2 and 3 an event meets every subscription that it can satisfy. By 1 and 2 it meets it once, though copies of it are
in several zones: so results need no distinct().

Zones and parts cover whatever may come, so a plan made from old data is still right, only less balanced.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from zlib import crc32

from siftcast.model import Filter
from siftcast.space.hash_axis import HashAxis
from siftcast.space.shard_axes import InterestReader, ShardAxis, cut_value

REPLICAS_MAX = 4  # a subscription that wants more zones of an attribute spans it
CROWDED = 1.5  # how many times its even share a zone may hold before it is divided


@dataclass(frozen=True)
class ShardPlan:
    """Zones, the parts of each, and the figures behind them; `explain()` is for people.

    `counts`, `event_shares` and `parts` have an entry for each zone, axis after axis, and one for the span. Counts are
    of all subscriptions, shares of events come from a sample. `idle` counts subscriptions that nothing can satisfy.
    """

    axes: tuple[ShardAxis | HashAxis, ...]
    asked: int
    counts: tuple[int, ...]
    event_shares: tuple[float, ...]
    idle: int = 0
    total: int = 0
    reason: str = ""
    dealt: tuple[int, ...] = ()
    """The parts of each zone where somebody has chosen them; otherwise they follow from the counts."""
    replicas: tuple[int, ...] = ()
    """How many copies of each part of a zone share its events; empty for one each."""

    def sized(self, counts: Sequence[int], idle: int, total: int) -> ShardPlan:
        """The same zones with other subscriptions in them."""
        return replace(self, counts=tuple(counts), idle=idle, total=total)

    @property
    def parts(self) -> tuple[int, ...]:
        """Into how many shards each zone is divided; 0 for one without subscriptions, unless parts were chosen."""
        if self.dealt:
            return self.dealt
        even = max(1, -(-self.total // self.asked))
        crowded = max(1, int(even * CROWDED))
        zones = [0 if not count else 1 if count <= crowded else -(-count // even) for count in self.counts[:-1]]
        return (*zones, -(-self.counts[-1] // even))

    @property
    def shards(self) -> int:
        """How many shards there are."""
        return sum(self.parts)

    @property
    def first_zones(self) -> tuple[int, ...]:
        """The number of each axis's first zone, and that of the span."""
        return tuple(accumulate((len(axis) for axis in self.axes), initial=0))

    def shards_of_zone(self, zone: int) -> range:
        """The shards that hold a zone, or the span under the last number."""
        parts = self.parts
        start = sum(parts[:zone])
        return range(start, start + parts[zone])

    @property
    def copies(self) -> float:
        """To how many shards an event goes, on average."""
        return sum(share * parts for share, parts in zip(self.event_shares, self.parts, strict=True))

    @property
    def met(self) -> float:
        """How many subscriptions are in the shards an event goes to, on average."""
        return sum(share * count for share, count in zip(self.event_shares, self.counts, strict=True))

    def explain(self) -> str:
        """Why these shards, and what each zone holds."""
        total = max(1, self.total)
        placed = sum(self.counts)
        names = " and ".join(axis.attribute for axis in self.axes) or "no attribute"
        spans = f"{self.counts[-1]:,} ({self.counts[-1] / total:.1%}) span, in {self.parts[-1]} of them"
        lines = [
            f"{self.shards} shards for {self.total:,} subscriptions, cut along {names}; {spans}.",
            f"An event goes to {self.copies:.2f} shards on average, meets {self.met / total:.2%} of the subscriptions; "
            f"a subscription is kept {placed / max(1, total - self.idle):.2f} times.",
        ]
        if self.idle:
            lines.append(f"{self.idle:,} subscriptions contradict themselves; no shard keeps them.")
        copies = self.replicas if any(count > 1 for count in self.replicas) else ()
        title = f"zone  shards  {'copies  ' if copies else ''}subscriptions  events  content"
        lines += [self.reason, title] if self.reason else []
        described = [axis.describe(zone) for axis in self.axes for zone in range(len(axis))] + ["those that span"]
        for zone, content in enumerate(described):
            lines.append(
                f"{zone:>4}  {self.parts[zone]:>6}  {f'{copies[zone]:>6}  ' if copies else ''}"
                f"{self.counts[zone] / total:>13.2%}  "
                f"{self.event_shares[zone]:>6.1%}  {content}"
            )
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.explain()


class Placement:
    """Where a plan keeps filters and sends events; made by each task for itself, since it remembers their templates."""

    def __init__(self, plan: ShardPlan) -> None:
        readers = [InterestReader(axis.path, axis.kind) for axis in plan.axes]
        self.span = plan.first_zones[-1]
        self._axes = list(zip(readers, plan.axes, plan.first_zones[:-1], strict=True))
        self._shards = [plan.shards_of_zone(zone) for zone in range(self.span + 1)]

    def zones(self, filter_: Filter) -> list[int]:
        """The zones that keep a filter; the span's if it fits nowhere else, none if nothing can satisfy it."""
        for reader, axis, first in self._axes:
            ranges = reader.ranges(filter_)
            if ranges is None or len(ranges) > REPLICAS_MAX * 16:
                continue
            found = axis.zones_of(ranges)
            if len(found) <= REPLICAS_MAX:
                return [first + zone for zone in found] if first else found
        return [self.span]

    def zones_of_event(self, attributes: Mapping[str, object]) -> list[int]:
        """The zones whose subscriptions an event may satisfy: one of each axis on which it lies, and the span."""
        found = []
        for _, axis, first in self._axes:
            value = cut_value(attributes, axis.attribute, axis.path, axis.kind)
            if value is not None:
                found.append(first + axis.zone_of(value))
        return [*found, self.span]

    def shards(self, id: str, filter_: Filter) -> list[int]:
        """The shards that keep a subscription; raises LookupError for one that the plan was not sized for."""
        found: list[int] = []
        for zone in self.zones(filter_):
            shards = self._shards[zone]
            if not shards:
                raise LookupError(f"the plan has no shard for '{id}'")
            found.append(shards[part_of(id, len(shards))])
        return found


def part_of(id: str, parts: int) -> int:
    """The part of a zone that keeps a subscription: a hash of its id."""
    return crc32(id.encode("utf-8", "surrogatepass")) % parts if parts > 1 else 0
