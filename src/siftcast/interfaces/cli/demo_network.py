"""A part of `siftcast demo`: the same quotes over a network of three nodes, with real sockets.

Desks subscribe at all three nodes, quotes are published at the first. What each desk got is compared with what its
filter lets through; then one event is followed from node to node, a dry run says why another would reach some desks and
not others, and the nodes are stopped.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa
from rich.console import Console
from rich.table import Table
from rich.text import Text

from siftcast.interfaces.cli.terminal import facts
from siftcast.interfaces.cli.trace_command import print_reach, print_trace
from siftcast.model import Event, Filter

if TYPE_CHECKING:
    from siftcast.runtimes.live.client.received import EventStream
    from siftcast.runtimes.live.event_trace import EventTrace
    from siftcast.runtimes.live.local_network import LocalNetwork
    from siftcast.runtimes.live.reach import Reach

NODES, QUOTES = 3, 2_000
Shown = Literal["passed", "failed", "vacuous"]
"""What a part of the demonstration came to; vacuous if there was nothing that could have gone wrong."""
_WAIT_S, _SURPLUS_S = 30.0, 0.2


@dataclass(slots=True)
class Desk:
    """Somebody who subscribes at a node, and the ids of the events they got."""

    name: str
    node: str
    filter: str
    got: list[str] = field(default_factory=list)

    def wanted(self, quotes: Sequence[Event]) -> list[str]:
        """The ids of the events they ought to get."""
        parsed = Filter.parse(self.filter)
        return [quote.id for quote in quotes if parsed.matches(quote)]

    def is_right(self, quotes: Sequence[Event]) -> bool:
        """Whether they got those, in order, and nothing else."""
        return self.got == self.wanted(quotes)


@dataclass(frozen=True, slots=True)
class Tried:
    """What was seen of the network."""

    publish_s: float
    trace: EventTrace
    reach: Reach


def show_network(quotes: pa.Table, console: Console) -> Shown:
    """Runs and shows the network: whether every desk got its events and all nodes stopped as they should.

    Vacuous if no desk wants any of the quotes.
    """
    from siftcast.runtimes.live.local_network import LocalNetwork
    from siftcast.runtimes.live.node.node import run

    console.print(Text(f"\n4. The same over a network of {NODES} nodes", "bold"))
    rows: list[dict[str, Any]] = quotes.slice(0, QUOTES).to_pylist()
    events = [Event(_present(row), f"quote-{number}") for number, row in enumerate(rows)]
    desks = [
        Desk("bargains", "n1", "symbol IN ('IBM', 'SAP') AND price < 60"),
        Desk("large", "n2", "volume >= 2000"),
        Desk("watch", "n0", "price > 200 OR symbol = 'IBM'"),
    ]
    with tempfile.TemporaryDirectory(prefix="siftcast-demo-") as folder:
        started = perf_counter()
        with LocalNetwork(Path(folder), NODES) as network:
            network.await_joined()
            console.print(facts([("started", f"in {perf_counter() - started:.1f} s"), *network.urls.items()]))
            tried: Tried = run(_try(network, events, desks))
        statuses = sorted({process.returncode for process in network.processes.values()})
    console.print(facts([("published", f"{len(events):,} quotes at n0 in {tried.publish_s:.2f} s")]))
    console.print(_table(desks, events))
    console.print(Text("\nOne of the events, from node to node (siftcast trace)", "bold"))
    print_trace(tried.trace)
    console.print(Text("\nWhere another would go, and why (siftcast publish --dry-run)", "bold"))
    print_reach(1, tried.reach)
    return conclude(desks, events, statuses, console)


def conclude(desks: Sequence[Desk], events: Sequence[Event], statuses: Sequence[int | None], console: Console) -> Shown:
    """Says what came of it: what desks got, and with which statuses nodes ended."""
    right = all(desk.is_right(events) for desk in desks)
    verdict = "Every desk got exactly its events, in order" if right else "Deliveries DIFFER from what filters say"
    stopped = "all nodes stopped cleanly" if list(statuses) == [0] else f"nodes ended with status {statuses}"
    if not right or list(statuses) != [0]:
        console.print(Text(f"\n{verdict}; {stopped}.", "red"))
        return "failed"
    if not any(desk.wanted(events) for desk in desks):
        console.print(Text(f"\nNo desk wants any of these quotes, which shows nothing; {stopped}.", "yellow"))
        return "vacuous"
    console.print(Text(f"\n{verdict}; {stopped}.", "green"))
    return "passed"


async def _try(network: LocalNetwork, events: Sequence[Event], desks: Sequence[Desk]) -> Tried:
    from siftcast.runtimes.live.client.bus import connect

    async with AsyncExitStack() as stack:
        buses = {name: await stack.enter_async_context(connect(url, name="demo")) for name, url in network.urls.items()}
        streams = [buses[desk.node].subscribe(desk.filter) for desk in desks]
        for stream in streams:
            await stream.ready()
        await asyncio.to_thread(network.await_quiet)  # until all nodes have heard of the subscriptions
        publisher = buses["n0"]
        takers = [asyncio.create_task(_take(stream, desk)) for stream, desk in zip(streams, desks, strict=True)]
        started = perf_counter()
        await publisher.publish_many(events)
        took_s = perf_counter() - started
        expected = sum(len(desk.wanted(events)) for desk in desks)
        while sum(len(desk.got) for desk in desks) < expected and perf_counter() < started + _WAIT_S:
            await asyncio.sleep(0.01)
        await asyncio.sleep(_SURPLUS_S)  # so that a delivery too many would be seen
        for taker in takers:
            taker.cancel()
        followed = max(events, key=lambda event: len({desk.node for desk in desks if event.id in desk.got}))
        trace = await publisher.trace(followed.id)
        reach = await publisher.dry_run({"symbol": "IBM", "price": 57.5, "volume": 100})
    return Tried(took_s, trace, reach)


async def _take(stream: EventStream, desk: Desk) -> None:
    async for event in stream:
        desk.got.append(event.id)


def _present(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if value is not None}


def _table(desks: Sequence[Desk], events: Sequence[Event]) -> Table:
    table = Table(box=None, pad_edge=False)
    for header in ("desk", "at", "filter"):
        table.add_column(header, overflow="fold")
    table.add_column("got", justify="right")
    table.add_column("of", justify="right")
    for desk in desks:
        table.add_row(desk.name, desk.node, desk.filter, f"{len(desk.got):,}", f"{len(desk.wanted(events)):,}")
    return table
