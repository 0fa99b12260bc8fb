"""The `Filter` a user holds: parsing, printing, algebra, equality, copies."""

import copy
import pickle

import pytest

from siftcast.model import Attribute, Filter, FilterError, FilterTypeError, Schema
from siftcast.model.expression import Comparison, In, Literal, Reference


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("a=1", "a = 1"),
        ("a == 1 and b <> 2", "a = 1 AND b != 2"),
        ("((a)) = 1", "a = 1"),
        ("(a = 1 OR b = 2) AND c", "(a = 1 OR b = 2) AND c"),
        ("a = 1 OR (b = 2 AND c)", "a = 1 OR b = 2 AND c"),
        ("a OR (b OR (c OR d))", "a OR b OR c OR d"),
        ("not(a and not b)", "NOT (a AND NOT b)"),
        ("NOT (a)", "NOT a"),
        ("NOT a = 1", "NOT a = 1"),
        ("a between 1 and 2 and b", "a BETWEEN 1 AND 2 AND b"),
        ("a not in (1,2)", "a NOT IN (1, 2)"),
        ("a is not null", "a IS NOT NULL"),
        ("`a` = +1", "a = 1"),
        ("`in`.`b c`.d = - 1.50", "`in`.`b c`.d = -1.5"),
        ("`select` IN (1)", "`select` IN (1)"),
        ("`a``b` = 1", "`a``b` = 1"),
        ("a = 1e3", "a = 1000.0"),
        ("a = 1e22", "a = 1e+22"),
        (r"a = 'it\'s'", "a = 'it''s'"),
        (r"a = '\t\u0041\101'", r"a = '\u0009AA'"),
        (r"a LIKE '100\%'", r"a LIKE '100\\%'"),
        ("a > timestamp '2024-05-01T12:00+02:00'", "a > TIMESTAMP '2024-05-01 10:00:00Z'"),
        ("timestamp > 5", "timestamp > 5"),
        ("true OR Null", "TRUE OR NULL"),
        ("'a' < b", "'a' < b"),
        ("a\n =\t1 ", "a = 1"),
    ],
)
def test_text_is_printed_in_one_way_that_means_the_same(text, printed):
    filter_ = Filter.parse(text)
    assert str(filter_) == printed
    assert Filter.parse(printed) == filter_
    assert repr(filter_) == f"Filter.parse({printed!r})"


def test_and_binds_tighter_than_or_and_not_tighter_than_and():
    filter_ = Filter.parse("NOT a AND b OR c")
    assert filter_ == Filter.parse("((NOT a) AND b) OR c")
    assert filter_ != Filter.parse("NOT (a AND b) OR c")
    assert filter_ != Filter.parse("NOT a AND (b OR c)")


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("a = 1", "a = 1.0"),
        ("a = 1", "a = TRUE"),
        ("a = 1", "1 = a"),
        ("a IN (1, 2)", "a IN (2, 1)"),
        ("a = 0.0", "a = -0.0"),
    ],
)
def test_equality_is_of_structure_and_tells_types_apart(left, right):
    assert Filter.parse(left) != Filter.parse(right)
    assert Filter.parse(left) == Filter.parse(left + " ")
    assert hash(Filter.parse(left)) == hash(Filter.parse(left + " "))
    assert Filter.parse(left) != left


@pytest.mark.parametrize(
    ("general", "special", "covers", "overlaps"),
    [
        ("price < 100", "price < 95", True, True),
        ("price < 95", "price < 100", False, True),
        ("price < 95", "price >= 95", False, False),
        ("price <= 95", "price >= 95", False, True),
        ("symbol LIKE 'IB%'", "symbol = 'IBM' AND price < 5", True, True),
        ("symbol LIKE 'IB%'", "symbol LIKE 'IC%'", False, False),
        ("symbol IN ('A', 'B')", "symbol = 'A'", True, True),
        ("symbol != 'A'", "symbol IN ('A', 'B')", False, True),
        ("price IS NOT NULL", "price > 5", True, True),
        ("price IS NULL", "price > 5", False, False),
        ("price > 5", "price = 'a'", False, False),
        ("TRUE", "price > 5", True, True),
        ("price > 5", "FALSE", True, False),
        ("price > 5", "price = NULL", True, False),
        ("price = 1 OR price IS NULL", "price IS NULL", True, True),
        ("a < b", "a < b AND c = 1", True, True),
        ("a < b", "b > a", False, True),
        ("name LIKE '%x%'", "name LIKE '%x%'", True, True),
        ("name LIKE '%x%'", "name NOT LIKE '%x%'", False, True),
        ("n.x > 1", "n.x > 2", True, True),
        ("NOT (a = 1 AND b = 2)", "a != 1", True, True),
        ("a < 5 OR a >= 5", "a BETWEEN 0 AND 10", True, True),
    ],
)
def test_covering_and_overlap_by_example(general, special, covers, overlaps):
    one, other = Filter.parse(general), Filter.parse(special)
    assert one.covers(other) is covers
    assert one.overlaps(other) is overlaps
    assert other.overlaps(one) is overlaps


def test_granularity_of_a_schema_decides_what_dense_numbers_leave_open():
    schema = Schema([Attribute("n", "int"), Attribute("price", "float", (0.0, 100.0), 0.05), Attribute("a.b", "int")])
    for general, special in [
        ("n >= 5", "n > 4"),
        ("price >= 0.15", "price > 0.1"),
        ("a.b = 1", "a.b > 0 AND a.b < 2"),
        ("n != 2.5", "n < 9"),
    ]:
        assert not Filter.parse(general).covers(Filter.parse(special))
        assert Filter.parse(general).covers(Filter.parse(special), schema)
    assert Filter.parse("n > 4").overlaps(Filter.parse("n < 5"))
    assert not Filter.parse("n > 4").overlaps(Filter.parse("n < 5"), schema)


def test_past_the_budget_of_alternatives_the_algebra_stays_on_the_safe_side():
    many = Filter.parse(" AND ".join(f"(a{n} = 1 OR b{n} = 1)" for n in range(12)))
    part = Filter.parse("a0 = 1 OR b0 = 1")
    assert many.covers(many)
    assert not many.covers(part)
    assert many.overlaps(part)


def test_attributes_are_listed_once_in_order_of_appearance():
    filter_ = Filter.parse("b.c > 1 AND (a = 1 OR `b.c` < a) AND 5 < z")
    assert filter_.attributes == ("b.c", "a", "z")


@pytest.mark.parametrize("text", ["a = 1", "a LIKE '%x_y%' AND NOT b", "t = TIMESTAMP '2024-05-01'", "a IN (1, NULL)"])
def test_filter_survives_pickle_and_copies_before_and_after_first_use(text):
    for used in (False, True):
        filter_ = Filter.parse(text)
        if used:
            filter_.matches({})
        for twin in (pickle.loads(pickle.dumps(filter_)), copy.copy(filter_), copy.deepcopy(filter_)):
            assert twin == filter_
            assert twin.matches({"a": 1}) is filter_.matches({"a": 1})


@pytest.mark.parametrize("given", [None, 5, b"a = 1", ["a = 1"]], ids=repr)
def test_a_filter_is_parsed_from_text_only(given):
    with pytest.raises(FilterError, match="a filter is text"):
        Filter.parse(given)


def test_unknown_dialect_names_the_known_ones():
    with pytest.raises(FilterError, match="unknown dialect 'xpath'; known: sql"):
        Filter.parse("a = 1", "xpath")


def test_tree_with_an_infinity_matches_but_cannot_be_written():
    filter_ = Filter.of(Comparison("<", Reference(("a",)), Literal(float("inf"))))
    assert filter_.matches({"a": 5})
    with pytest.raises(FilterTypeError, match="no literal for inf"):
        str(filter_)


def test_attribute_names_and_literals_never_reach_the_compiled_source():
    name = "__import__('os')"
    assert Filter.parse(f"`{name}` = 'x); import os; ('").matches({name: "x); import os; ("})
    assert not Filter.parse(f"`{name}` = 1").matches({})


def test_list_of_unlike_kinds_in_a_tree_keeps_true_and_one_apart():
    filter_ = Filter.of(In(Reference(("a",)), (Literal(1), Literal(True)), negated=True))
    assert filter_.expression.evaluate({"a": 5}) is None
    assert not filter_.matches({"a": 5})


def test_next_text_after_another_is_told_apart_from_it():
    assert not Filter.parse("a = 'x'").overlaps(Filter.parse(r"a = 'x\0'"))
    assert Filter.parse(r"a >= 'x\0'").covers(Filter.parse("a > 'x'"))
