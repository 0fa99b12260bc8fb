"""Laws of the normal form, on which indexes build: no matching event escapes it; where it decides, it is right."""

from hypothesis import given
from hypothesis import strategies as st

from siftcast.model import Filter
from siftcast.model.expression import (
    COMPARATORS,
    Between,
    Comparison,
    In,
    IsNull,
    Like,
    Literal,
    Not,
    Reference,
    conjunction,
    disjunction,
    negate,
)
from siftcast.model.intervals import SCALES
from siftcast.model.like import LikePattern
from siftcast.model.normal_form import Conjunction, Presence, normal_form
from siftcast.model.values import kind_of, normalise
from tests.property.test_filter_trees import events, leaves, trees

any_trees = trees(leaves(alike=False), max_leaves=12)
# Few attributes and values, so that tests and events meet: NULL in lists, wildcards inside patterns, unlike kinds.
few_literals = st.sampled_from([Literal(0), Literal(1), Literal(True), Literal("a"), Literal("ab"), Literal(None)])
few_references = st.sampled_from([Reference(("a",)), Reference(("b",))])
few_leaves = st.one_of(
    st.builds(In, few_references, st.lists(few_literals, min_size=1, max_size=3).map(tuple), st.booleans()),
    st.builds(Like, few_references, st.sampled_from(["a_", "a%b", "%b", "a%", "ab"]).map(LikePattern), st.booleans()),
    st.builds(Between, few_references, few_literals, few_literals, st.booleans()),
    st.builds(Comparison, st.sampled_from(list(COMPARATORS)), few_references, few_literals | few_references),
    st.builds(IsNull, few_references, st.booleans()),
    few_references,
)
few_values = [None, False, True, 0, 0.5, 1, 2, "", "a", "ab", "acb", "b", float("nan"), [1]]
FEW_EVENTS = [{"a": one, "b": other} for one in few_values for other in few_values]
budgets = st.sampled_from([1, 2, 3, 64])


def allows(conjunction: Conjunction, event) -> bool:
    """Whether an event satisfies the constraints alone."""
    for path, constraint in conjunction.constraints.items():
        raw = Reference(path).raw(event)
        if isinstance(constraint, Presence):
            if (raw is None) is not (constraint is Presence.NULL):
                return False
            continue
        value = normalise(raw)
        if kind_of(value) is not constraint.kind:
            return False
        cuts = SCALES[constraint.kind].before(value), SCALES[constraint.kind].after(value)
        if not any(low <= cuts[0] and cuts[1] <= high for low, high in constraint.values.ranges):
            return False
    return True


def residue_holds(conjunction: Conjunction, event) -> bool:
    return all(negate(node.evaluate(event), negated) is True for node, negated in conjunction.residue)


def check_alternatives(tree, budget, some_events):
    """Every matching event satisfies an alternative with its residue, and only matching ones satisfy an exact one."""
    alternatives, predicate = normal_form(tree, budget=budget), Filter.of(tree)
    for event in some_events:
        matches = tree.evaluate(event) is True
        satisfied = [one for one in alternatives if allows(one, event) and residue_holds(one, event)]
        assert predicate.matches(event) is matches
        assert satisfied or not matches
        assert matches or not any(one.exact for one in satisfied)


@given(any_trees, budgets, st.lists(events, min_size=1, max_size=6))
def test_alternatives_allow_what_matches_and_exact_ones_nothing_else(tree, budget, some_events):
    check_alternatives(tree, budget, some_events)


@given(trees(max_leaves=12), budgets)
def test_alternatives_keep_to_their_budget(tree, budget):
    assert len(normal_form(tree, budget=budget)) <= budget


@given(st.lists(any_trees, min_size=2, max_size=3))
def test_laws_of_de_morgan_hold_in_normal_form(parts):
    assert normal_form(Not(conjunction(parts))) == normal_form(disjunction([Not(part) for part in parts]))


@given(few_leaves | few_leaves.map(Not) | trees(few_leaves, max_leaves=4), budgets)
def test_normal_form_and_predicate_are_right_on_every_event_of_a_small_world(tree, budget):
    check_alternatives(tree, budget, FEW_EVENTS)


def test_a_long_or_of_values_is_one_set_that_decides():
    text = " OR ".join(f"a = {number}" for number in range(0, 1_000, 2))
    (alternative,) = normal_form(Filter.parse(text).expression)
    assert alternative.decides
    assert len(alternative.constraints["a",].values.ranges) == 500


def test_a_long_and_of_exclusions_is_one_set_that_decides():
    text = " AND ".join(f"a != {number}" for number in range(500))
    (alternative,) = normal_form(Filter.parse(text).expression)
    assert alternative.decides
    assert len(alternative.constraints["a",].values.ranges) == 501


def test_alternatives_that_differ_in_one_attribute_at_a_time_become_one():
    pairs = [(one, other) for one in range(20) for other in range(20)]
    text = " OR ".join(f"a = {one} AND b = {other}" for one, other in pairs)
    (alternative,) = normal_form(Filter.parse(text).expression)
    assert alternative.decides
    assert [len(part.values.ranges) for part in alternative.constraints.values()] == [20, 20]


def test_too_many_alternatives_become_a_hull_that_allows_each_of_their_values():
    text = " OR ".join(f"a = {number} AND b < {number}" for number in range(500))
    (alternative,) = normal_form(Filter.parse(text).expression)
    assert not alternative.exact
    assert allows(alternative, {"a": 7, "b": 498})
    assert not allows(alternative, {"a": 7.5, "b": 0})
    assert not allows(alternative, {"a": 7, "b": 499})


@given(st.lists(st.lists(few_leaves, min_size=2, max_size=3), min_size=3, max_size=9), budgets)
def test_a_product_of_many_alternatives_allows_every_matching_event(parts, budget):
    tree = conjunction([disjunction(part) for part in parts])
    alternatives = normal_form(tree, budget=budget)
    assert len(alternatives) <= budget
    for event in FEW_EVENTS[::7]:
        if tree.evaluate(event) is True:
            assert any(allows(alternative, event) for alternative in alternatives)
        elif alternatives and all(alternative.decides for alternative in alternatives):
            assert not any(allows(alternative, event) for alternative in alternatives)
