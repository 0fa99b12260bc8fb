"""Protocols joined without a network: the clock, loss, and nodes that come and go."""

import pytest

from siftcast.overlays.contract import (
    CancelTimer,
    DelayMeasured,
    InferRoute,
    Leave,
    LeaveRequested,
    MeasureDelay,
    Message,
    MessageReceived,
    PeerFound,
    PeerGone,
    PeerLost,
    Persist,
    Protocol,
    RouteInferred,
    SendMessage,
    SetTimer,
    Started,
    TimerFired,
    Unwatch,
    Watch,
)
from siftcast.overlays.loopback import Loopback


class Names(Message, frozen=True, gc=False):
    nodes: tuple[int, ...] = ()

    @property
    def introduces(self):
        return self.nodes


class Scripted(Protocol):
    """Writes down what it meets, and does what a function says."""

    def __init__(self, node, react, log):
        self.node, self.react, self.log = node, react, log
        self.settled = True

    def handle(self, stimulus, now):
        self.log.append((now, self.node, stimulus))
        return self.react(self, stimulus) or ()

    @property
    def is_settled(self):
        return self.settled


def join(react=lambda node, stimulus: None, nodes=3, **options):
    log: list = []
    return Loopback(range(nodes), lambda node: Scripted(node, react, log), **options), log


def met(log, *kinds):
    return [(now, node, item) for now, node, item in log if isinstance(item, kinds)]


def ring(node):
    return ((node + 1) % 3,)


def test_timers_fire_in_the_order_of_time_and_only_when_the_clock_runs():
    def react(protocol, stimulus):
        if isinstance(stimulus, Started) and protocol.node == 0:
            return [SetTimer("b", 20), SetTimer("a", 10), SetTimer("b", 30), SetTimer("never", 5), CancelTimer("never")]
        return [SendMessage(Names(), (1,))] if isinstance(stimulus, TimerFired) else None

    net, log = join(react)
    net.settle()
    assert not met(log, TimerFired)
    net.run(until_ms=100)
    assert [(now, item.name) for now, _, item in met(log, TimerFired)] == [(10, "a"), (30, "b")]
    assert [now for now, _, _ in met(log, MessageReceived)] == [10, 30]
    assert net.now == 100


def test_rest_ends_when_all_are_settled_although_timers_tick_for_ever():
    def react(protocol, stimulus):
        if isinstance(stimulus, Started | TimerFired):
            protocol.settled = isinstance(stimulus, TimerFired)
            return [SetTimer("tick", 10)]
        return None

    net, _ = join(react)
    net.rest()
    assert net.now == 10
    net.protocols[1].settled = False
    net.protocols[1].react = lambda protocol, stimulus: None
    with pytest.raises(AssertionError, match=r"after 50 ms, nodes \[1\] have not settled"):
        net.rest(within_ms=50)


def test_each_life_has_a_nonce_of_its_own_that_the_seed_decides():
    def nonces(seed):
        net, log = join(seed=seed)
        net.crash(1)
        net.restart(1)
        return [item.nonce for _, _, item in met(log, Started)]

    assert len(set(nonces(1))) == 4
    assert nonces(1) == nonces(1) != nonces(2)


def test_lost_messages_do_not_arrive():
    def react(protocol, stimulus):
        if isinstance(stimulus, TimerFired) and protocol.node == 0:
            return [SendMessage(Names(), (1,)) for _ in range(400)]
        return None

    net, log = join(react, loss=0.5)
    net.tell(0, TimerFired("now"))
    net.settle()
    assert 150 < len(met(log, MessageReceived)) < 250


def test_contacts_are_watched_and_come_and_go():
    net, log = join(contacts=ring)
    net.settle()
    assert [item.contacts for _, _, item in met(log, Started)] == [(1,), (2,), (0,)]
    assert sorted((node, item.peer) for _, node, item in met(log, PeerFound)) == [(0, 1), (1, 2), (2, 0)]
    log.clear()
    net.crash(1)
    net.settle()
    net.restart(1)
    net.settle()
    assert [(node, item.peer) for _, node, item in met(log, PeerLost)] == [(0, 1)]
    assert sorted((node, item.peer) for _, node, item in met(log, PeerFound)) == [(0, 1), (1, 2)]


def test_who_leaves_is_gone_and_what_is_persisted_survives_a_crash_only():
    def react(protocol, stimulus):
        if isinstance(stimulus, LeaveRequested):
            return [Leave(), SendMessage(Names(), (2,))]
        return [Persist("key", b"data")] if isinstance(stimulus, TimerFired) else None

    net, log = join(react, contacts=ring)
    net.tell(1, TimerFired("now"))
    net.crash(1)
    net.restart(1)
    net.settle()
    net.leave(1)
    net.settle()
    assert 1 not in net.protocols
    assert [(node, item.peer) for _, node, item in met(log, PeerGone)] == [(0, 1)]
    assert [node for _, node, _ in met(log, MessageReceived)] == [2]
    net.restart(1)
    assert [item.restored for _, node, item in met(log, Started) if node == 1] == [{}, {"key": b"data"}, {}]


def test_questions_are_answered_and_nothing_is_heard_after_unwatching():
    def react(protocol, stimulus):
        if isinstance(stimulus, TimerFired):
            return [MeasureDelay(1), InferRoute(1), Watch(2), Unwatch(1)]
        return None

    net, log = join(react, contacts=lambda node: (1, 2), delay_ms=lambda a, b: 7.0)
    net.settle()
    log.clear()
    net.tell(0, TimerFired("now"))
    net.settle()
    assert [item for _, _, item in met(log, DelayMeasured, RouteInferred, PeerFound)] == [
        DelayMeasured(1, 7.0),
        RouteInferred(1, (), "unavailable"),
    ]
    net.crash(1)
    net.settle()
    assert not [item for _, node, item in met(log, PeerLost) if node == 0]


def test_nobody_talks_to_strangers():
    def react(protocol, stimulus):
        match stimulus:
            case TimerFired("introduced"):
                return [SendMessage(Names((0,)), (1,))]
            case TimerFired("not introduced"):
                return [SendMessage(Names(), (2,))]
            case MessageReceived(sender, Names((other,))):
                return [SendMessage(Names(), (sender, other))] if sender != other else None
        return None

    net, log = join(react, contacts=lambda node: (1,) if node != 1 else ())
    net.do(2, TimerFired("introduced"))
    assert sorted(node for _, node, _ in met(log, MessageReceived)) == [0, 1, 2]
    with pytest.raises(AssertionError, match="node 2, which was never introduced"):
        net.tell(0, TimerFired("not introduced"))
