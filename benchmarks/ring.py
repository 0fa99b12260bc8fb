"""A live ring of matchers beside one node, under one load on one machine: what layering and replicas cost and give.

The same subscriptions and events go to one node, and to a ring of four processes (X = 2 clusters of R = 2). Publishers
and subscribers are spread over the nodes. Beside events per second, which two cores share with the clients here, each
run reports the processor time per event of all nodes and of the busiest: with a core for each process, the busiest
decides. Kernels are compiled before any node starts, and each node loads them before it is measured: compiling takes it
a second and more. Every subscriber must have got exactly what its filters match, or the run fails.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from benchmarks.report import Report
from benchmarks.settings import Settings
from siftcast.matching import wait_until_prepared
from siftcast.model import Event
from siftcast.runtimes.live.client.bus import Bus, connect
from siftcast.runtimes.live.local_network import LocalNetwork
from siftcast.runtimes.live.node.node import run as run_loop

_PATIENCE_S = 120.0
_WARM_UP_S = 4.0
_TICKS = os.sysconf("SC_CLK_TCK")
RING: dict[str, object] = {"clusters": 2, "replicas": 2}


@dataclass(frozen=True)
class Load:
    """How one network did."""

    events_per_s: float
    cpu_us: float
    busiest_us: float


def run(settings: Settings, report: Report) -> None:
    """Measures one node, the ring, and the ring without confirmations."""
    events, filters = settings.size(100_000, 5_000), settings.size(4_000, 500)
    report.progress(f"{filters:,} filters, {events:,} events")
    wait_until_prepared()
    alone = _measure(1, "filter-based", {}, events, filters)
    ring = _measure(4, "rendezvous", RING, events, filters)
    quick = _measure(4, "rendezvous", {**RING, "confirm": "none"}, events, filters)
    for name, load in (("one node", alone), ("ring, received", ring), ("ring, none", quick)):
        note = f"{load.events_per_s:,.0f} events/s on {os.cpu_count()} cores, clients included"
        report.add(f"{name}: processor time of all nodes", load.cpu_us, "µs per event", "lower", note=note)
        report.add(f"{name}: of the busiest node", load.busiest_us, "µs per event", "lower")
    report.add("busiest node, one node to ring", alone.busiest_us / ring.busiest_us, "times", "higher")


def _measure(nodes: int, scheme: str, options: dict[str, object], events: int, filters: int) -> Load:
    folder = Path(tempfile.mkdtemp(prefix="siftcast-ring-"))
    try:
        with LocalNetwork(folder, nodes, scheme, options=options) as network:
            network.await_joined()
            return run_loop(_load(network, events, filters))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def _load(network: LocalNetwork, events: int, filters: int) -> Load:
    urls = list(network.urls.values())
    values = [number * 104_729 % filters for number in range(events)]  # each is wanted by one subscriber
    got = 0
    done = asyncio.Event()

    async def read(bus: Bus, wanted: int) -> None:
        nonlocal got
        async with bus.subscribe(f"value = {wanted}") as stream:
            async for event in stream:
                if event["value"] != wanted:
                    raise AssertionError(f"{event} is not wanted by {wanted}")
                got += 1
                if got == events:
                    done.set()

    buses = [await connect(url, name=f"reader-{number}").__aenter__() for number, url in enumerate(urls)]
    readers = [asyncio.create_task(read(buses[wanted % len(buses)], wanted)) for wanted in range(filters)]
    await asyncio.sleep(_WARM_UP_S)  # kernels are loaded and tables settled
    await asyncio.to_thread(network.await_quiet)
    before = {name: _cpu_s(process.pid) for name, process in network.processes.items()}
    started = perf_counter()

    async def publish(place: int) -> None:
        async with connect(urls[place], name="publisher") as bus:
            mine = range(place, events, len(urls))
            await bus.publish_many(Event({"value": values[number]}, f"e{number}") for number in mine)

    await asyncio.gather(*(publish(place) for place in range(len(urls))))
    await asyncio.wait_for(done.wait(), _PATIENCE_S)
    elapsed_s = perf_counter() - started
    await asyncio.sleep(1.0)  # the last receipts
    spent = [_cpu_s(process.pid) - before[name] for name, process in network.processes.items()]
    for reader in readers:
        reader.cancel()
    await asyncio.gather(*readers, return_exceptions=True)
    for bus in buses:
        await bus.__aexit__(None, None, None)
    if got != events:
        raise AssertionError(f"{got:,} deliveries of {events:,}")
    return Load(events / elapsed_s, 1e6 * sum(spent) / events, 1e6 * max(spent) / events)


def _cpu_s(process: int) -> float:
    """The processor time of a process until now, in user and system mode."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS
