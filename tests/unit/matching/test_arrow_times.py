"""Moments in Arrow tables: whatever their unit and zone, every engine reads them as Python would, or as null."""

from datetime import UTC, date, datetime

import pyarrow as pa
import pytest

from siftcast.matching import ENGINES, Matcher
from siftcast.matching.arrow_times import in_microseconds, in_range
from siftcast.model import DataError

LATE = {"s": 2**62, "ms": 2**60, "us": 2**62}
FILTERS = [
    ("early", "t < TIMESTAMP '2000-01-01'"),
    ("late", "t >= TIMESTAMP '2000-01-01'"),
    ("none", "t IS NULL"),
    ("nested", "n.t >= TIMESTAMP '1970-01-01'"),
    ("nested none", "n.t IS NULL"),
]


def loaded(engine: str, *, staged: bool) -> Matcher:
    matcher = Matcher(engine)
    for id, text in FILTERS:
        matcher.add(id, text)
    if not staged:
        matcher.settle()
    return matcher


@pytest.mark.parametrize("staged", [True, False])
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("unit", LATE)
@pytest.mark.parametrize("zone", [None, "UTC", "Pacific/Kiritimati"])
def test_a_moment_beyond_the_years_is_null(engine: str, staged: bool, unit: str, zone: str | None) -> None:
    each = {"s": 1, "ms": 1_000, "us": 1_000_000}[unit]
    last = 253_402_300_799 * each
    counts = pa.array([LATE[unit], -LATE[unit], 0, None, last, last + each], pa.int64())
    times = counts.cast(pa.timestamp(unit, zone))
    table = pa.table({"t": times, "n": pa.StructArray.from_arrays([times], ["t"])})
    none = ["nested none", "none"]
    expected = [none, none, ["early", "nested"], none, ["late", "nested"], none]
    matcher = loaded(engine, staged=staged)
    assert list(map(sorted, matcher.match_batch(table).to_pylist())) == expected
    assert matcher.count_batch(table).to_pylist() == [2] * 6


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", [pa.date32(), pa.date64()])
def test_dates_likewise(engine: str, kind: pa.DataType) -> None:
    beyond = pa.array([2**30], pa.int32()).cast(pa.date32()) if kind == pa.date32() else pa.array([2**62]).cast(kind)
    table = pa.table({"t": pa.concat_arrays([pa.array([date(1999, 1, 1), date(9999, 12, 31)], kind), beyond])})
    found = loaded(engine, staged=False).match_batch(table).to_pylist()
    assert list(map(sorted, found)) == [["early", "nested none"], ["late", "nested none"], ["nested none", "none"]]


@pytest.mark.parametrize("staged", [True, False])
@pytest.mark.parametrize("engine", ENGINES)
def test_a_nanosecond_before_an_instant_is_before_it(engine: str, staged: bool) -> None:
    times = pa.array([-1, 0, 999], pa.timestamp("ns"))
    table = pa.table({"n": pa.StructArray.from_arrays([times], ["t"])})
    found = loaded(engine, staged=staged).match_batch(table).to_pylist()
    assert [sorted(ids) for ids in found] == [["none"], ["nested", "none"], ["nested", "none"]]


@pytest.mark.parametrize("engine", ENGINES)
def test_bounds_in_nanoseconds_mean_what_others_mean(engine: str) -> None:
    bounds = {"id": ["a", "b"], "t.min": pa.array([0, None], pa.timestamp("ns")), "x.min": [2**60, None]}
    matcher = Matcher.from_arrow(pa.table(bounds), engine)
    assert matcher.match({"t": datetime(2020, 1, 1), "x": 2**61}) == ["a", "b"]
    assert matcher.match({"t": datetime(1969, 1, 1), "x": 2**61}) == ["b"]


def test_a_bound_beyond_the_years_is_refused() -> None:
    with pytest.raises(DataError, match=r"'t.min' has a timestamp beyond the years 1 to 9999"):
        Matcher.from_arrow(pa.table({"id": ["a"], "t.min": pa.array([2**60], pa.timestamp("s"))}))


def test_a_table_that_needs_no_change_stays_the_same() -> None:
    times = pa.array([datetime(2024, 5, 1, tzinfo=UTC)], pa.timestamp("us", "UTC"))
    table = pa.table({"t": times, "n": pa.StructArray.from_arrays([times], ["t"]), "x": [1]})
    assert in_range(table) is table
    assert in_microseconds(table) is table


@pytest.mark.parametrize("engine", ENGINES)
def test_strings_whose_indices_fill_their_type_may_be_null(engine: str) -> None:
    strings = [f"w{number}" for number in range(128)]
    indices = pa.array([*range(128), None], pa.int8())
    matcher = Matcher(engine)
    matcher.add_many([("a", "s = 'w127'"), ("b", "s IS NULL")])
    column = pa.DictionaryArray.from_arrays(indices, pa.array(strings))
    assert matcher.match_batch(pa.table({"s": column})).to_pylist() == [[]] * 127 + [["a"], ["b"]]
