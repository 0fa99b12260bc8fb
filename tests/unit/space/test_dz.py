"""dz-expressions by example: the thesis's figures, what a space makes of odd schemas, and what is refused."""

import pickle
from fractions import Fraction
from math import inf

import numpy as np
import pytest

from siftcast.model import ArgumentError, Attribute, EventError, Filter, Schema, SchemaError
from siftcast.model.expression import Comparison, Literal, Reference
from siftcast.space import Box
from siftcast.space.dz import LENGTH_MAX, Dz, DzSet, DzSpace, DzTable

THESIS = Schema([Attribute("pressure", "int", (0, 99)), Attribute("area", "int", (0, 99))])
WIDE = Schema([Attribute(f"a{index}", "int", (1, 128)) for index in range(20)])


# -- the thesis ---------------------------------------------------------------------------------------


def test_figure_2_2_maps_as_the_text_says():
    space = DzSpace.of(THESIS, elsewhere=False)
    assert str(space.of_filter("pressure BETWEEN 25 AND 49", 8, wildcards=False)) == "{001, 011}"
    assert str(space.of_filter("pressure BETWEEN 25 AND 49", 1, wildcards=False)) == "{0}"
    assert space.box_of(Dz.parse("001")) == Box((25.0, 0.0), (50.0, 50.0))
    assert space.of_event({"pressure": 25, "area": 50}).prefix(3) == Dz.parse("011")


def test_figure_2_6_divides_once_more_and_once_less_by_rounds_of_all_dimensions():
    space = DzSpace.of(THESIS, elsewhere=False)
    wanted = DzSet(["0000", "0010", "1000", "1010"])
    finer = space.finer(Dz.parse("00"), wanted) | space.finer(Dz.parse("10"), wanted)
    assert finer.items == wanted.items
    assert str(wanted.with_stars()) == "{*0*0}"
    assert {space.coarser(Dz.parse(text)) for text in ("00", "10")} == {Dz()}
    assert space.coarser(Dz.parse("0000")) == Dz.parse("00")
    assert space.coarser(Dz.parse("000")) == Dz.parse("00")
    assert len(space.finer(Dz())) == 4
    assert [str(dz) for dz in space.finer(Dz.parse("1*0"))] == ["1*00", "1*01"]


def test_a_list_is_a_union_and_no_hull():
    space = DzSpace.of(THESIS, ["area"], elsewhere=False)
    found = space.of_filter("area IN (3, 97)", 8)
    assert found.exact
    assert [space.box_of(dz) for dz in found] == [Box((3.0,), (4.0,)), Box((97.0,), (98.0,))]


def test_stars_map_few_of_many_attributes_where_plain_expressions_cannot():
    space = DzSpace.of(WIDE, [f"a{index}" for index in range(10)], elsewhere=False)
    filter_ = "a3 BETWEEN 33 AND 64 AND a8 <= 64"
    starred, plain = (space.of_filter(filter_, 64, wildcards=wildcards) for wildcards in (True, False))
    assert (len(starred), starred.exact, starred.volume) == (1, True, Fraction(1, 8))
    assert plain.volume == Fraction(1, 2)
    assert plain.covers(starred)


def test_alternatives_about_different_attributes_begin_on_their_own():
    space = DzSpace.of(WIDE, ["a0", "a1", "a2"], elsewhere=False)
    found = space.of_filter("a0 = 5 OR a2 = 7", 2)
    assert found.exact
    assert len(found) == 2


# -- elsewhere ----------------------------------------------------------------------------------------


def test_what_has_no_value_in_the_domain_lies_in_the_other_half():
    space = DzSpace.of(THESIS)
    assert str(space.of_event({"pressure": 0, "area": 0})) == "0" * 16
    for strange in ({}, {"pressure": None}, {"pressure": float("nan")}, {"pressure": "3"}, {"pressure": 100}):
        dz = space.of_event({**strange, "area": 0})
        assert str(dz) == "1" + "0" * 15
        assert space.box_of(dz) is None
        assert space.of_filter("area = 0", 4).covers(dz)
        assert space.of_filter("pressure >= 0", 4).covers(dz) or space.of_filter("pressure IS NULL", 4).covers(dz)
        assert not space.of_filter("pressure BETWEEN 0 AND 99", 64).covers(dz)


def test_without_a_place_for_elsewhere_such_events_are_refused():
    space = DzSpace.of(THESIS, elsewhere=False)
    for strange in ({}, {"pressure": None}, {"pressure": 100}):
        with pytest.raises(EventError, match="'pressure'"):
            space.of_event({**strange, "area": 0})
    assert not space.of_filter("pressure IS NULL", 4)


def test_events_off_the_grid_are_refused():
    space = DzSpace.of(Schema([Attribute("x", "float", (0, 1), 0.25)]))
    assert space.of_event({"x": 0.5}) == space.of_event({"x": 0.50})
    for value in (0.3, 1.1, -0.1):
        with pytest.raises(EventError, match="granularity of 'x'"):
            space.of_event({"x": value})


def test_an_event_needs_attributes():
    with pytest.raises(EventError):
        DzSpace.of(THESIS).of_event([1, 2])


# -- axes ---------------------------------------------------------------------------------------------


def test_levels_follow_the_number_of_values():
    schema = Schema(
        [
            Attribute("one", "int", (7, 7)),
            Attribute("two", "bool"),
            Attribute("five", "string", tuple("abcde")),
            Attribute("many", "int", (0, 10**30)),
        ]
    )
    space = DzSpace.of(schema, elsewhere=False)
    assert [axis.levels for axis in space.axes] == [0, 1, 3, 60]
    assert [axis.exact for axis in space.axes] == [True, True, True, False]
    assert not space.exact
    assert DzSpace.of(schema, ["one", "two", "five"]).exact
    assert str(DzSpace.of(schema, ["one"], elsewhere=False).of_event({"one": 7})) == "ε"
    assert str(DzSpace.of(schema, ["one"]).of_event({"one": 8})) == "1"


def test_bits_are_dealt_out_in_rounds():
    space = DzSpace.of(WIDE, ["a0", "a1", "a2"], bits=8)
    assert [axis.levels for axis in space.axes] == [3, 3, 2]
    assert space.length == 8
    assert not space.exact
    assert not space.of_filter("a0 = 5", 8).exact
    assert space.of_filter("a0 BETWEEN 1 AND 32", 8).exact


def test_ten_attributes_of_128_values_fit():
    names = [f"a{index}" for index in range(10)]
    assert DzSpace.of(WIDE, names, elsewhere=False).length == 70
    assert DzSpace.of(WIDE, names).length == 80
    assert DzSpace.of(WIDE, names).exact
    assert DzSpace.of(WIDE).length == LENGTH_MAX


def test_attributes_without_a_domain_are_divided_when_named():
    schema = Schema([Attribute("text", "string"), Attribute("number", "float"), Attribute("count", "int")])
    space = DzSpace.of(schema, ["text"])
    prefix = space.of_filter("text LIKE 'ab%'", 4)
    assert prefix.covers(space.of_event({"text": "abacus"}))
    assert not prefix.covers(space.of_event({"text": "ac"}))
    space = DzSpace.of(schema, ["number", "count"])
    found = space.of_filter("number > 0 AND count <= 7", 64)
    assert found.covers(space.of_event({"number": 5e-324, "count": -(10**400)}))
    assert not found.covers(space.of_event({"number": -1, "count": 7}))
    assert not found.covers(space.of_event({"number": 1, "count": 8}))


def test_nothing_that_can_match_is_no_expression():
    space = DzSpace.of(THESIS)
    found = space.of_filter("area > 5 AND area < 6", 4)
    assert (len(found), found.exact, bool(found)) == (0, True, False)
    assert not space.of_box(Box((0.0, 5.0), (9.0, 5.0)), 4)


def test_an_attribute_outside_of_the_space_makes_a_set_inexact():
    space = DzSpace.of(THESIS, ["area"])
    assert not space.of_filter("area < 10 AND pressure = 3", 64).exact
    assert not space.of_filter("area < 10 AND area < pressure", 64).exact
    assert not DzSpace.of(THESIS).of_filter("area < 10 AND area < pressure", 64).exact


def test_boxes_of_numbers_map_as_their_filters_do():
    space = DzSpace.of(THESIS)
    box = space.of_box(Box((25.0, float("-inf")), (50.0, float("inf"))), 8)
    assert box == space.of_filter("pressure BETWEEN 25 AND 49", 8)
    batch = space.of_boxes([[25.0, float("-inf")]], [[50.0, float("inf")]], 8)
    assert batch.set_at(0).items == box.items
    assert space.of_boxes(np.array([[25, 10], [5, 3]]), np.array([[50, 20], [5, 9]]), 8).counts.tolist()[1] == 0


def test_a_space_can_be_sent_to_other_processes():
    space = DzSpace.of(THESIS)
    space.of_boxes([[1, 2]], [[3, 4]], 2)
    again = pickle.loads(pickle.dumps(space))
    filter_ = Filter.parse("pressure > 5 OR area = 3")
    assert again.of_filter(filter_, 8).items == space.of_filter(filter_, 8).items
    assert pickle.loads(pickle.dumps(Dz.parse("0*1"))) == Dz.parse("0*1")


# -- refusals -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("theta", [0, -1, True, 2.0, "8", None, 65_537])
def test_theta_is_a_number_of_expressions(theta):
    space = DzSpace.of(THESIS)
    for call in (
        lambda: space.of_filter("area = 3", theta),
        lambda: space.of_box(Box((0.0, 0.0), (1.0, 1.0)), theta),
        lambda: space.of_boxes([[0.0, 0.0]], [[1.0, 1.0]], theta),
    ):
        with pytest.raises(ArgumentError, match="theta"):
            call()


def test_batches_have_few_expressions_a_box():
    with pytest.raises(ArgumentError, match="from 1 to 64"):
        DzSpace.of(THESIS).of_boxes([[0.0, 0.0]], [[1.0, 1.0]], 65)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bits": 0}, "1 to 128 bits"),
        ({"bits": 129}, "1 to 128 bits"),
        ({"bits": True}, "1 to 128 bits"),
        ({"bits": "12"}, "1 to 128 bits"),
        ({"bits": 1}, "need 2 bits"),
        ({"attributes": ["area", "aria"]}, "no attribute 'aria'"),
        ({"attributes": ["area", "area"]}, "twice"),
        ({"attributes": "area"}, "list of names"),
        ({"attributes": [3]}, "no attribute 3"),
        ({"attributes": 7}, "list of names"),
    ],
)
def test_a_space_that_cannot_be_is_refused(options, message):
    with pytest.raises(SchemaError, match=message):
        DzSpace.of(THESIS, **options)


def test_a_schema_without_domains_is_refused_unless_attributes_are_named():
    schema = Schema([Attribute("text", "string")])
    for attributes in ((), []):
        with pytest.raises(SchemaError, match="no attribute of the schema has a domain"):
            DzSpace.of(schema, attributes)
    with pytest.raises(SchemaError):
        DzSpace.of("schema")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 129), "at most 128"),
        ((4, 2), "fit into"),
        ((0, 2, 4), "fit into"),
        ((1, 2, 1), "its bit must be 0"),
        ((-1, 2), "from 0"),
        ((1.0, 2), "from 0"),
        ((True, 2), "from 0"),
    ],
)
def test_an_expression_that_cannot_be_is_refused(arguments, message):
    with pytest.raises(ArgumentError, match=message):
        Dz(*arguments)


@pytest.mark.parametrize("text", ["012", "0 1", " ", "0" * 129, None, 5, b"01"])
def test_text_that_is_no_expression_is_refused(text):
    with pytest.raises(ArgumentError, match="dz-expression"):
        Dz.parse(text)


@pytest.mark.parametrize("items", ["01", 5, [5], [None], ["2"]])
def test_what_is_no_set_is_refused(items):
    with pytest.raises(ArgumentError, match="dz-expression"):
        DzSet(items)
    with pytest.raises(ArgumentError, match="dz-expression"):
        DzSet(["0"]).covers(items)
    with pytest.raises(ArgumentError, match="dz-expression"):
        DzTable(items)
    with pytest.raises(ArgumentError, match="dz-expression"):
        DzTable().covering(items)


def test_boxes_that_do_not_fit_the_space_are_refused():
    space = DzSpace.of(THESIS)
    nan = float("nan")
    for call, message in (
        (lambda: space.of_box(Box((0.0,), (1.0,)), 2), "2 sides"),
        (lambda: space.of_box("box", 2), "Box"),
        (lambda: space.of_box(Box((nan, 0.0), (1.0, 1.0)), 2), "NaN"),
        (lambda: space.of_box(Box(("a", 0.0), (1.0, 1.0)), 2), "no place on 'pressure'"),
        (lambda: space.of_boxes([[nan, 0.0]], [[1.0, 1.0]], 2), "NaN"),
        (lambda: space.of_boxes([[0.0]], [[1.0]], 2), "2 columns"),
        (lambda: space.of_boxes([0.0, 1.0], [1.0, 1.0], 2), "2 columns"),
        (lambda: space.of_boxes([["a", "b"]], [["c", "d"]], 2), "numbers"),
        (lambda: space.box_of("01"), "Dz"),
        (lambda: space.box_of(Dz.parse("0" * 17)), "at most 16 places"),
        (lambda: Dz.parse("01").prefix(-1), "prefix"),
        (lambda: Dz.parse("01").child(2), "0 or 1"),
    ):
        with pytest.raises(ArgumentError, match=message):
            call()


def test_an_expression_is_full_at_128_places():
    with pytest.raises(ArgumentError, match="at most 128"):
        Dz.parse("0" * 128).child(1)
    assert Dz.parse("*" * 128) == Dz()


@pytest.mark.parametrize("number", [inf, -inf])
@pytest.mark.parametrize("operator", ["<", "<=", "=", "!=", ">=", ">"])
@pytest.mark.parametrize("domain", [(0.0, 10.0), (5.0, 20.0)])
def test_infinite_literals_are_enclosed_on_a_grid(number, operator, domain):
    space = DzSpace.of(Schema([Attribute("price", "float", domain, 0.5)]))
    wanted = Filter.of(Comparison(operator, Reference(("price",)), Literal(number)))
    mapped = space.of_filter(wanted, 8)
    for price in (inf, -inf, *domain, 7.5, None):
        if wanted.matches({"price": price}):
            assert mapped.covers(space.of_event({"price": price}))
