"""Eight processes on loopback deliver what the simulator delivers, with the same protocol objects; and nodes come back.

A network is quiet when as many messages were received as sent, twice in a row, and no disk is busy; tests wait for that
and never for a while.
"""

import asyncio
import sys
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

import siftcast
from siftcast import Event
from siftcast.overlays.trace import Trace
from siftcast.runtimes.live.local_network import LocalNetwork
from siftcast.runtimes.live.node.configuration import MemberSpec
from siftcast.runtimes.live.node.identity import listed_identity
from siftcast.runtimes.live.node.node import run
from siftcast.runtimes.live.node.recording import merge_traces
from siftcast.runtimes.sim import ScenarioRun, execute, parse_scenario, prepare, replay
from siftcast.runtimes.sim.checkers import exactly_once
from siftcast.runtimes.sim.parties import server_of
from tests.live.asynchronous import until

NODES = 8
SCENARIO = """
[underlay]
generator = "waxman"
servers = 8
[underlay.options]
routers = 20
[scheme]
name = "{scheme}"
[scheme.options]
{options}
[workload]
preset = "kyra-zipf"
events = 120
subscriptions = 60
[workload.options]
values = 40
interest_rate = 0.2
"""
SCHEMES: dict[str, tuple[str, dict[str, object]]] = {
    "filter-based": ("filter-based", {"summary": "covering"}),
    "filter-based with reuse": ("filter-based", {"reuse": "partial-60"}),
    "kyra": ("kyra", {}),
    "match-early": ("match-early", {}),
}
Delivered = Counter[tuple[str, str]]


def prepared(scheme: str, options: dict[str, object]) -> ScenarioRun:
    lines = "\n".join(f'{name} = "{value}"' for name, value in options.items())
    return prepare(parse_scenario(SCENARIO.format(scheme=scheme, options=lines)), seed=3)


def deliveries_of(trace: Trace) -> Delivered:
    rows = trace.delivery_table().to_pylist()
    return Counter((row["event"], id) for row in rows for id in row["subscriptions"])


async def delivered_live(network: LocalNetwork, scenario: ScenarioRun) -> Delivered:
    """The scenario's subscriptions and events, at the same nodes of a live network."""
    got: Delivered = Counter()

    async def collect(id: str, stream: siftcast.EventStream) -> None:
        async for event in stream:
            got[event.id, id] += 1

    async with AsyncExitStack() as stack:
        buses = [await stack.enter_async_context(siftcast.connect(url)) for url in network.urls.values()]
        readers = []
        for server, items in scenario.subscriptions.items():
            for item in items:
                stream = await buses[server].subscribe(item.filter).ready()
                readers.append(asyncio.create_task(collect(item.id, stream)))
        await asyncio.to_thread(network.await_quiet)
        for row in scenario.workload.events.to_pylist():
            server, id = server_of(row.pop("publisher"), NODES), str(row.pop("event_id"))
            await buses[server].publish(Event({name: value for name, value in row.items() if value is not None}, id))
        facts = await asyncio.to_thread(network.await_quiet)
        handed = sum(each["deliveries"] for each in facts.values())
        await until(lambda: sum(got.values()) >= handed)
        for reader in readers:
            reader.cancel()
    return got


@pytest.mark.parametrize(("scheme", "options"), SCHEMES.values(), ids=SCHEMES)
def test_a_live_network_delivers_what_the_simulator_delivers(
    tmp_path: Path, scheme: str, options: dict[str, object]
) -> None:
    scenario = execute(prepared(scheme, options))
    expected = deliveries_of(scenario.simulation.trace)
    assert len(expected) > 500
    schema = tmp_path / "schema.toml"
    schema.write_text(scenario.workload.schema.to_toml(), encoding="utf-8")
    more = '[recording]\nfolder = "trace-{name}"\n'
    with LocalNetwork(tmp_path, NODES, scheme, options=options, schema=schema, more=more) as network:
        network.await_joined()
        got = run(delivered_live(network, scenario))
    assert got == expected
    assert set(network.ended.values()) == {0}
    trace = merge_traces(Trace.load(tmp_path / f"trace-{name}") for name in network.names)
    assert len(trace.events) == 120
    verdict = exactly_once(trace, settle_ms=0)
    assert verdict.ok, verdict.violations[:3]
    assert sum(deliveries_of(trace).values()) == sum(expected.values())
    members = [MemberSpec(name=name, address="") for name in network.names]
    places = {listed_identity("siftcast", member): place for place, member in enumerate(members)}
    replayed = replay(trace, prepared(scheme, options).simulation, places)
    assert deliveries_of(replayed) == deliveries_of(trace)


async def reaches(network: LocalNetwork, stream: siftcast.EventStream, publisher: str, value: int) -> None:
    """Publishes at a node until the event gets through: what is published while routes are made anew may be lost."""

    async def seen() -> None:
        while (await anext(stream))["value"] != value:
            pass  # an earlier one that came late

    async with siftcast.connect(network.urls[publisher]) as bus:
        waiting = asyncio.create_task(seen())
        while not waiting.done():
            await bus.publish({"value": value})
            await asyncio.wait([waiting], timeout=0.1)
        await waiting


@pytest.mark.parametrize("scheme", ["filter-based", "kyra", "match-early"])
def test_a_node_that_is_killed_is_missed_and_comes_back_with_its_routes(tmp_path: Path, scheme: str) -> None:
    async def story(network: LocalNetwork) -> None:
        names = network.names
        async with siftcast.connect(network.urls["n0"]) as bus, bus.subscribe("value < 500") as stream:
            for name in names:
                await reaches(network, stream, name, names.index(name))
            await asyncio.to_thread(network.kill, "n1")
            watcher = await _neighbour_of(network, "n1")
            async with siftcast.connect(network.urls[watcher]) as other:
                while "n1" not in (await other.describe())["missing"]:
                    await asyncio.sleep(0.01)
            await asyncio.to_thread(network.start, "n1", wait=True)
            await asyncio.to_thread(network.await_joined)
            drained = bus.subscribe("value < 500")
            for name in names:
                await reaches(network, drained, name, 100 + names.index(name))

    with LocalNetwork(tmp_path, 4, scheme) as network:
        network.await_joined()
        run(story(network))
        assert "peer lost" in "".join(map(network.log_of, network.names))


async def _neighbour_of(network: LocalNetwork, name: str) -> str:
    for other in network.names:
        if other != name:
            async with siftcast.connect(network.urls[other]) as bus:
                facts: dict[str, Any] = await bus.describe()
            if name in facts["peers"] + facts["missing"]:
                return other
    raise AssertionError(f"nobody knows {name}")


def test_nodes_of_different_networks_do_not_mix(tmp_path: Path) -> None:
    with LocalNetwork(tmp_path, 2, "filter-based") as network:
        network.await_joined()
        network.kill("n1")
        path = tmp_path / "n1.toml"
        path.write_text(path.read_text().replace('scheme = "filter-based"', 'scheme = "broadcast"'))
        network.start("n1", wait=True)
        while "same [overlay] table" not in network.log_of("n1"):
            assert not network.ended
        assert network.describe("n0")["missing"] == ["n1"]


def test_a_network_is_quiet_only_when_what_waits_for_a_disk_is_known_to_all(tmp_path: Path) -> None:
    program = (sys.executable, "-m", "tests.live.slow_disk")
    with LocalNetwork(tmp_path, 2, "filter-based", more='data = "data-{name}"', program=program) as network:
        network.await_joined()

        async def subscribe() -> None:
            async with siftcast.connect(network.urls["n1"]) as bus, bus.subscribe("value >= 0", durable="d"):
                pass

        run(subscribe())
        facts = network.await_quiet()
        assert facts["n0"]["state"]["entries"] == 1  # made known by n1 once its guardian had written it down
