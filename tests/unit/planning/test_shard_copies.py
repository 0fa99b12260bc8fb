"""Copies of hot shards: made where one task would keep all others waiting, and only there."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siftcast.model.values import Kind
from siftcast.planning.shard_copies import BUILD, MET, deal_events
from siftcast.space.shard_axes import ShardAxis
from siftcast.space.shard_plan import ShardPlan

MILLION = 1_000_000


def plan_of(counts, shares, asked=4):
    axis = ShardAxis("p", Kind.NUMBER, tuple(range(1, len(counts) - 1)))
    return ShardPlan((axis,), asked, tuple(counts), tuple(shares), total=sum(counts))


def tasks_of(plan, events):
    copies = plan.replicas or (1,) * len(plan.parts)
    work = []
    for count, share, parts, each in zip(plan.counts, plan.event_shares, plan.parts, copies, strict=True):
        held = count / max(1, parts)
        work += [BUILD * held + share * events / each * (1 + held / MET)] * (parts * each)
    return work


def time_of(plan, events, slots):
    work = tasks_of(plan, events)
    return max(sum(work) / slots, max(work, default=0))


def test_a_zone_with_most_of_the_events_is_copied_and_no_task_has_far_more_work_than_the_others():
    plan = plan_of((1_000, 1_000, 1_000, 1_000, 0), (0.85, 0.05, 0.05, 0.05, 1.0))
    dealt = deal_events(plan, events=MILLION, slots=8)
    assert dealt.replicas[0] > 5
    assert dealt.replicas[1:] == (1, 1, 1, 1)
    assert time_of(plan, MILLION, 8) > 5 * time_of(dealt, MILLION, 8)
    work = tasks_of(dealt, MILLION)
    assert max(work) <= 1.2 * sum(work) / 8
    text = dealt.explain()
    assert "1 zones have copies that share their events: so 1,000,000 events take about 1" in text
    assert f"0       1       {dealt.replicas[0]}         25.00%   85.0%" in text


def test_the_span_that_every_event_visits_is_a_hot_zone_too():
    plan = plan_of((5_000, 5_000, 5_000, 5_000, 1_000), (0.25, 0.25, 0.25, 0.25, 1.0), asked=5)
    assert deal_events(plan, events=MILLION, slots=8).replicas[-1] > 1


@pytest.mark.parametrize(
    ("counts", "shares", "events", "slots"),
    [
        ((1_000,) * 8 + (0,), (0.125,) * 8 + (1.0,), MILLION, 8),  # even
        ((1_000, 1_000, 0), (0.9, 0.1, 1.0), MILLION, 1),  # nobody waits for anybody
        ((100_000, 100_000, 0), (0.9, 0.1, 1.0), 20_000, 8),  # building a matcher again costs more than it saves
        ((0, 0, 0), (0.9, 0.1, 1.0), MILLION, 8),
        ((10, 10, 0), (0.9, 0.1, 1.0), 0, 8),
    ],
)
def test_a_plan_that_copies_would_not_help_stays_as_it_is(counts, shares, events, slots):
    plan = plan_of(counts, shares)
    assert deal_events(plan, events=events, slots=slots) == plan


@given(
    zones=st.lists(st.tuples(st.integers(0, 50_000), st.floats(0, 1)), min_size=2, max_size=6),
    events=st.integers(0, 10_000_000),
    slots=st.integers(1, 40),
)
def test_copies_never_make_the_stage_longer_and_are_no_more_than_the_slots(zones, events, slots):
    counts, shares = zip(*zones, strict=True)
    plan = plan_of(counts, shares)
    dealt = deal_events(plan, events=events, slots=slots)
    assert replace(dealt, replicas=(), reason="") == plan
    before, now = time_of(plan, events, slots), time_of(dealt, events, slots)
    if dealt.replicas:
        assert now < 0.9 * before * (1 + 1e-9)
        assert 1 <= min(dealt.replicas) <= max(dealt.replicas) <= slots
        assert all(parts or copies == 1 for parts, copies in zip(plan.parts, dealt.replicas, strict=True))
