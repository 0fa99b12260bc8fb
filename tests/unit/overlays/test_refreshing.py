"""Control messages over lossy links, one by one: numbers, answers, patience, windows, and lives that begin and end."""

import pytest

from siftcast.model import Event, Filter
from siftcast.overlays.contract import (
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
from siftcast.overlays.membership.detector_messages import Ping
from siftcast.overlays.messages import Announce, Publication, Retract
from siftcast.overlays.refreshing import WINDOW, Heard, Numbered, Refreshing
from siftcast.overlays.wire_messages import MessageCodec

PEER, OTHER = 1, 2


class Talker(Protocol):
    """Sends a retraction of each id it is asked to unsubscribe, and writes down what it meets."""

    messages = (Announce, Retract, Publication)

    def __init__(self, peers=(PEER,)):
        self.peers, self.met = peers, []

    def handle(self, stimulus, now):
        self.met.append(stimulus)
        match stimulus:
            case UnsubscribeRequested(ids):
                return [SendMessage(Retract((id,)), self.peers) for id in ids]
            case PublishRequested(event):
                return [SendMessage(Publication(event, 0), self.peers)]
            case PeerFound(peer):
                return [SendMessage(Announce((), anew=True), (peer,))]
        return ()

    @property
    def heard(self):
        return [each.message for each in self.met if isinstance(each, MessageReceived)]


def started(nonce=7, *, peers=(PEER,), **options):
    node = Refreshing(Talker(peers), **{"refresh_ms": 100.0, **options})
    node.handle(Started(nonce=nonce), 0.0)
    return node


def say(node, *ids, now=0.0):
    return sent(node.handle(UnsubscribeRequested(ids), now))


def sent(effects):
    return [effect.message for effect in effects if isinstance(effect, SendMessage)]


def timers(effects):
    return [effect.after_ms for effect in effects if isinstance(effect, SetTimer)]


def wake(node, now, peer=PEER):
    return node.handle(TimerFired(f"refresh/{peer}"), now)


def hear(node, *messages, sender=PEER, now=0.0):
    """What a node says to messages, answers only."""
    return [each for message in messages for each in sent(node.handle(MessageReceived(sender, message), now))]


def names(messages):
    return [message.content.ids[0] for message in messages]


# -- sending -------------------------------------------------------------------------------------------


def test_control_messages_are_numbered_for_each_peer_and_events_go_as_they_are():
    node = started(peers=(PEER, OTHER))
    effects = node.handle(UnsubscribeRequested(("a", "b")), 0.0)
    told = [(effect.destinations, effect.message.number) for effect in effects if isinstance(effect, SendMessage)]
    assert told == [((PEER,), 1), ((OTHER,), 1), ((PEER,), 2), ((OTHER,), 2)]
    event = Event({"x": 1}, id="e")
    assert node.handle(PublishRequested(event), 0.0) == [SendMessage(Publication(event, 0), (PEER, OTHER))]


def test_what_is_not_answered_is_sent_again_and_what_is_answered_is_not():
    node = started()
    first = say(node, "a", "b", "c")
    stream = first[0].stream
    assert hear(node, Heard(stream, 1, 1, 50), Heard(stream, 1, 3, 50)) == []
    assert names(sent(wake(node, 100.0))) == ["b"]
    hear(node, Heard(stream, 3, 2, 50))
    assert wake(node, 200.0) == []
    assert node.state()["control_waiting"] == 0


def test_patience_doubles_up_to_its_bound_while_nothing_is_answered_and_begins_again_after_an_answer():
    node = started(refresh_ms_max=350.0)
    (first,) = say(node, "a")
    waits, now = [], 0.0
    for _ in range(4):
        now += 400.0
        effects = wake(node, now)
        assert sent(effects) == [first]
        waits += timers(effects)
    assert waits == [200.0, 350.0, 350.0, 350.0]
    hear(node, Heard(first.stream, 1, 1, 50), now=now)
    assert timers(wake(node, now)) == []
    say(node, "b", now=now)
    (second,) = sent(wake(node, now + 350.0))
    assert names([second]) == ["b"]


def test_a_peer_that_is_slow_to_answer_is_given_twice_the_time_it_took():
    node = started()
    (first,) = say(node, "a", now=0.0)
    hear(node, Heard(first.stream, 1, 1, 50), now=90.0)
    wake(node, 100.0)
    assert timers(node.handle(UnsubscribeRequested(("b",)), 200.0)) == [180.0]


def test_at_most_a_window_is_unanswered_and_the_rest_follows_answers():
    node = started()
    out = say(node, *(f"s{number}" for number in range(WINDOW + 10)))
    assert [each.number for each in out] == list(range(1, WINDOW + 1))
    assert names(hear(node, Heard(out[0].stream, 3, 3, 50))) == [f"s{WINDOW + more}" for more in range(3)]


# -- receiving -----------------------------------------------------------------------------------------


def numbered(number, id, stream=(9, 0)):
    return Numbered(stream, number, Retract((id,)))


def test_messages_are_handed_over_once_and_in_order_whatever_becomes_of_them_on_the_way():
    node = started()
    first, second, third = (numbered(number, id) for number, id in ((1, "a"), (2, "b"), (3, "c")))
    answers = hear(node, third, first, first, second, third)
    assert [message.ids[0] for message in node._inner.heard] == ["a", "b", "c"]
    assert [(answer.taken, answer.number, answer.life) for answer in answers] == [
        (0, 3, 7), (1, 1, 7), (1, 1, 7), (3, 2, 7), (3, 3, 7),
    ]  # fmt: skip


def test_a_stream_of_a_former_life_that_comes_late_is_ignored():
    node = started()
    hear(node, numbered(1, "old", stream=(9, 0)), numbered(1, "new", stream=(10, 0)))
    assert hear(node, numbered(2, "late", stream=(9, 0))) == []
    hear(node, numbered(1, "newer", stream=(10, 1)), numbered(2, "late too", stream=(10, 0)))
    assert [message.ids[0] for message in node._inner.heard] == ["old", "new", "newer"]


def test_streams_of_different_peers_do_not_mix():
    node = started()
    hear(node, numbered(1, "a"), sender=PEER)
    hear(node, numbered(2, "c"), sender=OTHER)
    assert [message.ids[0] for message in node._inner.heard] == ["a"]


# -- lives ---------------------------------------------------------------------------------------------


def test_two_nodes_over_a_link_that_loses_every_other_message_understand_each_other():
    nodes = {0: started(1), 1: Refreshing(Talker((0,)), refresh_ms=100.0)}
    nodes[1].handle(Started(nonce=2), 0.0)
    wire = [(1, message) for message in say(nodes[0], *"abcdefgh")]
    now, count = 0.0, 0
    while wire or nodes[0].state()["control_waiting"]:
        if not wire:
            now += 10_000.0
            wire = [(1, message) for message in sent(wake(nodes[0], now))]
            continue
        (to, message), wire = wire[0], wire[1:]
        count += 1
        if count % 2:
            wire += [(1 - to, answer) for answer in sent(nodes[to].handle(MessageReceived(1 - to, message), now))]
    assert "".join(message.ids[0] for message in nodes[1]._inner.heard) == "abcdefgh"
    assert count > 16


def test_a_lost_peer_is_not_sent_to_and_gets_what_waited_before_the_introduction_when_it_is_found():
    node = started()
    say(node, "a")
    node.handle(PeerLost(PEER), 10.0)
    assert say(node, "b", now=20.0) == []
    assert wake(node, 100.0) == []
    effects = node.handle(PeerFound(PEER), 200.0)
    assert [(each.number, type(each.content)) for each in sent(effects)] == [(1, Retract), (2, Retract), (3, Announce)]
    assert timers(effects) == [100.0]


def test_a_peer_that_has_begun_a_new_life_gets_what_was_not_answered_under_new_numbers():
    node = started()
    out = say(node, "a", "b", "c")
    hear(node, Heard(out[0].stream, 1, 1, 50))
    again = hear(node, Heard(out[0].stream, 0, 3, 51))  # it has 3, and knows nothing of 1 and 2
    assert [(each.number, each.content.ids[0]) for each in again] == [(1, "b"), (2, "c")]
    assert again[0].stream == (7, 1)
    fresh = started(51)
    hear(fresh, out[2], *again)
    assert [message.ids[0] for message in fresh._inner.heard] == ["b", "c"]
    assert hear(node, Heard(out[0].stream, 3, 3, 50)) == []  # of the life before
    assert node.state()["control_waiting"] == 2


def test_a_node_that_is_asked_before_it_was_started_sends_it_then():
    node = Refreshing(Talker(), refresh_ms=100.0)
    assert say(node, "a") == []
    assert hear(node, numbered(1, "x")) == []
    assert names(sent(node.handle(Started(nonce=3), 0.0))) == ["a"]


def test_messages_are_written_and_read_on_a_wire():
    codec = MessageCodec(started().messages)
    for message in (
        Numbered((2**63 - 1, 4), 17, Announce((("s", Filter.parse("value < 3"), 5),), 2, anew=True)),
        Heard((3, 0), 16, 17, 2**62),
    ):
        assert codec.decode(codec.encode(message)) == message


@pytest.mark.parametrize("refresh_ms", [0.0, -1.0, float("inf"), float("nan")])
def test_a_time_to_refresh_that_is_none_is_refused(refresh_ms):
    with pytest.raises(ValueError, match="refresh_ms"):
        Refreshing(Talker(), refresh_ms=refresh_ms)


def test_what_its_sender_repeats_by_itself_goes_as_it_is():
    class Repeater(Talker):
        def handle(self, stimulus, now):
            return [SendMessage(Ping(1), self.peers)] if isinstance(stimulus, TimerFired) else ()

    node = Refreshing(Repeater())
    node.handle(Started(nonce=7), 0.0)
    assert node.handle(TimerFired("x"), 0.0) == [SendMessage(Ping(1), (PEER,))]
