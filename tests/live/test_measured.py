"""What nodes measure, and networks that are planned by it."""

import asyncio
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import siftcast
from siftcast import Event, Filter, Schema
from siftcast.interfaces.cli import main
from siftcast.overlays.epochs.view import Epoch
from siftcast.runtimes.live.local_network import SCHEMA, LocalNetwork
from siftcast.runtimes.live.node.load_meter import CELLS, LoadMeter, cell_edges
from siftcast.runtimes.live.node.measured import Measured, combine
from siftcast.runtimes.live.node.node import run
from siftcast.runtimes.live.node.planning import PlanSettings, survey_of
from siftcast.runtimes.live.node.soundings import Soundings
from siftcast.schemes import scheme
from siftcast.space import ContentSpace
from tests.live.asynchronous import on_loop, until

VALUES = Schema.parse(SCHEMA)
HOT = "value >= 900 AND value < 1000"


def answer_of(values, filters=(HOT,), *, identity=1, delays_ms=()):
    """What a node says that has published these values, ten a second."""
    meter = LoadMeter(VALUES)
    for number, value in enumerate(values):
        meter.note(Event({"value": value}), 100.0 * number)
    load = meter.describe([Filter.parse(text) for text in filters], 100.0 * len(values))
    return {"node": f"n{identity}", "identity": identity, "delays_ms": list(delays_ms), **load}


def zones_of(settings, nodes=(1, 2, 3, 4)):
    """Where Kyra cuts the content among nodes that are near each other."""
    epoch = Epoch(2, nodes, ("here",) * len(nodes), (), settings.encode())
    ground, options = survey_of(scheme("kyra"), VALUES)(epoch)
    (clique,) = scheme("kyra").plan(ground, options).cliques
    return [zone.box.lows[0] for zone in clique.zones.partition.zones]


def test_zones_lie_where_events_are_published_and_wanted():
    assert zones_of(PlanSettings()) == [0, 250, 500, 750]
    cuts = zones_of(PlanSettings(measured=combine([answer_of([900 + number % 100 for number in range(2_000)])])))
    assert cuts[0] == 0
    assert all(900 <= cut < 1_000 for cut in cuts[2:])


def test_what_nobody_publishes_or_wants_says_nothing_about_the_content():
    assert combine([answer_of([])]).loads == {}
    assert combine([answer_of([1, 2, 3], filters=())]).loads == {}
    assert combine([answer_of([5_000, 6_000])]).loads == {}  # outside the domain
    assert zones_of(PlanSettings(measured=combine([answer_of([])]))) == [0, 250, 500, 750]


@given(st.lists(st.integers(0, 999), min_size=1, max_size=200), st.integers(0, 200))
def test_nodes_that_share_the_events_measure_together_what_one_would(values, cut):
    whole = LoadMeter(VALUES)
    parts = LoadMeter(VALUES), LoadMeter(VALUES)
    for number, value in enumerate(values):
        for meter in (whole, parts[number >= cut]):
            meter.note(Event({"value": value}), 100.0 * number)
    now_ms = 100.0 * len(values) + 1_000.0

    def events(meter):
        facts = meter.describe([], now_ms)
        found = np.array(facts["events"]["value"])
        return found / facts["events_s"] * meter_count(meter) if facts["events_s"] else found

    def meter_count(meter):
        return sum(count for _, count, _ in meter._samples)

    edges = cell_edges(ContentSpace(VALUES).axes[0])
    expected, _ = np.histogram(values, edges)
    assert events(whole) == pytest.approx(expected)
    assert events(parts[0]) + events(parts[1]) == pytest.approx(expected)
    assert len(expected) == CELLS


def test_events_that_are_not_looked_at_count_with_the_next_that_is():
    meter = LoadMeter(None)
    for number in range(1_001):
        meter.note(Event({}), 1.0 * number)  # a thousand a second: one in ten is looked at
    assert meter.rate(1_001.0) == pytest.approx(1_000, rel=0.02)
    assert meter.rate(10_001.0) == pytest.approx(100, rel=0.02)  # nothing since


def test_delays_are_the_mean_of_both_directions_and_the_shortest_way_where_nobody_measured():
    measured = combine([
        answer_of([], identity=1, delays_ms=[(2, 10.0), (9, 5.0)]),
        answer_of([], identity=2, delays_ms=[(1, 20.0), (3, 7.0)]),
    ])  # fmt: skip
    guessed = np.full((4, 4), 1_000.0)
    found = measured.latencies_ms((1, 2, 3, 4), guessed)
    assert found[0, 1] == found[1, 0] == 15.0
    assert found[0, 2] == 22.0
    assert found[0, 3] == 1_000.0  # of 4 nobody knows anything
    assert (np.diag(found)[:3] == 0).all()


def test_a_way_that_was_measured_counts_although_there_is_a_shorter_one_around():
    measured = Measured([(1, 2, 50.0), (1, 3, 1.0), (2, 3, 1.0)])
    assert measured.latencies_ms((1, 2, 3), np.zeros((3, 3)))[0, 1] == 50.0


def test_settings_without_measurements_are_what_they_were():
    assert b"measured" not in PlanSettings({"trees": 2}).encode()
    settings = PlanSettings({"trees": 2}, measured=Measured([(1, 2, 3.5)], {"value": [0.5, 0.5]}))
    assert PlanSettings.decode(settings.encode()) == settings


def test_a_running_network_is_planned_by_what_it_measured_and_loses_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with LocalNetwork(tmp_path, 3, "kyra", more='data = "data-{name}"') as network:
        network.await_joined()

        async def publish(first: int) -> None:
            async with siftcast.connect(network.urls["n0"]) as bus:
                for number in range(first, first + 100):
                    event = Event({"value": 900 + number % 100}, id=f"e{number}")
                    await bus.publish(event, durable=True)

        async def replan() -> None:
            async with siftcast.connect(network.urls["n2"]) as bus, bus.subscribe(HOT, durable="d") as stream:
                await asyncio.to_thread(network.await_quiet)
                await publish(0)
                more = asyncio.create_task(publish(100))
                command = ["network", "replan", "--at", network.urls["n1"]]
                assert await asyncio.to_thread(main, command) == 0
                await more
                await publish(200)
                found = []
                while len(found) < 300:
                    event = await anext(stream)
                    found.append(event.id)
                    event.ack()
                assert sorted(found) == sorted(f"e{number}" for number in range(300))

        run(replan())
        words = " ".join(capsys.readouterr().out.split())
        assert "nodes that answered 3" in words
        assert "content counted by value" in words
        assert "plan 2 is used by all nodes" in words
        assert {network.describe(name)["state"]["epoch"] for name in network.names} == {2}


def test_a_network_without_a_plan_says_that_it_has_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with LocalNetwork(tmp_path, 1, "gossip") as network:
        assert main(["network", "replan", "--at", network.urls["n0"]]) == 2
    assert "scheme 'gossip' has no plan that could be changed" in capsys.readouterr().err


@on_loop
async def test_one_that_is_sought_is_heard_of_once_by_all_who_asked_and_in_time() -> None:
    called: list[int] = []
    heard: list[tuple[str, bool]] = []
    soundings = Soundings(asyncio.get_running_loop(), Random(1), called.append)
    soundings.seek(7, lambda is_there: heard.append(("first", is_there)))
    soundings.seek(7, lambda is_there: heard.append(("second", is_there)))
    assert called == [7]
    assert 7 in soundings
    soundings.joined(7)
    await until(lambda: heard)
    soundings.failed(7)  # nobody asks any more
    assert heard == [("first", True), ("second", True)]
    assert 7 not in soundings
    soundings.seek(8, lambda is_there: heard.append(("third", is_there)))
    soundings.failed(8)
    assert heard[2:] == [("third", False)]


@on_loop
async def test_nodes_are_measured_one_at_a_time_and_not_again_if_that_was_in_vain() -> None:
    called: list[int] = []
    soundings = Soundings(asyncio.get_running_loop(), Random(1), called.append)
    soundings.measure_one([3])
    soundings.failed(3)
    soundings.measure_one([3])
    assert called == [3]
    soundings.measure_one([3, 4])
    assert called == [3, 4]
    soundings.joined(3)  # it is there after all
    soundings.measure_one([3])
    assert called == [3, 4, 3]


def test_delays_to_nodes_that_are_gone_are_left_out():
    first = answer_of([1], identity=1, delays_ms=[(2, 4.0), (9, 70.0)])
    second = answer_of([2], identity=2, delays_ms=[(1, 6.0)])
    assert combine([first, second], gone={9}).delays_ms == [(1, 2, 5.0)]
    assert (1, 9, 70.0) in combine([first, second]).delays_ms  # it may only not have answered
