"""The shards of an event, as expressions that Spark evaluates without Python.

A balanced tree of comparisons with the cuts of an axis gives an event's zone. The trip to Python and back, half a
microsecond and more per event, is made only once, to match the event. The tree must put each value where Python's
comparison of values puts the bounds of filters (`model.values`), so only columns are used whose types order alike on
both sides:

    whole numbers         compared with the cut rounded up, as integers; a cut beyond 64 bits is above them all
    float, double         as doubles; NaN has no zone; -0.0 is 0.0 for both
    string                by bytes of UTF-8, which is by code points; columns of another collation are not used
    boolean               as 0 and 1
    timestamp, date       as microseconds since 1970; a date is its midnight in UTC

An attribute of any other type (decimals, timestamps without a zone) is never cut; filters on it span, and match.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, inf, nextafter

from pyspark.sql import Column
from pyspark.sql import functions as fn
from pyspark.sql import types as t

from siftcast.model import DataError
from siftcast.model.values import Kind
from siftcast.space.hash_axis import HashAxis
from siftcast.space.shard_axes import CutValue, ShardAxis
from siftcast.space.shard_plan import ShardPlan
from siftcast.spark.attributes import find_attribute
from siftcast.spark.shard_layout import ShardLayout

_WHOLE = (t.ByteType, t.ShortType, t.IntegerType, t.LongType)
_DAY_US = 86_400_000_000
_LONG_MIN, _LONG_MAX = -(2**63), 2**63 - 1


def value_column(events: t.StructType, attribute: str) -> tuple[Column, Kind] | None:
    """An attribute of the placed events as cuts hold it, null where there is no value; None if it cannot be cut."""
    found = find_attribute(events, tuple(attribute.split(".")))
    if found is None:
        return None
    column, kind = found
    if isinstance(kind, _WHOLE):
        return column.cast("long"), Kind.NUMBER
    if isinstance(kind, t.FloatType | t.DoubleType):
        number = column.cast("double")
        return fn.when(~fn.isnan(number), number), Kind.NUMBER
    if type(kind) is t.StringType and kind.simpleString() == "string":
        return column, Kind.STRING
    if isinstance(kind, t.BooleanType):
        return column.cast("long"), Kind.BOOLEAN
    if isinstance(kind, t.TimestampType):
        return fn.unix_micros(column), Kind.TIMESTAMP
    if isinstance(kind, t.DateType):
        return fn.unix_date(column).cast("long") * fn.lit(_DAY_US), Kind.TIMESTAMP
    return None


def event_shards(events: t.StructType, plan: ShardPlan, layout: ShardLayout, deal: Column) -> Column:
    """An array of all partitions to which a placed event goes, that of its first zone in front; may be empty.

    `deal` is a number of the event that says which copy of a zone it goes to.
    """
    zones = [_one_copy(copies, deal) for copies in layout.zones]
    axes = [
        _axis_shards(events, axis, zones[first : first + len(axis)])
        for axis, first in zip(plan.axes, plan.first_zones[:-1], strict=True)
    ]
    return fn.concat(*axes, zones[-1]) if axes else zones[-1]


def _one_copy(copies: Sequence[Sequence[int]], deal: Column) -> Column:
    """The partitions of the copy of a zone that an event goes to."""
    if len(copies) == 1:
        return _numbers(copies[0])
    which = fn.pmod(deal, fn.lit(len(copies))).cast("int")
    return fn.get(fn.array(*map(_numbers, copies)), which)


def _axis_shards(events: t.StructType, axis: ShardAxis | HashAxis, shards: Sequence[Column]) -> Column:
    found = value_column(events, axis.attribute)
    if found is None or found[1] is not axis.kind:
        return _numbers(())  # no event has a value of this kind there
    value = found[0]
    if isinstance(axis, HashAxis):
        if axis.kind is not Kind.STRING:
            raise DataError(f"on Spark, zones are hashed from strings only, and '{axis.attribute}' holds none")
        zone = fn.crc32(value.cast("binary")) % fn.lit(len(axis))
        return fn.when(value.isNull(), _numbers(())).otherwise(fn.get(fn.array(*shards), zone.cast("int")))
    known = find_attribute(events, axis.path)
    whole = axis.kind is not Kind.NUMBER or (known is not None and isinstance(known[1], _WHOLE))
    return fn.when(value.isNull(), _numbers(())).otherwise(_tree(value, axis.cuts, shards, whole=whole))


def _tree(value: Column, cuts: Sequence[CutValue], shards: Sequence[Column], *, whole: bool) -> Column:
    """The shards of the zone of a value, by halving the cuts."""
    if not cuts:
        return shards[0]
    middle = len(cuts) // 2
    below = _tree(value, cuts[:middle], shards[: middle + 1], whole=whole)
    above = _tree(value, cuts[middle + 1 :], shards[middle + 1 :], whole=whole)
    return fn.when(_reaches(value, cuts[middle], whole=whole), above).otherwise(below)


def _reaches(value: Column, cut: CutValue, *, whole: bool) -> Column:
    if isinstance(cut, str):
        return value >= fn.lit(cut)
    if not whole:
        return value >= fn.lit(float_at_least(cut))
    if cut > _LONG_MAX:
        return fn.lit(False)
    return value >= fn.lit(max(_LONG_MIN, ceil(cut))).cast("long") if cut > _LONG_MIN else fn.lit(True)


def float_at_least(cut: int | float) -> float:
    """The least double that is not below a number: doubles on either side of it are on either side of the number."""
    try:
        near = float(cut)
    except OverflowError:
        return inf if cut > 0 else -inf
    if near < cut:  # exact, as Python compares integers with floats
        return nextafter(near, inf)
    return near


def _numbers(shards: Sequence[int]) -> Column:
    if not shards:
        return fn.array().cast("array<int>")
    return fn.array(*(fn.lit(shard).cast("int") for shard in shards))
