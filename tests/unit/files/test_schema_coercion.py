"""A schema applied to a table says of every row what it says of the row alone."""

from datetime import datetime

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from siftcast import Attribute, Schema
from siftcast.files.schema_coercion import coerce_table
from siftcast.model import SchemaError

SCHEMA = Schema(
    [
        Attribute("t", "timestamp", domain=(datetime(1, 1, 1), datetime(2030, 1, 1))),
        Attribute("n.t", "timestamp"),
        Attribute("n.x", "int", domain=(0, 5)),
        Attribute("i", "int"),
        Attribute("f", "float"),
    ]
)
DATES = ["2024-01-31", "2024-02-30", "0000-01-01", "0001-01-01", "9999-12-31", "2031-01-01", "20240131"]
TIMES = ["", "T10", "T10:30", " 10:30:00", "T10:30:00.5", "T10:30:00.1234567", "T24:00:00", "T10:30:60", "t10:30"]
ZONES = ["", "Z", "z", "+02:00", "-23:59", "+0200", "+02", "+24:00", " Z"]
INSTANTS = st.tuples(*map(st.sampled_from, (DATES, TIMES, ZONES))).map("".join)
TEXTS = st.one_of(st.none(), INSTANTS, st.sampled_from(["2024-01-31T10:30:00Z", " 2024-01-31 ", "later"]))


def coerce_each(table):
    good, refused = [], {}
    for place, row in enumerate(table.to_pylist()):
        try:
            good.append(SCHEMA.coerce(row))
        except SchemaError as error:
            refused[place] = str(error)
    return good, refused


def check_table(table):
    coerced, misfits = coerce_table(table, SCHEMA)
    rows = [row for place, row in enumerate(coerced.to_pylist()) if place not in misfits]
    assert (rows, {place: str(error) for place, error in misfits.items()}) == coerce_each(table)


@given(st.lists(TEXTS, min_size=1, max_size=4))
def test_texts_become_the_instants_that_each_alone_becomes(texts):
    check_table(pa.table({"t": pa.array(texts, pa.string())}))


@given(st.lists(st.sampled_from(["2024-01-31", "2024-05-01T10:30Z", "2024-01-31 10:30"]), min_size=1, max_size=4))
def test_good_texts_become_instants_with_and_without_zones(texts):
    check_table(pa.table({"t": texts}))


@pytest.mark.parametrize("beside", [None, {"t": None, "x": None}, {"t": "bad", "x": 1}, {"t": "2024-01-01", "x": 9}])
def test_what_nests_is_converted_where_it_lies(beside):
    check_table(pa.table({"n": [{"t": "2024-01-01", "x": 1}, beside]}))


def test_a_name_that_nests_in_no_object_changes_nothing():
    check_table(pa.table({"n": [1, 2]}))
    check_table(pa.table({"n": [{"y": 1}]}))
    check_table(pa.table({"n.x": [1, 9], "n": [{"x": 9}, {"x": 1}]}))


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("i", pa.array([2**64 - 1, 1], pa.uint64())), ("i", pa.array([1e300, 2.0])), ("i", pa.array([1.5, 2.0])),
        ("f", pa.array([2**53 + 1, 1])), ("f", pa.array([1, None])), ("t", pa.array([1, 2], pa.timestamp("ms"))),
    ],
)  # fmt: skip
def test_numbers_keep_their_values_or_are_refused(name, column):
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us", "UTC"))
    check_table(pa.table({name: column}))
