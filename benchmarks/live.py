"""How fast a node is on loopback: content filters, many connections, one publisher.

A thousand connections have one filter each, an event matches ten of them; the publisher keeps WINDOW events under way.
The node is a process of its own, and its processor time is what it says about itself; the clients share this process
and read bytes without decoding them, so that they do not limit it. That every byte of every delivery came is checked.
Events a second are by the wall clock, and so they depend on who else uses the machine; the node's CPU does not.
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from benchmarks.exactness import check_equal
from benchmarks.report import Report
from benchmarks.settings import Settings
from siftcast.runtimes.live.client import connect, parse_url
from siftcast.runtimes.live.frames import Hello, Published, Subscribe, decode_frame, delivery_head, encode_frame
from siftcast.runtimes.live.frames import publish_frame as publish
from siftcast.runtimes.live.local_network import LocalNetwork
from siftcast.runtimes.live.node import run as run_loop
from siftcast.runtimes.live.wire_events import encode_fields

GOAL_EVENTS, GOAL_CPU_US, GOAL_READY_S = 7_000, 27.0, 2.0
MATCHES, WINDOW, ROUNDS = 10, 2_000, 3


def run(settings: Settings, report: Report) -> None:
    """Measures a node that is ready, and how long it takes until it is."""
    connections, events = settings.size(1_000, 100), settings.size(40_000, 4_000)
    report.progress(f"live: {connections:,} connections, {events:,} events, {ROUNDS} times")
    with tempfile.TemporaryDirectory() as folder:
        started = perf_counter()
        with LocalNetwork(Path(folder), 1) as network:
            ready_s = perf_counter() - started
            (url,) = network.urls.values()
            rates, costs_us = zip(*run_loop(_measure(url, connections, events)), strict=True)
    what = f"{connections:,} filters and connections, {MATCHES} matches"
    report.add("live node, events a second", median(rates), "events/s", "higher", goal=GOAL_EVENTS, note=what)
    report.add("live node, its CPU an event", median(costs_us), "µs", "lower", goal=GOAL_CPU_US, note=what)
    report.add("live node, until it is ready", ready_s, "s", "lower", goal=GOAL_READY_S, note="as a process")


async def _measure(url: str, connections: int, count: int) -> list[tuple[float, float]]:
    loop, (host, port) = asyncio.get_running_loop(), parse_url(url)
    groups = connections // MATCHES
    for number in range(connections):
        text = f"symbol = 'S{number % groups}' AND price < 1000 AND volume > {number % 7}"
        await loop.create_connection(lambda text=text: _Subscriber(text), host, port)  # type: ignore[misc]
    fields = {"price": 88.5, "volume": 100, "headline": "x" * 110, "exchange": "NYSE"}
    encoded = [encode_fields(f"e{n}", {"symbol": f"S{n % groups}", "seq": n, **fields}) for n in range(count)]
    expected = MATCHES * sum(len(delivery_head(each)) + 4 + len(each) for each in encoded)
    found = []
    async with connect(url) as bus:
        while len((await bus.describe())["subscriptions"]) < connections:
            await asyncio.sleep(0.01)
        await asyncio.sleep(1.5)  # until kernels are loaded and the index is built; none of it is timed
        for _ in range(ROUNDS):
            _Subscriber.received = 0
            before = (await bus.describe())["cpu_s"]
            publisher = _Publisher(loop, encoded)
            started = perf_counter()
            await loop.create_connection(lambda publisher=publisher: publisher, host, port)  # type: ignore[misc]
            await publisher.done
            while _Subscriber.received < expected:
                await asyncio.sleep(0.001)
            took_s = perf_counter() - started
            check_equal("bytes delivered", _Subscriber.received, expected)
            found.append((count / took_s, 1e6 * ((await bus.describe())["cpu_s"] - before) / count))
    return found


class _Subscriber(asyncio.Protocol):
    """Subscribes, and counts the bytes that come after the answer."""

    received = 0

    def __init__(self, filter: str) -> None:
        self._hello = encode_frame(Hello(1, "client")) + encode_frame(Subscribe(1, 1, filter))

    def connection_made(self, transport: Any) -> None:
        transport.write(self._hello)

    def data_received(self, data: bytes) -> None:
        _Subscriber.received += len(data)


class _Publisher(asyncio.Protocol):
    """Publishes all events with WINDOW of them under way."""

    def __init__(self, loop: asyncio.AbstractEventLoop, events: list[bytes]) -> None:
        self.done: asyncio.Future[None] = loop.create_future()
        self._frames = [publish(number, event) for number, event in enumerate(events, 1)]
        self._sent = self._taken = 0
        self._rest = b""

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        transport.write(encode_frame(Hello(1, "client")))

    def data_received(self, data: bytes) -> None:
        data = self._rest + data
        while len(data) >= 4 and len(data) >= (stop := 4 + int.from_bytes(data[:4], "big")):
            frame = decode_frame(data[4:stop])
            self._taken += frame.count if isinstance(frame, Published) else 0
            data = data[stop:]
        self._rest = data
        until = min(len(self._frames), self._taken + WINDOW)
        if until > self._sent:
            self._transport.write(b"".join(self._frames[self._sent : until]))
            self._sent = until
        if self._taken == len(self._frames) and not self.done.done():
            self.done.set_result(None)
