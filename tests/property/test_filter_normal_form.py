"""Laws of the normal form, on which indexes build: no matching event escapes it; where it decides, it is right."""

from hypothesis import given
from hypothesis import strategies as st

from siftcast.model import Filter
from siftcast.model.expression import Not, Reference, conjunction, disjunction, negate
from siftcast.model.intervals import SCALES
from siftcast.model.normal_form import Conjunction, Presence, normal_form
from siftcast.model.values import kind_of, normalise
from tests.property.test_filter_trees import events, leaves, trees

any_trees = trees(leaves(alike=False), max_leaves=12)
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
