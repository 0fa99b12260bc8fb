"""A node that keeps all it may keep: it refuses and holds back, loses nothing, and everything else goes on."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siftcast.model import Event
from siftcast.overlays.contract import (
    Deliver,
    MessageReceived,
    PeerLost,
    PublishRequested,
    Refuse,
    Report,
    UnsubscribeRequested,
)
from siftcast.overlays.durability import Settings
from siftcast.overlays.durability.contract import Accept, OfferRefused, OffersAcknowledged, SubscriberAttached
from siftcast.overlays.durability.event_log import EVENT_BYTES, HOLDER_BYTES
from siftcast.overlays.protocols.filter_based import Publication
from tests.unit.overlays.durability.single_node import SingleNode, of, offers
from tests.unit.overlays.durability.test_relays import announce, from_peer, relay, taken, wants

ROOM = 10 * (EVENT_BYTES + HOLDER_BYTES + 20)
"""For nine or ten small events."""


@pytest.fixture
def full():
    """A node whose one subscription, `s`, holds all it may keep."""
    node = SingleNode((1,), settings=Settings(kept_bytes_max=ROOM))
    node.subscribe()
    while of(node.publish(f"e{len(waiting(node))}"), Accept):
        pass
    return node


def waiting(node, name="s"):
    """What a client is shown that attaches now."""
    return [event for _, event in offers(node.tell(SubscriberAttached(name, 10_000)))]


def kept(node):
    return node.durable.state()["kept_bytes"]


def test_a_full_node_refuses_with_key_and_remedy_and_takes_more_after_an_answer(full):
    held = waiting(full)
    assert 5 < len(held) < 15
    (refusal,) = of(full.publish("one too many"), Refuse)
    assert f"its limit is {ROOM:,} (kept_bytes_max in [limits]" in refusal.reason
    assert "acknowledge" in refusal.reason
    full.tell(OffersAcknowledged("s", (1,)))
    assert of(full.publish("next"), Accept)
    assert of(full.publish("one too many"), Refuse)
    assert waiting(full) == [*held[1:], "next"]


def test_the_last_event_that_is_accepted_may_go_beyond_the_limit_and_is_the_last():
    node = SingleNode(settings=Settings(kept_bytes_max=ROOM))
    node.subscribe()
    assert of(node.publish("small"), Accept)
    before = kept(node)
    assert of(node.publish("large", text="x" * ROOM), Accept)
    assert before < ROOM < kept(node)
    assert of(node.publish("one too many"), Refuse)
    assert waiting(node) == ["small", "large"]


def test_where_only_dead_letters_are_left_the_refusal_says_so_and_ending_their_subscription_makes_room(full):
    (without,) = of(full.publish("one too many"), Refuse)
    assert "dead letters" not in without.reason
    while held := offers(full.tell(SubscriberAttached("s", 10_000))):
        for position, _ in held:
            full.tell(OfferRefused("s", position, "broken"))
    (refusal,) = of(full.publish("next"), Refuse)
    assert f"{kept(full):,} bytes of it are dead letters" in refusal.reason
    assert "siftcast subscriptions --dead-letters NAME" in refusal.reason
    full.tell(UnsubscribeRequested(("s",)))
    assert kept(full) == 0
    assert of(full.publish("next"), Accept)


def test_what_was_accepted_before_is_accepted_again_by_a_full_node(full):
    assert of(full.publish("e0"), Accept)
    assert kept(full) < ROOM + 1_000


def test_a_full_node_makes_takes_up_and_ends_subscriptions(full):
    held = waiting(full)
    assert of(full.subscribe(), Accept)
    assert waiting(full) == held
    assert of(full.subscribe("other", "price > 5"), Accept)
    full.tell(UnsubscribeRequested(("s",)))
    assert kept(full) == 0
    assert of(full.publish("next", price=6), Accept)


@pytest.mark.parametrize("limit", [ROOM, ROOM // 3, 10 * ROOM])
def test_a_full_node_that_starts_again_has_kept_all_whatever_its_limit_is_then(full, limit):
    held, before = waiting(full), kept(full)
    full.settings = Settings(kept_bytes_max=limit)
    full.restart()
    assert kept(full) == before
    assert waiting(full) == held
    assert bool(of(full.publish("next"), Accept)) == (limit > ROOM)
    full.tell(OffersAcknowledged("s", tuple(range(1, len(held) + 1))))
    assert of(full.publish("later"), Accept)


def test_history_goes_before_a_publisher_is_refused_and_the_oldest_of_it_first():
    node = SingleNode(settings=Settings(kept_bytes_max=ROOM))
    node.subscribe()
    node.attach(window=1_000)
    for number in range(1, 51):
        assert of(node.publish(f"e{number}"), Accept)
        node.tell(OffersAcknowledged("s", (number,)))
    assert kept(node) < ROOM + 1_000
    replayed = [event for _, event in offers(node.tell(SubscriberAttached("s", 100, start=0)))]
    assert replayed == [f"e{number}" for number in range(51 - len(replayed), 51)]
    assert 5 < len(replayed) < 15
    node.restart()
    assert [event for _, event in offers(node.tell(SubscriberAttached("s", 100)))] == replayed


def test_an_ephemeral_event_that_is_not_kept_is_refused_or_reported_and_still_reaches_others(full):
    held = waiting(full)
    full.tell(MessageReceived(1, Publication(Event({}, id="far"), 1)))
    assert [report.facts["events"] for report in of(full.effects, Report)] == [1]
    (refusal,) = of(full.publish("near", durable=False), Refuse)
    assert "kept_bytes_max" in refusal.reason
    assert waiting(full) == held


# -- neighbours ----------------------------------------------------------------------------------------


def test_relays_are_held_back_at_twice_the_limit_and_taken_when_there_is_room_without_being_sent_again():
    node = SingleNode((1,), settings=Settings(kept_bytes_max=ROOM, window=1_000))
    node.subscribe()
    node.attach(window=1_000)
    for number in range(1, 61):
        node.tell(from_peer(relay(number, f"e{number}")))
    held = waiting(node)
    assert held == [f"e{number}" for number in range(1, len(held) + 1)]
    assert 15 < len(held) < 25
    assert node.durable._relaying.link(1).relays_in.taken == len(held)
    assert node.durable.state()["held_back"] == [1]
    (report,) = of(node.effects, Report)
    assert (report.what, "kept_bytes_max" in report.facts["why"]) == ("relays are held back", True)
    node.tell(OffersAcknowledged("s", tuple(range(1, 16))))
    assert waiting(node) == [f"e{number}" for number in range(16, 61)]
    assert node.durable._relaying.link(1).relays_in.taken == 60
    assert node.durable.state()["held_back"] == []


def test_what_waits_for_a_neighbour_does_not_keep_back_what_comes_from_it():
    node = SingleNode((1,), settings=Settings(kept_bytes_max=ROOM))
    node.subscribe("here", "price > 5")
    node.tell(from_peer(announce(wants("there"))))
    node.tell(PeerLost(1))
    count = 0
    while of(node.publish(f"own{count}"), Accept):
        count += 1
    assert 2 < count < 20
    assert not node.durable._capacity.holds_back(1)
    before = kept(node)
    node.restart()
    assert kept(node) == before
    node.tell(PeerLost(1))
    assert of(node.publish("one more"), Refuse)
    node.tell(from_peer(taken(count)))
    assert kept(node) == 0


# -- any order of things -------------------------------------------------------------------------------

STEPS = st.one_of(
    st.tuples(st.just("publish"), st.integers(0, 3), st.integers(0, 400)),
    st.tuples(st.just("ephemeral"), st.integers(0, 3), st.integers(0, 400)),
    st.tuples(st.sampled_from(["acknowledge", "refuse"]), st.sampled_from("abc"), st.integers(1, 40)),
    st.tuples(st.just("attach"), st.sampled_from("abc"), st.sampled_from([None, 0, 5])),
    st.tuples(st.sampled_from(["subscribe", "end"]), st.sampled_from("abc"), st.just(0)),
    st.tuples(st.just("restart"), st.just(""), st.just(0)),
)


@given(st.lists(STEPS, max_size=60))
def test_what_is_kept_is_counted_and_bounded_and_nothing_accepted_is_lost(steps):
    node = SingleNode(settings=Settings(kept_bytes_max=ROOM))
    wanted = {"a": "value <= 3", "b": "value > 0", "c": "value = 2"}
    held: dict[str, list[str]] = {}
    for number, (step, name, argument) in enumerate(steps):
        match step:
            case "publish" | "ephemeral":
                event = Event({"value": name, "note": "x" * argument}, id=f"e{number}")
                found = node.tell(PublishRequested(event, durable=step == "publish"))
                if not of(found, Refuse):
                    for each, ids in held.items():
                        if (name <= 3, name > 0, name == 2)["abc".index(each)]:
                            ids.append(event.id)
                else:
                    assert kept(node) >= ROOM
                assert not of(found, Deliver)
            case "acknowledge" | "refuse" if name in held:
                shown = dict(offers(node.tell(SubscriberAttached(name, 1_000))))
                position = sorted(shown)[argument % len(shown)] if shown else 0
                if step == "acknowledge":
                    node.tell(OffersAcknowledged(name, (position,)))
                else:
                    node.tell(OfferRefused(name, position, "why not"))
                if position:
                    held[name].remove(shown[position])
            case "attach":
                for _, event in offers(node.tell(SubscriberAttached(name, 1_000, start=argument))):
                    if event not in held[name]:
                        held[name].append(event)
            case "subscribe":
                node.subscribe(name, wanted[name], refusals_max=1)
                held.setdefault(name, [])
            case "end":
                node.tell(UnsubscribeRequested((name,)))
                held.pop(name, None)
            case "restart":
                node.restart()
        assert 0 <= kept(node) < ROOM + 2_500
    for name, ids in held.items():
        assert sorted(waiting(node, name)) == sorted(ids)
    node.tell(UnsubscribeRequested(tuple(held)))
    assert kept(node) == 0
