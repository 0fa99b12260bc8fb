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


@given(any_trees, budgets, st.lists(events, min_size=1, max_size=6))
def test_every_matching_event_satisfies_an_alternative(tree, budget, some_events):
    alternatives = normal_form(tree, budget=budget)
    for event in some_events:
        if tree.evaluate(event) is True:
            assert any(allows(one, event) and residue_holds(one, event) for one in alternatives)


@given(any_trees, budgets, st.lists(events, min_size=1, max_size=6))
def test_satisfying_a_deciding_alternative_means_matching(tree, budget, some_events):
    deciding = [one for one in normal_form(tree, budget=budget) if one.decides]
    for event in some_events:
        if any(allows(one, event) for one in deciding):
            assert Filter.of(tree).matches(event)


@given(any_trees, budgets, st.lists(events, min_size=1, max_size=6))
def test_satisfying_an_exact_alternative_and_its_residue_means_matching(tree, budget, some_events):
    exact = [one for one in normal_form(tree, budget=budget) if one.exact]
    for event in some_events:
        if any(allows(one, event) and residue_holds(one, event) for one in exact):
            assert Filter.of(tree).matches(event)


@given(trees(max_leaves=12), budgets)
def test_alternatives_keep_to_their_budget(tree, budget):
    assert len(normal_form(tree, budget=budget)) <= budget


@given(st.lists(any_trees, min_size=2, max_size=3))
def test_laws_of_de_morgan_hold_in_normal_form(parts):
    assert normal_form(Not(conjunction(parts))) == normal_form(disjunction([Not(part) for part in parts]))


@given(few_leaves | few_leaves.map(Not) | trees(few_leaves, max_leaves=4), budgets)
def test_normal_form_and_predicate_are_right_on_every_event_of_a_small_world(tree, budget):
    alternatives = normal_form(tree, budget=budget)
    predicate = Filter.of(tree)
    for event in FEW_EVENTS:
        matches = tree.evaluate(event) is True
        satisfied = [one for one in alternatives if allows(one, event) and residue_holds(one, event)]
        assert predicate.matches(event) is matches
        assert satisfied or not matches
        assert matches or not any(one.exact for one in satisfied)
