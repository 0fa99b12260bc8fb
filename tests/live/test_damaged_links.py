"""Links on which bits flip: what was promised arrives as it was, and whoever waits for an answer gets one or an error.

Nothing here waits for a while: bits flip until connections broke so and so often, and then tests wait until everything
has arrived.
"""

import asyncio
import json
import logging
import os
from collections import Counter
from pathlib import Path

import pytest

import siftcast
from siftcast import Event
from siftcast.runtimes.live.errors import ConnectionLost
from siftcast.runtimes.live.wire.frames import VERSION, Frame, Hello, Publish, Published, Welcome, encode_frame
from tests.live.asynchronous import on_loop, until
from tests.live.nodes import running
from tests.live.proxies import Proxy
from tests.live.small_networks import SmallNetwork, small_network
from tests.live.test_damaged_frames import flipped
from tests.live.wire import read_frame

SEEDS = range(1, 11) if os.environ.get("HYPOTHESIS_PROFILE") == "soak" else (1, 2)
BROKEN_MIN = 5
SHARE = 1 / 1_500
WORDS = "bits and pieces of text that is long enough for a flipped bit to hit it now and then"


def content(number: int) -> dict[str, object]:
    return {"value": number, "words": f"{WORDS} {number}"}


async def publish_while_bits_flip(bus: siftcast.Bus, proxy: Proxy) -> int:
    """Publishes durable events until connections broke often enough, and then as many over a sound link."""
    number = 0
    proxy.corrupt(SHARE)
    before = proxy.connections
    while proxy.connections < before + BROKEN_MIN:
        await bus.publish(Event(content(number), f"e{number}"), durable=True)
        number += 1
    proxy.pass_on()
    for _ in range(10):
        await bus.publish(Event(content(number), f"e{number}"), durable=True)
        number += 1
    return number


async def check_all_arrive(stream: siftcast.EventStream, publishing: "asyncio.Task[int]") -> None:
    """Every event comes as it was, once and in order."""
    got: list[str] = []

    async def read() -> None:
        async for event in stream:
            assert dict(event.attributes) == content(len(got))
            got.append(event.id)
            event.ack()

    reading = asyncio.create_task(read())
    try:
        count = await publishing
        await until(lambda: len(got) >= count or reading.done())
        if reading.done():
            await reading  # raises what it found wrong
        assert got == [f"e{number}" for number in range(count)]
    finally:
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)


@pytest.mark.parametrize("seed", SEEDS)
@on_loop
async def test_durable_events_cross_a_link_on_which_bits_flip_and_none_is_altered(tmp_path: Path, seed: int) -> None:
    async with (
        small_network(tmp_path, 2, durable=True) as network,
        Proxy("127.0.0.1", network.port("n0"), seed=seed) as proxy,
    ):
        await network.start("n0")
        await network.start("n1", {"n0": proxy.address})
        await network.joined()
        async with (
            siftcast.connect(network.url("n0"), name="publisher", timeout_s=60) as bus,
            siftcast.connect(network.url("n1"), name="reader", timeout_s=60) as reader,
            reader.subscribe("value >= 0", durable="desk") as stream,
        ):
            await until(lambda: network.nodes["n0"].describe()["state"]["entries"])  # n0 knows what n1 wants
            await check_all_arrive(stream, asyncio.create_task(publish_while_bits_flip(bus, proxy)))
        check_that_damage_was_logged(network)


def check_that_damage_was_logged(network: SmallNetwork) -> None:
    lines = [json.loads(line) for name in network.names for line in network.log_of(name).splitlines()]
    damaged = [line for line in lines if line["event"] == "damaged frame"]
    assert damaged
    assert {line["level"] for line in damaged} == {"warning"}
    assert {line["peer"] for line in damaged} <= {"n0", "n1", "unknown"}
    assert all("altered between the two ends" in line["reason"] and line["address"] for line in damaged)
    assert "defect" not in {line["event"] for line in lines}


@pytest.mark.parametrize("seed", SEEDS)
@on_loop
async def test_a_client_on_a_link_on_which_bits_flip_publishes_and_reads_everything(tmp_path: Path, seed: int) -> None:
    async with running('data = "kept"\n', tmp_path) as node:
        host, _, port = node.address.rpartition(":")
        async with (
            Proxy(host, int(port), seed=seed) as proxy,
            siftcast.connect(f"siftcast://{proxy.address}", name="both", timeout_s=60) as bus,
            bus.subscribe("value >= 0", durable="desk") as stream,
        ):
            await check_all_arrive(stream, asyncio.create_task(publish_while_bits_flip(bus, proxy)))
            assert proxy.altered >= BROKEN_MIN


@on_loop
async def test_an_ephemeral_publish_on_a_damaged_link_is_answered_or_fails_and_never_arrives_twice() -> None:
    async with running() as node:
        host, _, port = node.address.rpartition(":")
        async with (
            Proxy(host, int(port), seed=3) as proxy,
            siftcast.connect(f"siftcast://{node.address}") as reader,
            siftcast.connect(f"siftcast://{proxy.address}", timeout_s=60) as bus,
            reader.subscribe("value >= 0", buffer=100_000) as stream,
        ):
            taken, failed = set(), set()
            proxy.corrupt(SHARE)
            while len(failed) < BROKEN_MIN or not taken:
                number = len(taken) + len(failed)
                try:
                    taken.add(await bus.publish(Event(content(number), f"e{number}")))
                except ConnectionLost:
                    failed.add(f"e{number}")
            with pytest.raises(ConnectionLost):
                await publish_many_for_ever(bus)
            proxy.pass_on()
            await bus.publish(Event({"value": 0}, "end"))
            got: Counter[str] = Counter()
            while "end" not in got:
                event = await anext(stream)
                assert event.id == "end" or event["words"] == f"{WORDS} {event['value']}"
                got[event.id] += 1
            assert taken <= set(got)
            assert set(got.values()) == {1}


async def publish_many_for_ever(bus: siftcast.Bus) -> None:
    while True:
        await bus.publish_many(content(number) for number in range(50))


@on_loop
async def test_what_has_no_answer_when_a_damaged_frame_comes_is_sent_again(caplog: pytest.LogCaptureFixture) -> None:
    """A node that answers the first publish with an altered frame, and the second as it should."""
    heard: list[Frame] = []
    good = encode_frame(Published(1))

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await read_frame(reader))
        writer.write(encode_frame(Welcome(VERSION, "shaky", 60_000.0, 10_000, 10_000)))
        heard.append(await read_frame(reader))
        calls = sum(isinstance(frame, Hello) for frame in heard)
        writer.write(flipped(good, 8 * len(good) - 1) if calls == 1 else good)
        await reader.read()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    url = f"siftcast://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    with caplog.at_level(logging.WARNING, "siftcast"):
        async with siftcast.connect(url) as bus:
            assert await bus.publish(Event({"value": 1}, "e", source="s"), durable=True) == "e"
    server.close()
    published = [frame for frame in heard if isinstance(frame, Publish)]
    assert len(published) == 2
    assert bytes(published[0].event) == bytes(published[1].event)
    assert "damaged frame from node 'shaky' at 127.0.0.1" in caplog.text
