"""The client without async and the bus in memory behave as the bus over a socket; half-open connections end."""

import asyncio
import threading
from contextlib import AsyncExitStack

import pytest

import siftcast
import siftcast.testing
from siftcast.model import FilterError
from siftcast.runtimes.live.client.bus import parse_url
from siftcast.runtimes.live.errors import ConnectionLost
from siftcast.runtimes.live.node.node import run
from siftcast.runtimes.live.wire.frames import VERSION, Hello, encode_frame
from tests.live.asynchronous import on_loop, until
from tests.live.nodes import running, url_of


class NodeInThread:
    """A node on a loop of its own, so that a test can block."""

    def __enter__(self) -> str:
        started = threading.Event()
        self._thread = threading.Thread(target=run, args=(self._serve(started),))
        self._thread.start()
        started.wait()
        return self.url

    async def _serve(self, started: threading.Event) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        async with running() as node:
            self.url = url_of(node)
            started.set()
            await self._stop.wait()

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()


def test_a_bus_without_async_publishes_subscribes_and_replaces() -> None:
    with NodeInThread() as url, siftcast.connect_sync(url) as bus, bus.subscribe("x > 0") as stream:
        assert bus.publish_many({"x": number} for number in range(3)) == 3
        assert [next(stream)["x"] for _ in range(2)] == [1, 2]
        stream.replace("x < 0")
        bus.publish({"x": 5})
        bus.publish({"x": -5})
        assert next(stream)["x"] == -5
        with pytest.raises(TimeoutError):
            stream.take(0.01)
        with pytest.raises(FilterError):
            bus.subscribe("x <")
        assert bus.describe()["published"] == 5


def test_handlers_of_a_bus_without_async_are_called() -> None:
    seen = threading.Event()
    with NodeInThread() as url:
        bus = siftcast.connect_sync(url)

        @bus.on("x = 1")
        def note(event: siftcast.ReceivedEvent) -> None:
            seen.set()

        with bus:
            bus.publish({"x": 1})
            assert seen.wait(30)


def test_a_stream_without_async_ends_with_its_bus() -> None:
    with NodeInThread() as url:
        with siftcast.connect_sync(url) as bus:
            stream = bus.subscribe("x = 1")
        with pytest.raises(ConnectionLost):
            next(stream)
        with pytest.raises(ConnectionLost):
            bus.publish({"x": 1})


@on_loop
async def test_the_bus_in_memory_matches_as_a_node_does() -> None:
    async with siftcast.testing.in_process() as bus, bus.connect("another") as other:
        async with bus.subscribe("symbol = 'IBM' AND price < 95") as stream, other.subscribe("price > 100") as dear:
            await other.publish({"symbol": "IBM", "price": 120.0})
            await other.publish({"symbol": "IBM", "price": 88.0})
            assert (await anext(stream))["price"] == 88.0
            assert (await anext(dear))["price"] == 120.0
            await stream.replace("price > 0")
            await bus.publish({"price": 1})
            event = await anext(stream)
            event.ack()
            assert event["price"] == 1
        assert (await bus.describe())["subscriptions"] == []


@on_loop
async def test_an_event_comes_to_each_of_its_readers_whatever_numbers_their_subscriptions_have() -> None:
    async with siftcast.testing.in_process() as bus, AsyncExitStack() as stack:
        streams = []
        for count in (1, 2, 2, 1, 300, 1):
            other = await stack.enter_async_context(bus.connect())
            for _ in range(count - 1):
                async with other.subscribe("x = 0"):
                    pass
            streams.append(await stack.enter_async_context(other.subscribe("x = 1")))
        several = [await stack.enter_async_context(other.subscribe("x > 0")) for _ in range(2)]
        await bus.publish({"x": 1})
        for stream in streams + several:
            assert (await anext(stream))["x"] == 1


@on_loop
async def test_the_bus_in_memory_holds_limits_and_slow_readers_back() -> None:
    async with siftcast.testing.in_process("[limits]\nevent_bytes_max = 500\n") as bus:
        with pytest.raises(siftcast.SiftcastError, match="limit is 500"):
            await bus.publish({"x": "y" * 500})
        async with bus.connect() as slow, slow.subscribe("TRUE", buffer=3) as stream:
            await bus.publish_many({"n": number} for number in range(1_000))
            assert [(await anext(stream))["n"] for _ in range(1_000)] == list(range(1_000))


@on_loop
async def test_a_client_that_falls_silent_is_cut_off_and_one_that_does_not_is_kept() -> None:
    async with running("[heartbeat]\ninterval_ms = 20\n") as node, siftcast.connect(url_of(node)) as bus:
        reader, writer = await asyncio.open_connection(*parse_url(url_of(node)))
        writer.write(encode_frame(Hello(VERSION, "client", "silent")))
        await until(lambda: len(node.life.sessions.open) == 2)
        while await reader.read(1_000):
            pass
        await until(lambda: len(node.life.sessions.open) == 1)
        assert await bus.publish({"x": 1})
        writer.close()
