"""What sealing payloads costs: a publisher, a node and a subscriber, each a process, with and without seals in turn.

Each event has 200 bytes of payload and the attributes of the live benchmark. The node has 1,000 filters on connections
that count bytes, and each event matches ten of them, as there; the subscriber beside them has keys and gets all events.
It checks every payload, and that all came, in order, each once, sealed or not as they should be. The publisher keeps a
few thousand events on their way.

Events a second are by the wall clock: on a machine with fewer cores than processes, what one process spends the others
lack. So the processor time of each process is reported as well: with a core for each, the busiest decides how many
events a second there are, and `busiest` is the ratio of that. The primitives are measured in the same run.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import islice
from multiprocessing.connection import Connection
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any, NamedTuple

from benchmarks.exactness import check_equal
from benchmarks.live.brokers import Address, connected
from benchmarks.live.load import MATCHES, attributes_of, wanted_by
from benchmarks.live.siftcast_nodes import SiftcastNodes, filter_of, subscribe_on
from benchmarks.report import Report
from benchmarks.settings import Settings
from siftcast.model import Event
from siftcast.runtimes.live.client.bus import connect
from siftcast.runtimes.live.node.node import run as run_loop
from siftcast.security import KeyRing, Opener, Sealer
from siftcast.security.hazmat.secret import Secret
from siftcast.security.hazmat.signatures import SigningKey, VerifyingKey
from siftcast.security.keeping import add_publisher, begin_group, issue, make_publisher

GOAL_SHARE = 0.85
"""Sealing may cost 15 % of the events a second."""
UNDER_WAY, _CHUNK = 4_000, 1_000
_BODY = b"x" * 192
_WAIT_S = 120.0


class Turn(NamedTuple):
    """How one round went: seconds, and processor seconds of publisher, node and subscriber."""

    took_s: float
    publisher_s: float
    node_s: float
    subscriber_s: float


def run(settings: Settings, report: Report) -> None:
    """Measures the primitives, and rounds with and without seals in turn."""
    events, rounds, filters = settings.size(20_000, 2_000), settings.size(9, 3), settings.size(1_000, 100)
    with tempfile.TemporaryDirectory(prefix="siftcast-bench-") as name:
        folder = Path(name)
        make_rings(folder)
        _measure_calls(report, folder, settings.size(200, 20))
        report.progress(f"sealed: {rounds} rounds of {events:,} events, {filters:,} filters, {MATCHES} matches")
        loaded = _measure_rounds(folder, events, rounds, filters)
        report.progress("sealed: the same without filters, to one subscriber")
        alone = _measure_rounds(folder, events, rounds, 0)
    _report(report, f"{filters:,} filters", events, *loaded, goal=GOAL_SHARE)
    _report(report, "one subscriber", events, *alone)


def _report(
    report: Report, load: str, events: int, plain: list[Turn], sealed: list[Turn], goal: float | None = None
) -> None:
    for what, turns in (("plain", plain), ("sealed", sealed)):
        rate = median(events / turn.took_s for turn in turns)
        report.add(f"payloads {what}, {load}, events a second", rate, "events/s", "higher")
        for place, process in enumerate(("publisher", "node", "subscriber"), 1):
            found = median(1e6 * turn[place] / events for turn in turns)
            report.add(f"payloads {what}, {load}, CPU of the {process}", found, "µs an event", "lower")
    share = median(p.took_s / s.took_s for p, s in zip(plain, sealed, strict=True))
    cores = f"on {os.cpu_count()} cores, which the processes share"
    report.add(f"sealed beside plain, {load}, events a second", share, "x", "higher", goal=goal, note=cores)
    busiest = median(max(turn[1:]) for turn in plain) / median(max(turn[1:]) for turn in sealed)
    report.add(f"sealed beside plain, {load}, busiest process", busiest, "x", "higher", goal=goal, note="a core each")


def make_rings(folder: Path) -> None:
    """A ring that seals and one that opens."""
    now_s = time.time()
    begin_group(folder / "owner", "desk", now_s)
    add_publisher(folder / "owner", "desk", make_publisher(folder / "publisher", "feed"))
    for name in ("publisher", "subscriber"):
        issue(folder / "owner", "desk", folder / name)


# -- what one call takes ---------------------------------------------------------------------------------


def _measure_calls(report: Report, folder: Path, rounds: int) -> None:
    signing = SigningKey(Secret(bytes(32)))
    verifying, data = VerifyingKey(signing.public), bytes(100)
    signature = signing.sign(data)
    sealer, opener = Sealer(KeyRing.load(folder / "publisher")), Opener(KeyRing.load(folder / "subscriber"))
    parts = [(b"clear part %d" % number * 8, _BODY) for number in range(100)]
    now_s = time.time()
    batches = iter([sealer.seal("desk", parts, now_s) for _ in range(rounds)])
    singles = iter([sealer.seal("desk", parts[:1], now_s)[0] for _ in range(rounds)])

    def open_batch() -> None:
        for (clear, _), sealed in zip(parts, next(batches), strict=True):
            opener.open(clear, sealed, now_s, kept=False)

    for name, call, each in (
        ("Ed25519 signature", lambda: signing.sign(data), 1),
        ("Ed25519 verification", lambda: verifying.verify(signature, data), 1),
        ("seal, one of a hundred", lambda: sealer.seal("desk", parts, now_s), 100),
        ("open, one of a hundred", open_batch, 100),
        ("seal, one alone", lambda: sealer.seal("desk", parts[:1], now_s), 1),
        ("open, one alone", lambda: opener.open(parts[0][0], next(singles), now_s, kept=False), 1),
    ):
        report.add(f"sealed payloads: {name}", _call_us(call, rounds) / each, "µs", "lower", note="200 bytes, CPU time")


def _call_us(call: Callable[[], object], rounds: int) -> float:
    """The lower quartile of the processor time of a call."""
    taken = []
    for _ in range(rounds):
        started = process_time()
        call()
        taken.append(process_time() - started)
    return 1e6 * sorted(taken)[rounds // 4]


# -- from end to end -------------------------------------------------------------------------------------


def _measure_rounds(folder: Path, events: int, rounds: int, filters: int) -> tuple[list[Turn], list[Turn]]:
    found: dict[bool, list[Turn]] = {False: [], True: []}
    context = multiprocessing.get_context("spawn")
    with SiftcastNodes() as node:
        url = node.urls[0]
        seen = context.Value("q", 0)
        counting = context.Process(target=_count_bytes, args=(node.addresses[0], filters), daemon=True)
        here, there = context.Pipe()
        subscriber = context.Process(target=_subscribe, args=(url, folder, seen, there), daemon=True)
        ours, theirs = context.Pipe()
        publisher = context.Process(target=_publish, args=(url, folder, seen, theirs), daemon=True)
        processes = [counting, subscriber, publisher]
        for process in processes:
            process.start()
        try:
            check_equal("ready", (here.recv(), ours.recv()), ("ready", "ready"))
            node.settle()
            for turn in range(-2, 2 * rounds):
                is_sealed = bool(turn % 2)
                seen.value = 0
                before_s = node.cpu_s()
                here.send((events, is_sealed))
                check_equal("subscribed", here.recv(), "subscribed")
                ours.send((events, filters, is_sealed))
                subscriber_s, ended = here.recv()
                publisher_s, started = ours.recv()
                if turn >= 0:  # the first of each kind warms up
                    turned = Turn(ended - started, publisher_s, node.cpu_s() - before_s, subscriber_s)
                    found[is_sealed].append(turned)
        finally:
            for process in processes:
                process.terminate()
                process.join()
    return found[False], found[True]


def _events(count: int, filters: int) -> Iterator[Event]:
    groups = max(1, filters // MATCHES)
    for number in range(count):
        yield Event(dict(attributes_of(number, number % groups)), payload=_BODY + number.to_bytes(8, "big"))


def _publish(url: str, folder: Path, seen: Synchronized[int], line: Connection) -> None:
    async def work() -> None:
        async with connect(url, name="feed", keys=folder / "publisher") as bus:
            line.send("ready")
            while True:
                events, filters, is_sealed = await asyncio.to_thread(line.recv)
                how: dict[str, Any] = {"seal": "payload", "group": "desk"} if is_sealed else {}
                source = _events(events, filters)
                started, before_s = perf_counter(), process_time()
                for begun in range(0, events, _CHUNK):
                    while begun - seen.value > UNDER_WAY:
                        await asyncio.sleep(0.001)
                    await bus.publish_many(list(islice(source, _CHUNK)), **how)
                line.send((process_time() - before_s, started))

    run_loop(work())


def _subscribe(url: str, folder: Path, seen: Synchronized[int], line: Connection) -> None:
    async def work() -> None:
        async with connect(url) as bus:
            line.send("ready")
            while True:
                events, is_sealed = await asyncio.to_thread(line.recv)
                keys = folder / "subscriber" if is_sealed else None
                wanted = bus.subscribe("price > 0", keys=keys, buffer=100_000)
                async with wanted as stream, asyncio.timeout(_WAIT_S):
                    line.send("subscribed")
                    before_s = process_time()
                    for number in range(events):
                        event = (
                            await asyncio.wait_for(anext(stream), _WAIT_S) if number % 500 == 0 else await anext(stream)
                        )
                        if event.payload != _BODY + number.to_bytes(8, "big"):
                            check_equal("payload", event.payload, _BODY + number.to_bytes(8, "big"))
                        if number % 100 == 99:
                            seen.value = number + 1
                    ended, cpu_s = perf_counter(), process_time() - before_s
                    check_equal("who sealed", event.sealed_by, "feed" if is_sealed else None)
                    check_equal("not opened", stream.unopened.total(), 0)
                line.send((cpu_s, ended))

    run_loop(work())


def _count_bytes(address: Address, filters: int) -> None:
    """Connections with filters, whose bytes are read and thrown away."""

    async def work() -> None:
        loop, groups = asyncio.get_running_loop(), max(1, filters // MATCHES)
        for number in range(filters):
            line = connected(address)
            subscribe_on(line, filter_of(wanted_by(number, groups)))
            line.setblocking(False)
            await loop.create_connection(asyncio.Protocol, sock=line)
        await asyncio.Event().wait()

    run_loop(work())
