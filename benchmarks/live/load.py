"""The load: many subscriber connections, one publisher, and a count of every byte that comes back.

All events of a load have one size, so all deliveries of a broker have one, too, and the bytes that a connection got
tell how many deliveries it got. The kth delivery of a subscriber is the kth event of its group, which gives latencies.
The publisher keeps a window of events under way, counted by what was delivered: no broker has to acknowledge for that.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from benchmarks.exactness import check_equal
from benchmarks.live.brokers import Attributes, Broker, Subscriber, Wanted, connected

MATCHES = 10
_CHUNK = 50
_WAIT_S = 60.0
HEADLINE = "a headline that fills the event up to two hundred bytes, as JSON has it, more or less"


@dataclass(frozen=True, slots=True)
class Rate:
    """How fast it was: events a second, and the broker's processor time an event."""

    events_s: float
    cpu_us: float


def wanted_by(number: int, groups: int) -> Wanted:
    """What a subscriber wants: a symbol, with exchange, side or both."""
    wanted = {"symbol": f"S{number % groups:04}"}
    if number // groups % 3 != 1:
        wanted["exchange"] = "NYSE"
    if number // groups % 3 != 0:
        wanted["side"] = "buy"
    return wanted


class Load:
    """Connections to a broker, and what went through them."""

    def __init__(self, broker: Broker, subscribers: int, window: int) -> None:
        self.delivery_bytes = 0
        self._broker = broker
        self._groups = subscribers // MATCHES
        self._window = window
        self._subscribers: list[Subscriber] = []
        self._publisher: Any = None
        self._sent = self._delivered = 0
        self._until = 0.0
        self._sent_at: list[list[float]] = [[] for _ in range(self._groups)]
        self._latencies_s: list[float] | None = None
        self._all_came: asyncio.Event = asyncio.Event()

    async def open(self) -> None:
        """Connects everybody, and sends the first events, which nobody measures."""
        loop, addresses = asyncio.get_running_loop(), self._broker.addresses
        for number in range(self._groups * MATCHES):
            line = connected(addresses[number % len(addresses)])
            self._broker.subscribe(line, number, wanted_by(number, self._groups))
            line.setblocking(False)
            made = self._broker.subscriber(self, number % self._groups)
            await loop.create_connection(lambda made=made: made, sock=line)  # type: ignore[misc]
            self._subscribers.append(made)
        line = connected(addresses[0])
        self._broker.introduce(line)
        line.setblocking(False)
        self._publisher, _ = await loop.create_connection(asyncio.Protocol, sock=line)
        await asyncio.to_thread(self._broker.settle)
        if self._subscribers[0].weighs:
            await self._weigh()
        self._publish(self._groups)
        await self._drain()

    async def _weigh(self) -> None:
        """Finds out how large a delivery is."""
        for each in self._subscribers:
            each.received = 0
        self._publish(1)
        await asyncio.sleep(1.0)
        sizes = {each.received for each in self._subscribers[:: self._groups]}
        check_equal("sizes of a delivery", len(sizes), 1)
        (self.delivery_bytes,) = sizes
        for each in self._subscribers[:: self._groups]:
            each.count(1)

    async def run(self, seconds: float) -> Rate:
        """Publishes for so long as fast as everything is delivered."""
        sent, cpu_s, started = self._sent, self._broker.cpu_s(), perf_counter()
        self._until = started + seconds
        self._publish(self._window)
        await asyncio.sleep(seconds)
        await self._drain()
        took_s, count = perf_counter() - started, self._sent - sent
        return Rate(count / took_s, 1e6 * (self._broker.cpu_s() - cpu_s) / count)

    async def latencies_ms(self, events_s: float, seconds: float) -> list[float]:
        """Publishes at a steady rate, whatever comes back; how long each delivery took since its event was due."""
        self._until, self._latencies_s = 0.0, []
        started = perf_counter()
        sent = 0
        while (now := perf_counter()) < started + seconds:
            due = int((now - started) * events_s) + 1
            for number in range(sent, due):
                self._publish(1, started + number / events_s)
            sent = due
            await asyncio.sleep(max(0.0005, started + due / events_s - perf_counter()))
        await self._drain()
        found, self._latencies_s = self._latencies_s, None
        return [1e3 * each for each in found]

    def close(self) -> None:
        """Hangs up."""
        for each in self._subscribers:
            each.transport.abort()
        if self._publisher is not None:
            self._publisher.abort()

    def delivered_to(self, group: int, start: int, stop: int) -> None:
        """A subscriber of a group got its deliveries from `start` up to `stop`."""
        now = perf_counter()
        self._delivered += stop - start
        if self._latencies_s is not None:
            self._latencies_s += [now - sent for sent in self._sent_at[group][start:stop]]
        if now < self._until:
            room = self._window - (self._sent - self._delivered // MATCHES)
            if room >= _CHUNK:
                self._publish(room)
        elif self._delivered >= self._sent * MATCHES:
            self._all_came.set()

    def _publish(self, count: int, due: float | None = None) -> None:
        now = perf_counter() if due is None else due
        self._all_came.clear()
        frames = []
        for number in range(self._sent, self._sent + count):
            group = number % self._groups
            self._sent_at[group].append(now)
            frames.append(self._broker.publication(number, attributes_of(number, group)))
        self._sent += count
        self._publisher.write(b"".join(frames))

    async def _drain(self) -> None:
        """Waits for all deliveries; checks that each subscriber got all of its group and nothing else."""
        self._until = 0.0
        if self._delivered < self._sent * MATCHES:
            try:
                await asyncio.wait_for(self._all_came.wait(), _WAIT_S)
            except TimeoutError:
                check_equal("deliveries", self._delivered, self._sent * MATCHES)
        for number, each in enumerate(self._subscribers):
            check_equal("deliveries of a subscriber", each.delivered, len(self._sent_at[number % self._groups]))
            if self.delivery_bytes:
                check_equal("bytes of a subscriber", each.received, each.delivered * self.delivery_bytes)


def attributes_of(number: int, group: int) -> Attributes:
    """The event of this number."""
    # From 100,000 on, numbers have one size both as text and in msgpack.
    facts = {"exchange": "NYSE", "side": "buy", "price": 88.5, "number": 100_000 + number % 800_000}
    return {"symbol": f"S{group:04}", **facts, "headline": HEADLINE}
