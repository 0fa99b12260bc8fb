"""Rates of the QoS overlay: bytes per second in regions, as counted and as heard; and what bandwidth makes of them."""

from random import Random

import pytest

from siftcast.model import Event
from siftcast.overlays.protocols.qos.budget import Budget
from siftcast.overlays.protocols.qos.rates import CELL_PLACES, Rates
from siftcast.overlays.wire_events import encode_event
from siftcast.space.dz import Dz, DzSet

AXES, LENGTH, ROUND_MS = 2, 14, 1_000.0
EVERYTHING = DzSet([Dz()])
NOTHING = DzSet()
EVENT = Event({"x": 1}, id="e", payload=b"x" * 80)
SIZE = len(encode_event(EVENT))


def _rates():
    return Rates(AXES, LENGTH, ROUND_MS)


def _point(text):
    return Dz.parse(text.ljust(LENGTH, "0"))


def test_bytes_are_counted_by_cell_and_added_up_for_any_region():
    rates = _rates()
    for second in range(10):
        for _ in range(4):
            rates.count(EVENT, _point("0001"))
        rates.count(EVENT, _point("01"))
        rates.expire(second * 1_000.0)
    now = 10_000.0
    assert rates.of(EVERYTHING, EVERYTHING, now) == pytest.approx(5 * SIZE, rel=0.3)
    assert rates.of(DzSet(["00"]), EVERYTHING, now) == pytest.approx(4 * SIZE, rel=0.3), "divided once less"
    assert rates.of(DzSet(["0001"]), EVERYTHING, now) == rates.of(DzSet(["00"]), EVERYTHING, now)
    assert rates.of(DzSet(["1"]), EVERYTHING, now) == 0.0


def test_a_region_has_its_share_of_a_cell_that_it_divides():
    rates = _rates()
    rates.count(EVENT, _point("1"))
    cell = "1".ljust(AXES + CELL_PLACES, "0")
    whole = rates.of(DzSet([cell]), EVERYTHING, 1_000.0)
    assert whole == pytest.approx(SIZE)
    assert rates.of(DzSet([cell + "0"]), EVERYTHING, 1_000.0) == pytest.approx(whole / 2)


def test_what_was_counted_long_ago_is_forgotten():
    rates = _rates()
    rates.count(EVENT, _point("1"))
    for second in range(1, 30):
        rates.expire(second * 1_000.0)
    assert rates.of(EVERYTHING, EVERYTHING, 30_000.0) == 0.0


def test_others_are_believed_about_what_is_not_received_here_until_they_are_silent():
    here, there = _rates(), _rates()
    for _ in range(10):
        there.count(EVENT, _point("1"))
    here.hear(there.report(Random(1), 1_000.0), 1_000.0)
    assert here.of(DzSet(["1"]), NOTHING, 1_000.0) == there.of(DzSet(["1"]), EVERYTHING, 1_000.0) > 0.0
    assert here.of(DzSet(["1"]), EVERYTHING, 1_000.0) == 0.0, "it receives it, and nothing came"
    for second in range(1, 60):
        here.expire(second * 1_000.0)
    assert here.of(DzSet(["1"]), NOTHING, 60_000.0) == 0.0


def test_a_budget_says_what_is_left_and_whether_own_subscriptions_are_too_much():
    assert Budget().spare == float("inf")
    assert not Budget().is_limited
    budget = Budget(limit=100.0, rate=60.0, own_rate=40.0)
    assert (budget.is_limited, budget.spare, budget.is_exceeded) == (True, 40.0, False)
    budget.rate = budget.own_rate = 120.0
    assert (budget.spare, budget.is_exceeded) == (0.0, True)
