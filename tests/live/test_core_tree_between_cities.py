"""Eight processes on a real map: their overlay is as good as the simulated one, and a tree that follows the ground.

Live, who finds whom first is chance, and it goes on: walks draw other distant neighbours again and again. So what the
processes reach is compared with the mean of some seeds of the simulator, where options, delays and events are the same.
(Single seeds are up to 1 % from that mean in the overlay's RDP and up to 3 % in the delay of deliveries. Eight peers
with as many links drawn at random have an RDP of 1.4, and of less than 1.05 in one case of twenty.)

The simulator's nodes take no time, and processes wait for their turn on a machine that is busy. Waiting only adds, so
of each publisher and subscriber the quickest of the last WINDOW events counts, on both grounds.
"""

import asyncio
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from math import inf
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pytest

import siftcast
from siftcast.model import Event, Filter, Subscription
from siftcast.overlays.tables import matcher_tables
from siftcast.overlays.trace import Trace
from siftcast.runtimes.live.client.bus import Bus
from siftcast.runtimes.live.client.received import EventStream
from siftcast.runtimes.live.local_network import LocalNetwork
from siftcast.runtimes.sim import Simulation
from siftcast.schemes import Ground, scheme
from tests.live.asynchronous import on_loop
from tests.live.cities import CITIES, PLACES, TREES, CityDelays, Pair, States, joins_all, links_of, rdp, tree_of
from tests.live.distant_processes import changing_network

OPTIONS = {
    "neighbours": 3,
    "targets": 3,
    "cores": 2,
    "beat_ms": 500.0,
    "rebuild_ms": 5_000.0,
    "walk_ms": 5_000.0,
}
EVERY = "place >= 0"
INTERVAL_S, WINDOW, LOOKS = 0.04, 400, 10
"""The cities publish in turn; a window has 50 events of each. The RDP is the mean of so many looks, a second apart."""
SLOWER_MS = 200.0
SEEDS, SETTLED_MS = 5, 30_000.0
WITHIN, PATIENCE_S = 0.1, 60.0


@dataclass(frozen=True, slots=True)
class Quality:
    """The RDP of the overlay's links on the map, and how long deliveries take."""

    rdp: float
    delivery_ms: float


class Deliveries:
    """Events that all cities want, and how long they took."""

    def __init__(self) -> None:
        self.sent_ms: list[float] = []
        self.got = {place: Counter[int]() for place in PLACES}
        self._late_ms: dict[Pair, list[tuple[int, float]]] = {}

    def publish(self, now_ms: float) -> tuple[int, int]:
        """The next event: its number, and who publishes it."""
        self.sent_ms.append(now_ms)
        number = len(self.sent_ms) - 1
        return number, number % len(CITIES)

    def note(self, place: int, number: int, now_ms: float) -> None:
        """A city was handed an event."""
        self.got[place][number] += 1
        publisher = number % len(CITIES)
        if publisher != place:
            self._late_ms.setdefault((publisher, place), []).append((number, now_ms - self.sent_ms[number]))

    def mean_ms(self, since: int) -> float:
        """How late the quickest of the events since then came, on average over publishers and subscribers."""
        ways = self._late_ms.values()
        return fmean(min((late_ms for number, late_ms in way if number >= since), default=inf) for way in ways)

    def wrong(self) -> dict[str, dict[int, int]]:
        """Which events a city has not been handed once, and how often it was."""
        numbers = range(len(self.sent_ms))
        wrong = {CITIES[place]: {n: got[n] for n in numbers if got[n] != 1} for place, got in self.got.items()}
        return {city: counted for city, counted in wrong.items() if counted}


# -- in the simulator ----------------------------------------------------------------------------------------------


def simulated(slow: Pair | None = None) -> Quality:
    """What the same peers reach on this map, or after a line of it has slowed down; the mean of some seeds."""
    found = [_simulated(slow, seed) for seed in range(SEEDS)]
    return Quality(fmean(each.rdp for each in found), fmean(each.delivery_ms for each in found))


def _simulated(slow: Pair | None, seed: int) -> Quality:
    core_tree, delays, deliveries = scheme("core-tree"), CityDelays(), Deliveries()
    options = core_tree.configure(OPTIONS)
    plan = core_tree.plan(Ground(np.array(delays.delays_ms), np.random.default_rng(1)), options)
    nodes = core_tree.nodes(plan, options, matcher_tables("brute_force"))
    simulation = Simulation(
        PLACES,
        nodes,
        delays,
        seed=seed,
        trace=Trace(messages=False),
        contacts=lambda node: core_tree.contacts(plan, node),
    )
    for place in PLACES:
        simulation.subscribe(place, Subscription(CITIES[place], Filter.parse(EVERY)))
    simulation.run(SETTLED_MS)
    if slow is not None:
        delays.slow_down(slow, SLOWER_MS)
        simulation.run(simulation.now + SETTLED_MS)
    ratios = []
    for count in range(WINDOW):
        if count % (WINDOW // LOOKS) == 0:
            states = {node: protocol.state() for node, protocol in simulation.protocols.items()}
            ratios.append(rdp(delays.delays_ms, links_of(states)))
        number, publisher = deliveries.publish(simulation.now)
        simulation.publish(publisher, Event({"place": publisher}, id=str(number)))
        simulation.run(simulation.now + INTERVAL_S * 1_000)
    simulation.run(simulation.now + 1_000)
    for row in simulation.trace.delivery_table().to_pylist():
        deliveries.note(row["node"], int(row["event"]), row["time_ms"])
    assert not deliveries.wrong()
    return Quality(fmean(ratios), deliveries.mean_ms(0))


# -- live ----------------------------------------------------------------------------------------------------------


class Cities:
    """A client at each of the processes: it subscribes to everything, and publishes when it is its turn."""

    def __init__(self, buses: Mapping[int, Bus]) -> None:
        self.deliveries = Deliveries()
        self.map = CityDelays()
        self.is_publishing = True
        self._buses = buses
        self._tasks: list[asyncio.Task[None]] = []

    def start(self, doing: Coroutine[Any, Any, None]) -> None:
        """Has something go on until all stops."""
        self._tasks.append(asyncio.create_task(doing))

    async def stop(self) -> None:
        """Nobody reads and publishes any more."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def read(self, place: int, stream: EventStream) -> None:
        async for event in stream:
            self.deliveries.note(place, event["number"], time.perf_counter() * 1_000)

    async def publish(self) -> None:
        """The cities publish in turn, until `is_publishing` ends."""
        loop = asyncio.get_running_loop()
        due_s = loop.time()
        while self.is_publishing:
            number, publisher = self.deliveries.publish(time.perf_counter() * 1_000)
            await self._buses[publisher].publish({"place": publisher, "number": number})
            due_s = max(due_s + INTERVAL_S, loop.time())
            await asyncio.sleep(due_s - loop.time())

    async def states(self) -> States:
        """What the protocols say of themselves, with places for nodes."""
        found = await asyncio.gather(*(bus.describe() for bus in self._buses.values()))
        places = {facts["identity"]: place for place, facts in enumerate(found)}

        def placed(state: Mapping[str, Any]) -> dict[str, Any]:
            return {
                "neighbours": [places[peer] for peer in state["neighbours"]],
                **{tree: places.get(state[tree]) for tree in TREES},
            }

        return {place: placed(facts["state"]) for place, facts in enumerate(found)}

    async def joined(self) -> None:
        """Waits until there is a tree that joins all."""
        async with asyncio.timeout(PATIENCE_S):
            while not joins_all(tree_of(await self.states())):
                await asyncio.sleep(0.2)

    async def follow(self, slow: Pair) -> None:
        """Waits until no link of the tree is on a line that has slowed down."""
        async with asyncio.timeout(PATIENCE_S):
            while slow in tree_of(await self.states()):
                await asyncio.sleep(0.2)

    async def expect_like(self, expected: Quality) -> None:
        """Waits until a window of events that are published from now on, and the overlay, are as in the simulator."""
        ratios: deque[float] = deque(maxlen=LOOKS)
        since, found = len(self.deliveries.sent_ms), Quality(inf, inf)
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE_S):
                while len(ratios) < LOOKS or not _is_like(found, expected):
                    await asyncio.sleep(1.0)
                    ratios.append(rdp(self.map.delays_ms, links_of(await self.states())))
                    begin = len(self.deliveries.sent_ms) - WINDOW
                    found = Quality(fmean(ratios), inf if begin < since else self.deliveries.mean_ms(begin))
        assert _is_like(found, expected), f"it should be like {expected}, and is {found}"

    async def expect_all(self) -> None:
        """Waits until each city has been handed each event, and once."""
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE_S / 2):
                while self.deliveries.wrong():
                    await asyncio.sleep(0.1)
        assert not self.deliveries.wrong()


def _is_like(found: Quality, expected: Quality) -> bool:
    pairs = (found.rdp, expected.rdp), (found.delivery_ms, expected.delivery_ms)
    return all(abs(here - there) <= WITHIN * there for here, there in pairs)


@asynccontextmanager
async def clients(network: LocalNetwork) -> AsyncIterator[Cities]:
    """Clients that have subscribed."""
    async with AsyncExitStack() as stack:
        buses = {
            place: await stack.enter_async_context(siftcast.connect(network.urls[f"n{place}"])) for place in PLACES
        }
        cities = Cities(buses)
        for place, bus in buses.items():
            cities.start(cities.read(place, await bus.subscribe(EVERY).ready()))
        stack.push_async_callback(cities.stop)
        yield cities


@pytest.mark.full
@on_loop
async def test_processes_on_a_real_map_reach_what_simulated_peers_reach_and_follow_a_line_that_slows_down(
    tmp_path: Path,
) -> None:
    expected = simulated()
    async with (
        changing_network(tmp_path, CityDelays().delays_ms, "core-tree", OPTIONS) as (network, lines),
        clients(network) as cities,
    ):
        await cities.joined()
        cities.start(cities.publish())
        await cities.expect_like(expected)
        slow = min(tree_of(await cities.states()))
        cities.map.slow_down(slow, SLOWER_MS)
        lines.change(slow, cities.map.latency_ms(*slow))
        await cities.follow(slow)
        await cities.expect_like(await asyncio.to_thread(simulated, slow))
        cities.is_publishing = False
        await cities.expect_all()
