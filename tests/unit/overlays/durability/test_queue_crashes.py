"""What durable subscriptions of one node hold, through crashes: replay, shared dead letters, limits and timers."""

import msgspec
import pytest

from siftcast.overlays.contract import Refuse, SetTimer, TimerFired, UnsubscribeRequested
from siftcast.overlays.durability.contract import (
    Bury,
    Expire,
    Offer,
    OfferRefused,
    OffersAcknowledged,
    QueuePolicy,
    SubscriberAttached,
    SubscriberDetached,
)
from siftcast.overlays.durability.queues import RETENTION_TIMER
from siftcast.overlays.durability.subscription_queue import CursorRecord
from tests.unit.overlays.durability.single_node import SingleNode, of, offers


def sharing(*ids, names=("s", "t"), **policy):
    """A node with subscriptions that hold the same events; `policy` is that of the first."""
    node = SingleNode()
    for name in names:
        node.subscribe(name, **(policy if name == names[0] else {}))
    node.publish(*ids)
    return node


def cursor(node, name="s"):
    return msgspec.msgpack.decode(node.disk[f"cursor/{name}"], type=CursorRecord)


def log_keys(node):
    return sorted(key for key in node.disk if key.startswith("log/"))


def timers(effects):
    return [effect.after_ms for effect in of(effects, SetTimer) if effect.name == RETENTION_TIMER]


# -- replay and crashes ----------------------------------------------------------------------------------


@pytest.mark.parametrize("write_survives", [False, True], ids=["before the write", "after the write"])
def test_a_replay_cut_short_by_a_crash_is_forgotten_before_its_write_and_goes_on_after_it(write_survives):
    node = sharing("a", "b", "c", "d", "e", names=("s",))
    node.attach()
    node.tell(OffersAcknowledged("s", (1, 2, 4)))
    node.slow = True
    assert node.attach(start=2) == []  # offered once it is safe, and so not at all
    node.restart(write_survives=write_survives)
    node.slow = False
    node.tell(node.write())
    assert node.attach() == ([(2, "b"), (3, "c"), (4, "d"), (5, "e")] if write_survives else [(3, "c"), (5, "e")])


def test_what_was_replayed_and_not_acknowledged_again_comes_again_after_every_crash():
    node = sharing("a", "b", "c", names=("s",))
    node.attach()
    node.tell(OffersAcknowledged("s", (2, 3)))
    assert node.attach(start=3) == [(1, "a"), (3, "c")]
    node.restart()
    assert node.attach() == [(1, "a"), (3, "c")]
    node.tell(OffersAcknowledged("s", (1,)))
    node.restart()
    assert node.attach() == [(3, "c")]


def test_what_was_acknowledged_out_of_order_can_be_replayed_after_a_crash():
    node = sharing("a", "b", "c", names=("s",))
    node.attach()
    node.tell(OffersAcknowledged("s", (3,)))
    node.tell(OffersAcknowledged("s", (1,)))
    node.restart()
    assert node.attach(start=1) == [(1, "a"), (2, "b"), (3, "c")]


def test_a_replay_keeps_the_order_of_what_it_leaves_acknowledged():
    node = sharing("a", "b", "c", "d", names=("s",), events_max=4)
    node.attach()
    for position in (3, 4, 1):
        node.tell(OffersAcknowledged("s", (position,)))
    assert node.attach(start=4) == [(2, "b"), (4, "d")]
    node.restart()
    assert node.attach(start=1) == [(1, "a"), (2, "b"), (3, "c"), (4, "d")]
    for position in (3, 4, 1):
        node.tell(OffersAcknowledged("s", (position,)))
    node.attach(start=4)
    node.publish("e")
    assert node.attach(start=1) == [(2, "b"), (3, "c"), (4, "d"), (5, "e")]


def test_a_replay_by_time_leaves_acknowledged_what_a_clock_that_went_back_put_between():
    node = SingleNode(clock_ms=10_000.0)
    node.subscribe()
    node.publish("a")
    node.clock_ms = 1_000.0
    node.restart()
    node.publish("b")
    node.clock_ms = 11_000.0
    node.restart()
    node.publish("c")
    node.attach()
    node.tell(OffersAcknowledged("s", (1, 2, 3)))
    assert node.attach(since_ms=10_000.0) == [(1, "a"), (3, "c")]
    node.restart()
    assert node.attach() == [(1, "a"), (3, "c")]


def test_refusals_are_counted_across_crashes_and_replays_and_forgotten_when_it_is_taken():
    node = sharing("a", "b", names=("s",), refusals_max=3)
    node.attach()
    node.tell(OfferRefused("s", 1, "busy"))
    node.restart()
    (first, _) = of(node.tell(SubscriberAttached("s")), Offer)
    assert first.attempt == 2
    node.tell(OffersAcknowledged("s", (1,)))
    assert cursor(node).refusals == {}
    (again, _) = of(node.tell(SubscriberAttached("s", start=1)), Offer)
    assert again.attempt == 1


def test_a_cursor_lists_only_what_is_acknowledged_beyond_the_floor_and_held():
    node = sharing("a", "b", "c", "d", names=("s",), events_max=4)
    node.attach()
    node.tell(OffersAcknowledged("s", (4, 3, 2)))
    assert (cursor(node).floor, cursor(node).low, cursor(node).beyond) == (0, 1, [2, 3, 4])
    node.publish("e")  # one too many: the oldest acknowledged goes
    assert cursor(node).beyond == [3, 4]
    node.tell(OffersAcknowledged("s", (1,)))
    assert (cursor(node).floor, cursor(node).low, cursor(node).beyond) == (4, 1, [])


# -- events that several hold ------------------------------------------------------------------------------


def test_a_dead_letter_of_a_shared_event_leaves_it_to_the_others_and_goes_with_the_last():
    node = sharing("a", "b", names=("s", "t", "u"), refusals_max=1)
    for name in ("s", "t", "u"):
        node.attach(name)
    node.tell(OfferRefused("s", 1, "malformed"))
    assert log_keys(node) == ["log/1", "log/2"]
    node.restart()
    assert (node.attach("s"), node.attach("t")) == ([(2, "b")], [(1, "a"), (2, "b")])
    assert [(each.position, each.reason) for each in node.durable.queues.dead_letters("s")] == [(1, "malformed")]
    node.tell(UnsubscribeRequested(("t",)))
    assert log_keys(node) == ["log/1", "log/2"]
    node.tell(UnsubscribeRequested(("u",)))
    assert log_keys(node) == ["log/2"]
    node.restart()
    assert node.attach("s", start=0) == [(2, "b")]


@pytest.mark.parametrize("write_survives", [False, True])
def test_a_dead_letter_of_a_shared_event_is_there_with_its_write_or_comes_again(write_survives):
    node = sharing("a", refusals_max=1)
    node.attach()
    node.slow = True
    assert of(node.tell(OfferRefused("s", 1, "no")), Bury) == []
    node.restart(write_survives=write_survives)
    node.slow = False
    node.tell(node.write())
    assert node.attach("s") == ([] if write_survives else [(1, "a")])
    assert len(node.durable.queues.dead_letters("s")) == write_survives
    assert node.attach("t") == [(1, "a")]


def test_a_dead_letter_among_acknowledged_events_is_not_replayed_after_a_crash():
    node = sharing("a", "b", "c", refusals_max=1)
    node.attach()
    node.tell(OffersAcknowledged("s", (1, 3)))
    node.tell(OfferRefused("s", 2, "no"))
    assert node.attach(start=1) == [(1, "a"), (3, "c")]
    node.restart()
    assert node.attach(start=1) == [(1, "a"), (3, "c")]
    assert node.attach("t") == [(1, "a"), (2, "b"), (3, "c")]


def test_what_limits_dropped_beside_an_older_event_that_waits_does_not_come_back_after_a_crash():
    node = sharing("a", "b", "c", events_max=3)
    node.attach()
    node.tell(OffersAcknowledged("s", (2, 3)))
    node.publish("d")
    node.restart()
    assert node.attach(start=1) == [(1, "a"), (3, "c"), (4, "d")]


def test_what_limits_dropped_of_the_acknowledged_does_not_come_back_after_a_crash():
    node = sharing("a", "b", "c", events_max=3)
    node.attach()
    node.tell(OffersAcknowledged("s", (1, 2, 3)))
    node.publish("d")
    node.restart()
    assert node.attach(start=1) == [(2, "b"), (3, "c"), (4, "d")]


def test_dropping_the_oldest_of_all_that_is_held_writes_no_event_again():
    node = sharing("a", "b", "c", events_max=3, refusals_max=1)
    node.attach()
    node.tell(OffersAcknowledged("s", (1,)))
    node.slow = True
    node.publish("d")
    assert [key for key, _ in node.writing.changes if key.startswith("log/")] == ["log/4"]
    node.tell(node.write())
    node.tell(OfferRefused("s", 3, "no"))  # in the midst of what is held
    assert [key for key, _ in node.writing.changes if key.startswith("log/")] == ["log/3"]


@pytest.mark.parametrize("first", ["small", "large"])
def test_an_event_that_is_too_large_for_one_subscription_is_kept_for_the_other(first):
    node = SingleNode()
    for name in (first, "large" if first == "small" else "small"):
        node.subscribe(name, bytes_max=200 if name == "small" else 10_000)
    (expired,) = of(node.publish("a", text="x" * 500), Expire)
    assert (expired.subscription, list(expired.positions)) == ("small", [1])
    assert node.attach("small") == []
    assert node.attach("large") == [(1, "a")]
    node.restart()
    assert (node.attach("small"), node.attach("large")) == ([], [(1, "a")])


def test_a_subscription_made_anew_under_its_name_gets_nothing_from_before_though_others_hold_it():
    node = sharing("a", "b")
    node.tell(UnsubscribeRequested(("s",)))
    node.subscribe("s")
    node.publish("c")
    node.restart()
    assert node.attach("s", start=0) == [(3, "c")]
    assert node.attach("t") == [(1, "a"), (2, "b"), (3, "c")]


def test_a_subscription_that_ends_while_others_hold_its_events_takes_nothing_from_them():
    node = sharing("a", "b")
    node.attach("t")
    node.tell(OffersAcknowledged("t", (1,)))
    node.tell(UnsubscribeRequested(("s",)))
    assert log_keys(node) == ["log/1", "log/2"]
    node.restart()
    assert node.attach("t", start=0) == [(1, "a"), (2, "b")]


def test_what_nobody_holds_any_more_is_swept_from_the_disk_when_a_node_starts():
    node = sharing("a", "b", names=("s",))
    for key in ("subscription/s", "cursor/s"):
        del node.disk[key]
    node.restart()
    assert log_keys(node) == []
    node.subscribe()
    node.publish("c")
    assert node.attach() == [(3, "c")]


def test_positions_go_on_where_the_log_ends_though_the_end_was_not_written():
    node = sharing("a", "b", names=("s",))
    del node.disk["log-end"]
    node.restart()
    node.publish("c")
    assert node.attach() == [(1, "a"), (2, "b"), (3, "c")]


def test_events_are_in_the_order_of_positions_whatever_the_order_on_disk():
    node = sharing(*"abcdefghijkl", names=("s",))
    node.disk = dict(sorted(node.disk.items()))
    assert log_keys(node)[1] == "log/10"
    node.restart()
    assert [position for position, _ in node.attach()] == list(range(1, 13))


def test_dead_letters_are_in_the_order_of_positions_after_a_crash():
    node = sharing(*"abcdefghijkl", names=("s",), refusals_max=1)
    node.attach()
    for position in (10, 9, 2):
        node.tell(OfferRefused("s", position, "no"))
    node.restart()
    assert [each.position for each in node.durable.queues.dead_letters("s")] == [2, 9, 10]


# -- clients ---------------------------------------------------------------------------------------------


def test_a_client_in_place_of_another_is_offered_all_that_is_unanswered_in_order():
    node = sharing("a", "b", "c", names=("s",))
    node.attach(window=2)
    node.tell(OfferRefused("s", 1, "busy"))
    assert node.attach(window=2) == [(1, "a"), (2, "b")]
    assert offers(node.tell(OffersAcknowledged("s", (1,)))) == [(3, "c")]


def test_a_client_that_is_gone_can_refuse_nothing_and_may_still_acknowledge():
    node = sharing("a", "b", names=("s",), refusals_max=1)
    node.attach()
    node.tell(SubscriberDetached("s"))
    node.tell(SubscriberDetached("nobody"))
    assert of(node.tell(OfferRefused("s", 1, "late")), Bury) == []
    assert node.tell(OfferRefused("nobody", 1, "late")) == []
    assert offers(node.tell(OffersAcknowledged("s", (2,)))) == []
    assert node.attach() == [(1, "a")]


def test_an_empty_window_is_refused_and_changes_nothing():
    node = sharing("a", "b", names=("s",))
    node.attach(window=1)
    assert len(of(node.tell(SubscriberAttached("s", window=0, start=0)), Refuse)) == 1
    assert offers(node.tell(OffersAcknowledged("s", (1,)))) == [(2, "b")]


def test_events_that_are_not_durable_are_held_too_and_count_once_by_their_id():
    node = sharing(names=("s",))
    node.publish("a", "a", durable=False)
    node.publish("", "", durable=False)
    node.restart()
    node.publish("a", durable=False)
    assert node.attach() == [(1, "a"), (2, ""), (3, "")]


def test_a_new_policy_holds_at_once_and_after_a_crash():
    node = sharing("a", "b", names=("s",), refusals_max=5)
    node.subscribe(refusals_max=1)
    assert node.durable.queues.policy("s") == QueuePolicy(refusals_max=1)
    assert node.durable.queues.policy("t") is None
    node.attach()
    assert len(of(node.tell(OfferRefused("s", 1, "no")), Bury)) == 1
    node.restart()
    node.attach()
    assert len(of(node.tell(OfferRefused("s", 2, "no")), Bury)) == 1


# -- limits ----------------------------------------------------------------------------------------------


def test_bytes_may_reach_the_limit_and_are_counted_across_crashes():
    probe = sharing("a", names=("s",), bytes_max=10_000)
    size = len(probe.disk["log/1"])
    node = sharing("a", "b", names=("s",), bytes_max=2 * size)
    assert of(node.effects, Expire) == []
    node.restart()
    (expired,) = of(node.publish("c"), Expire)
    assert list(expired.positions) == [1]
    node.attach()
    node.tell(OffersAcknowledged("s", (2, 3)))
    node.publish("d", "e")
    assert node.attach(start=0) == [(4, "d"), (5, "e")]
    assert log_keys(node) == ["log/4", "log/5"]


def test_acknowledged_events_go_beyond_the_limits_when_they_are_acknowledged():
    node = SingleNode()
    node.subscribe(age_ms_max=10_000)
    node.publish("a", "b")
    node.attach()
    node.now = 10_000.0
    node.tell(OffersAcknowledged("s", (1,)))
    assert log_keys(node) == ["log/1", "log/2"]  # as old as is allowed
    node.now = 10_001.0
    assert of(node.tell(OffersAcknowledged("s", (2,))), Expire) == []
    assert log_keys(node) == []


def test_what_expires_is_not_open_any_more_and_what_waited_behind_it_is_offered():
    node = SingleNode()
    node.subscribe(age_ms_max=10_000, refusals_max=1)
    node.publish("a")
    node.now = 5_000.0
    node.publish("b")
    assert node.attach(window=1) == [(1, "a")]
    node.now = 12_000.0
    assert offers(node.tell(TimerFired(RETENTION_TIMER))) == [(2, "b")]
    assert of(node.tell(OfferRefused("s", 1, "late")), Bury) == []


def test_refusals_of_what_expired_are_forgotten():
    node = SingleNode()
    node.subscribe(events_max=1)
    node.publish("a")
    node.attach()
    node.tell(OfferRefused("s", 1, "busy"))
    assert cursor(node).refusals == {1: 1}
    node.publish("b")
    assert cursor(node).refusals == {}


def test_the_timer_is_set_for_the_first_event_to_be_too_old_and_again_when_it_fires():
    node = SingleNode()
    node.subscribe("s", age_ms_max=100_000)
    assert timers(node.subscribe("t", "price > 5", age_ms_max=50_000)) == []
    assert timers(node.publish("a", price=1)) == [100_000]
    node.now = 10_000.0
    assert timers(node.publish("b", price=9)) == [50_000]
    node.now = 60_001.0
    assert timers(node.tell(TimerFired(RETENTION_TIMER))) == [39_999]
    node.now = 100_001.0
    assert timers(node.tell(TimerFired(RETENTION_TIMER))) == [9_999]
    node.now = 110_001.0
    assert timers(node.tell(TimerFired(RETENTION_TIMER))) == []
    assert log_keys(node) == []
    assert timers(node.publish("c", price=1)) == [100_000]


def test_a_shorter_age_sets_the_timer_sooner_and_a_longer_one_leaves_it():
    node = SingleNode()
    node.subscribe(age_ms_max=100_000)
    node.publish("a")
    assert timers(node.subscribe(age_ms_max=20_000)) == [20_000]
    assert timers(node.subscribe(age_ms_max=200_000)) == []
    assert timers(node.publish("b")) == []


def test_a_timer_is_not_put_off_by_events_that_come_all_the_time():
    node = SingleNode()
    node.subscribe("s", "price > 5", age_ms_max=2_000)
    node.subscribe("t", "price < 5", age_ms_max=10)
    assert timers(node.publish("old", price=9)) == [2_000]
    node.now = 500.0
    assert timers(node.publish("young", price=1)) == [1_000]
    for number in range(4):
        node.now += 100.0
        assert timers(node.publish(f"e{number}", price=1)) == []
        assert timers(node.subscribe("t", "price < 5", age_ms_max=10 + number)) == []


def test_without_a_limit_of_age_there_is_no_timer():
    node = SingleNode()
    node.subscribe(age_ms_max=float("inf"))
    assert timers(node.publish("a", "b")) == []
    node.subscribe("t", age_ms_max=30_000)
    assert timers(node.publish("c")) == [30_000]


def test_an_event_that_was_too_old_while_the_node_was_down_expires_a_second_after_it_starts():
    node = SingleNode(clock_ms=0.0)
    node.subscribe(age_ms_max=10_000)
    node.publish("a")
    node.clock_ms = 50_000.0
    node.restart()
    assert timers(node.effects) == [1_000]
    node.now = 1_000.0
    (expired,) = of(node.tell(TimerFired(RETENTION_TIMER)), Expire)
    assert list(expired.positions) == [1]
