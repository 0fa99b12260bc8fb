"""What a durable node says to its neighbours, 1 and 2, and what it makes of what they say."""

import pytest

from siftcast.model import Event, Filter
from siftcast.overlays.contract import (
    Message,
    MessageReceived,
    PeerFound,
    PeerLost,
    Protocol,
    PublishRequested,
    SendMessage,
    SetTimer,
    Started,
    TimerFired,
    UnsubscribeRequested,
)
from siftcast.overlays.durability import (
    Acknowledge,
    ControlRelay,
    Durable,
    Greet,
    NotDurableError,
    Relay,
    Release,
    RestoreError,
    Settings,
)
from siftcast.overlays.durability.contract import Accept
from siftcast.overlays.links import TreeLinks
from siftcast.overlays.messages import Announce, Publication, Retract
from siftcast.overlays.protocols.filter_based import FilterBased
from siftcast.overlays.tables import matcher_tables
from tests.unit.overlays.durability.single_node import KEEPER, SingleNode, answer, of, offers

EPOCH = (5, 1, 0, 50)
STREAM = (5, 50)
OWN = (1, 0)
"""The lineage of the node, and of its streams, in its first life."""
NOTHING_SEEN = (0, 0, 0, 0)


def wants(id, text="TRUE", origin=1):
    return id, Filter.parse(text), origin


def sent(effects, kind, to=None):
    """Messages of a kind, to one neighbour or to all."""
    return [
        effect.message
        for effect in of(effects, SendMessage)
        if isinstance(effect.message, kind) and to in (None, *effect.destinations)
    ]


def from_peer(message, sender=1):
    return MessageReceived(sender, message)


def relay(number, id, stream=STREAM, base=1, **options):
    return Relay(stream, base, number, Publication(Event({}, id=id), 1), **options)


def announce(*entries, number=1, chapter=EPOCH, **options):
    return ControlRelay(chapter, number, Announce(entries, **options))


def taken(number):
    """What neighbour 1 says when it has relays up to a number."""
    return Acknowledge(KEEPER, OWN, OWN, number, (), (), NOTHING_SEEN, 0)


@pytest.fixture
def node():
    """A node that neighbour 1 wants everything of."""
    made = SingleNode((1, 2), Settings(resend_ms=100, resend_ms_max=400, window=4))
    made.tell(from_peer(announce(wants("s"))))
    return made


# -- sending ---------------------------------------------------------------------------------------------


def test_a_relay_leaves_when_it_is_safe_and_is_kept_until_it_is_acknowledged(node):
    node.slow = True
    assert sent(node.publish("a"), Relay) == []
    node.slow = False
    found = node.tell(node.write())
    assert [(each.number, each.event_id) for each in sent(found, Relay, to=1)] == [(1, "a")]
    assert of(found, Accept) == [Accept("a")]
    assert "outbox/1/1" in node.disk
    node.tell(from_peer(taken(1)))
    assert "outbox/1/1" not in node.disk


def test_what_is_not_acknowledged_is_sent_again_ever_later(node):
    node.publish("a")
    waits = []
    for _ in range(4):
        (timer,) = [effect for effect in node.effects if isinstance(effect, SetTimer) and "resend" in effect.name][-1:]
        waits.append(timer.after_ms)
        node.now += timer.after_ms
        assert [each.number for each in sent(node.tell(TimerFired("durable/resend")), Relay)] == [1]
    assert waits == [100, 200, 400, 400]


def test_at_most_a_window_of_relays_is_under_way(node):
    found = node.publish(*"abcdef")
    assert [each.number for each in sent(found, Relay)] == [1, 2, 3, 4]
    assert [each.number for each in sent(node.tell(from_peer(taken(2))), Relay)] == [5, 6]


def test_nothing_is_sent_to_a_neighbour_that_is_lost_and_all_when_it_is_found(node):
    node.tell(PeerLost(1))
    assert sent(node.publish("a", "b"), Relay) == []
    node.now += 10_000
    assert sent(node.tell(TimerFired("durable/resend")), Message, to=1) == []
    found = node.tell(PeerFound(1))
    assert len(sent(found, Greet)) == 1
    assert [each.number for each in sent(found, Relay)] == [1, 2]


def test_nothing_is_sent_before_the_neighbour_has_said_what_it_has_seen(node):
    node.silent = True
    node.tell(PeerLost(1))
    node.publish("a", "b")
    (greeting,) = sent(node.tell(PeerFound(1)), Greet)
    assert sent(node.publish("c"), Message) == []
    assert [each.number for each in sent(node.tell(answer(1, greeting)), Relay)] == [1, 2, 3]


def test_a_greeting_is_repeated_until_it_is_answered_and_not_by_what_was_said_before(node):
    node.silent = True
    node.tell(PeerLost(1))
    node.tell(from_peer(taken(0)))
    (greeting,) = sent(node.tell(PeerFound(1)), Greet)
    node.tell(from_peer(taken(0)))
    node.now += 100
    assert sent(node.tell(TimerFired("durable/resend")), Greet) == [greeting]
    node.tell(answer(1, greeting))
    node.now += 1_000
    assert sent(node.tell(TimerFired("durable/resend")), Greet) == []


def test_after_a_crash_relays_go_out_under_the_numbers_they_had(node):
    node.publish("a", "b")
    node.tell(from_peer(taken(1)))
    node.restart()
    again = sent(node.effects, Relay)
    assert [(each.number, each.base, each.event_id) for each in again] == [(2, 2, "b")]
    assert sent(node.publish("c"), Relay)[0].number == 3


def test_ephemeral_events_go_out_as_they_are(node):
    node.slow = True
    (message,) = sent(node.publish("a", durable=False), Publication)
    assert message.event_id == "a"
    assert node.writing is None


# -- receiving -------------------------------------------------------------------------------------------


def test_a_relay_is_acknowledged_once_it_is_safe_with_all_that_came_meanwhile(node):
    node.slow = True
    node.tell(from_peer(relay(1, "a")))
    assert sent(node.tell(from_peer(relay(2, "b"))), Acknowledge) == []
    (first,) = sent(node.tell(node.write()), Acknowledge)
    (second,) = sent(node.tell(node.write()), Acknowledge)
    assert (first.kept, second.kept) == (1, 2)


def test_a_relay_that_was_seen_before_a_crash_is_acknowledged_and_not_passed_on_again():
    node = SingleNode((1, 2))
    node.tell(from_peer(announce(wants("s", origin=2), chapter=(6, 1, 0, 60)), sender=2))
    assert len(sent(node.tell(from_peer(relay(1, "a"))), Relay, to=2)) == 1
    node.restart()
    found = node.tell(from_peer(relay(1, "a")))
    assert sent(found, Relay) == []
    assert [each.kept for each in sent(found, Acknowledge)] == [1]


def test_relays_are_passed_on_in_order_however_they_come():
    node = SingleNode((1, 2))
    node.tell(from_peer(announce(wants("s", origin=2), chapter=(6, 1, 0, 60)), sender=2))
    found = [effect for number in (3, 2, 1) for effect in node.tell(from_peer(relay(number, f"e{number}")))]
    assert [each.event_id for each in sent(found, Relay, to=2)] == ["e1", "e2", "e3"]


def test_a_neighbour_with_a_new_disk_begins_anew_and_what_its_old_one_sent_is_void():
    node = SingleNode((1, 2))
    node.tell(from_peer(relay(1, "a")))
    (told,) = sent(node.tell(from_peer(relay(1, "b", stream=(9, 90)))), Acknowledge)
    assert (told.stream, told.kept) == ((9, 90), 1)
    (told,) = sent(node.tell(from_peer(relay(2, "late"))), Acknowledge)
    assert (told.stream, told.kept) == ((9, 90), 1)


def passing():
    """A node that passes everything from neighbour 1 on to neighbour 2, and wants it itself."""
    node = SingleNode((1, 2))
    node.tell(from_peer(announce(wants("t", origin=2), chapter=(6, 1, 0, 60)), sender=2))
    node.subscribe()
    node.attach(window=9)
    return node


def from_beyond(kept, unlanded=(), parked=()):
    """What neighbour 2 says."""
    return from_peer(Acknowledge(KEEPER, OWN, OWN, kept, unlanded, parked, NOTHING_SEEN, 0), sender=2)


def told(effects):
    """What neighbour 1 is told of its relays: kept, not landed, parked, the latter two as runs."""
    return [(each.kept, each.unlanded, each.parked) for each in sent(effects, Acknowledge, to=1)]


def test_a_watched_relay_has_landed_when_it_has_landed_beyond_also_after_a_crash():
    node = passing()
    assert told(node.tell(from_peer(relay(1, "a", watched=True)))) == [(1, ((1, 1),), ())]
    node.restart()
    assert told(node.tell(from_beyond(1))) == [(1, (), ())]
    assert not [key for key in node.disk if key.startswith("duty/")]


def test_an_event_with_a_ticket_is_parked_until_it_is_released_also_after_a_crash():
    node = passing()
    parked = relay(1, "a", watched=True, ticket=("1:", 7), released=False)
    found = node.tell(from_peer(parked))
    assert (told(found), offers(found)) == ([(1, ((1, 1),), ())], [])
    assert [each.ticket for each in sent(found, Relay, to=2)] == [("1:", 7)]
    assert told(node.tell(from_beyond(1, parked=((1, 1),)))) == [(1, (), ((1, 1),))]
    node.parked = ((1, 1),)
    node.restart()
    node.attach()
    found = node.tell(from_peer(Release(STREAM, (1,))))
    assert offers(found) == [(1, "a")]
    assert sent(found, Release, to=2) == [Release(OWN, (1,))]
    assert told(node.tell(from_beyond(1))) == [(1, (), ())]
    assert not [key for key in node.disk if key.startswith(("duty/", "outbox/"))]


def test_a_release_is_one_of_all_that_was_parked_before_in_the_order_of_publication():
    node = passing()
    for number, (id, sequence) in enumerate([("third", 9), ("first", 7), ("second", 8)], 1):
        node.tell(from_peer(relay(number, id, watched=True, ticket=("1:", sequence), released=False)))
    node.tell(from_peer(relay(4, "of another", watched=True, ticket=("2:", 1), released=False)))
    assert [event for _, event in offers(node.tell(from_peer(Release(STREAM, (3,)))))] == ["first", "second"]
    assert [event for _, event in offers(node.tell(from_peer(Release(STREAM, (2, 1)))))] == ["third"]


def test_what_was_parked_for_a_subscription_that_ended_leaves_nothing_behind():
    node = passing()
    node.tell(from_peer(relay(1, "a", watched=True, ticket=("1:", 7), released=False)))
    node.tell(UnsubscribeRequested(("s",)))
    node.tell(from_peer(Release(STREAM, (1,))))
    assert not [key for key in node.disk if key.startswith("log/")]


def test_what_a_neighbour_parked_and_can_no_longer_release_is_released():
    node = passing()
    node.tell(from_peer(relay(1, "a", watched=True, ticket=("1:", 7), released=False)))
    assert offers(node.tell(from_peer(relay(1, "b", stream=(9, 90))))) == [(1, "b"), (2, "a")]


def test_a_release_that_did_not_arrive_is_said_again_also_with_the_relay():
    node = passing()
    node.tell(from_peer(relay(1, "a", watched=True, ticket=("1:", 7), released=False)))
    node.tell(from_beyond(1, parked=((1, 1),)))
    node.tell(from_peer(Release(STREAM, (1,))))
    node.now += 10_000
    found = node.tell(TimerFired("durable/resend"))
    (again,) = sent(found, Relay, to=2)
    assert again.released
    assert sent(found, Release, to=2) == [Release(OWN, (1,))]


# -- routing ---------------------------------------------------------------------------------------------


def test_what_a_neighbour_wants_is_passed_on_once_it_is_safe():
    node = SingleNode((1, 2))
    node.tell(PeerFound(2))
    node.slow = True
    assert sent(node.tell(from_peer(announce(wants("s")))), ControlRelay) == []
    (told,) = sent(node.tell(node.write()), ControlRelay, to=2)
    assert isinstance(told.content, Announce)


def test_after_a_crash_events_are_routed_as_before_and_neighbours_are_told_anew(node):
    node.restart()
    (told,) = sent(node.effects, ControlRelay, to=2)
    assert told.number == 1
    assert told.content.anew
    assert len(sent(node.publish("a"), Relay, to=1)) == 1


def test_what_is_kept_of_routing_grows_with_the_tables_and_not_with_their_history(node):
    for number in range(2, 60, 2):
        node.tell(from_peer(announce(wants("t", f"price < {number}"), number=number)))
        node.tell(from_peer(ControlRelay(EPOCH, number + 1, Retract(("t",)))))
    assert [key for key in node.disk if key.startswith("route/")] == ["route/1/announce/0/s"]
    node.tell(from_peer(announce(wants("u"), chapter=(5, 2, 0, 51), anew=True)))
    assert [key for key in node.disk if key.startswith("route/")] == ["route/1/announce/0/u"]


def test_control_of_an_earlier_chapter_is_void(node):
    node.tell(from_peer(announce(chapter=(5, 2, 0, 51), anew=True)))
    node.tell(from_peer(announce(wants("late"), number=2)))
    assert sent(node.publish("a"), Relay) == []


def test_a_neighbour_that_lost_its_disk_is_introduced_anew(node):
    node.tell(from_peer(announce(wants("t", origin=2), chapter=(6, 1, 0, 60)), sender=2))
    node.tell(from_peer(Acknowledge(KEEPER, OWN, OWN, 0, (), (), NOTHING_SEEN, 1)))
    blank = Acknowledge((8, 80), OWN, (0, 0), 0, (), (), NOTHING_SEEN, 0)
    (told,) = sent(node.tell(from_peer(blank)), ControlRelay, to=1)
    assert told.number == 1
    assert [entry[0] for entry in told.content.entries] == ["t"]
    assert told.content.anew


class Gossip(Message, frozen=True, gc=False):
    """A control message that no rule is about."""


class Gossiping(Protocol):
    messages = (Publication, Gossip)

    def handle(self, stimulus, now):
        return ()


def test_a_scheme_whose_routing_state_would_be_forgotten_cannot_be_made_durable():
    with pytest.raises(NotDurableError, match="Gossip say"):
        Durable(0, Gossiping())


# -- a store that does not fit ---------------------------------------------------------------------------


def test_a_store_of_another_layout_is_refused_with_what_to_do(node):
    alone = Durable(0, FilterBased(0, TreeLinks(()), matcher_tables("brute_force")))
    with pytest.raises(RestoreError, match="empty data folder") as told:
        alone.handle(Started(node.disk), 0.0)
    assert told.value.code == "restore"


def test_records_that_cannot_be_read_are_refused(node):
    node.publish("a")
    fresh = Durable(0, FilterBased(0, TreeLinks((1, 2)), matcher_tables("brute_force")))
    with pytest.raises(RestoreError):
        fresh.handle(Started({**node.disk, "outbox/1/1": b"\xc1"}), 0.0)


def test_after_damage_relays_go_out_under_a_new_lineage(node):
    node.publish("a", "b")
    rest = {key: data for key, data in node.disk.items() if key != "outbox/1/1"}
    fresh = Durable(0, FilterBased(0, TreeLinks((1, 2)), matcher_tables("brute_force")))
    (write,) = fresh.handle(Started(rest, damaged=True), 0.0)[-1:]
    kept = [key for key, data in write.changes if key.startswith("outbox/") and data is not None]
    assert kept == ["outbox/1/1"]
    fresh.handle(PublishRequested(Event({}, id="c"), durable=True), 0.0)
    assert fresh.state()["relays_waiting"] == 2
