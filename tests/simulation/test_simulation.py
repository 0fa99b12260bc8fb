"""The simulator itself, with protocols small enough to see through."""

from collections.abc import Callable

import numpy as np
import pytest

from siftcast.model import Event, Filter, Subscription
from siftcast.overlays.contract import (
    CancelTimer,
    DelayMeasured,
    Deliver,
    InferRoute,
    MeasureDelay,
    Message,
    MessageReceived,
    PeerFound,
    PeerLost,
    Persist,
    Persisted,
    Protocol,
    PublishRequested,
    Refuse,
    RouteInferred,
    SendMessage,
    SetTimer,
    Spent,
    Started,
    SubscribeRequested,
    TimerFired,
)
from siftcast.overlays.trace import Trace
from siftcast.runtimes.sim import Faults, Simulation, SimulationError, UniformNetwork
from siftcast.underlay import MeasuredUnderlay, Network


class Note(Message, frozen=True, gc=False):
    """A numbered message."""

    number: int

    @property
    def event_id(self):
        return f"n{self.number}"


class Scripted(Protocol):
    """Writes down what it meets, and does what a function says."""

    def __init__(self, node, react: Callable, log: list):
        self.node, self.react, self.log = node, react, log

    def handle(self, stimulus, now):
        self.log.append((now, self.node, stimulus))
        return self.react(self.node, stimulus) or ()


def simulate(react, nodes=2, **options):
    """A simulation of scripted nodes, and the log they share."""
    log: list = []
    return Simulation(range(nodes), lambda node: Scripted(node, react, log), **options), log


def met(log, kind, node=None):
    return [(now, item) for now, at, item in log if isinstance(item, kind) and node in (None, at)]


def event(number=0):
    return Event({"value": number}, id=f"e{number}")


def send_notes(count):
    """On a publication, node 0 sends that many messages to node 1."""

    def react(node, stimulus):
        if isinstance(stimulus, PublishRequested):
            return [SendMessage(Note(number), (1,)) for number in range(count)]
        return None

    return react


def run_notes(count=100, seed=0, network=None, **faults):
    sim, log = simulate(send_notes(count), seed=seed, faults=Faults(**faults), network=network)
    sim.publish(0, event())
    sim.run()
    return sim, [item.message.number for _, item in met(log, MessageReceived)]


def kinds(trace):
    return trace.record_table()["kind"].to_pylist()


# -- time and chance -----------------------------------------------------------------------------------


def test_a_message_takes_as_long_as_the_network_says():
    sim, log = simulate(send_notes(1), network=UniformNetwork(7.5))
    sim.publish(0, event(), at_ms=10)
    sim.run()
    assert [now for now, _ in met(log, MessageReceived)] == [17.5]
    assert sim.now == 17.5


def test_what_happens_at_the_same_time_happens_in_the_order_it_was_scheduled():
    _, numbers = run_notes(50)
    assert numbers == list(range(50))


def test_the_same_seed_gives_the_same_trace_and_another_seed_another():
    faults = {"jitter_ms": 5.0, "loss": 0.1}
    digests = [run_notes(seed=seed, **faults)[0].trace.digest() for seed in (1, 1, 2)]
    assert digests[0] == digests[1] != digests[2]


def test_without_chance_the_seed_changes_nothing():
    assert run_notes(seed=1)[0].trace.digest() == run_notes(seed=2)[0].trace.digest()


def test_loss_takes_its_share_and_the_trace_says_which():
    sim, numbers = run_notes(2_000, loss=0.25)
    lost = kinds(sim.trace).count("lost")
    assert len(numbers) + lost == 2_000
    assert 400 < lost < 600
    assert numbers == sorted(numbers)


def test_jitter_alone_delays_but_keeps_the_order_of_a_link():
    sim, numbers = run_notes(200, jitter_ms=50.0)
    assert numbers == list(range(200))
    assert 1.0 < sim.now <= 51.0


def test_jitter_with_reordering_lets_messages_overtake():
    _, numbers = run_notes(200, jitter_ms=50.0, reorder=True)
    assert numbers != sorted(numbers)
    assert sorted(numbers) == list(range(200))


def test_run_stops_at_a_time_and_goes_on_from_there():
    sim, log = simulate(send_notes(1), network=UniformNetwork(10))
    sim.publish(0, event(), at_ms=1)
    sim.run(until_ms=5)
    assert sim.now == 5
    assert not met(log, MessageReceived)
    sim.run()
    assert [now for now, _ in met(log, MessageReceived)] == [11]


def test_the_past_cannot_be_scheduled():
    sim, _ = simulate(send_notes(1))
    sim.run(until_ms=5)
    for schedule in (lambda: sim.publish(0, event(), at_ms=4), lambda: sim.crash(0, at_ms=4), lambda: sim.heal(4)):
        with pytest.raises(SimulationError, match="5 ms already"):
            schedule()


@pytest.mark.parametrize("faults", [{"loss": 1.0}, {"loss": -0.1}, {"jitter_ms": -1}, {"disk_ms": float("nan")}])
def test_impossible_faults_are_refused(faults):
    with pytest.raises(ValueError, match=r"lies in|at least 0"):
        Faults(**faults)


# -- timers and questions ------------------------------------------------------------------------------


def test_timers_fire_once_and_can_be_replaced_and_cancelled():
    def react(node, stimulus):
        if isinstance(stimulus, Started) and node == 0:
            return [
                SetTimer("kept", 5), SetTimer("moved", 5), SetTimer("moved", 9), SetTimer("gone", 5),
                CancelTimer("gone"), CancelTimer("never set"),
            ]  # fmt: skip
        return None

    sim, log = simulate(react)
    sim.run()
    assert [(now, item.name) for now, item in met(log, TimerFired)] == [(5, "kept"), (9, "moved")]


def test_timers_do_not_outlive_their_node():
    def react(node, stimulus):
        return [SetTimer("tick", 5)] if isinstance(stimulus, Started) else None

    sim, log = simulate(react, nodes=1)
    sim.crash(0, at_ms=3)
    sim.restart(0, at_ms=4)
    sim.run()
    assert [now for now, _ in met(log, TimerFired)] == [9]


def line(names=()):
    """Servers 0 and 1 at the ends of three routers."""
    network = Network.of(3, [(0, 1, 4.0), (1, 2, 6.0)], names=names)
    return network.attach_at([0, 2], 1.0)


def ask(question):
    def react(node, stimulus):
        return [question] if isinstance(stimulus, PublishRequested) else None

    return react


def test_measured_delays_come_back_after_a_round_trip():
    sim, log = simulate(ask(MeasureDelay(1)), network=line())
    sim.publish(0, event())
    sim.run()
    assert met(log, DelayMeasured) == [(24.0, DelayMeasured(1, 12.0))]


def test_nodes_that_are_down_have_no_delay():
    sim, log = simulate(ask(MeasureDelay(1)), network=line())
    sim.crash(1, at_ms=0)
    sim.publish(0, event(), at_ms=1)
    sim.run()
    assert [item for _, item in met(log, DelayMeasured)] == [DelayMeasured(1, None)]


def test_inferred_routes_name_the_routers_in_order():
    sim, log = simulate(ask(InferRoute(1)), network=line(["Bonn", "Köln", "Essen"]))
    sim.publish(0, event())
    sim.run()
    assert [item.routers for _, item in met(log, RouteInferred)] == [("Bonn", "Köln", "Essen")]
    assert line().routers_between(1, 0) == ("router-2", "router-1", "router-0")


@pytest.mark.parametrize("network", [None, MeasuredUnderlay([[0, 5], [5, 0]])], ids=["uniform", "measured"])
def test_routes_are_unavailable_where_there_are_no_routers(network):
    sim, log = simulate(ask(InferRoute(1)), network=network)
    sim.publish(0, event())
    sim.run()
    assert [item for _, item in met(log, RouteInferred)] == [RouteInferred(1, (), "unavailable")]


def test_routes_are_unavailable_over_a_cut():
    sim, log = simulate(ask(InferRoute(1)), network=line())
    sim.cut([[1]], at_ms=0)
    sim.publish(0, event(), at_ms=1)
    sim.run()
    assert [item for _, item in met(log, RouteInferred)] == [RouteInferred(1, (), "unavailable")]


def test_answers_are_not_given_to_the_next_incarnation():
    sim, log = simulate(ask(MeasureDelay(1)), network=line())
    sim.publish(0, event())
    sim.crash(0, at_ms=5)
    sim.restart(0, at_ms=6)
    sim.run()
    assert not met(log, DelayMeasured)


# -- effects in the trace ------------------------------------------------------------------------------


def test_refusals_are_kept_and_written_down():
    sim, _ = simulate(ask(Refuse("e0", "not today")))
    sim.publish(0, event())
    trace = sim.run()
    assert sim.refused == [(0, Refuse("e0", "not today"))]
    assert [row["event"] for row in trace.record_table().to_pylist() if row["kind"] == "refused"] == ["e0"]


def test_multicast_is_one_send_that_reaches_all():
    sim, log = simulate(ask(SendMessage(Note(1), (1, 2, 3), multicast=True)), nodes=4)
    sim.publish(0, event())
    trace = sim.run()
    assert sorted(at for _, at, item in log if isinstance(item, MessageReceived)) == [1, 2, 3]
    assert kinds(trace).count("multicast") == 3
    assert "sent" not in kinds(trace)


def test_work_is_added_up_in_the_row_of_what_caused_it():
    def react(node, stimulus):
        if isinstance(stimulus, PublishRequested):
            return [Spent(2), Deliver(stimulus.event, ["s"]), Spent(1, 5), SendMessage(Note(1), (1,))]
        return [Spent(4)] if isinstance(stimulus, MessageReceived) else None

    sim, _ = simulate(react)
    sim.publish(0, event())
    trace = sim.run()
    rows = [(row["kind"], row["matches"], row["lookups"]) for row in trace.record_table().to_pylist()]
    assert rows == [("published", 3, 5), ("sent", 0, 0), ("received", 4, 0)]
    assert trace.delivery_table().to_pylist() == [{"time_ms": 0.0, "node": 0, "event": "e0", "subscriptions": ["s"]}]


def test_unknown_effects_and_errors_of_protocols_stop_the_run_with_a_story():
    def react(node, stimulus):
        if isinstance(stimulus, PublishRequested):
            return [SendMessage(Note(3), (1,))]
        if isinstance(stimulus, MessageReceived):
            raise KeyError("lost my table")
        return None

    sim, _ = simulate(react)
    sim.publish(0, event(), at_ms=2)
    with pytest.raises(
        SimulationError, match=r"(?s)at 3\.000 ms, node 1 on MessageReceived.*lost my table.*sent 1 Note"
    ):
        sim.run()


def test_a_trace_keeps_every_filter_a_subscription_had(tmp_path):
    sim, _ = simulate(lambda node, stimulus: None)
    for text in ("value = 1", "value = 2", "value = 1"):
        sim.subscribe(0, Subscription("s", Filter.parse(text)))
    trace = sim.run()
    trace.save(tmp_path)
    for each in (trace, Trace.load(tmp_path)):
        assert {key: str(item.filter) for key, item in each.subscriptions.items()} == {
            "s": "value = 1",
            "s#2": "value = 2",
        }
        assert each.record_table()["message"].to_pylist() == ["s", "s#2", "s"]


# -- nodes come and go ---------------------------------------------------------------------------------


def talk(node, stimulus):
    return [SendMessage(Note(1), (1 - node,))] if isinstance(stimulus, PublishRequested) else None


def test_neighbours_of_a_crashed_node_are_told_and_told_again_when_it_is_back():
    sim, log = simulate(talk, faults=Faults(detect_ms=30))
    sim.publish(0, event())
    sim.crash(1, at_ms=10)
    sim.restart(1, at_ms=100)
    sim.run()
    assert met(log, PeerLost) == [(40, PeerLost(1))]
    assert sorted((now, at, item.peer) for now, at, item in log if isinstance(item, PeerFound)) == [
        (130, 0, 1),
        (130, 1, 0),
    ]


def test_a_message_to_a_node_that_never_was_there_counts_as_a_lost_peer():
    sim, log = simulate(
        lambda node, stimulus: [SendMessage(Note(1), (9,))] if isinstance(stimulus, PublishRequested) else None
    )
    sim.publish(0, event(1))
    sim.publish(0, event(2), at_ms=5)
    sim.join(9, at_ms=500)
    trace = sim.run()
    assert [item.peer for _, item in met(log, PeerLost)] == [9]
    assert sorted((at, item.peer) for _, at, item in log if isinstance(item, PeerFound)) == [(0, 9), (9, 0)]
    assert kinds(trace).count("dropped") == 2


def test_cuts_stop_messages_and_heal():
    sim, log = simulate(talk, nodes=3, faults=Faults(detect_ms=10))
    sim.publish(0, event(1))
    sim.cut([[0]], at_ms=20)
    sim.publish(0, event(2), at_ms=25)
    sim.heal(at_ms=60)
    sim.publish(0, event(3), at_ms=65)
    trace = sim.run()
    assert [now for now, _ in met(log, MessageReceived, 1)] == [1, 66]
    assert sorted((now, at) for now, at, item in log if isinstance(item, PeerLost)) == [(30, 0), (30, 1)]
    assert sorted((now, at) for now, at, item in log if isinstance(item, PeerFound)) == [(70, 0), (70, 1)]
    assert [kind for kind in kinds(trace) if kind in ("cut", "lost", "healed")] == ["cut", "lost", "healed"]


def test_messages_under_way_when_a_cut_is_made_still_arrive():
    sim, log = simulate(talk, network=UniformNetwork(10))
    sim.publish(0, event())
    sim.cut([[0]], at_ms=5)
    sim.run()
    assert len(met(log, MessageReceived, 1)) == 1


def persist(node, stimulus):
    match stimulus:
        case SubscribeRequested(subscriptions):
            return [Persist(subscriptions[0].id, str(subscriptions[0].filter).encode())]
        case PublishRequested():
            return [Persist("a", None)]
    return None


def test_a_power_cut_loses_what_was_not_yet_on_disk():
    sim, log = simulate(persist, nodes=1, faults=Faults(disk_ms=5))
    sim.subscribe(0, Subscription("a", Filter.parse("value = 1")), at_ms=1)
    sim.subscribe(0, Subscription("b", Filter.parse("value = 2")), at_ms=7)
    sim.crash(0, at_ms=10)
    sim.restart(0, at_ms=11)
    sim.run()
    assert [item.key for _, item in met(log, Persisted)] == ["a"]
    assert [item.restored for _, item in met(log, Started)] == [{}, {"a": b"value = 1"}]


def test_what_is_forgotten_stays_forgotten_and_leaving_takes_the_disk():
    sim, log = simulate(persist, nodes=1)
    for id in "ab":
        sim.subscribe(0, Subscription(id, Filter.parse("value = 1")))
    sim.publish(0, event(), at_ms=5)
    sim.crash(0, at_ms=10)
    sim.restart(0, at_ms=20)
    sim.leave(0, at_ms=30)
    sim.join(0, at_ms=40)
    sim.run()
    assert [sorted(item.restored) for _, item in met(log, Started)] == [[], ["b"], []]


def test_requests_to_a_node_that_is_down_are_missed_and_not_published():
    sim, _ = simulate(talk)
    sim.crash(0, at_ms=1)
    sim.publish(0, event(), at_ms=2)
    trace = sim.run()
    assert [kind for kind in kinds(trace) if kind in ("missed", "published")] == ["missed"]
    assert not trace.events


@pytest.mark.parametrize(
    ("schedule", "problem"),
    [
        (lambda sim: sim.crash(7, at_ms=1), "node 7 is not running"),
        (lambda sim: sim.restart(0, at_ms=1), "node 0 is running already"),
        (lambda sim: sim.join(-3, at_ms=1), "numbered from 0"),
    ],
)
def test_impossible_schedules_stop_the_run(schedule, problem):
    sim, _ = simulate(talk)
    schedule(sim)
    with pytest.raises(SimulationError, match=problem):
        sim.run()


def test_delays_of_an_underlay_are_those_of_its_routes():
    rng = np.random.default_rng(3)
    network = Network.of(6, [(a, b, float(rng.integers(1, 9))) for b in range(1, 6) for a in range(b)])
    underlay = network.attach(4, rng)
    sim, log = simulate(ask(SendMessage(Note(0), (1, 2, 3))), 4, network=underlay)
    sim.publish(0, event())
    sim.run()
    arrivals = {at: now for now, at, item in log if isinstance(item, MessageReceived)}
    assert arrivals == {other: underlay.latency_ms(0, other) for other in (1, 2, 3)}
