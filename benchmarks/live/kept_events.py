"""How long a node takes to start with events that wait for a subscriber who is away, and what they take in memory.

The events are published durably to a node, which is then stopped and started again as a process. It must say afterwards
that all of them wait. Two sizes tell how the time grows; an empty node is taken off, so that it is that of the events.
"""

from __future__ import annotations

import math
import tempfile
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from benchmarks.exactness import check_equal
from benchmarks.live.load import HEADLINE
from benchmarks.processes import memory_of
from siftcast.overlays.durability.contract import QueuePolicy
from siftcast.runtimes.live.client.bus import connect
from siftcast.runtimes.live.local_network import LocalNetwork
from siftcast.runtimes.live.node.node import run as run_loop

_LIMITS = "[limits]\nkept_bytes_max = 100000000000\npolicy_events_max = 100000000\npolicy_bytes_max = 100000000000\n"
_SHARE = 4
"""The smaller size is the larger divided by this."""
_STARTS = 3
_NOTICED_S = 0.02
"""Less than this is noise."""


@dataclass(frozen=True, slots=True)
class Start:
    """A start: until the node listens, the processor time until then, its memory, and what it counts as kept."""

    ready_s: float
    cpu_s: float
    resident_bytes: int
    peak_bytes: int
    kept_bytes: int


def start_with(events: int) -> Start:
    """Has a node keep so many events, and starts it again."""
    with (
        tempfile.TemporaryDirectory(prefix="siftcast-bench-") as folder,
        LocalNetwork(Path(folder), 1, more=f'data = "{{name}}"\n{_LIMITS}') as network,
    ):
        run_loop(_publish(network.urls["n0"], events))
        return min((_start_again(network, events) for _ in range(_STARTS)), key=lambda start: start.cpu_s)


def _start_again(network: LocalNetwork, events: int) -> Start:
    process = network.processes["n0"]
    process.terminate()
    process.communicate()
    started = perf_counter()
    network.start("n0", wait=True)
    ready_s = perf_counter() - started
    facts = network.describe("n0")
    check_equal("events that wait after the start", facts["state"]["durable"], {"n0/desk": events})
    pid = network.processes["n0"].pid
    resident, peak = (memory_of(pid, field) or 0 for field in ("VmRSS", "VmHWM"))
    return Start(ready_s, facts["cpu_s"], resident, peak, facts["state"]["kept_bytes"])


def exponent(large: Start, small: Start, empty: Start) -> float:
    """How the processor time of a start grows with what is kept: 1 is in proportion."""
    of_large, of_small = (max(_NOTICED_S, start.cpu_s - empty.cpu_s) for start in (large, small))
    return math.log(of_large / of_small, _SHARE)


def smaller(events: int) -> int:
    """The size to compare with."""
    return events // _SHARE


async def _publish(url: str, events: int) -> None:
    policy = QueuePolicy(events_max=max(1, 2 * events), bytes_max=10**11)
    async with connect(url, name="feed") as bus:
        async with bus.subscribe("price >= 0", durable="desk", policy=policy):
            pass
        quotes = (
            {"symbol": f"S{number % 1_000:04}", "side": "buy", "price": number / 7, "headline": HEADLINE}
            for number in range(events)
        )
        check_equal("events that were taken", await bus.publish_many(quotes, durable=True), events)
