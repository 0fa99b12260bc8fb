"""The suite every engine must pass, driven by Hypothesis against the brute-force oracle.

A test module for a new engine is three lines:

    class TestMyEngine(EngineConformance):
        engine = "my_engine"

Filters and events are drawn from small pools of awkward values (ints around 2^53 and 2^63, NaN, infinities,
minus zero, empty and non-ASCII strings, zoned timestamps, nulls, nested objects), so that equal and neighbouring
values meet often. Importing this module needs Hypothesis, which Siftcast itself does not.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from itertools import product
from typing import ClassVar

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from siftcast.matching.matcher import RESULT_TYPE, Matcher
from siftcast.model import EngineError, Event, Filter, Schema, SiftcastError, SubscriptionError
from siftcast.model.expression import (
    And,
    Between,
    Comparison,
    In,
    IsNull,
    Like,
    Literal,
    Not,
    Or,
    Predicate,
    Reference,
)
from siftcast.model.like import LikePattern
from siftcast.model.values import Value

INTEGERS = [-(2**63), -(2**53) - 1, -2, -1, 0, 1, 2, 3, 5, 2**53 - 1, 2**53, 2**53 + 1, 2**63 - 1]
FLOATS = [-1e300, -2.5, -0.0, 0.0, 0.5, 1.0, 1.5, 2.0, float(2**53), float(2**53 + 2), 2.0**63, 1e300]
STRINGS = ["", "a", "ab", "abc", "abd", "b", "ba", "B", "it's", "100%", "é", "日本", "𝄞", "a\0", "\\"]
PATTERNS = ["", "%", "a%", "ab%", "%b", "a%c", "_", "a_", "%b%", "_b%", "a%b%", "100\\%", "abc", "日_", "%\\\\"]
MOMENTS = [
    datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
    datetime(2024, 5, 1, tzinfo=UTC),
    datetime(2024, 5, 1, 0, 0, 0, 1, tzinfo=UTC),
    datetime(2024, 5, 1, 12, tzinfo=UTC),
]
_ELSEWHERE = timezone(timedelta(hours=2))
_ODDITIES: list[object] = [
    float("nan"), float("inf"), float("-inf"), None, [], [1], {"x": 1}, b"a", 10**30, Decimal("1.5"), Decimal("NaN"),
    date(2024, 5, 1), datetime(2024, 5, 1, 2, tzinfo=_ELSEWHERE), datetime(2024, 5, 1),
]  # fmt: skip

references = st.sampled_from([("a",), ("b",), ("c",), ("n", "x"), ("n", "y")]).map(Reference)
constants = st.one_of(
    st.sampled_from(INTEGERS),
    st.sampled_from(FLOATS),
    st.sampled_from(STRINGS),
    st.booleans(),
    st.sampled_from(MOMENTS),
)
literals = constants.map(Literal)
_POOLS: list[list[Value]] = [[*INTEGERS, *FLOATS], [*STRINGS], [False, True], [*MOMENTS]]
_alike = st.sampled_from(_POOLS)
_operators = st.sampled_from(["=", "!=", "<", "<=", ">", ">="])


def _betweens() -> st.SearchStrategy[Predicate]:
    pairs = _alike.flatmap(lambda pool: st.tuples(st.sampled_from(pool), st.sampled_from(pool)))
    return st.builds(
        lambda reference, pair, negated: Between(reference, Literal(pair[0]), Literal(pair[1]), negated),
        references, pairs, st.booleans(),
    )  # fmt: skip


def _memberships(options: st.SearchStrategy[list[Value | None]]) -> st.SearchStrategy[Predicate]:
    return st.builds(
        lambda reference, chosen, negated: In(reference, tuple(map(Literal, chosen)), negated),
        references, options, st.booleans(),
    )  # fmt: skip


# Values that events do not have, so many that an engine may treat lists with them in another way than short ones.
_FILLERS: list[list[Value]] = [
    [*(number + 0.25 for number in range(-30, 30)), *range(10, 50)],
    [f"a{number:02}" for number in range(70)],
    [False, True],
    [MOMENTS[1] + timedelta(minutes=number) for number in range(1, 80)],
]


_few_options = _alike.flatmap(lambda pool: st.lists(st.sampled_from([*pool, None]), min_size=1, max_size=6))
_many_options = st.sampled_from(list(zip(_POOLS, _FILLERS, strict=True))).flatmap(
    lambda pair: st.lists(st.sampled_from([*pair[0], None]), max_size=6).map(lambda some: [*pair[1], *some])
)


leaves: st.SearchStrategy[Predicate] = st.one_of(
    st.builds(Comparison, _operators, references, literals),
    st.builds(Comparison, _operators, references, literals),
    st.builds(Comparison, _operators, literals, references),
    st.builds(Comparison, _operators, references, references),
    _betweens(),
    _memberships(_few_options),
    _memberships(_many_options),
    st.builds(Like, references, st.sampled_from(PATTERNS).map(LikePattern), st.booleans()),
    st.builds(IsNull, references, st.booleans()),
    references,
    st.sampled_from([Literal(True), Literal(False), Literal(None), Comparison("=", Reference(("a",)), Literal(None))]),
)


def _groups(inner: st.SearchStrategy[Predicate]) -> st.SearchStrategy[Predicate]:
    terms = st.lists(inner, min_size=2, max_size=4).map(tuple)
    return st.one_of(st.builds(And, terms), st.builds(Or, terms), st.builds(Not, inner))


predicates: st.SearchStrategy[Predicate] = st.recursive(leaves, _groups, max_leaves=12)
filters = predicates.map(Filter.of)
values = st.one_of(constants, constants, st.sampled_from(_ODDITIES))
events = st.fixed_dictionaries(
    {},
    optional={
        "a": values, "b": values, "c": values, "n.x": values,
        "n": st.one_of(values, st.fixed_dictionaries({}, optional={"x": values, "y": values})),
    },
)  # fmt: skip

_COLUMN_TYPES = [
    pa.int64(), pa.int32(), pa.uint64(), pa.float64(), pa.float32(), pa.string(), pa.large_string(), pa.bool_(),
    pa.timestamp("us", "UTC"), pa.timestamp("us"), pa.timestamp("ns", "Europe/Berlin"), pa.timestamp("s"), pa.date32(),
    pa.dictionary(pa.int32(), pa.string()), pa.decimal128(20, 2), pa.null(), pa.list_(pa.int64()), pa.binary(),
]  # fmt: skip


def _cells(kind: pa.DataType) -> st.SearchStrategy[object]:
    """Values that fit a column of an Arrow type."""
    if pa.types.is_floating(kind):
        pool: list[object] = [*FLOATS, float("nan"), float("inf"), float("-inf")]
        return st.sampled_from([-2.5, 0.5, 1.0, float("nan")] if kind == pa.float32() else pool)
    if pa.types.is_integer(kind):
        low, high = (0, 2**64 - 1) if kind == pa.uint64() else (-(2 ** (kind.bit_width - 1)), 2 ** (kind.bit_width - 1))
        return st.sampled_from([value for value in [*INTEGERS, 2**64 - 1] if low <= value < high])
    if pa.types.is_boolean(kind):
        return st.booleans()
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        moments = [moment.replace(microsecond=0) for moment in MOMENTS] if kind == pa.timestamp("s") else MOMENTS
        return st.sampled_from([moment.date() for moment in MOMENTS] if pa.types.is_date(kind) else moments)
    if pa.types.is_decimal(kind):
        return st.sampled_from([Decimal("1.5"), Decimal("0"), Decimal("-2.5"), Decimal("3")])
    if pa.types.is_list(kind):
        return st.just([1])
    if pa.types.is_null(kind):
        return st.none()
    return st.sampled_from([b"a"]) if pa.types.is_binary(kind) else st.sampled_from(STRINGS)


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    """Event tables: columns of many types with nulls, a flat dotted column or a struct, several chunks."""
    rows = draw(st.integers(0, 12))
    columns: dict[str, pa.Array] = {}
    for name in draw(st.lists(st.sampled_from(["a", "b", "c", "n.x"]), unique=True)):
        kind = draw(st.sampled_from(_COLUMN_TYPES))
        cells = draw(st.lists(st.none() | _cells(kind), min_size=rows, max_size=rows))
        columns[name] = (
            pa.array(cells, kind.value_type).cast(kind) if pa.types.is_dictionary(kind) else pa.array(cells, kind)
        )
    if draw(st.booleans()):
        inner = st.none() | st.fixed_dictionaries({"x": st.none() | st.sampled_from(INTEGERS), "y": st.just("ab")})
        structs = draw(st.lists(inner, min_size=rows, max_size=rows))
        columns["n"] = pa.array(structs, pa.struct({"x": pa.int64(), "y": pa.string()}))
    table = pa.table(columns) if columns else pa.table({"unused": pa.array([1] * rows, pa.int64())})
    cut = draw(st.integers(0, rows))
    return pa.concat_tables([table.slice(0, cut), table.slice(cut)])


_IDS = [f"s{number}" for number in range(12)]
_operations = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.sampled_from(_IDS), filters),
        st.tuples(st.just("add"), st.sampled_from(_IDS), filters),
        st.tuples(st.just("replace"), st.sampled_from(_IDS), filters),
        st.tuples(st.just("remove"), st.sampled_from(_IDS), st.none()),
        st.tuples(st.just("settle"), st.none(), st.none()),
        st.tuples(st.just("reload"), st.none(), st.none()),
        st.tuples(st.just("match"), events, st.none()),
        st.tuples(st.just("match"), events, st.none()),
        st.tuples(st.just("batch"), tables(), st.none()),
    ),
    min_size=1,
    max_size=40,
)


# One suite runs under many engines, which is what this health check warns of; drawing filters is slow at times.
_suite = settings(suppress_health_check=[HealthCheck.differing_executors, HealthCheck.too_slow])


class EngineConformance:
    """Inherit, set `engine`, done."""

    engine: ClassVar[str]

    def make(self, schema: Schema | None = None) -> Matcher:
        return Matcher(self.engine, schema)

    @_suite
    @given(_operations)
    def test_any_history_of_operations_answers_like_the_oracle(
        self, operations: list[tuple[str, object, object]]
    ) -> None:
        ours, oracle = self.make(), Matcher("brute_force")
        for operation, subject, filter_ in operations:
            if operation == "reload":
                ours = Matcher.from_bytes(ours.to_bytes())
            elif operation == "settle":
                ours.settle()
            elif operation == "match":
                assert isinstance(subject, dict)
                check_event(ours, oracle, subject)
            elif operation == "batch":
                check_table(ours, oracle, subject)
            else:
                assert outcome(ours, operation, subject, filter_) == outcome(oracle, operation, subject, filter_)
            assert len(ours) == len(oracle)
            assert list(ours) == list(oracle)

    @_suite
    @given(st.lists(filters, max_size=30), st.lists(events, max_size=8), tables())
    def test_filters_added_together_answer_like_the_oracle(
        self, chosen: list[Filter], happened: list[dict[str, object]], table: pa.Table
    ) -> None:
        self.check_together(chosen, happened, table)

    @_suite
    @given(st.lists(filters, min_size=2, max_size=9), st.lists(events, min_size=1, max_size=6), tables())
    def test_all_pairs_of_some_filters_answer_like_the_oracle(
        self, chosen: list[Filter], happened: list[dict[str, object]], table: pa.Table
    ) -> None:
        """Many filters of which few match an event: what an index is for, and where it may take other ways."""
        pairs = product(enumerate(chosen), repeat=2)
        joined = [one & other if first <= second else one & ~other for (first, one), (second, other) in pairs]
        self.check_together(joined, happened, table)

    def test_ranges_without_an_end_hold_for_values_far_away(self) -> None:
        """Places of values may be further apart than the largest integer that holds one of them."""
        texts = [f"a >= -{number + 1}.5 AND b IS NOT NULL AND c > -1e300 AND d = {number % 20}" for number in range(40)]
        some: list[dict[str, object]] = [
            {"a": a, "b": 1.0, "c": c, "d": float(number)}
            for number in range(20)
            for a in (-20.0, 0.0, 1e300)
            for c in (-1e301, 7.0)
        ]
        self.check_together(list(map(Filter.parse, texts)), some, pa.Table.from_pylist(some))

    def check_together(self, chosen: list[Filter], happened: list[dict[str, object]], table: pa.Table) -> None:
        """Filters that are added at once answer like the oracle."""
        ours, oracle = self.make(), Matcher("brute_force")
        for matcher in (ours, oracle):
            matcher.add_many((f"s{number}", filter_) for number, filter_ in enumerate(chosen))
        ours.settle()
        for event in happened:
            check_event(ours, oracle, event)
        check_table(ours, oracle, table)

    def test_filters_that_nothing_satisfies_come_and_go_like_others(self) -> None:
        ours = self.make()
        ours.add_many((f"never {number}", f"a > {number} AND a < {number}") for number in range(40))
        ours.remove("never 39")
        ours.add("some", "a = 1")
        ours.settle()
        ours = Matcher.from_bytes(ours.to_bytes())
        for number in range(39):
            ours.remove(f"never {number}")
        ours.add("more", "a < 2")
        assert (list(ours), ours.match({"a": 1})) == (["some", "more"], ["some", "more"])

    def test_ids_come_in_the_order_of_addition_even_after_removal_and_replacement(self) -> None:
        ours = self.make()
        for number in range(40):
            ours.add(f"s{number}", f"a < {100 - number}")
        for number in range(0, 40, 3):
            ours.remove(f"s{number}")
        ours.add("s0", "a < 50")
        ours.replace("s5", "a < 60")
        expected = [f"s{number}" for number in range(40) if number % 3] + ["s0"]
        assert ours.match({"a": 1}) == expected
        assert ours.match(Event({"a": 1})) == expected

    def test_a_limit_returns_that_many_of_the_matching_ids(self) -> None:
        ours = self.make()
        ours.add_many((f"s{number}", f"a >= {number}") for number in range(30))
        everything = ours.match({"a": 19})
        for limit in (0, 1, 5, 20, 100):
            some = ours.match({"a": 19}, limit)
            assert len(some) == len(set(some)) == min(limit, 20)
            assert set(some) <= set(everything)

    def test_mistakes_are_refused_and_change_nothing(self) -> None:
        ours = self.make(Schema.parse('[[attribute]]\nname = "a"\ntype = "int"\n'))
        ours.add("one", "a = 1")
        for wrong in (("one", "a = 2"), ("", "a = 2"), ("two", "a = 'x'"), ("two", "a ="), ("two", "missing = 1")):
            with pytest.raises(SiftcastError):
                ours.add(*wrong)
        with pytest.raises(SiftcastError):
            ours.add_many([("three", "a = 3"), ("one", "a = 4")])
        with pytest.raises(SubscriptionError):
            ours.remove("nobody")
        with pytest.raises(SubscriptionError):
            ours.replace("nobody", "a = 1")
        assert list(ours) == ["one"]
        assert [ours.match({"a": value}) for value in range(5)] == [[], ["one"], [], [], []]

    def test_an_empty_matcher_and_an_empty_table_give_empty_results(self) -> None:
        ours = self.make()
        assert ours.match({"a": 1}) == []
        assert not ours.match_any({})
        assert ours.match_batch(pa.table({"a": [1, 2]})).to_pylist() == [[], []]
        ours.add("x", "a = 1")
        empty = ours.match_batch(pa.table({"a": pa.array([], pa.int64())}))
        assert empty.type == RESULT_TYPE
        assert len(empty) == 0
        assert ours.match_batch(pa.record_batch({"a": [1]})).to_pylist() == [["x"]]

    def test_a_damaged_saved_form_is_refused(self) -> None:
        ours = self.make()
        ours.add("x", "a = 1 OR b LIKE 'x%'")
        saved = ours.to_bytes()
        assert Matcher.from_bytes(saved).match({"a": 1}) == ["x"]
        for damaged in (b"", saved[:-1], saved[: len(saved) // 2], saved[:-9] + b"?" + saved[-8:], b"x" + saved):
            with pytest.raises(EngineError):
                Matcher.from_bytes(damaged)


def outcome(matcher: Matcher, operation: str, id: object, filter_: object) -> str:
    """Does an operation and says how it ended."""
    assert isinstance(id, str)
    try:
        if operation == "remove":
            matcher.remove(id)
        else:
            assert isinstance(filter_, Filter)
            (matcher.add if operation == "add" else matcher.replace)(id, filter_)
    except SubscriptionError as error:
        return error.code
    return "done"


def check_event(ours: Matcher, oracle: Matcher, event: dict[str, object]) -> None:
    """One event gives the same ids in the same order, the same answer to "any?", and as many as a limit allows."""
    expected = oracle.match(event)
    assert ours.match(event) == expected
    assert ours.match_any(event) == bool(expected)
    for limit in (0, 1, 2, len(expected), len(expected) + 1):
        some = ours.match(event, limit)
        assert len(some) == len(set(some)) == min(limit, len(expected))
        assert set(some) <= set(expected)


def check_table(ours: Matcher, oracle: Matcher, table: object) -> None:
    """A table gives the same ids row by row, in any order, in the promised type, and as many as are counted."""
    result = ours.match_batch(table)
    assert result.type == RESULT_TYPE
    expected = oracle.match_batch(table).to_pylist()
    assert list(map(sorted, result.to_pylist())) == list(map(sorted, expected))
    assert ours.count_batch(table) == pa.array(map(len, expected), pa.int64())
