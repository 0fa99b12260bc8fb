"""The coordinator: what it issues, and when; answers are made by hand."""

from siftcast.overlays.epochs.coordinator import Coordinator
from siftcast.overlays.epochs.messages import Progress
from siftcast.overlays.epochs.view import ABSENT, GONE, LEAVING, LEFT, PRESENT, Holdings, Member, first_view
from siftcast.overlays.epochs.words import announce

GUARDED = {1: ((2, 5),), 2: ((3, 5),), 3: ((1, 5),)}
"""1 guards 2, 2 guards 3, 3 guards 1."""


def office(*, durable=True):
    view = first_view(tuple(Member(node, f"n{node}") for node in (1, 2, 3)), 1)
    return Coordinator(1, durable=durable, absent_ms=100.0), view


def answer(coordinator, view, nodes=(1, 2, 3), *, now=0.0, **more):
    coordinator.unasked(view, now)
    for node in nodes:
        facts = {"guards": GUARDED[node], **more} if node in GUARDED else more
        coordinator.note(node, Progress(coordinator.round, view.version, 7, 0, 0, 0, **facts))
    return coordinator.next_view(view, now)


def test_nothing_is_issued_while_nobody_asks():
    coordinator, view = office()
    assert not coordinator.is_busy(view)
    assert answer(coordinator, view) is None


def test_a_node_that_joins_is_prepared_for_then_used_then_the_old_plan_is_retired():
    coordinator, view = office()
    assert coordinator.join(view, Member(4, "n4")) == ""
    view = answer(coordinator, view)
    assert (view.newest.nodes, view.used) == ((1, 2, 3, 4), 1)
    everyone = (1, 2, 3, 4)
    assert answer(coordinator, view, everyone) is None  # one round says nothing yet
    view = answer(coordinator, view, everyone)
    assert (view.used, len(view.epochs)) == (2, 2)
    assert answer(coordinator, view, everyone) is None
    view = answer(coordinator, view, everyone)
    assert [epoch.number for epoch in view.epochs] == [2]
    assert not coordinator.is_busy(view)


def test_an_epoch_is_not_used_while_something_happens_between_two_rounds():
    coordinator, view = office()
    coordinator.join(view, Member(4, "n4"))
    view = answer(coordinator, view)
    for activity in range(5):
        coordinator.unasked(view, 0.0)
        for node in (1, 2, 3, 4):
            coordinator.note(node, Progress(coordinator.round, view.version, 7, activity, 0, 0))
        assert coordinator.next_view(view, 0.0) is None


def test_who_is_silent_is_absent_only_if_most_answer_and_somebody_guards_it():
    for nodes, guarded, expected in (
        ((1, 2), True, ABSENT),
        ((1, 2), False, PRESENT),
        ((1,), True, PRESENT),
    ):  # one of three
        coordinator, view = office()
        coordinator.miss(view, 3)
        assert answer(coordinator, view, nodes, now=0.0) is None
        issued = answer(coordinator, view, nodes, now=150.0, **({} if guarded else {"guards": ()}))
        assert (issued or view).state(3) == expected
        if expected == ABSENT:
            assert issued.newest.nodes == (1, 2)
            assert issued.newest.stand_in(3) == 2


def test_no_time_makes_a_member_gone():
    coordinator, view = office()
    coordinator.miss(view, 3)
    answer(coordinator, view, (1, 2), now=0.0)
    view = answer(coordinator, view, (1, 2), now=150.0)
    for now in (1e3, 1e6, 1e9):
        issued = answer(coordinator, view, (1, 2), now=now)
        view = issued or view
        assert view.state(3) == ABSENT


def test_what_a_member_that_is_declared_gone_held_is_kept_in_the_view():
    coordinator, view = office()
    coordinator.note(3, Progress(0, 1, 7, 0, 0, 0, holdings=Holdings(2, 40, 3)))
    coordinator.forget(view, 3)
    view = answer(coordinator, view, (1, 2))
    assert view.state(3) == GONE
    assert view.member(3).held == Holdings(2, 40, 3)
    assert coordinator.join(view, Member(3, "n3")) != ""


def test_a_name_that_is_taken_is_refused_and_in_a_network_that_keeps_nothing_an_absent_one_makes_way():
    coordinator, view = office()
    assert "give each node a name of its own" in coordinator.join(view, Member(9, "n2"))
    coordinator, view = office(durable=False)
    coordinator.miss(view, 2)
    answer(coordinator, view, (1, 3), now=0.0)
    view = answer(coordinator, view, (1, 3), now=150.0)
    assert view.state(2) == ABSENT
    assert coordinator.join(view, Member(9, "n2")) == ""
    view = answer(coordinator, view, (1, 3), now=200.0)
    assert (view.state(2), view.state(9)) == (GONE, PRESENT)


def test_who_leaves_is_stood_in_for_by_its_guardian():
    coordinator, view = office()
    coordinator.leave(view, 2)
    view = answer(coordinator, view)
    assert view.state(2) == LEAVING
    assert view.newest.nodes == (1, 3)
    assert view.newest.stand_in(2) == 1


def test_only_what_a_person_has_to_look_after_is_no_routine():
    states = (PRESENT, LEAVING, LEFT, ABSENT, GONE)
    assert [announce(Member(1, "n1", state=state)).routine for state in states] == [True, True, True, False, False]
