"""Whom a node asks that is no member yet, and whom one that is waits for."""

from siftcast.overlays.epochs.awaited import COORDINATOR, SILENT, UNHEARD, awaited
from siftcast.overlays.epochs.entering import Doors
from siftcast.overlays.epochs.view import ABSENT, Epoch, Member, View

TICK_MS = 100.0
SEED, FIRST, SECOND, OWN = 7, 1, 2, 9


def view_of(coordinator, version=1, *, absent=()):
    members = tuple(Member(node, f"n{node}", state="absent" if node in absent else "present") for node in (1, 2, 3))
    epochs = (Epoch(1, (1, 2, 3)), Epoch(2, tuple(node for node in (1, 2, 3) if node not in absent)))
    return View(version, coordinator, members, epochs, 2)


def asked_over(doors, since_ms, until_ms):
    """Whom a node asks from tick to tick, each once in a row."""
    found = []
    for now in range(int(since_ms), int(until_ms), int(TICK_MS)):
        (node,) = doors.ask(float(now))
        if not found or found[-1] != node:
            found.append(node)
    return found


def test_a_seed_alone_is_asked_again_and_named_once_it_has_not_answered_for_a_while():
    doors = Doors(OWN, TICK_MS, 10 * TICK_MS)
    assert doors.ask(0.0) == ()
    doors.begin((SEED,), 0.0)
    assert asked_over(doors, 0, 900) == [SEED]
    assert doors.unanswered == ()
    assert asked_over(doors, 900, 5_000) == [SEED]
    assert doors.unanswered == (SEED,)


def test_all_that_were_heard_of_are_asked_and_the_coordinator_every_other_time():
    doors = Doors(OWN, TICK_MS, 10 * TICK_MS)
    doors.begin((SEED,), 0.0)
    doors.ask(0.0)
    assert doors.hear_of(SEED, view_of(FIRST), 50.0)  # it names the coordinator, which is asked at once
    assert not doors.hear_of(FIRST, view_of(FIRST), 60.0)
    assert asked_over(doors, 100, 7_000)[:6] == [FIRST, SEED, FIRST, SECOND, FIRST, 3]


def test_who_names_a_later_coordinator_is_believed_and_who_knows_nothing_new_is_passed_over():
    doors = Doors(OWN, TICK_MS, 10 * TICK_MS)
    doors.begin((SEED,), 0.0)
    doors.hear_of(SEED, view_of(FIRST, 5), 0.0)
    assert asked_over(doors, 0, 1_200) == [FIRST, SEED]
    assert doors.hear_of(SEED, view_of(SECOND, 4), 1_250.0)  # the seed is behind, so the coordinator it is again
    assert doors.ask(1_300.0) == (FIRST,)
    assert doors.hear_of(3, view_of(SECOND, 6), 1_350.0)
    assert doors.ask(1_400.0) == (SECOND,)


def why(view, node, *, wants=True, forgotten=(), heard=(), found=(), silent=()):
    rows = awaited(view, node, wants=wants, forgotten=forgotten, heard=heard, found=found, silent=silent)
    return {row["identity"]: row["why"] for row in rows}


def test_whoever_is_waited_for_is_named_with_the_reason():
    view = view_of(FIRST)
    assert why(view, 2) == {1: COORDINATOR}
    assert why(view, 2, wants=False) == {}
    assert why(view_of(FIRST, absent=(3,)), 2) == {3: ABSENT, 1: COORDINATOR}
    assert why(view, 2, forgotten={1}) == {3: UNHEARD}
    assert why(view, 2, forgotten={1}, heard={3}) == {}
    assert why(view, 2, silent=[3]) == {3: SILENT}  # so the coordinator has told it
    assert why(view, 2, silent=[3], wants=False) == {}
    assert why(view, 1, found={2}, silent=[3]) == {3: SILENT}
    assert why(view, 1, found={2}, silent=[3], forgotten={3}) == {}
    assert why(view, 1, silent=[]) == {2: SILENT, 3: SILENT}  # it reaches nobody who could be coordinator instead


def test_a_member_that_finds_nobody_for_some_time_has_no_door_left():
    doors = Doors(OWN, TICK_MS, 1_000.0)
    doors.begin((SEED,), 500.0)
    assert not doors.are_shut(1_400.0, {FIRST}, ())
    assert doors.are_shut(1_500.0, {FIRST}, ())
    assert not doors.are_shut(1_600.0, {FIRST, SECOND}, {SECOND})
    assert not doors.are_shut(2_599.0, {FIRST}, {SECOND})
    assert doors.are_shut(2_600.0, {FIRST}, {SECOND})
    assert not doors.are_shut(2_700.0, (), ())


def test_contacts_that_are_found_later_are_asked_in_their_turn():
    doors = Doors(OWN, TICK_MS, 10 * TICK_MS)
    doors.begin((SEED,), 0.0)
    assert doors.ask(0.0) == (SEED,)
    doors.learn((SEED, FIRST, OWN))
    assert asked_over(doors, 100, 3_500) == [SEED, FIRST, SEED, FIRST]
