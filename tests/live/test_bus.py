"""The client and a node over a socket: who gets what, refusals, replacing, cancelling, reconnecting."""

import asyncio
import random
import socket
import subprocess
import sys
from collections import Counter

import pytest

import siftcast
from siftcast import Event, Filter
from siftcast.model import EventError, FilterError, FilterSyntaxError
from siftcast.runtimes.live.client.bus import parse_url
from siftcast.runtimes.live.errors import ConnectionLost, DurabilityUnavailable, LiveError, VersionError
from siftcast.runtimes.live.node.node import Node
from siftcast.runtimes.live.wire.frames import VERSION, Hello, Subscribe, Welcome, encode_frame
from tests.live.asynchronous import on_loop, until
from tests.live.nodes import configured, running, url_of
from tests.live.wire import last_frame, read_frame


@on_loop
async def test_every_event_reaches_exactly_the_matching_subscriptions_once() -> None:
    draw = random.Random(7)
    filters = [
        f"symbol = 'S{draw.randrange(6)}' AND price < {draw.randrange(100)}"
        if draw.random() < 0.6
        else f"price BETWEEN {draw.randrange(50)} AND {draw.randrange(50, 100)} OR note LIKE 'a%'"
        for _ in range(60)
    ]
    events = [
        Event({"symbol": f"S{draw.randrange(6)}", "price": draw.randrange(100), "note": draw.choice("abc")}, f"e{n}")
        for n in range(200)
    ]
    expected = Counter(
        (event.id, place) for event in events for place, text in enumerate(filters) if Filter.parse(text).matches(event)
    )
    got: Counter[tuple[str, int]] = Counter()

    async def collect(place: int, stream: siftcast.EventStream) -> None:
        async for event in stream:
            got[event.id, place] += 1

    async with running() as node:
        buses = [siftcast.connect(url_of(node)) for _ in range(5)]
        for bus in buses:
            await bus.__aenter__()
        # The first four buses have many subscriptions each, the last has one: both ways of delivering are taken.
        streams = [buses[place % 4 if place else 4].subscribe(text) for place, text in enumerate(filters)]
        for stream in streams:
            await stream.ready()
        readers = [asyncio.create_task(collect(place, stream)) for place, stream in enumerate(streams)]
        assert await buses[0].publish_many(events) == len(events)
        await until(lambda: sum(got.values()) >= sum(expected.values()))
        assert got == expected
        for bus in buses:
            await bus.close()
        await asyncio.gather(*readers)


@on_loop
async def test_a_filter_is_replaced_in_place() -> None:
    async with running() as node, siftcast.connect(url_of(node)) as bus, bus.subscribe("x = 1") as stream:
        await bus.publish({"x": 1})
        await stream.replace("x = 2")
        await bus.publish({"x": 1, "late": True})
        await bus.publish({"x": 2})
        assert [(await anext(stream)).attributes for _ in range(2)] == [{"x": 1}, {"x": 2}]
        assert (await bus.describe())["subscriptions"][0]["filter"] == "x = 2"


@on_loop
async def test_a_stream_that_nobody_holds_is_unsubscribed() -> None:
    async with running() as node, siftcast.connect(url_of(node)) as bus:
        await bus.subscribe("x = 0").ready()
        publishing = asyncio.create_task(bus.publish({"x": 1}))
        async for _ in bus.subscribe("x = 1"):
            break
        await publishing
        assert (await bus.describe())["subscriptions"] == []


@on_loop
async def test_a_cancelled_reader_loses_no_event() -> None:
    async with running() as node, siftcast.connect(url_of(node)) as bus, bus.subscribe("TRUE") as stream:
        waiting = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await bus.publish({"x": 1})
        assert (await anext(stream))["x"] == 1


@on_loop
async def test_what_a_node_refuses_is_raised_with_its_kind() -> None:
    text = "[limits]\nevent_bytes_max = 1000\nfilter_terms_max = 5\nsubscriptions_max = 1\n"
    async with running(text) as node, siftcast.connect(url_of(node)) as bus:
        with pytest.raises(FilterSyntaxError):
            bus.subscribe("x <")
        with pytest.raises(FilterError, match="the limit is 5"):
            await bus.subscribe("x IN (1, 2, 3, 4, 5, 6)").ready()
        with pytest.raises(EventError, match="limit is 1,000"):
            await bus.publish({"x": "y" * 1_000})
        with pytest.raises(DurabilityUnavailable):
            await bus.subscribe("x = 1", durable="desk-7").ready()
        with pytest.raises(EventError, match="cannot be kept or sent"):
            await bus.publish({"x": "\ud800"})
        async with bus.subscribe("x = 1") as stream:
            with pytest.raises(siftcast.SiftcastError, match="subscriptions_max in"):
                await bus.subscribe("x = 2").ready()
            await bus.publish({"x": 1})
            assert (await anext(stream))["x"] == 1


@on_loop
async def test_a_refused_subscription_ends_its_stream_with_the_reason() -> None:
    async with running("[limits]\nfilter_length_max = 10\n") as node, siftcast.connect(url_of(node)) as bus:
        with pytest.raises(FilterError):
            await anext(bus.subscribe("a_long_name = 1"))


@on_loop
async def test_handlers_are_called_and_what_they_raise_ends_the_bus() -> None:
    seen: list[object] = []
    async with running() as node:
        bus = siftcast.connect(url_of(node))

        @bus.on("x < 10")
        async def keep(event: siftcast.ReceivedEvent) -> None:
            seen.append(event["x"])

        @bus.on("x = 3")
        def fail(event: siftcast.ReceivedEvent) -> None:
            raise RuntimeError(f"no {event['x']}")

        async def work() -> None:
            async with bus:
                await bus.publish_many({"x": number} for number in (1, 2, 30, 4, 3))
                await until(lambda: len(seen) == 4)
                await bus.wait()

        with pytest.raises(RuntimeError, match="no 3"):
            await work()
    assert seen == [1, 2, 4, 3]


@on_loop
async def test_a_bus_reconnects_and_subscribes_anew() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    first = Node(configured())
    await first.start(listener.dup())
    async with siftcast.connect(url_of(first)) as bus, bus.subscribe("x > 0") as stream:
        await bus.publish({"x": 1})
        assert (await anext(stream))["x"] == 1
        await first.stop()
        second = Node(configured())
        await second.start(listener)
        await until(lambda: second.life.sessions.describe())
        await bus.publish({"x": 2})
        assert (await anext(stream))["x"] == 2
        await second.stop()


@on_loop
async def test_a_publish_under_way_when_the_connection_breaks_is_told() -> None:
    async def swallow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_frame(reader)
        writer.write(encode_frame(Welcome(VERSION, "deaf", 1_000.0, 10_000, 10_000)))
        await reader.readexactly(4)
        writer.close()

    server = await asyncio.start_server(swallow, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with siftcast.connect(f"siftcast://127.0.0.1:{port}") as bus:
        with pytest.raises(ConnectionLost):
            await bus.publish({"x": 1})
    server.close()


@on_loop
async def test_where_nobody_listens_is_told_in_time() -> None:
    async with running() as node:
        url = url_of(node)
    with pytest.raises(ConnectionLost, match="was not reached"):
        await siftcast.connect(url, timeout_s=0.2).__aenter__()


@on_loop
async def test_another_version_is_refused_with_its_code() -> None:
    async with running() as node:
        host, port = parse_url(url_of(node))
        reader, writer = await asyncio.open_connection(host, port)
        writer.write(encode_frame(Hello(99, "client")))
        assert last_frame(await reader.read()).code == VersionError.code  # type: ignore[attr-defined]
        writer.close()


@on_loop
async def test_nothing_is_done_before_a_hello() -> None:
    async with running() as node:
        host, port = parse_url(url_of(node))
        reader, writer = await asyncio.open_connection(host, port)
        writer.write(encode_frame(Subscribe(1, 1, "TRUE")))
        assert last_frame(await reader.read()).code == "frame"  # type: ignore[attr-defined]
        assert node.describe()["subscriptions"] == []
        writer.close()


@on_loop
async def test_more_connections_than_allowed_are_refused_and_the_others_go_on() -> None:
    async with running("[limits]\nconnections_max = 2\n") as node:
        async with siftcast.connect(url_of(node)) as bus, siftcast.connect(url_of(node)):
            with pytest.raises(LiveError):
                await siftcast.connect(url_of(node), timeout_s=0.2).__aenter__()
            assert await bus.publish({"x": 1})
        async with siftcast.connect(url_of(node)) as bus:
            assert await bus.publish({"x": 1})


@pytest.mark.parametrize(
    "url", ["localhost:7007", "http://localhost", "siftcast://", "siftcast://h:99999", "siftcast://h/x"]
)
def test_a_bad_address_is_told(url: str) -> None:
    with pytest.raises(LiveError, match="no address"):
        siftcast.connect(url)


def test_importing_siftcast_does_not_load_the_network() -> None:
    script = (
        "import siftcast, sys; assert 'asyncio' not in sys.modules and 'uvloop' not in sys.modules; siftcast.connect"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
