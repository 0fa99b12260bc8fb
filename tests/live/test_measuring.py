"""How far nodes are and by which routers: what is measured, within which budget, and what is shown of it."""

import asyncio
import heapq
import json
import math
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from siftcast.overlays.contract import DelayMeasured, InferRoute, MeasureDelay, RouteInferred
from siftcast.runtimes.live.logs import make_log
from siftcast.runtimes.live.node import measuring, routes
from siftcast.runtimes.live.node.coordinates import Coordinates
from siftcast.runtimes.live.node.echoes import Echoes
from siftcast.runtimes.live.node.measuring import PROBES, Measuring
from siftcast.runtimes.live.node.members import routers_in_common
from siftcast.runtimes.live.node.probe_budget import ProbeBudget
from siftcast.runtimes.live.node.routes import NOT_PERMITTED, Routes
from siftcast.runtimes.live.node.traceroute import Route
from siftcast.runtimes.live.slow_line import SlowLine
from siftcast.runtimes.live.wire.frames import Heartbeat, decode_frame, encode_body
from tests.live.asynchronous import on_loop, until
from tests.live.small_networks import small_network


class Clock:
    """A loop whose time goes on when it is told to."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._count = 0

    def time(self) -> float:
        return self.now_s

    def call_soon(self, what: Callable[..., None], *arguments: Any) -> Any:
        return self.call_later(0.0, what, *arguments)

    def call_later(self, after_s: float, what: Callable[..., None], *arguments: Any) -> Any:
        self._count += 1
        entry = (self.now_s + after_s, self._count, lambda: what(*arguments))
        heapq.heappush(self._due, entry)
        return Timer(self._due, entry)

    def go_on(self, for_s: float) -> None:
        """Lets so much time pass."""
        until_s = self.now_s + for_s
        while self._due and self._due[0][0] <= until_s:
            self.now_s, _, what = heapq.heappop(self._due)
            what()
        self.now_s = until_s


class Timer:
    def __init__(self, due: list[Any], entry: Any) -> None:
        self._due, self._entry = due, entry

    def cancel(self) -> None:
        if self._entry in self._due:
            self._due.remove(self._entry)
            heapq.heapify(self._due)


class FarNode:
    """The other end of a connection, which sends heartbeats back when it is told to."""

    def __init__(self, echoes: Echoes, number: int) -> None:
        self.asked: list[int] = []
        self._echoes = echoes
        self._number = number

    def send(self, frame: Heartbeat) -> None:
        self.asked.append(frame.number)

    def answer(self) -> None:
        for echo in self.asked:
            self._echoes.answered(echo, self._number)
        self.asked.clear()


# -- the budget --------------------------------------------------------------------------------------


def begun(said: list[str], name: str) -> Callable[[], bool]:
    return lambda: said.append(name) is None


def test_what_is_within_the_budget_begins_at_once_and_the_rest_when_a_minute_has_brought_more() -> None:
    clock, said = Clock(), list[str]()
    budget = ProbeBudget(clock, 60)  # type: ignore[arg-type]
    for number in range(30):
        budget.ask("protocol", 3, begun(said, str(number)))
    assert said == [str(number) for number in range(20)]
    clock.go_on(3.001)
    assert len(said) == 21
    clock.go_on(60.0)
    assert said == [str(number) for number in range(30)]


@given(st.lists(st.tuples(st.sampled_from(["protocol", "people"]), st.integers(1, 9)), min_size=1, max_size=80))
def test_in_no_minute_more_is_begun_than_the_budget_of_two(asked: list[tuple[Any, int]]) -> None:
    clock, begun_s = Clock(), list[tuple[float, int]]()
    budget = ProbeBudget(clock, 30)  # type: ignore[arg-type]
    for asker, probes in asked:
        budget.ask(asker, probes, lambda probes=probes: begun_s.append((clock.now_s, probes)) is None)  # type: ignore[misc]
    clock.go_on(3_600.0)
    assert sum(probes for _, probes in begun_s) == sum(probes for _, probes in asked), "everybody is served"
    for at_s, _ in begun_s:
        assert sum(probes for begun, probes in begun_s if at_s <= begun < at_s + 60) <= 2 * 30


def test_neither_of_the_two_who_ask_waits_for_all_that_the_other_wants() -> None:
    clock, said = Clock(), list[str]()
    budget = ProbeBudget(clock, 6)  # type: ignore[arg-type]
    for number in range(100):
        budget.ask("protocol", 3, begun(said, f"protocol {number}"))
    budget.ask("people", 3, begun(said, "people"))
    clock.go_on(61.0)
    assert said[-1] != said[1], "the budget of the first minute was spent"
    assert "people" in said[2:4]


def test_what_is_in_vain_costs_nothing_and_what_cost_more_is_made_up_for() -> None:
    clock, said = Clock(), list[str]()
    budget = ProbeBudget(clock, 3)  # type: ignore[arg-type]
    for _ in range(50):
        budget.ask("protocol", 3, lambda: False)
    budget.ask("protocol", 3, begun(said, "wanted"))
    assert said == ["wanted"]
    budget.charge(3)
    budget.ask("protocol", 3, begun(said, "next"))
    clock.go_on(119.0)
    assert said == ["wanted"]
    clock.go_on(2.0)
    assert said == ["wanted", "next"]


def test_who_waits_begins_sooner_where_something_took_less_than_it_said() -> None:
    clock, said = Clock(), list[str]()
    budget = ProbeBudget(clock, 8)  # type: ignore[arg-type]
    for name in ("first", "second", "third"):
        budget.ask("people", 8, begun(said, name))
    budget.charge(-6)
    assert said == ["first"]
    clock.go_on(15.1)
    assert said == ["first", "second"], "two probes were missing, and not eight"
    budget.charge(-8)
    assert said == ["first", "second", "third"]


# -- measurements ------------------------------------------------------------------------------------


class Measured:
    """A node that measures others, whose connections a test makes and breaks."""

    def __init__(self, per_minute: int = 600) -> None:
        self.clock = Clock()
        self.echoes = Echoes()
        self.far: dict[int, FarNode] = {}
        self.known = {7, 8}
        self.called: list[int] = []
        self.heard: list[tuple[str, float | None]] = []
        self.measuring = Measuring(
            self.clock,  # type: ignore[arg-type]
            ProbeBudget(self.clock, per_minute),  # type: ignore[arg-type]
            self.echoes,
            connection_of=self.far.get,  # type: ignore[arg-type]
            can_call=self.known.__contains__,
            call=self.called.append,
        )

    def ask(self, number: int, name: str = "") -> None:
        self.measuring.ask(number, lambda delay_ms: self.heard.append((name, delay_ms)), "protocol")

    def join(self, number: int) -> FarNode:
        far = self.far[number] = FarNode(self.echoes, number)
        self.echoes.lost(number)
        self.measuring.joined(number, far)  # type: ignore[arg-type]
        return far

    def lose(self, number: int) -> None:
        del self.far[number]
        self.echoes.lost(number)
        self.measuring.lost(number)


def test_the_answer_is_the_median_of_several_and_one_that_was_late_does_not_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    node, times = Measured(), iter([0.0, 1.0, 2.0, 0.010, 1.500, 2.012])
    monkeypatch.setattr("siftcast.runtimes.live.node.echoes.monotonic", lambda: next(times))
    far = node.join(7)
    node.ask(7)
    node.clock.go_on(1.0)
    assert len(far.asked) == PROBES
    far.answer()
    node.clock.go_on(0.0)
    assert node.heard == [("", pytest.approx(6.0))]


def test_a_node_that_is_asked_about_twice_is_measured_once_and_both_are_answered() -> None:
    node = Measured()
    far = node.join(7)
    node.ask(7, "first")
    node.ask(7, "second")
    node.clock.go_on(1.0)
    assert len(far.asked) == PROBES
    far.answer()
    node.clock.go_on(0.0)
    assert [name for name, _ in node.heard] == ["first", "second"]
    assert node.heard[0][1] == node.heard[1][1] is not None


def test_a_node_without_a_connection_is_called_and_measured_or_given_up() -> None:
    node = Measured()
    node.ask(7)
    assert (node.called, 7 in node.measuring) == ([7], True)
    far = node.join(7)
    node.clock.go_on(1.0)
    far.answer()
    node.ask(8)
    node.clock.go_on(measuring.DEMAND_S + 1)
    assert node.heard[1] == ("", None)
    assert node.heard[0][1] is not None
    assert not list(node.measuring)


def test_a_node_that_nobody_knows_or_that_goes_is_answered_with_nothing() -> None:
    node = Measured()
    node.ask(9, "unknown")
    node.join(7)
    node.ask(7, "goes")
    node.lose(7)
    node.clock.go_on(1.0)
    assert node.heard == [("unknown", None), ("goes", None)]


def test_a_node_that_is_called_and_comes_back_on_time_is_measured_although_it_was_lost_before() -> None:
    node = Measured()
    node.ask(7)
    node.measuring.lost(7)  # it is not connected, and still called
    assert not node.heard
    far = node.join(7)
    node.clock.go_on(1.0)
    far.answer()
    node.clock.go_on(0.0)
    assert [delay_ms is not None for _, delay_ms in node.heard] == [True]


def test_a_connection_that_takes_the_place_of_another_is_measured_from_the_beginning() -> None:
    node = Measured()
    node.join(7)
    node.ask(7)
    node.clock.go_on(0.001)
    again = node.join(7)
    node.clock.go_on(1.0)
    assert len(again.asked) == PROBES
    again.answer()
    node.clock.go_on(0.0)
    assert [delay_ms is not None for _, delay_ms in node.heard] == [True]


def test_a_thousand_nodes_are_measured_in_turn_and_all_are_answered() -> None:
    node = Measured(per_minute=600)
    node.known.clear()
    for number in range(1_000):
        node.join(number)
        node.ask(number, str(number))
    node.clock.go_on(1.0)
    asked = sum(len(far.asked) for far in node.far.values())
    assert asked <= 600 + 2 * PROBES + 10, "no storm"
    for _ in range(5 * 600):
        node.clock.go_on(0.1)
        for far in node.far.values():
            far.answer()
    assert [name for name, _ in node.heard] == [str(number) for number in range(1_000)]


# -- coordinates -------------------------------------------------------------------------------------


def test_a_heartbeat_that_comes_back_says_where_its_node_is_and_older_ends_read_it_too() -> None:
    class HeartbeatOfVersion3(msgspec.Struct, array_like=True, tag=4):
        number: int = 0
        echo: bool = False

    new = Heartbeat(7, coordinate=(1.0, -2.0, 0.5, 0.25))
    old = msgspec.msgpack.decode(encode_body(new), type=HeartbeatOfVersion3)
    assert (old.number, old.echo) == (7, False)
    back = decode_frame(msgspec.msgpack.encode(old))
    assert isinstance(back, Heartbeat)
    assert back.coordinate is None
    assert decode_frame(encode_body(new)) == new


def test_coordinates_of_nodes_that_measure_each_other_come_to_predict_their_delays() -> None:
    nodes = [Coordinates(Random(number)) for number in range(3)]
    delays_ms = {(0, 1): 30.0, (0, 2): 120.0, (1, 2): 140.0}
    for _ in range(200):
        for (one, other), delay_ms in delays_ms.items():
            nodes[one].learn(other, nodes[other].said(), delay_ms)
            nodes[other].learn(one, nodes[one].said(), delay_ms)
    for (one, other), delay_ms in delays_ms.items():
        assert nodes[one].predicted_ms(other) == pytest.approx(delay_ms, rel=0.1)
    nodes[0].forget(1)
    assert nodes[0].predicted_ms(1) is None


@given(st.tuples(*[st.floats(allow_nan=True, allow_infinity=True)] * 4), st.floats(0, 1e6))
def test_what_others_say_never_leads_a_node_out_of_the_space(said: Any, delay_ms: float) -> None:
    node = Coordinates(Random(1))
    for _ in range(20):
        node.learn(7, said, delay_ms)
        node.learn(8, (3.0, 4.0, 1.0, 0.1), 10.0)
    assert node.own.is_sound
    predicted_ms = node.predicted_ms(8)
    assert predicted_ms is not None
    assert math.isfinite(predicted_ms)


# -- routes ------------------------------------------------------------------------------------------


def routes_of(said: Any, *, is_permitted: bool = True, addresses: dict[int, str] | None = None) -> Routes:
    loop = asyncio.get_running_loop()
    known = {7: "127.0.0.1:7007"} if addresses is None else addresses
    log = make_log("json", stream=said)
    return Routes(loop, ProbeBudget(loop), lambda node: known.get(node, ""), log, is_permitted=is_permitted)


@on_loop
async def test_a_node_probes_no_route_unless_its_configuration_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    walked: list[str] = []
    monkeypatch.setattr(routes, "trace_route", lambda host, **_: walked.append(host))
    heard: list[Route] = []
    with (tmp_path / "log").open("w+") as said:
        asked = routes_of(said, is_permitted=False)
        for _ in range(3):
            asked.ask(7, heard.append, "protocol")
        await until(lambda: len(heard) == 3)
        lines = (tmp_path / "log").read_text().splitlines()
    assert walked == []
    assert {(route.status, route.routers, route.reason) for route in heard} == {("unavailable", (), NOT_PERMITTED)}
    assert len(lines) == 1, "the reason is logged once"
    assert not asked.inferred


@on_loop
async def test_a_route_that_two_ask_for_is_walked_once_and_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    walked: list[str] = []
    found = Route("ok", ("10.0.0.1",), (0.5,), probes=3)

    def walk(host: str, **_: Any) -> Route:
        walked.append(host)
        return found

    monkeypatch.setattr(routes, "trace_route", walk)
    heard: list[Route] = []
    with (tmp_path / "log").open("w") as said:
        asked = routes_of(said, addresses={7: "[fd00::7]:7007", 8: "nowhere"})
        asked.ask(7, heard.append, "protocol")
        asked.ask(7, heard.append, "people")
        await until(lambda: len(heard) == 2)
        assert (heard, walked) == ([found, found], ["fd00::7"])
        assert asked.inferred == {7: found}
        asked.ask(8, heard.append, "people")
        asked.ask(9, heard.append, "people")
        await until(lambda: len(heard) == 4)
    assert [route.status for route in heard[2:]] == ["unavailable", "unavailable"]
    assert {route.reason for route in heard[2:]} >= {"nobody has said where the node is"}


def test_routers_on_several_routes_are_shared_and_those_without_a_name_are_not() -> None:
    found = routers_in_common({
        1: Route("ok", ("r1", None, "r2")),
        2: Route("ok", ("r1", None, "r3")),
        3: Route("partial", ("r2", "r1")),
        4: Route("unavailable"),
    })  # fmt: skip
    assert found == {1: {2: ["r1"], 3: ["r1", "r2"]}, 2: {1: ["r1"], 3: ["r1"]}, 3: {1: ["r1", "r2"], 2: ["r1"]}, 4: {}}


# -- nodes -------------------------------------------------------------------------------------------


@on_loop
async def test_a_node_measures_another_over_a_slow_line_and_shows_what_it_found(tmp_path: Path) -> None:
    async with (
        small_network(tmp_path, 2, more="traceroute = true") as network,
        SlowLine("127.0.0.1", network.port("n0"), 40.0) as line,
    ):
        await network.start("n0")
        await network.start("n1", {"n0": f"127.0.0.1:{line.port}"})
        await network.joined()
        life = network.nodes["n1"].life
        heard: list[object] = []
        tell, life.carrier._tell = life.tell, lambda stimulus: heard.append(stimulus) or tell(stimulus)  # type: ignore[assignment,func-returns-value]
        life.peers._tell = life.carrier._tell
        other = network.nodes["n0"].life.overlay.node
        life.carrier.carry_out([MeasureDelay(other), InferRoute(other)])
        await until(lambda: {type(each) for each in heard} >= {DelayMeasured, RouteInferred})
        (measured,) = (each for each in heard if isinstance(each, DelayMeasured))
        assert measured.delay_ms is not None
        assert measured.delay_ms >= 40
        (inferred,) = (each for each in heard if isinstance(each, RouteInferred))
        assert (inferred.routers, inferred.delays_ms) == ((), ())
        row = next(row for row in life.members() if row["identity"] == other)
        own = next(row for row in life.members() if row["identity"] != other)
        assert row["route"]["status"] == inferred.status
        assert row["predicted_ms"] > 0
        assert own["coordinate"][:2] != (0.0, 0.0), "it has moved"
        json.dumps(life.members())


@on_loop
async def test_a_node_that_is_forgotten_while_it_is_measured_is_answered_with_nothing(tmp_path: Path) -> None:
    async with small_network(tmp_path, 2) as network:
        for name in network.names:
            await network.start(name)
        await network.joined()
        talk = network.nodes["n1"].life.peers
        other = network.nodes["n0"].life.overlay.node
        heard: list[float | None] = []
        talk.measuring.ask(other, heard.append, "people")
        talk.forget(other)
        await until(lambda: heard)
        assert heard == [None]


@on_loop
async def test_a_node_that_is_not_permitted_to_answers_every_question_about_routes(tmp_path: Path) -> None:
    async with small_network(tmp_path, 2) as network:
        for name in network.names:
            await network.start(name)
        await network.joined()
        life = network.nodes["n1"].life
        heard: list[object] = []
        life.carrier._tell = lambda stimulus: heard.append(stimulus) or ()  # type: ignore[assignment,func-returns-value]
        other = network.nodes["n0"].life.overlay.node
        life.carrier.carry_out([InferRoute(other), InferRoute(other)])
        await until(lambda: len(heard) == 2)
        assert heard == [RouteInferred(other, (), "unavailable")] * 2
        assert network.log_of("n1").count("routes are unavailable") == 1
