"""The checker of durable deliveries finds each thing that can go wrong, in traces made by hand."""

import pytest

from siftcast.model import Event, Filter, Subscription
from siftcast.overlays.trace import Trace
from siftcast.runtimes.sim.checkers import durable_delivery, offer_delays_ms

FINE = (
    (0, "subscribed durably", 1, "s", None),
    (2, "accepted", 1, "s", None),
    (10, "published", 0, None, "e1"),
    (11, "accepted", 0, None, "e1"),
    (12, "published", 0, None, "e2"),
    (13, "accepted", 0, None, "e2"),
    (14, "published", 0, None, "other"),
    (15, "accepted", 0, None, "other"),
    (20, "offered", 1, "s@1", "e1"),
    (21, "offered", 1, "s@2", "e2"),
    (22, "acknowledged", 1, "s@1", None),
)


def trace_of(rows):
    events = {id: Event({"value": 9 if id == "other" else 1}, id=id) for id in ("e1", "e2", "other")}
    records = [(float(time), kind, node, None, name, event, 0, 0, 0) for time, kind, node, name, event in rows]
    return Trace(
        records=records, events=events, subscriptions={"s": Subscription("s", Filter.parse("value < 5"), "someone")}
    )


def faults(*more, without=(), settle_ms=5.0):
    rows = [row for row in FINE if row not in without]
    verdict = durable_delivery(trace_of([*rows, *more]), settle_ms=settle_ms)
    assert (verdict.outcome == "failed") == bool(verdict.violations)
    return [(violation.kind, violation.event) for violation in verdict.violations]


def test_a_run_that_keeps_its_promises_is_fine():
    verdict = durable_delivery(trace_of(FINE), settle_ms=5.0)
    assert verdict.ok
    assert (verdict.accepted, verdict.required, verdict.offered) == (3, 2, 2)


def test_an_accepted_event_that_was_not_offered_is_missing_and_its_story_is_told():
    verdict = durable_delivery(trace_of([row for row in FINE if row[3] != "s@2"]))
    assert [(each.kind, each.event, each.subscription, each.node) for each in verdict.violations] == [
        ("missing", "e2", "s", 1)
    ]
    assert "node 0 has it on disk" in str(verdict.violations[0])


def test_no_crash_excuses_what_is_missing():
    assert faults((16, "crashed", 1, None, None), (18, "restarted", 1, None, None), without=FINE[9:10]) == [
        ("missing", "e2")
    ]


def test_what_was_published_before_the_subscription_could_be_known_is_not_asked_for():
    assert faults(without=FINE[9:10], settle_ms=11.0) == []


def test_what_was_not_accepted_is_not_asked_for_but_may_be_offered():
    assert faults(without=(FINE[5], FINE[9])) == []
    assert faults(without=(FINE[5],)) == []


def test_what_expired_is_not_missing():
    assert faults((30, "expired", 1, "s@2", None), without=FINE[9:10]) == []


def test_one_event_at_two_positions_is_a_duplicate_but_not_one_that_is_offered_again():
    assert faults((30, "offered", 1, "s@3", "e2")) == [("duplicate", "e2")]
    assert faults((30, "offered", 1, "s@2", "e2")) == []


def test_what_was_acknowledged_comes_again_only_after_a_crash_or_for_a_replay():
    again = (40, "offered", 1, "s@1", "e1")
    assert faults(again) == [("repeated", "e1")]
    assert faults((30, "crashed", 1, None, None), again) == []
    assert faults((30, "crashed", 0, None, None), again) == [("repeated", "e1")]
    assert faults((30, "replayed", 1, "s", None), again) == []


def test_an_event_before_an_earlier_one_of_its_publisher_is_disordered():
    early = (19, "offered", 1, "s@0", "e2")
    assert faults(early, without=FINE[8:11]) == [("missing", "e1")]
    rows = [*FINE[:8], early, (20, "offered", 1, "s@1", "e1")]
    verdict = durable_delivery(trace_of(rows))
    assert [(each.kind, each.event) for each in verdict.violations] == [("disordered", "e1")]
    loose = durable_delivery(trace_of(rows), ordered=False)
    assert (loose.disordered, loose.violations, loose.outcome) == (1, (), "passed")


def test_an_event_that_was_published_twice_has_no_place_in_the_order():
    rows = [
        *FINE[:8],
        (16, "published", 0, None, "e1"),
        (19, "offered", 1, "s@0", "e2"),
        (20, "offered", 1, "s@1", "e1"),
    ]
    assert durable_delivery(trace_of(rows)).ok


def test_what_does_not_match_is_wrong():
    assert faults((30, "offered", 1, "s@3", "other")) == [("wrong", "other")]


def test_a_subscription_that_ended_is_promised_nothing():
    assert faults((30, "unsubscribed", 1, "s", None), without=FINE[9:10]) == []


def test_delays_run_from_the_first_publication_to_the_first_offer():
    trace = trace_of([*FINE, (50, "offered", 1, "s@1", "e1")])
    assert offer_delays_ms(trace).tolist() == pytest.approx([10.0, 9.0])
