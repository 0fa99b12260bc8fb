"""What nodes of a simulation find out about delays and routes: exact by default, and as bad as a scenario wants it."""

from statistics import median

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from siftcast.overlays.contract import (
    DelayMeasured,
    InferRoute,
    MeasureDelay,
    Message,
    MessageReceived,
    PeerFound,
    PeerLost,
    Protocol,
    RouteInferred,
    SendMessage,
    Started,
    Watch,
)
from siftcast.runtimes.sim import Accuracy, Faults, Simulation, UniformNetwork
from siftcast.runtimes.sim.measuring import Measuring
from siftcast.runtimes.sim.wire import Wire
from siftcast.underlay import Hops, MeasuredUnderlay, Waxman

SERVERS = 12
PAIRS = [(a, b) for a in range(SERVERS) for b in range(SERVERS) if a != b]
DETECT_MS = 77.0


def waxman(seed=3, routers=40):
    rng = np.random.default_rng(seed)
    return Waxman(routers=routers).build(rng).attach(SERVERS, rng)


UNDERLAY = waxman()


def measuring(underlay=UNDERLAY, *, seed=1, running=range(SERVERS), **accuracy):
    wire = Wire(underlay, Faults(detect_ms=DETECT_MS), np.random.default_rng(0))
    return Measuring(wire, Accuracy(**accuracy), running, seed)


def routes(measures):
    return {pair: measures.answer(pair[0], InferRoute(pair[1]))[1] for pair in PAIRS}


# -- exact ---------------------------------------------------------------------------------------------


@given(st.integers(0, 2**32 - 1))
def test_without_noise_all_is_exact_and_comes_after_a_round_trip(seed):
    underlay = waxman(seed, routers=15)
    measures = measuring(underlay, seed=seed)
    for a, b in PAIRS:
        delay_ms, hops = underlay.latency_ms(a, b), underlay.hops(a, b)
        assert measures.answer(a, MeasureDelay(b)) == (2 * delay_ms, DelayMeasured(b, delay_ms))
        assert measures.answer(a, InferRoute(b)) == (2 * delay_ms, RouteInferred(b, hops.routers, "ok", hops.delays_ms))
        assert sorted(hops.delays_ms) == list(hops.delays_ms)
        assert hops.delays_ms[0] == 1.0  # the last mile
        assert np.isclose(hops.delays_ms[-1] + 1.0, delay_ms)


def test_a_delay_is_half_the_round_trip_where_directions_differ():
    measures = measuring(MeasuredUnderlay([[0, 3], [9, 0]]), running=(0, 1))
    assert measures.answer(0, MeasureDelay(1)) == (12.0, DelayMeasured(1, 6.0))
    assert measures.answer(1, MeasureDelay(0)) == (12.0, DelayMeasured(0, 6.0))


def test_measured_routes_are_answered_as_they_were_found():
    hops = {(0, 1): Hops(("r", None, "s"), (0.5, None, None), "partial")}
    measures = measuring(MeasuredUnderlay([[0, 3], [3, 0]], hops=hops), running=(0, 1))
    assert measures.answer(0, InferRoute(1))[1] == RouteInferred(1, ("r", None, "s"), "partial", (0.5, None, None))
    assert measures.answer(1, InferRoute(0)) == (0.0, RouteInferred(0, (), "unavailable"))


def test_a_uniform_network_has_delays_and_no_routes():
    measures = measuring(UniformNetwork(4.0))
    assert measures.answer(0, MeasureDelay(1)) == (8.0, DelayMeasured(1, 4.0))
    assert measures.answer(0, InferRoute(1)) == (0.0, RouteInferred(1, (), "unavailable"))


# -- worse ---------------------------------------------------------------------------------------------


def test_noise_deviates_by_this_share_around_the_true_delay_and_never_below_0():
    measures = measuring(noise=0.15)
    true_ms = UNDERLAY.latency_ms(0, 1)
    answers = [measures.answer(0, MeasureDelay(1)) for _ in range(2_000)]
    found = np.array([answer.delay_ms for _, answer in answers])
    assert all(wait == 2 * answer.delay_ms for wait, answer in answers)
    assert len(set(found.tolist())) == len(found)
    assert (found > 0).all()
    assert abs(median(found) / true_ms - 1) < 0.02
    assert 0.13 < np.std(found / true_ms) < 0.17
    assert (np.array([measuring(noise=1.0).answer(0, MeasureDelay(1))[1].delay_ms]) > 0).all()


def test_delays_of_routers_are_noisy_too():
    exact, noisy = routes(measuring()), routes(measuring(noise=0.1))
    ratios = np.array(
        [
            found / true
            for pair in PAIRS
            for found, true in zip(noisy[pair].delays_ms, exact[pair].delays_ms, strict=True)
        ]
    )
    assert all(noisy[pair].routers == exact[pair].routers for pair in PAIRS)
    assert 0.08 < np.std(ratios) < 0.12


def test_this_share_of_measurements_gets_no_answer():
    measures = measuring(loss=0.25)
    delays = [measures.answer(0, MeasureDelay(1)) for _ in range(1_000)]
    lost = [wait for wait, answer in delays if answer.delay_ms is None]
    assert 200 < len(lost) < 300
    assert set(lost) == {DETECT_MS}
    found = [measures.answer(0, InferRoute(1))[1] for _ in range(1_000)]
    assert 200 < sum(answer == RouteInferred(1, (), "unavailable") for answer in found) < 300


@given(st.floats(0, 1), st.integers(0, 1_000))
def test_an_anonymous_router_is_anonymous_in_every_route(share, seed):
    exact, told = routes(measuring(seed=seed)), routes(measuring(seed=seed, anonymous=share))
    silent, named = set(), set()
    for pair in PAIRS:
        assert len(told[pair].routers) == len(told[pair].delays_ms) == len(exact[pair].routers)
        for true, found, delay_ms in zip(exact[pair].routers, told[pair].routers, told[pair].delays_ms, strict=True):
            assert found in (true, None)
            assert (delay_ms is None) == (found is None)
            (silent if found is None else named).add(true)
    assert not silent & named
    assert (not silent) if share == 0 else (not named) if share == 1 else True


def test_this_share_of_routers_is_anonymous():
    measures = measuring(anonymous=0.3)
    assert len(measures._anonymous) == round(0.3 * len(UNDERLAY.router_names))
    assert measures._anonymous != measuring(anonymous=0.3, seed=2)._anonymous


def test_routes_that_are_cut_short_are_so_each_time_and_end_with_a_name():
    exact, measures = routes(measuring()), measuring(partial=0.5, anonymous=0.3)
    told = routes(measures)
    assert routes(measures) == told
    short = [pair for pair in PAIRS if told[pair].status != "ok"]
    assert 0.35 < len(short) / len(PAIRS) < 0.65
    for pair in short:
        route = told[pair]
        assert bool(route.routers) == (route.status == "partial")
        assert not route.routers or route.routers[-1] is not None
        for found, true in zip(route.routers, exact[pair].routers, strict=False):
            assert found in (true, None)
    assert {told[pair].status for pair in short} == {"partial", "unavailable"}


@pytest.mark.parametrize(
    "wrong", [{"noise": -0.1}, {"noise": 1.1}, {"loss": 1.0}, {"anonymous": 2}, {"partial": float("nan")}]
)
def test_shares_that_are_none_are_refused(wrong):
    with pytest.raises(ValueError, match="share"):
        Accuracy(**wrong)


# -- pairs that cannot reach each other ----------------------------------------------------------------


class Note(Message, frozen=True, gc=False):
    """Something to say."""


class Caller(Protocol):
    """Calls, watches and measures everybody as soon as it starts, and keeps what it hears."""

    def __init__(self, node):
        self.node = node
        self.heard = []

    def handle(self, stimulus, now):
        self.heard.append(stimulus)
        if not isinstance(stimulus, Started):
            return ()
        others = [other for other in range(SERVERS) if other != self.node]
        wishes = [effect(other) for other in others for effect in (Watch, MeasureDelay, InferRoute)]
        return [*wishes, SendMessage(Note(), others)]


@pytest.mark.parametrize("rarely", [{}, {"loss": 0.0, "jitter_ms": 3.0}], ids=["calm", "jitter"])
def test_between_unreachable_pairs_nothing_gets_through_and_between_all_others_everything(rarely):
    parted = UNDERLAY.with_unreachable(0.3, np.random.default_rng(5))
    assert 0 < parted.unreachable.pairs < len(PAIRS) / 2
    simulation = Simulation(range(SERVERS), Caller, parted, faults=Faults(detect_ms=DETECT_MS, **rarely))
    simulation.run()
    for a, b in PAIRS:
        heard = simulation.protocols[a].heard
        delay = next(each.delay_ms for each in heard if isinstance(each, DelayMeasured) and each.peer == b)
        route = next(each.status for each in heard if isinstance(each, RouteInferred) and each.peer == b)
        messages = [each for each in heard if isinstance(each, MessageReceived) and each.sender == b]
        found = PeerFound(b) in heard
        if parted.unreachable.cuts(a, b):
            assert (delay, route, messages, found) == (None, "unavailable", [], False)
            assert PeerLost(b) in heard
        else:
            assert (delay, route, found) == (UNDERLAY.latency_ms(a, b), "ok", True)
            assert len(messages) == 1
            assert PeerLost(b) not in heard


def test_a_heal_does_not_mend_what_the_underlay_parts():
    parted = UNDERLAY.with_unreachable(1.0, np.random.default_rng(5))
    wire = Wire(parted, Faults(), np.random.default_rng(0))
    wire.divide({0: 1})
    wire.divide({})
    assert not wire.is_calm
    for a, b in PAIRS:
        assert wire.joins(a, b) != parted.unreachable.cuts(a, b)
        assert (wire.arrival_ms(a, b, 0.0) is None) == parted.unreachable.cuts(a, b)
