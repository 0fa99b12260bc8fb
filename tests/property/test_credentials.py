"""Credentials say of an event what its filter says, for all values, and never more."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siftcast.model import Attribute, EventError, Filter, FilterError, Schema, SchemaError
from siftcast.security.credentials import (
    CredentialSchema,
    Instants,
    Keyword,
    Leaves,
    Text,
    TimeSlots,
    conjunctions_of,
)
from siftcast.security.credentials.dimensions import NoUnionError
from siftcast.security.credentials.paths import covers, of_cell, of_range

DAY = datetime(2026, 3, 1, tzinfo=UTC)
SCHEMA = CredentialSchema(
    Schema(
        [
            Attribute("number", "int", (-3, 12)),
            Attribute("price", "float", (0.0, 1.0), 0.1),
            Attribute("flag", "bool"),
            Attribute("place", "string", ("york", "ulm", "rome")),
            Attribute("symbol", "string"),
            Attribute("name", "string"),
            Attribute("when", "timestamp", (DAY, DAY + timedelta(days=31))),
        ]
    ),
    {"symbol": Text(6, suffix=True), "name": Keyword(8), "when": Instants(1.0)},
)
texts = st.text("abcAß", max_size=3)
events = st.fixed_dictionaries(
    {},
    optional={
        "number": st.none() | st.integers(-3, 12),
        "price": st.integers(0, 10).map(lambda tenths: tenths / 10),
        "flag": st.booleans(),
        "place": st.sampled_from(["york", "ulm", "rome"]),
        "symbol": texts,
        "name": texts,
        "when": st.integers(0, 31 * 86_400).map(lambda seconds: DAY + timedelta(seconds=seconds)),
    },
)
comparisons = st.sampled_from(["=", "<", "<=", ">", ">=", "!="])
terms = st.one_of(
    st.builds("number {} {}".format, comparisons, st.integers(-5, 14)),
    st.builds("price {} {}".format, comparisons, st.integers(-1, 23).map(lambda halves: halves / 20)),
    st.builds("number BETWEEN {} AND {}".format, st.integers(-4, 5), st.integers(3, 13)),
    st.builds("number IN ({}, {}, {})".format, *[st.integers(-3, 12)] * 3),
    st.builds("place {} '{}'".format, comparisons, st.sampled_from(["york", "ulm", "rome", "s"])),
    st.builds("place LIKE '{}'".format, st.sampled_from(["%o%", "_l_", "r%e", "%"])),
    st.builds("symbol = '{}'".format, texts),
    st.builds("symbol LIKE '{}%'".format, texts),
    st.builds("symbol LIKE '%{}'".format, texts),
    st.builds("symbol LIKE '{}%{}'".format, texts, texts),
    st.builds("symbol IN ('{}', '{}')".format, texts, texts),
    st.builds("symbol >= '{}' AND symbol < '{}'".format, texts, texts),
    st.builds("name = '{}'".format, texts),
    st.builds("when < TIMESTAMP '2026-03-{:02d}T00:00:{:02d}Z'".format, st.integers(1, 31), st.integers(0, 59)),
    st.builds("{} IS {}".format, st.sampled_from(SCHEMA.schema.names), st.sampled_from(["NULL", "NOT NULL"])),
    st.sampled_from(["flag", "NOT flag", "flag = TRUE"]),
)
filters = st.one_of(
    terms,
    st.builds("({}) AND ({})".format, terms, terms),
    st.builds("({}) AND ({}) AND ({})".format, terms, terms, terms),
    st.builds("({}) OR ({})".format, terms, terms),
    st.builds("NOT ({})".format, terms),
)


def opens(filter: str, leaves: Leaves) -> bool:
    return any(
        all(any(covers(path, leaf) for path in side) for side, leaf in zip(box, leaves, strict=True))
        for box in conjunctions_of(SCHEMA, filter)
    )


@given(filters, st.lists(events, min_size=1, max_size=8))
def test_credentials_match_what_the_filter_matches(filter, facts):
    try:
        conjunctions_of(SCHEMA, filter)
    except NoUnionError:
        return
    for event in facts:
        leaves = SCHEMA.leaves(SCHEMA.values(event))
        assert opens(filter, leaves) is Filter.parse(filter).matches(event)


@given(events)
def test_events_of_a_schema_have_as_many_levels_and_as_many_bytes(event):
    values = SCHEMA.values(event)
    assert [len(leaf) for leaf in SCHEMA.leaves(values)] == [each.depth for each in SCHEMA.dimensions]
    data = SCHEMA.write(values)
    assert len(data) == SCHEMA.values_bytes
    assert SCHEMA.read(data) == values


@given(st.binary(max_size=SCHEMA.values_bytes + 2))
def test_what_is_not_written_as_values_is_refused(data):
    with pytest.raises(EventError):
        SCHEMA.read(data)


@given(st.integers(1, 12).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, 2**n), st.integers(0, 2**n))))
def test_a_range_is_the_fewest_subtrees(drawn):
    levels, low, high = drawn
    paths = of_range(low, high, levels)
    held = [cell for cell in range(1 << levels) if any(covers(path, of_cell(cell, levels)) for path in paths)]
    assert held == list(range(low, high))
    assert len(paths) <= max(2 * (levels - 1), 2)
    assert () not in paths


@pytest.mark.parametrize(("first", "end", "most"), [(0, 1_234_567, 22), (999_999, 2_678_400, 22), (1, 2_678_399, 42)])
def test_a_stay_in_a_month_of_seconds_takes_few_keys(first, end, most):
    schema = CredentialSchema(Schema([Attribute("a", "bool")]), slots=TimeSlots(31 * 86_400))
    assert schema.dimensions[-1].depth == 22
    ((_, times),) = conjunctions_of(schema, "a", during=(first, end))
    assert len(times) <= most
    for slot in (first, end - 1, (first + end) // 2):
        assert any(covers(path, schema.dimensions[-1].leaf(slot)) for path in times)
    for slot in {max(first - 1, 0), min(end, 2_678_399)} - {*range(first, first + 1), end - 1}:
        assert not any(covers(path, schema.dimensions[-1].leaf(slot)) for path in times)


@given(st.integers(0, 2_678_399), st.integers(1, 2_678_400))
def test_no_stay_takes_more_keys_than_stated(first, length):
    schema = CredentialSchema(Schema([Attribute("a", "bool")]), slots=TimeSlots(31 * 86_400))
    end = min(first + length, 2_678_400)
    ((_, times),) = conjunctions_of(schema, "a", during=(first, end))
    assert len(times) <= (22 if first == 0 or end == 2_678_400 else 42)


@pytest.mark.parametrize(
    ("filter", "nearest"),
    [
        ("symbol LIKE '%x%'", "symbol IS NOT NULL"),
        ("symbol LIKE 'ab%ba'", "symbol IS NOT NULL"),
        ("symbol LIKE 'a_'", "symbol IS NOT NULL"),
        ("symbol < 'm' AND symbol > 'b'", "symbol IS NOT NULL"),
        ("symbol < 'a%x' AND symbol > 'a%b'", r"symbol LIKE 'a\%%'"),
        ("name LIKE 'a%'", "name IS NOT NULL"),
        ("name > 'a'", "name IS NOT NULL"),
        ("number = price", "number IS NOT NULL AND price IS NOT NULL"),
    ],
)
def test_what_is_no_union_of_cells_is_refused_and_the_nearest_named(filter, nearest):
    with pytest.raises(NoUnionError) as caught:
        conjunctions_of(SCHEMA, filter)
    assert f'"{nearest}"' in str(caught.value)
    assert conjunctions_of(SCHEMA, nearest)


def test_an_or_over_attributes_is_issued_box_by_box():
    boxes = conjunctions_of(SCHEMA, "(number < 5 AND flag) OR (number >= 5 AND NOT flag)")
    assert len(boxes) == 2
    assert conjunctions_of(SCHEMA, "number < -3") == ()


def test_equality_includes_the_end_mark_and_root_is_more_than_any_value():
    leaf = SCHEMA.leaves(SCHEMA.values({"symbol": "IBMX"}))
    assert not opens("symbol = 'IBM'", leaf)
    assert opens("symbol LIKE 'IBM%'", leaf)
    nothing = SCHEMA.leaves(SCHEMA.values({}))
    assert opens("number IS NULL", nothing)
    assert not opens("number IS NOT NULL", nothing)
    assert conjunctions_of(SCHEMA, "flag")[0][0] == ((),)


@pytest.mark.parametrize(
    "values",
    [{"number": 13}, {"price": 0.55}, {"symbol": "seven77"}, {"name": "x" * 9}, {"other": 1}, {"place": "oslo"}],
)
def test_values_without_a_credential_cannot_be_sealed(values):
    with pytest.raises(EventError):
        SCHEMA.leaves(SCHEMA.values(values))


def test_a_timestamp_between_two_steps_cannot_be_sealed():
    with pytest.raises(EventError, match="steps of 1 s"):
        SCHEMA.leaves(SCHEMA.values({"when": DAY + timedelta(milliseconds=1)}))


@pytest.mark.parametrize(
    ("attribute", "option"),
    [
        (Attribute("a", "float", (0.0, 1.0)), None),
        (Attribute("a", "int"), None),
        (Attribute("a", "string"), None),
        (Attribute("a", "timestamp"), None),
        (Attribute("a.b", "int", (0, 1)), None),
        (Attribute("a", "int", (0, 1)), Keyword()),
        (Attribute("a", "int", (0, 1)), Instants()),
        (Attribute("a", "string", ("x", "y")), Text()),
    ],
)
def test_schemas_without_credentials_are_refused(attribute, option):
    with pytest.raises(SchemaError):
        CredentialSchema(Schema([attribute]), {} if option is None else {attribute.name: option})


@pytest.mark.parametrize("make", [lambda: Text(126), lambda: Text(0), lambda: Keyword(0), lambda: Instants(1e-7)])
def test_no_dimension_has_more_than_128_levels(make):
    with pytest.raises(SchemaError):
        make()
    assert CredentialSchema(Schema([Attribute("a", "string")]), {"a": Text(125)}).dimensions[0].depth + 1 == 128


def test_schemas_that_differ_have_other_digests():
    def digest(low, **slots):
        return CredentialSchema(Schema([Attribute("a", "int", (low, 9))]), **slots).digest

    assert digest(0) == digest(0)
    assert len({digest(0), digest(1), digest(0, slots=TimeSlots(5)), digest(0, slots=TimeSlots(6)), SCHEMA.digest}) == 5


def test_stays_outside_of_an_epoch_are_refused():
    for during in [(5, 5), (-1, 2), (0, 2**40)]:
        with pytest.raises(FilterError):
            conjunctions_of(CredentialSchema(Schema([Attribute("a", "bool")]), slots=TimeSlots(9)), "a", during)
    with pytest.raises(FilterError):
        conjunctions_of(SCHEMA, "flag", (0, 1))
