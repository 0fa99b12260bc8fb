"""Laws of the covering index: it answers as asking every filter would, in the order of addition."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siftcast.matching import covering, nested_boxes
from siftcast.matching.covering import CoveringIndex
from siftcast.model import Filter
from siftcast.model.expression import And, Comparison, In, Literal, Reference, conjunction, disjunction
from tests.property.test_filter_algebra import GRID, TEXTS, X, Y, leaves, prefixes
from tests.property.test_filter_normal_form import few_leaves
from tests.property.test_filter_trees import trees

Z = Reference(("z",))
numbers = leaves(X, [*GRID, 2**53, 2**53 + 1, -(2**60), 1e300, float("inf")]) | leaves(Z, GRID)
texts = leaves(Y, [*TEXTS, "longer than six bytes", "longer than sixty"]) | prefixes(Y, [*TEXTS, "longer"])
plain = st.lists(numbers | texts, min_size=1, max_size=3).map(conjunction)
# Enough alternatives to go beyond the budget of the normal form, so that only a hull is left of them.
hulls = st.integers(70, 72).map(
    lambda count: disjunction(
        [And((Comparison("=", X, Literal(n)), Comparison("<", Z, Literal(n * n)))) for n in range(count)]
    )
)
lists = st.lists(st.integers(0, 12).map(Literal), min_size=1, max_size=9).map(lambda some: In(X, tuple(some)))
filters = st.one_of(
    plain,
    plain,
    lists,
    st.builds(lambda one, other: conjunction([one, other]), lists, plain),
    st.builds(lambda one, other: disjunction([one, other]), plain, plain),
    trees(few_leaves, max_leaves=3),
    hulls,
    st.sampled_from([Literal(True), Literal(False)]),
).map(Filter.of)


def assert_as_one_by_one(index, known, asked):
    assert list(index.covering(asked)) == [id for id, filter_ in known.items() if filter_.covers(asked)]
    assert index.covered_by(asked) == [id for id, filter_ in known.items() if asked.covers(filter_)]


@given(st.lists(filters, max_size=12), st.lists(filters, min_size=1, max_size=3), st.data())
def test_index_answers_as_asking_each_filter(kept, asked, data):
    index, known = CoveringIndex(), {}
    for number, filter_ in enumerate(kept):
        index.add(f"s{number}", filter_)
        known[f"s{number}"] = filter_
    for filter_ in [*asked, *kept[:3]]:
        assert_as_one_by_one(index, known, filter_)
    for id in data.draw(st.lists(st.sampled_from(sorted(known)), unique=True)) if known else []:
        index.remove(id)
        del known[id]
    for filter_ in asked:
        assert_as_one_by_one(index, known, filter_)
    assert len(index) == len(known)


@given(st.integers(0, 2**32), st.integers(0, 3))
def test_large_index_answers_as_asking_each_filter(seed, kind):
    """Small thresholds stand for large numbers: piles are put in blocks, and dead rows are cleared away."""
    draw = Random(seed)
    with pytest.MonkeyPatch.context() as patch:
        for module, name, value in (
            (nested_boxes, "BLOCK", 4), (nested_boxes, "ORDERED_MIN", 8), (nested_boxes, "FEW", 1),
            (nested_boxes, "AXES_MAX", 2), (covering, "FEW", 1), (covering, "_SMALL", 3), (covering, "_DEAD_MIN", 8),
        ):  # fmt: skip
            patch.setattr(module, name, value)
        index, known = CoveringIndex(), {}
        for number in range(60):
            if known and draw.random() < 0.4:
                id = draw.choice(sorted(known))
                index.remove(id)
                del known[id]
            filter_ = Filter.parse(" AND ".join(_terms(draw, kind)))
            assert_as_one_by_one(index, known, filter_)
            id = f"s{number}"
            index.add(id, filter_)
            known[id] = filter_


def _terms(draw, kind):
    names = draw.sample("abcd", draw.randint(1, 3))
    low = {name: draw.randrange(4) for name in names}
    match kind:
        case 0:
            return [f"{name} BETWEEN {n} AND {n + draw.randrange(4)}" for name, n in low.items()]
        case 1:
            lists = {name: draw.choices("01234", k=draw.randint(1, 4)) for name in names}
            return [f"{name} IN ({', '.join(lists[name])})" for name in names]
        case 2:
            return [f"{name} LIKE '%{n}%'" if draw.random() < 0.5 else f"{name} > '{n}'" for name, n in low.items()]
    return [f"{name} IS NOT NULL" if draw.random() < 0.3 else f"{name} < {low[name]}" for name in names]


def test_an_id_that_is_added_again_has_its_new_filter_and_comes_last():
    index = CoveringIndex()
    for id, text in (("one", "a < 5"), ("two", "a < 6"), ("one", "a < 7")):
        index.add(id, Filter.parse(text))
    assert list(index.covering(Filter.parse("a < 4"))) == ["two", "one"]
    assert index.covered_by(Filter.parse("a < 6")) == ["two"]
    assert len(index) == 2


def test_removing_what_is_not_there_is_an_error():
    with pytest.raises(KeyError):
        CoveringIndex().remove("one")
