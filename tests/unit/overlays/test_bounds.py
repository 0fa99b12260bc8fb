"""A bound on delay is judged by the last thousand events, or by what a scheme expects while there are none."""

from math import inf

import pytest

from siftcast.overlays.bounds import SHARE_MIN, WINDOW, BoundWatch, Hop


def filled(ages: list[float], bound_ms: float = 50.0) -> BoundWatch:
    watch = BoundWatch(bound_ms, 0.0)
    for place, age in enumerate(ages):
        watch.note(age, None, float(place + 1))
    return watch


def test_nothing_is_known_at_first() -> None:
    standing = BoundWatch(50.0, 7.0).standing
    assert (standing.state, standing.since_ms, standing.counted, standing.share) == ("unmeasured", 7.0, 0, None)
    assert standing.slowest is None


@pytest.mark.parametrize(("late", "state"), [(0, "met"), (1, "met"), (2, "missed")])
def test_one_of_a_hundred_may_be_late(late: int, state: str) -> None:
    standing = filled([60.0] * late + [50.0] * (100 - late)).standing
    assert (standing.state, standing.in_time) == (state, 100 - late)
    assert ((standing.share or 0.0) >= SHARE_MIN) is (state == "met")


def test_only_the_last_thousand_events_count_and_a_state_lasts_until_another_one() -> None:
    watch = filled([60.0] * 20)
    assert (watch.standing.state, watch.standing.since_ms) == ("missed", 1.0)
    changes = [place for place in range(WINDOW) if watch.note(10.0, None, 100.0 + place)]
    assert changes == [WINDOW - 11]  # then ten of the late ones are left, of a thousand
    standing = watch.standing
    assert (standing.state, standing.since_ms, standing.counted) == ("met", 100.0 + WINDOW - 11, WINDOW)
    assert standing.in_time == WINDOW


def test_what_a_scheme_expects_counts_until_something_is_measured() -> None:
    watch = BoundWatch(50.0, 0.0)
    assert not watch.expect(inf, 20.0, 1.0)  # links are still missing
    assert watch.expect(60.0, 20.0, 2.0)
    assert watch.standing.state == "missed"
    assert watch.expect(40.0, 20.0, 3.0)
    assert watch.standing.state == "met"
    assert watch.note(60.0, None, 4.0)
    assert not watch.expect(30.0, 20.0, 5.0)
    standing = watch.standing
    assert (standing.state, standing.since_ms, standing.reach_ms, standing.direct_ms) == ("missed", 4.0, 30.0, 20.0)


def test_a_bound_below_the_way_itself_is_impossible_unless_events_come_in_time_all_the_same() -> None:
    watch = filled([60.0] * 5)
    assert watch.expect(70.0, 51.0, 6.0)
    assert watch.standing.state == "impossible"
    assert watch.expect(70.0, 49.0, 7.0)
    assert watch.standing.state == "missed"
    assert not watch.expect(40.0, 51.0, 8.0)  # over others it is nearer, and what has come late still counts
    soon = filled([10.0] * 5)
    assert not soon.expect(70.0, 51.0, 6.0)
    assert soon.standing.state == "met"


def test_another_bound_judges_the_same_events_anew() -> None:
    watch = filled([30.0] * 90 + [60.0] * 10)
    assert watch.standing.state == "missed"
    assert watch.change(60.0, 200.0)
    assert (watch.standing.state, watch.standing.since_ms, watch.standing.in_time) == ("met", 200.0, 100)
    assert watch.change(29.0, 300.0)
    assert (watch.standing.state, watch.standing.in_time) == ("missed", 0)


def test_the_slowest_hop_is_that_of_the_late_events_if_there_are_any() -> None:
    watch = BoundWatch(50.0, 0.0)
    for _ in range(10):
        watch.note(40.0, Hop(1, 2, 20.0), 1.0)
    assert watch.standing.slowest == Hop(1, 2, 20.0)
    for taken_ms in (40.0, 60.0):
        watch.note(90.0, Hop(2, None, taken_ms), 2.0)
    assert watch.standing.slowest == Hop(2, None, 50.0)
    watch.change(100.0, 3.0)
    assert watch.standing.slowest == Hop(1, 2, 20.0)


def test_places_of_hops_that_are_forgotten_are_taken_by_others() -> None:
    watch = BoundWatch(50.0, 0.0)
    for number in range(5 * WINDOW):
        watch.note(10.0, Hop(number, number + 1, 8.0), 1.0)
    assert len(watch._tallies) <= WINDOW + 2
    assert watch.change(5.0, 2.0)
    assert watch.standing.in_time == 0
    for _ in range(WINDOW):
        watch.note(1.0, None, 3.0)
    assert watch.standing.slowest is None
    assert not watch._by_pair


def test_hops_are_forgotten_with_their_events() -> None:
    watch = BoundWatch(50.0, 0.0)
    watch.note(90.0, Hop(1, 2, 80.0), 0.0)
    for _ in range(WINDOW):
        watch.note(10.0, Hop(3, 4, 8.0), 1.0)
    assert watch.standing.slowest == Hop(3, 4, 8.0)
