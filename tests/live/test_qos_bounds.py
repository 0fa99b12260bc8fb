"""The QoS overlay over links of 24 to 134 ms by proxies: bounds are kept, or it is said that they are not."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

import siftcast
from siftcast.runtimes.live.client.bounds import Bound
from siftcast.runtimes.live.client.bus import Bus
from siftcast.runtimes.live.client.received import EventStream, ReceivedEvent
from tests.live.asynchronous import on_loop, until
from tests.live.distances import LONGEST_MS, SHORTEST_MS, Distances
from tests.live.nodes import SCHEMA
from tests.live.proxies import Proxy
from tests.live.small_networks import SmallNetwork, small_network

NODES = 6
OPTIONS = "options = { degree = 3, round_ms = 300.0, request_ms = 400.0, grace_ms = 1000.0, forget_ms = 4000.0 }"
EVERY = "value >= 0"


@asynccontextmanager
async def apart(folder: Path, seed: int) -> AsyncIterator[tuple[SmallNetwork, Distances]]:
    """A network in which each node calls each other through a proxy of its own."""
    (folder / "schema.toml").write_text(SCHEMA)
    distances = Distances(NODES, seed)
    async with AsyncExitStack() as stack:
        overlay = f'schema = "schema.toml"\n{OPTIONS}'
        network = await stack.enter_async_context(small_network(folder, NODES, scheme="qos", overlay=overlay))
        for caller in range(NODES):
            addresses = {}
            for called in set(range(NODES)) - {caller}:
                proxy = await stack.enter_async_context(Proxy("127.0.0.1", network.port(f"n{called}")))
                proxy.delay(distances.between(caller, called) / 1_000)
                addresses[f"n{called}"] = proxy.address
            await network.start(f"n{caller}", addresses)
        yield network, distances


class Subscriber:
    """A subscriber with a bound: what came, and what it was told."""

    def __init__(self, stream: EventStream) -> None:
        self.events: list[ReceivedEvent] = []
        self.stream = stream
        self._task = asyncio.ensure_future(self._read())

    async def _read(self) -> None:
        async for event in self.stream:
            self.events.append(event)

    @property
    def bound(self) -> Bound:
        assert self.stream.bound is not None
        return self.stream.bound


async def publish_until(publisher: Bus, condition: Callable[[], object]) -> None:
    """Publishes an event every 20 ms until a condition holds."""
    number = 0
    while not condition():
        await publisher.publish({"value": number % 1_000})
        number += 1
        await asyncio.sleep(0.02)


@pytest.mark.full
@on_loop
async def test_bounds_that_hold_are_met_and_one_that_the_overlay_cannot_help_is_missed(tmp_path: Path) -> None:
    told: list[Bound] = []
    async with apart(tmp_path, 3) as (network, distances), AsyncExitStack() as stack:
        buses = [await stack.enter_async_context(siftcast.connect(network.url(name))) for name in network.names]
        subscribers = [
            Subscriber(await bus.subscribe(EVERY, delay_ms_max=NODES * LONGEST_MS + 1_000.0).ready())
            for bus in buses[1:]
        ]
        # Another one at the last node, whose own line is slower than its bound: no link of the overlay is to blame.
        line = await stack.enter_async_context(Proxy("127.0.0.1", network.port(f"n{NODES - 1}")))
        line.delay(0.4)
        distant = await stack.enter_async_context(siftcast.connect(f"siftcast://{line.address}"))
        stream = await distant.subscribe(EVERY, delay_ms_max=350, on_bound=told.append).ready()
        behind = Subscriber(stream)
        await publish_until(
            buses[0],
            lambda: all(each.bound.state == "met" and each.bound.counted > 50 for each in subscribers),
        )
        for number, each in enumerate(subscribers, 1):
            known = [event for event in each.events if event.age_ms is not None]
            assert known
            assert all((event.age_ms or 0.0) > 0.9 * distances.least(0, number) for event in known)
            assert all(event.is_late == ((event.age_ms or 0.0) > each.bound.delay_ms_max) for event in known)
        await publish_until(buses[0], lambda: behind.bound.counted > 50)
        assert told[-1].state == "missed"  # whatever the overlay expected before, which does not know that line
        assert behind.bound.in_time == 0
        assert all(event.is_late for event in behind.events if event.age_ms is not None)
        hop = behind.bound.slowest_hop
        assert hop is not None
        assert (hop.source, hop.target) == (f"n{NODES - 1}", "")
        await stream.replace(delay_ms_max=60_000.0)
        await publish_until(buses[0], lambda: told[-1].state == "met")


@pytest.mark.full
@on_loop
async def test_a_bound_below_the_way_to_the_publisher_itself_is_reported_as_impossible(tmp_path: Path) -> None:
    told: list[Bound] = []
    async with apart(tmp_path, 4) as (network, _), AsyncExitStack() as stack:
        publisher, bus = [
            await stack.enter_async_context(siftcast.connect(network.url(name))) for name in network.names[:2]
        ]
        stream = await bus.subscribe(EVERY, delay_ms_max=SHORTEST_MS / 2, on_bound=told.append).ready()
        subscriber = Subscriber(stream)
        await publish_until(publisher, lambda: subscriber.bound.state == "impossible")
        assert (subscriber.bound.direct_ms or 0.0) >= SHORTEST_MS
        await publish_until(publisher, lambda: any(event.is_late for event in subscriber.events))
        await stream.replace(delay_ms_max=2 * LONGEST_MS + 500.0)
        await publish_until(publisher, lambda: subscriber.bound.state == "met")
        await until(lambda: told[-1].state == "met")
