"""Partitions of a shuffle for the copies of shards: which there are, and in which order.

    zone 2, two parts, three copies     part 0   part 1
                             copy 0     p4       p5
                             copy 1     p6       p7      an event of zone 2 goes to one row of these: one copy of all
                             copy 2     p8       p9      parts; a subscription to one column: all copies of one part

Spark starts the tasks of a stage in the order of their partitions. So partitions are numbered from the one with most
to do to the one with least: the span, which every event visits, comes first. Started last, as its place in the plan
has it, it would keep everybody waiting at the end.

Which copy an event goes to follows from a hash of its content and from the partition it comes from, never from its
place among other rows or from a random number: a task that runs again sends each event where it went before, so no
event is missed and none is matched twice. Equal events of one partition share a copy.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral

from pyspark.sql import Column
from pyspark.sql import functions as fn
from pyspark.sql import types as t

from siftcast.model import ArgumentError, DataError
from siftcast.space.shard_plan import ShardPlan

_COPY = 5_000  # as in planning.shard_choice: subscriptions that cost as much as the copy of an event

_PARTITIONS_MAX = 100_000


@dataclass(frozen=True)
class ShardLayout:
    """For each zone of a plan, and in it for each copy, the partitions of its parts."""

    zones: tuple[tuple[tuple[int, ...], ...], ...]

    @classmethod
    def of(cls, plan: ShardPlan) -> ShardLayout:
        """Raises DataError for a plan whose figures do not fit together."""
        check_plan(plan)
        parts, copies = plan.parts, plan.replicas or (1,) * len(plan.parts)
        places = [
            (zone, copy, part)
            for zone in range(len(parts))
            for copy in range(copies[zone])
            for part in range(parts[zone])
        ]
        work = [
            share / count * (_COPY + held / max(1, divided))
            for share, count, held, divided in zip(plan.event_shares, copies, plan.counts, parts, strict=True)
        ]
        numbers = {
            place: number for number, place in enumerate(sorted(places, key=lambda place: (-work[place[0]], place)))
        }
        return cls(
            tuple(
                tuple(tuple(numbers[zone, copy, part] for part in range(parts[zone])) for copy in range(copies[zone]))
                for zone in range(len(parts))
            )
        )

    @property
    def count(self) -> int:
        """How many partitions there are."""
        return sum(len(parts) for copies in self.zones for parts in copies)

    @property
    def is_dealt(self) -> bool:
        """Whether copies share the events of any zone."""
        return any(len(copies) > 1 for copies in self.zones)

    def homes(self) -> list[tuple[int, ...]]:
        """The partitions of each shard of the plan, one for each copy."""
        return [tuple(copy[part] for copy in copies) for copies in self.zones for part in range(len(copies[0]))]


def check_plan(plan: object) -> None:
    """Raises ArgumentError for what is no plan, DataError for one whose figures do not fit; before anything runs."""
    if not isinstance(plan, ShardPlan):
        raise ArgumentError(f"plan must be a plan, as shard_plan() makes it, not {type(plan).__name__}")
    if not is_whole(plan.asked) or plan.asked < 1:
        raise DataError(f"'asked' of a plan must be a whole number, at least 1, not {plan.asked!r}")
    zones = plan.first_zones[-1] + 1
    for name, given in (("dealt", plan.dealt), ("replicas", plan.replicas)):
        if not given:
            continue
        if len(given) != zones:
            raise DataError(f"a plan needs an entry in '{name}' for each of its zones and one for the span")
        wrong = next((each for each in given if not is_whole(each)), None)
        if wrong is not None:
            raise DataError(f"every entry in '{name}' of a plan must be a whole number, not {wrong!r}")
        if min(given) < 1:
            raise DataError(f"every entry in '{name}' of a plan must be at least 1, not {min(given)}")
    if len(plan.event_shares) != zones:
        raise DataError("a plan needs an entry in 'event_shares' for each of its zones and one for the span")
    partitions = sum(
        parts * copies for parts, copies in zip(plan.dealt or (1,) * zones, plan.replicas or (1,) * zones, strict=True)
    )
    if partitions > _PARTITIONS_MAX:
        raise DataError(f"'dealt' and 'replicas' of a plan make {partitions:,} partitions; {_PARTITIONS_MAX:,} at most")


def is_whole(number: object) -> bool:
    """Whether this is a whole number, and no bool."""
    return isinstance(number, Integral) and not isinstance(number, bool)


def dealing_number(events: t.StructType) -> Column:
    """A number of a placed event that says which copy it goes to; the same whenever a task runs again."""
    hashed = [fn.col(f"c{place}") for place, field in enumerate(events) if _can_be_hashed(field.dataType)]
    return fn.xxhash64(fn.spark_partition_id(), *hashed)


def _can_be_hashed(kind: t.DataType) -> bool:
    if isinstance(kind, t.ArrayType):
        return _can_be_hashed(kind.elementType)
    if isinstance(kind, t.StructType):
        return all(_can_be_hashed(field.dataType) for field in kind)
    return not isinstance(kind, t.MapType | t.VariantType)
