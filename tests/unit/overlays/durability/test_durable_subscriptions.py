"""Durable subscriptions at one node: offers, answers, crashes, replay and limits."""

import pytest

from siftcast.model import Event, Filter, Subscription, SubscriptionError
from siftcast.overlays.contract import (
    Deliver,
    PublishRequested,
    Refuse,
    SetTimer,
    SubscribeRequested,
    TimerFired,
    UnsubscribeRequested,
)
from siftcast.overlays.durability import Settings
from siftcast.overlays.durability.contract import (
    Accept,
    Bury,
    DurableSubscribeRequested,
    Expire,
    Offer,
    OfferRefused,
    OffersAcknowledged,
    QueuePolicy,
    SubscriberAttached,
    SubscriberDetached,
)
from siftcast.overlays.durability.handing_over import HandingOver
from siftcast.overlays.durability.ledger import Ledger
from siftcast.overlays.durability.messages import TakeOver
from siftcast.overlays.durability.queues import Queues
from siftcast.overlays.wire_messages import MessageCodec
from tests.unit.overlays.durability.single_node import SingleNode, of, offers


def holding(*ids, **policy):
    """A node whose subscription holds these events."""
    node = SingleNode()
    node.subscribe(**policy)
    node.publish(*ids)
    return node


# -- offers and answers --------------------------------------------------------------------------------


def test_a_client_that_attaches_is_offered_in_order_what_came_before_and_what_comes():
    node = holding("a", "b")
    assert node.attach() == [(1, "a"), (2, "b")]
    assert offers(node.publish("c")) == [(3, "c")]


def test_at_most_a_window_of_offers_is_unanswered():
    node = holding("a", "b", "c", "d")
    assert node.attach(window=2) == [(1, "a"), (2, "b")]
    assert offers(node.publish("e")) == []
    assert offers(node.tell(OffersAcknowledged("s", (1, 2)))) == [(3, "c"), (4, "d")]
    assert offers(node.tell(OffersAcknowledged("s", (4,)))) == [(5, "e")]


def test_what_does_not_match_is_not_offered():
    node = SingleNode()
    node.subscribe(text="price < 5")
    node.publish("cheap", price=1)
    node.publish("dear", price=9)
    assert node.attach() == [(1, "cheap")]


def test_a_client_that_was_gone_is_offered_again_what_it_did_not_acknowledge_at_the_same_positions():
    node = holding("a", "b", "c")
    node.attach()
    node.tell(OffersAcknowledged("s", (2,)))
    node.tell(SubscriberDetached("s"))
    assert offers(node.publish("d")) == []
    assert node.attach() == [(1, "a"), (3, "c"), (4, "d")]


def test_answers_to_what_is_not_open_mean_nothing():
    node = holding("a")
    node.attach()
    node.tell(OffersAcknowledged("s", (7, 1, 1)))
    assert node.tell(OfferRefused("s", 1, "late")) == []
    assert node.tell(OffersAcknowledged("nobody", (1,))) == []
    assert node.attach() == []


def test_two_subscriptions_go_their_own_ways():
    node = SingleNode()
    node.subscribe("s")
    node.subscribe("t", "price > 5")
    node.publish("a", price=9)
    assert node.attach("s") == node.attach("t") == [(1, "a")]
    node.tell(OffersAcknowledged("s", (1,)))
    node.restart()
    assert (node.attach("s"), node.attach("t")) == ([], [(1, "a")])


def test_a_new_filter_holds_from_then_on_and_keeps_what_waits():
    node = holding("a")
    node.subscribe(text="price > 5")
    node.publish("b", price=1)
    node.publish("c", price=9)
    assert node.attach() == [(1, "a"), (2, "c")]
    node.restart()
    node.publish("d", price=1)
    assert node.attach() == [(1, "a"), (2, "c")]


def test_a_client_of_an_unknown_name_is_refused_and_so_is_an_empty_window():
    node = holding()
    assert [effect.request for effect in of(node.tell(SubscriberAttached("x")), Refuse)] == ["x"]
    assert "at least one" in of(node.tell(SubscriberAttached("s", window=0)), Refuse)[0].reason


def test_ending_a_subscription_drops_all_it_held_and_leaves_nothing_on_disk():
    node = holding("a", refusals_max=1)
    node.attach()
    node.tell(OfferRefused("s", 1, "bad"))
    node.publish("b")
    node.tell(UnsubscribeRequested(("s",)))
    assert not [key for key in node.disk if key.split("/")[0] in ("log", "cursor", "subscription", "dead")]
    node.subscribe()
    assert node.attach() == []
    assert offers(node.publish("c")) == [(3, "c")]


def test_the_name_of_a_durable_subscription_cannot_be_taken_by_an_ephemeral_one():
    node = holding()
    (refusal,) = of(node.tell(SubscribeRequested((Subscription("s", Filter.parse("TRUE")),))), Refuse)
    assert refusal.request == "s"


# -- power cuts ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("write_survives", [False, True])
def test_nothing_is_said_before_it_is_safe_and_what_is_not_safe_may_be_gone(write_survives):
    node = holding()
    node.attach()
    node.slow = True
    assert [effect for effect in node.publish("a") if not isinstance(effect, SetTimer)] == []
    node.restart(write_survives=write_survives)
    node.slow = False
    node.tell(node.write())
    assert node.attach() == ([(1, "a")] if write_survives else [])


def test_acknowledgements_survive_once_they_are_safe():
    node = holding("a", "b", "c")
    node.attach()
    node.tell(OffersAcknowledged("s", (1, 3)))
    node.restart()
    assert node.attach() == [(2, "b")]
    assert offers(node.publish("d")) == [(4, "d")]


def test_many_events_between_two_writes_are_one_write():
    node = holding()
    node.slow = True
    node.publish("first")
    node.publish(*(f"e{number}" for number in range(50)))
    node.tell(node.write())
    assert sum(key.startswith("log/") for key, _ in node.writing.changes) == 50
    assert sum(key.startswith("accepted/") for key, _ in node.writing.changes) == 1
    assert len(of(node.tell(node.write()), Accept)) == 50


def test_positions_go_on_after_a_crash_although_nothing_is_held():
    node = holding("a", events_max=1)
    node.attach()
    node.tell(OffersAcknowledged("s", (1,)))
    node.tell(UnsubscribeRequested(("s",)))
    node.restart()
    node.subscribe()
    node.publish("b")
    assert node.attach() == [(2, "b")]


# -- repetitions -----------------------------------------------------------------------------------------


def test_an_event_that_is_published_again_is_accepted_again_and_counts_once():
    node = holding("a")
    assert of(node.publish("a"), Accept) == [Accept("a")]
    node.restart()
    assert of(node.publish("a"), Accept) == [Accept("a")]
    assert node.attach() == [(1, "a")]


def test_ids_are_remembered_up_to_a_bound():
    node = SingleNode(settings=Settings(ids_max=3))
    node.subscribe()
    node.publish("a", "b", "c", "d", "e")
    node.publish("e", "a")
    assert [event for _, event in node.attach()] == ["a", "b", "c", "d", "e", "a"]
    assert sum(key.startswith("accepted/") for key in node.disk) <= 4


def test_an_event_without_an_id_or_with_values_that_cannot_be_kept_is_refused():
    node = holding()
    assert "needs an id" in of(node.publish(""), Refuse)[0].reason
    assert "cannot be kept" in of(node.publish("a", text="\ud800"), Refuse)[0].reason
    assert "cannot be kept" in of(node.publish("b", durable=False, text="\ud800"), Refuse)[0].reason
    assert node.attach() == []


# -- refusals --------------------------------------------------------------------------------------------


def test_a_refused_event_is_offered_again_before_anything_new():
    node = holding("a", "b", "c")
    node.attach(window=1)
    (again,) = of(node.tell(OfferRefused("s", 1, "busy")), Offer)
    assert (again.position, again.event.id, again.attempt) == (1, "a", 2)


def test_an_event_refused_too_often_is_a_dead_letter_with_the_last_reason_also_after_a_crash():
    node = holding("a", "b", refusals_max=3)
    node.attach()
    node.tell(OfferRefused("s", 1, "busy"))
    node.restart()
    node.attach()
    node.tell(OfferRefused("s", 1, "busy"))
    (letter,) = of(node.tell(OfferRefused("s", 1, "malformed")), Bury)
    assert (letter.event.id, letter.refusals, letter.reason) == ("a", 3, "malformed")
    node.restart()
    assert node.attach() == [(2, "b")]
    assert [(each.event.id, each.reason) for each in node.durable.queues.dead_letters("s")] == [("a", "malformed")]


def test_only_the_last_dead_letters_are_kept():
    node = holding("a", "b", "c", refusals_max=1, dead_letters_max=2)
    node.attach()
    for position in (1, 2, 3):
        node.tell(OfferRefused("s", position, "no"))
    assert [each.event.id for each in node.durable.queues.dead_letters("s")] == ["b", "c"]
    assert sum(key.startswith("dead/") for key in node.disk) == 2


# -- replay and limits -----------------------------------------------------------------------------------


def test_replay_from_a_position_offers_what_was_acknowledged_once_more():
    node = holding("a", "b", "c")
    node.attach()
    node.tell(OffersAcknowledged("s", (1, 2, 3)))
    assert node.attach(start=2) == [(2, "b"), (3, "c")]
    node.tell(OffersAcknowledged("s", (2,)))
    node.restart()
    assert node.attach() == [(3, "c")]


def test_replay_from_a_time_uses_the_calendar_also_across_lives():
    node = SingleNode(clock_ms=1_000_000.0)
    node.subscribe()
    node.publish("a")
    node.now = 500.0
    node.publish("b")
    node.attach()
    node.tell(OffersAcknowledged("s", (1, 2)))
    node.now, node.clock_ms = 0.0, 1_005_000.0
    node.restart()
    node.publish("c")
    assert node.attach(since_ms=1_000_400.0) == [(2, "b"), (3, "c")]


def test_beyond_its_limits_a_subscription_drops_acknowledged_events_first_and_tells_of_others():
    node = holding("a", "b", events_max=2)
    node.attach(window=1)
    node.tell(OffersAcknowledged("s", (1,)))
    assert of(node.publish("c"), Expire) == []
    (expired,) = of(node.publish("d"), Expire)
    assert (expired.subscription, list(expired.positions)) == ("s", [2])
    node.restart()
    assert node.attach() == [(3, "c"), (4, "d")]
    assert sorted(key for key in node.disk if key.startswith("log/")) == ["log/3", "log/4"]


def test_bytes_are_limited_too():
    node = SingleNode()
    node.subscribe(bytes_max=2_000)
    node.publish("a", "b", "c", text="x" * 800)
    assert [event for _, event in node.attach()] == ["b", "c"]


def test_events_that_are_too_old_are_dropped_when_the_timer_fires():
    node = SingleNode()
    node.subscribe(age_ms_max=10_000)
    node.publish("a")
    node.now = 6_000.0
    node.publish("b")
    node.now = 12_000.0
    (expired,) = of(node.tell(TimerFired("durable/retention")), Expire)
    assert list(expired.positions) == [1]
    assert node.attach() == [(2, "b")]


@pytest.mark.parametrize("policy", [{"events_max": 0}, {"refusals_max": -1}, {"dead_letters_max": -1}])
def test_a_policy_without_room_is_refused(policy):
    with pytest.raises(SubscriptionError):
        QueuePolicy(**policy)


# -- ephemeral -------------------------------------------------------------------------------------------


def test_ephemeral_events_for_ephemeral_subscriptions_neither_write_nor_wait():
    node = SingleNode()
    node.tell(SubscribeRequested((Subscription("t", Filter.parse("TRUE")),)))
    node.slow = True
    assert [effect.subscriptions for effect in of(node.publish("a", durable=False), Deliver)] == [["t"]]
    assert node.writing is None


def test_an_ephemeral_event_is_durable_from_where_it_meets_a_durable_subscription():
    node = holding()
    node.publish("a", durable=False)
    node.restart()
    assert node.attach() == [(1, "a")]


def test_durable_events_reach_ephemeral_subscriptions_once_they_are_safe():
    node = SingleNode()
    node.tell(SubscribeRequested((Subscription("t", Filter.parse("TRUE")),)))
    node.slow = True
    assert of(node.publish("a"), Deliver) == []
    found = node.tell(node.write())
    assert [type(effect) for effect in found] == [Deliver, Accept]


# -- full disks ------------------------------------------------------------------------------------------


def test_a_full_disk_refuses_and_when_there_is_room_again_nothing_is_lost_or_doubled():
    node = holding("a")
    node.full = True
    (refusal,) = of(node.publish("b"), Refuse)
    assert "no space left" in refusal.reason
    assert "same id" in refusal.reason
    assert "no space left" in of(node.publish("c"), Refuse)[0].reason
    node.full = False
    node.tell(TimerFired("durable/retry"))
    assert of(node.publish("b", "c"), Accept) == [Accept("b"), Accept("c")]
    node.restart()
    assert node.attach() == [(1, "a"), (2, "b"), (3, "c")]


def test_what_a_node_has_is_told_by_its_state():
    node = holding("a", "b")
    assert node.durable.state()["durable"] == {"s": 2}
    node.tell(PublishRequested(Event({}, id="x"), durable=True))
    assert node.durable.state()["durable"] == {"s": 3}


# -- bounds and bandwidths -----------------------------------------------------------------------------


def test_a_bound_and_a_bandwidth_are_kept_over_a_restart():
    node = SingleNode()
    wanted = Subscription("s", Filter.parse("TRUE"), "me", 50.0, 1e6)
    node.tell(DurableSubscribeRequested(wanted))
    node.restart()
    assert node.durable.queues.subscription("s") == wanted


def test_an_heir_gets_a_subscription_with_its_bound_and_its_bandwidth():
    given, taken = Queues(Ledger(), 100), Queues(Ledger(), 100)
    wanted = Subscription("1/s", Filter.parse("TRUE"), "me", 50.0, 1e6)
    given.subscribe(wanted, QueuePolicy())
    (piece,) = HandingOver(Ledger(), given).give(2)
    codec = MessageCodec((TakeOver,))
    heir = HandingOver(Ledger(), taken)
    assert heir.take(codec.decode(codec.encode(piece))) == wanted
    assert taken.subscription("1/s") == wanted
