"""What a program in Python gets through the client libraries: ours beside nats-py.

Here every delivery becomes an object in an application's hands, so the clients cost more than the brokers, and both
sides share one process and loop.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, suppress
from time import perf_counter

import nats

from benchmarks.exactness import check_equal
from benchmarks.live.load import MATCHES, attributes_of, wanted_by
from benchmarks.live.nats_server import Nats, subject_of
from benchmarks.live.siftcast_nodes import SiftcastNodes, filter_of
from siftcast.model import Event
from siftcast.runtimes.live.client.bus import Bus, connect
from siftcast.runtimes.live.client.received import EventStream

_BODY = b"x" * 200
_WAIT_S = 120.0


async def one_topic(node: SiftcastNodes, events: int) -> float:
    """Events a second from our publisher to our subscriber, 200 bytes each, on one topic."""
    async with connect(node.urls[0]) as publisher, connect(node.urls[0]) as subscriber:
        stream = subscriber.subscribe("topic = 'orders'")
        await stream.ready()
        started = perf_counter()
        taking = asyncio.create_task(_take(stream, events))
        await publisher.publish_many(Event({"topic": "orders"}, payload=_BODY) for _ in range(events))
        check_equal("bytes on a topic", await asyncio.wait_for(taking, _WAIT_S), events * len(_BODY))
        return events / (perf_counter() - started)


async def _take(stream: EventStream, events: int) -> int:
    size = 0
    async for event in stream:
        size += len(event.payload)
        events -= 1
        if not events:
            break
    return size


async def one_topic_of_nats(server: Nats, events: int) -> float:
    """The same with nats-py."""
    url = "nats://{}:{}".format(*server.addresses[0])
    publisher = await nats.connect(url)
    subscriber = await nats.connect(url)
    subscription = await subscriber.subscribe("orders", pending_msgs_limit=-1, pending_bytes_limit=-1)
    await subscriber.flush()
    started = perf_counter()

    async def take() -> int:
        size, left = 0, events
        async for message in subscription.messages:
            size += len(message.data)
            left -= 1
            if not left:
                break
        return size

    taking = asyncio.create_task(take())
    for _ in range(events):
        await publisher.publish("orders", _BODY)
    await publisher.flush()
    check_equal("bytes on a topic", await asyncio.wait_for(taking, _WAIT_S), events * len(_BODY))
    rate = events / (perf_counter() - started)
    await publisher.close()
    await subscriber.close()
    return rate


async def many_clients(node: SiftcastNodes, subscribers: int, events: int) -> float:
    """Events a second to `subscribers` clients of our library, each event to MATCHES of them, as dictionaries."""
    groups, counts = subscribers // MATCHES, [0]
    done = asyncio.Event()
    async with AsyncExitStack() as stack:
        tasks = []
        for number in range(subscribers):
            bus = await stack.enter_async_context(connect(node.urls[0]))
            stream = bus.subscribe(filter_of(wanted_by(number, groups)))
            await stream.ready()
            tasks.append(asyncio.create_task(_count(stream, counts, events * MATCHES, done)))
        publisher: Bus = await stack.enter_async_context(connect(node.urls[0]))
        await asyncio.sleep(2.0)
        started = perf_counter()
        await publisher.publish_many(attributes_of(number, number % groups) for number in range(events))
        await asyncio.wait_for(done.wait(), _WAIT_S)
        rate = events / (perf_counter() - started)
        for task in tasks:
            task.cancel()
    check_equal("deliveries to clients", counts[0], events * MATCHES)
    return rate


async def _count(stream: EventStream, counts: list[int], expected: int, done: asyncio.Event) -> None:
    async for event in stream:
        assert event.attributes["side"] == "buy"
        counts[0] += 1
        if counts[0] == expected:
            done.set()


async def many_clients_of_nats(server: Nats, subscribers: int, events: int) -> float:
    """The same with nats-py, whose messages are JSON."""
    groups, counts = subscribers // MATCHES, [0]
    done = asyncio.Event()
    url = "nats://{}:{}".format(*server.addresses[0])
    clients, tasks = [], []

    async def count(messages: AsyncIterator[object]) -> None:
        async for message in messages:
            assert json.loads(message.data)["side"] == "buy"  # type: ignore[attr-defined]
            counts[0] += 1
            if counts[0] == events * MATCHES:
                done.set()

    for number in range(subscribers):
        client = await nats.connect(url)
        subscription = await client.subscribe(subject_of(wanted_by(number, groups)))
        await client.flush()
        clients.append(client)
        tasks.append(asyncio.create_task(count(subscription.messages)))
    publisher = await nats.connect(url)
    await asyncio.sleep(2.0)
    started = perf_counter()
    for number in range(events):
        attributes = attributes_of(number, number % groups)
        await publisher.publish(subject_of(attributes), json.dumps(attributes).encode())
        if number % 100 == 99:  # it has no acknowledgements; without a pause it floods its own process
            await publisher.flush()
    await asyncio.wait_for(done.wait(), _WAIT_S)
    rate = events / (perf_counter() - started)
    for task in tasks:
        task.cancel()
    for client in (publisher, *clients):
        with suppress(Exception):
            await client.close()
    check_equal("deliveries to clients", counts[0], events * MATCHES)
    return rate


async def durable_publishes(url: str, token: str, events: int) -> float:
    """Durable publishes a second that our client was told are on disk, with one durable subscription that matches."""
    async with connect(url, token=token) as bus:
        stream = bus.subscribe("symbol = 'S0000'", durable="desk")
        await stream.ready()
        started = perf_counter()
        taken = await bus.publish_many(({"symbol": "S9999", "n": n} for n in range(events)), durable=True)
        check_equal("acknowledged publishes", taken, events)
        return events / (perf_counter() - started)
