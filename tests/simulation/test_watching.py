"""Who hears that a node is lost, found or gone; leaving in peace; and who was introduced to whom."""

from collections.abc import Callable

import pytest

from siftcast.model import Event
from siftcast.overlays.contract import (
    InferRoute,
    Leave,
    LeaveRequested,
    MeasureDelay,
    Message,
    MessageReceived,
    PeerFound,
    PeerGone,
    PeerLost,
    Protocol,
    PublishRequested,
    SendMessage,
    SetTimer,
    Started,
    TimerFired,
    Unwatch,
    Watch,
)
from siftcast.overlays.refreshing import Refreshing
from siftcast.runtimes.sim import Faults, Simulation, SimulationError, UniformNetwork
from siftcast.runtimes.sim.checkers import disturbances

DETECT_MS = 30.0


class Names(Message, frozen=True, gc=False):
    """A message that introduces nodes."""

    nodes: tuple[int, ...] = ()

    @property
    def introduces(self):
        return self.nodes


class Scripted(Protocol):
    """Writes down what it meets, and does what a function says."""

    messages = (Names,)

    def __init__(self, node, react: Callable, log: list, *, can_leave: bool):
        self.node, self.react, self.log, self.leaves = node, react, log, can_leave

    def handle(self, stimulus, now):
        self.log.append((now, self.node, stimulus))
        return self.react(self.node, stimulus) or ()

    @property
    def can_leave(self):
        return self.leaves


def simulate(react=lambda node, stimulus: None, nodes=4, *, can_leave=True, **options):
    """A simulation of scripted nodes, and the log they share."""
    log: list = []
    options = {"faults": Faults(detect_ms=DETECT_MS), "network": UniformNetwork(5.0), **options}
    return Simulation(range(nodes), lambda node: Scripted(node, react, log, can_leave=can_leave), **options), log


def heard(log, *kinds):
    return [(now, at, item) for now, at, item in log if isinstance(item, kinds or (PeerLost, PeerFound, PeerGone))]


def on_publish(*effects, node=0):
    return lambda at, stimulus: effects if isinstance(stimulus, PublishRequested) and at == node else None


def ring(nodes):
    return lambda node: ((node + 1) % nodes,)


def event(id="e"):
    return Event({}, id=id)


# -- watching -------------------------------------------------------------------------------------------


def test_contacts_come_with_the_start_and_are_found_after_a_round_trip():
    sim, log = simulate(contacts=ring(4))
    sim.run()
    assert [item.contacts for _, _, item in log if isinstance(item, Started)] == [(1,), (2,), (3,), (0,)]
    assert heard(log) == [(10.0, node, PeerFound((node + 1) % 4)) for node in range(4)]


def test_who_begins_with_contacts_hears_of_nobody_else():
    sim, log = simulate(on_publish(SendMessage(Names(), (2, 3))), contacts=ring(4))
    sim.publish(0, event())
    sim.crash(2, at_ms=50)
    sim.restart(2, at_ms=100)
    sim.run(until_ms=99)
    assert heard(log, PeerLost) == [(80.0, 1, PeerLost(2))]
    sim.run()
    assert heard(log)[5:] == [(110.0, 2, PeerFound(3)), (130.0, 1, PeerFound(2))]


def test_a_contact_that_is_not_there_is_missed_and_found_when_it_joins():
    sim, log = simulate(nodes=1, contacts=lambda node: (7,) if node == 0 else ())
    sim.join(7, at_ms=100)
    sim.run()
    assert heard(log) == [(DETECT_MS, 0, PeerLost(7)), (130.0, 0, PeerFound(7))]


def test_after_the_first_watch_a_node_hears_of_those_it_watches_only():
    sim, log = simulate(on_publish(SendMessage(Names(), (1,)), Watch(2), Watch(2)))
    sim.publish(0, event())
    for node in (1, 2):
        sim.crash(node, at_ms=50)
    sim.run()
    assert heard(log) == [(10.0, 0, PeerFound(2)), (80.0, 0, PeerLost(2))]


def test_news_that_was_on_its_way_is_not_heard_after_unwatching():
    def react(node, stimulus):
        return (Unwatch(1),) if isinstance(stimulus, PublishRequested) else None

    sim, log = simulate(react, nodes=2, contacts=ring(2))
    sim.crash(1, at_ms=50)
    sim.publish(0, event(), at_ms=60)
    sim.restart(1, at_ms=70)
    sim.run()
    assert heard(log) == [(10.0, 0, PeerFound(1)), (10.0, 1, PeerFound(0)), (80.0, 1, PeerFound(0))]


def test_a_crash_during_the_round_trip_is_the_last_that_is_heard():
    sim, log = simulate(nodes=2, contacts=ring(2), network=UniformNetwork(100.0))
    sim.crash(1, at_ms=1)
    sim.run()
    assert [type(item) for _, at, item in heard(log) if at == 0] == [PeerFound, PeerLost]


def test_a_watch_ends_with_the_life_of_its_watcher():
    sim, log = simulate(on_publish(Watch(1)))
    sim.publish(0, event())
    sim.crash(0, at_ms=50)
    sim.restart(0, at_ms=60)
    sim.crash(1, at_ms=70)
    sim.run()
    assert heard(log) == [(10.0, 0, PeerFound(1))]


def test_a_cut_is_heard_by_those_who_watch_over_it_and_so_is_its_end():
    sim, log = simulate(contacts=ring(4))
    sim.cut([[0, 1]], at_ms=50)
    sim.heal(at_ms=150)
    sim.run()
    assert heard(log)[4:] == [
        (80.0, 1, PeerLost(2)),
        (80.0, 3, PeerLost(0)),
        (180.0, 1, PeerFound(2)),
        (180.0, 3, PeerFound(0)),
    ]


# -- leaving --------------------------------------------------------------------------------------------


def leave_later(node, stimulus):
    """Takes its time to leave, and says a last word."""
    if isinstance(stimulus, LeaveRequested):
        return (SetTimer("leave", 20.0),)
    if isinstance(stimulus, TimerFired):
        return (Leave(), SendMessage(Names(), (0,)))
    return None


def test_who_leaves_in_peace_is_gone_and_not_lost():
    sim, log = simulate(leave_later, contacts=ring(4))
    sim.leave(1, at_ms=50)
    trace = sim.run()
    assert [(now, at) for now, at, item in log if isinstance(item, MessageReceived)] == [(75.0, 0)]
    assert heard(log)[4:] == [(100.0, 0, PeerGone(1))]
    rows = [(row["time_ms"], row["kind"]) for row in trace.record_table().to_pylist() if row["node"] == 1]
    assert rows[1:] == [(50.0, "leaving"), (70.0, "sent"), (70.0, "left")]
    assert [str(each) for each in disturbances(trace)] == ["server 1 was asked to leave at 50 ms and left at 70 ms"]


def test_who_is_cut_off_from_a_node_that_leaves_only_knows_that_it_is_lost():
    sim, log = simulate(leave_later, contacts=lambda node: (1,) if node != 1 else ())
    sim.cut([[0]], at_ms=40)
    sim.leave(1, at_ms=50)
    sim.heal(at_ms=200)
    sim.run()
    assert [item for _, at, item in heard(log) if at == 0] == [PeerFound(1), PeerLost(1)]
    assert [item for _, at, item in heard(log) if at == 2] == [PeerFound(1), PeerGone(1)]


def test_nobody_hears_more_of_a_node_that_has_left_even_if_another_takes_its_number():
    sim, log = simulate(leave_later, contacts=lambda node: (1,) if node == 0 else ())
    sim.leave(1, at_ms=50)
    sim.join(1, at_ms=80)
    sim.run()
    assert heard(log) == [(10.0, 0, PeerFound(1)), (100.0, 0, PeerGone(1))]


def test_connections_of_nodes_that_never_watch_are_forgotten_when_an_end_leaves_in_peace():
    def react(node, stimulus):
        if isinstance(stimulus, PublishRequested):
            return (SendMessage(Names(), (1,)),)
        return leave_later(node, stimulus)

    sim, log = simulate(react)
    sim.publish(2, event("first"))
    sim.leave(1, at_ms=50)
    sim.join(1, at_ms=200)
    sim.run()
    assert heard(log) == [(100.0, 0, PeerGone(1)), (100.0, 2, PeerGone(1))]


def test_a_node_that_cannot_leave_in_peace_is_removed_and_lost():
    sim, log = simulate(contacts=ring(4), can_leave=False)
    sim.leave(1, at_ms=50)
    trace = sim.run()
    assert 1 not in sim.protocols
    assert not heard(log, LeaveRequested)
    assert heard(log)[4:] == [(80.0, 0, PeerLost(1))]
    assert [str(each) for each in disturbances(trace)] == ["server 1 left at 50 ms and never came back"]


def test_a_node_can_be_removed_by_force_although_it_could_leave():
    sim, log = simulate(leave_later, contacts=ring(4))
    sim.remove(1, at_ms=50)
    sim.run()
    assert heard(log)[4:] == [(80.0, 0, PeerLost(1))]


def test_a_person_can_declare_a_peer_gone():
    sim, log = simulate(contacts=ring(4))
    sim.crash(1, at_ms=50)
    sim.forget(0, 1, at_ms=200)
    sim.restart(1, at_ms=300)
    sim.run()
    assert [item for _, at, item in heard(log) if at == 0] == [PeerFound(1), PeerLost(1), PeerGone(1)]


def test_a_crash_between_the_wish_to_leave_and_leaving_is_a_crash():
    sim, log = simulate(leave_later, contacts=ring(4))
    sim.leave(1, at_ms=50)
    sim.crash(1, at_ms=60)
    sim.run()
    assert heard(log)[4:] == [(90.0, 0, PeerLost(1))]


def test_what_is_handed_over_through_loss_arrives_before_its_sender_leaves():
    log: list = []

    def react(node, stimulus):
        return (SendMessage(Names((9,)), (0,)), Leave()) if isinstance(stimulus, LeaveRequested) else None

    sim = Simulation(
        range(2),
        lambda node: Refreshing(Scripted(node, react, log, can_leave=True), refresh_ms=20.0),
        seed=3,
        faults=Faults(loss=0.7, detect_ms=DETECT_MS),
        contacts=ring(2),
    )
    sim.leave(1, at_ms=50)
    trace = sim.run()
    assert "lost" in trace.record_table()["kind"].to_pylist()
    assert [type(item) for _, at, item in log if at == 0] == [Started, PeerFound, MessageReceived, PeerGone]


# -- introductions --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "effect",
    [SendMessage(Names(), (3,)), MeasureDelay(3), InferRoute(3), Watch(3)],
    ids=lambda each: type(each).__name__,
)
def test_a_strict_run_stops_when_a_node_talks_to_one_that_was_not_introduced(effect):
    sim, _ = simulate(on_publish(effect), contacts=ring(4), strict_introductions=True)
    sim.publish(0, event(), at_ms=20)
    with pytest.raises(SimulationError, match=r"(?s)at 20\.000 ms.*node 3, which was never introduced.*peer found"):
        sim.run()


def test_contacts_senders_and_those_whom_messages_introduce_may_be_talked_to():
    def react(node, stimulus):
        match stimulus:
            case PublishRequested():
                return (SendMessage(Names((3,)), (1,)),)
            case MessageReceived(sender, Names((other,))):
                return (SendMessage(Names(), (sender, other)), Watch(other), MeasureDelay(other))
        return None

    sim, log = simulate(react, contacts=ring(4), strict_introductions=True)
    sim.publish(0, event())
    sim.crash(1, at_ms=50)
    sim.restart(1, at_ms=60)
    sim.at(100, 1, MessageReceived(0, Names((3,))))  # still known after a crash
    sim.run()
    assert sorted(at for _, at, item in log if isinstance(item, MessageReceived)) == [0, 0, 1, 1, 3, 3]


def test_strict_introductions_need_contacts():
    with pytest.raises(ValueError, match="needs contacts"):
        simulate(strict_introductions=True)


# -- settling -------------------------------------------------------------------------------------------


class Ticking(Scripted):
    """A node whose timer never ends, and which waits for three ticks of it."""

    ticks = 0

    def handle(self, stimulus, now):
        self.ticks += isinstance(stimulus, TimerFired)
        return (SetTimer("tick", 40.0),) if isinstance(stimulus, Started | TimerFired) else ()

    @property
    def is_settled(self):
        return self.ticks >= 3


def test_a_run_settles_when_all_nodes_have_although_timers_tick_for_ever():
    sim = Simulation(range(3), lambda node: Ticking(node, None, [], can_leave=False))
    sim.settle(until_ms=1_000)
    assert 120 <= sim.now < 200
    assert {protocol.ticks for protocol in sim.protocols.values()} == {3}


def test_a_run_that_does_not_settle_in_time_says_who_waits():
    sim = Simulation(range(3), lambda node: Ticking(node, None, [], can_leave=False))
    with pytest.raises(SimulationError, match="at 100 ms the network has not settled: something waits at 0, 1, 2"):
        sim.settle(until_ms=100)


def test_faults_can_change_in_the_middle_of_a_run():
    sim, log = simulate(on_publish(*(SendMessage(Names(), (1,)) for _ in range(100))), faults=Faults(loss=0.9))
    sim.publish(0, event())
    sim.change_faults(Faults(), at_ms=50)
    sim.publish(0, event("again"), at_ms=60)
    sim.run()
    arrived = [now for now, _, item in log if isinstance(item, MessageReceived)]
    assert len([now for now in arrived if now < 50]) < 30
    assert len([now for now in arrived if now > 50]) == 100
