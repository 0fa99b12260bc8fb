"""The parts joined: what one finds out, the others hear of."""

from siftcast.model import Event
from siftcast.overlays.contract import (
    MessageReceived,
    PeerFound,
    PeerGone,
    PeerLost,
    PublishRequested,
    Report,
    SendMessage,
    Started,
    TimerFired,
)
from siftcast.overlays.membership import Finding, Member, Membership, MembershipOptions, Neighbouring
from siftcast.overlays.membership.detector_messages import Ack, Ping
from siftcast.overlays.membership.view_messages import Disconnect, Join, NeighbourAnswer, NeighbourRequest

OPTIONS = MembershipOptions()
PROBE_MS = OPTIONS.detection.probe_ms


def started(*contacts, node=0):
    made = Membership(node, OPTIONS)
    made.handle(Started(contacts=contacts, nonce=5), 0.0)
    return made


def with_neighbours(*peers):
    made = started()
    for peer in peers:
        made.handle_message(peer, Join(), 0.0)
    made.news.clear()
    return made


def sent(effects, kind):
    messages = [effect for effect in effects if isinstance(effect, SendMessage) and isinstance(effect.message, kind)]
    return [(effect.message, tuple(effect.destinations)) for effect in messages]


def silence(made, peer):
    """Lets a lonely neighbour be silent until something is decided; returns all effects."""
    effects, now = [], 0.0
    made.handle_message(peer, Ack(0, 0), now)
    while not any(each == Finding("lost", peer) for each in made.news):
        now += 100.0
        assert now < 200_000.0
        if now % PROBE_MS == 0:
            effects += made.handle(TimerFired("detect/tick"), now)
        if now % PROBE_MS == 300.0:
            effects += made.handle(TimerFired("detect/probe"), now)
        due = [each for each in effects if getattr(each, "name", "") == f"detect/lost/{peer}"]
        if due and made.members()[0].state == "suspected" and now % PROBE_MS == 700.0:
            effects += made.handle(TimerFired(f"detect/lost/{peer}"), now)
    return effects


def test_it_says_which_stimuli_are_its_own():
    made = started()
    assert made.concerns(Started())
    assert made.concerns(TimerFired("view/shuffle"))
    assert made.concerns(TimerFired("random/exchange"))
    assert made.concerns(TimerFired("detect/tick"))
    assert made.concerns(MessageReceived(1, Ping(1)))
    assert all(made.concerns(kind(1)) for kind in (PeerLost, PeerFound, PeerGone))
    assert not made.concerns(TimerFired("tree/announce"))
    assert not made.concerns(PublishRequested(Event({}, id="e")))


def test_neighbours_are_watched_sampled_and_reported():
    made = started(7)
    made.handle_message(7, NeighbourAnswer(True), 40.0)
    assert made.news == [Neighbouring("up", 7)]
    assert made.sampled == (7,)
    made.news.clear()
    ((ping, to),) = sent(made.handle_message(8, Join(), 100.0), Ping)
    assert to == (8,)
    assert not made.is_settled
    made.handle_message(8, Ack(ping.number, 0), 130.0)
    assert made.members() == (Member(7, "neighbour"), Member(8, "neighbour", 15.0))


def test_a_broken_connection_is_acted_on_at_once():
    made = with_neighbours(7, 8)
    made.handle(PeerLost(7), 10.0)
    assert made.news == [Neighbouring("down", 7)]
    assert {member.node: member.state for member in made.members()} == {8: "neighbour", 7: "lost"}
    assert 7 not in made.sampled
    assert sent(made.handle(PeerFound(7), 20.0), NeighbourRequest) == [(NeighbourRequest(urgent=True), (7,))]


def test_who_is_no_neighbour_any_more_is_not_probed():
    made = with_neighbours(7)
    made.handle_message(7, Disconnect(), 10.0)
    made.handle(TimerFired("detect/tick"), 1_000.0)
    assert sent(made.handle(TimerFired("detect/tick"), 2_000.0), Ping) == []


def test_a_silent_neighbour_is_suspected_reported_and_then_lost():
    made = with_neighbours(7)
    effects = silence(made, 7)
    assert made.news == [Finding("suspected", 7), Finding("lost", 7), Neighbouring("down", 7)]
    reports = [effect for effect in effects if isinstance(effect, Report)]
    assert reports == [Report("suspected", {"peer": 7}), Report("lost", {"peer": 7})]
    assert made.members() == (Member(7, "lost"),)


def test_who_is_gone_is_known_no_more():
    made = with_neighbours(7, 8)
    made.handle(PeerGone(7), 10.0)
    made.handle_message(8, Disconnect(leaving=True), 20.0)
    assert made.members() == ()


def test_who_does_not_take_this_node_for_a_neighbour_is_none():
    made = with_neighbours(7, 8)
    assert sent(made.handle_message(9, Ping(1), 10.0), Ack) == [(Ack(1, 0, mutual=False), (9,))]
    assert sent(made.handle_message(7, Ping(1), 10.0), Ack) == [(Ack(1, 0, mutual=True), (7,))]
    effects = made.handle_message(7, Ack(1, 0, mutual=False), 20.0)
    assert made.news == [Neighbouring("down", 7)]
    assert [each for each in effects if isinstance(each, Report)] == []
    assert made.members()[0].node == 8
    assert made.members()[1] == Member(7, "spare")


def test_two_lives_of_a_node_draw_differently_and_one_seed_the_same():
    def draw(nonce):
        made = Membership(0, OPTIONS)
        return made.handle(Started(contacts=tuple(range(1, 30)), nonce=nonce), 0.0)

    assert draw(1) == draw(1) != draw(2)


def test_goodbye_ends_all_neighbourhoods():
    made = with_neighbours(7, 8)
    effects = made.handle_leaving(10.0)
    assert {to[0] for message, to in sent(effects, Disconnect) if message.leaving} == {7, 8}
    assert not made.neighbours
    assert sorted(made.news) == [Neighbouring("down", 7), Neighbouring("down", 8)]
