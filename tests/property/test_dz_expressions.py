"""Laws of dz-expressions and their sets, against the cells they hold, listed one by one."""

from fractions import Fraction
from functools import cache
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from siftcast.space.dz import LENGTH_MAX, Dz, DzSet, DzTable

LENGTH = 6
CELLS = ["".join(places) for places in product("01", repeat=LENGTH)]
texts = st.text("01*", max_size=LENGTH)
plain_texts = st.text("01", max_size=LENGTH)
expressions = texts.map(Dz.parse)
sets = st.lists(texts, max_size=6).map(DzSet)
plain_sets = st.lists(plain_texts, max_size=6).map(DzSet)
long_texts = st.text("01*", max_size=LENGTH_MAX)


def cells(held):
    """The cells of an expression or a set: by the texts, which nothing of the code under test compares."""
    items = [held] if isinstance(held, Dz) else list(held)
    found = set()
    for item in items:
        text = "" if str(item) == "ε" else str(item)
        found |= set(map("".join, product(*("01" if place == "*" else place for place in text.ljust(LENGTH, "*")))))
    return found


@cache
def all_expressions():
    """Every expression by the cells that it holds."""
    found = map(Dz.parse, map("".join, product("01*", repeat=LENGTH)))
    return {frozenset(cells(dz)): dz for dz in found}


@given(long_texts)
def test_an_expression_is_read_and_written_and_has_no_stars_at_its_end(text):
    dz = Dz.parse(text)
    assert str(dz) == (text.rstrip("*") or "ε")
    assert Dz.parse(str(dz)) == dz == Dz.of_cube(*dz.cube) == Dz(dz.bits, dz.length, dz.stars)
    assert hash(Dz.parse(str(dz))) == hash(dz)
    assert dz.selectivity == len(text.replace("*", ""))


@given(expressions, expressions)
def test_expressions_compare_as_the_cells_that_they_hold(one, other):
    assert one.covers(other) == other.is_covered_by(one) == (cells(one) >= cells(other))
    assert one.overlaps(other) == bool(cells(one) & cells(other))
    assert (one == other) == (cells(one) == cells(other))
    met = one & other
    assert (set() if met is None else cells(met)) == cells(one) & cells(other)


@given(expressions, expressions)
def test_two_expressions_merge_exactly_when_one_holds_what_both_hold(one, other):
    both = frozenset(cells(one) | cells(other))
    merged = one.merge(other)
    assert other.merge(one) == merged
    assert merged == all_expressions().get(both)


@given(plain_texts, plain_texts)
def test_plain_expressions_that_overlap_contain_one_another(one, other):
    left, right = Dz.parse(one), Dz.parse(other)
    assert left.overlaps(right) == (left.covers(right) or right.covers(left))
    assert left.covers(right) == other.startswith(one)


def test_expressions_with_stars_overlap_without_containing_one_another():
    one, other = Dz.parse("*0"), Dz.parse("0*1")
    assert one.overlaps(other)
    assert not one.covers(other)
    assert not other.covers(one)


@given(st.lists(long_texts.map(Dz.parse), min_size=3, max_size=3))
def test_the_order_is_total_and_what_covers_comes_first(items):
    first, second, third = sorted(items)
    assert first <= second <= third
    assert first <= third
    for one in items:
        for other in items:
            assert (one < other) + (other < one) + (one == other) == 1
            assert not one.covers(other) or one <= other


@given(plain_texts, plain_texts)
def test_plain_expressions_are_ordered_as_their_texts(one, other):
    assert (Dz.parse(one) < Dz.parse(other)) == (one < other)


@given(st.lists(texts, max_size=6))
def test_a_set_holds_what_it_was_made_of_and_keeps_nothing_twice(items):
    made = DzSet(items)
    assert cells(made) == set().union(*(cells(Dz.parse(item)) for item in items))
    assert list(made) == sorted(made)
    assert not any(one is not other and one.covers(other) for one in made for other in made)
    assert made.volume == Fraction(len(cells(made)), len(CELLS))
    assert DzSet.parse(str(made)) == made


@given(sets, sets)
def test_sets_compare_as_the_cells_that_they_hold(one, other):
    assert one.covers(other) == other.is_covered_by(one) == (cells(one) >= cells(other))
    assert one.overlaps(other) == bool(cells(one) & cells(other))
    assert (one == other) == (cells(one) == cells(other))
    if one == other:
        assert hash(one) == hash(other)


@given(sets, expressions)
def test_a_set_covers_what_several_of_its_expressions_cover_together(one, dz):
    assert one.covers(dz) == (cells(one) >= cells(dz))
    assert one.overlaps(dz) == bool(cells(one) & cells(dz))
    assert DzSet([dz]).covers(one) == one.is_covered_by(dz)


@given(sets, sets)
def test_union_intersection_and_difference_are_those_of_cells(one, other):
    assert cells(one | other) == cells(one) | cells(other)
    assert cells(one & other) == cells(one) & cells(other)
    assert cells(one - other) == cells(one) - cells(other)


@given(sets)
def test_disjoint_pieces_hold_each_cell_once(one):
    pieces = one.disjoint()
    assert cells(one) == set().union(*map(cells, pieces))
    assert sum(len(cells(piece)) for piece in pieces) == len(cells(one))


@given(plain_sets, plain_sets)
def test_sets_of_plain_expressions_stay_plain_and_have_one_form(one, other):
    for made in (one, one | other, one & other, one - other):
        assert not any(dz.stars for dz in made)
        again = DzSet(cell for cell in CELLS if cell in cells(made))
        assert again.items == made.items
        assert made.disjoint() == made.items


@given(plain_sets)
def test_stars_make_a_set_no_larger(one):
    starred = one.with_stars()
    assert starred == one
    assert len(starred) <= len(one)


@given(st.lists(long_texts.map(Dz.parse) | expressions, max_size=8), expressions)
def test_a_table_compares_each_row_as_its_expression_is_compared(items, dz):
    table = DzTable(items)
    assert list(table) == items
    assert len(table) == len(items)
    for one in [dz, *items[:2]]:
        assert table.covering(one).tolist() == [item.covers(one) for item in items]
        assert table.covered_by(one).tolist() == [one.covers(item) for item in items]
        assert table.overlapping(one).tolist() == [item.overlaps(one) for item in items]
        assert table.merging(one).tolist() == [item.merge(one) is not None for item in items]
    assert table.selectivities.tolist() == [item.selectivity for item in items]
    assert [items[row] for row in table.order()] == sorted(items)


def test_the_thesis_example_of_stars_is_one_expression():
    plain = DzSet(["0000", "0010", "1000", "1010"])
    assert len(plain) == 4
    assert str(plain.with_stars()) == "{*0*0}"
