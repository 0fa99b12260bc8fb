"""Bounds that change while others are not safe yet, callbacks that fail, and how many bounds a node keeps."""

import asyncio
import io
from pathlib import Path

import pytest
from rich.console import Console

import siftcast
from siftcast.interfaces.cli.subscriptions_command import _show
from siftcast.overlays.contract import ExpectDelay
from siftcast.runtimes.live.client.bounds import Bound
from siftcast.runtimes.live.client.received import EventStream
from siftcast.testing import in_process
from tests.live.asynchronous import on_loop, until
from tests.live.nodes import running, url_of
from tests.live.test_bounds import NEVER_MS, aged


@on_loop
async def test_a_change_of_a_durable_bound_builds_on_those_that_are_not_safe_yet(tmp_path: Path) -> None:
    async with running(f'data = "{tmp_path}"') as node, siftcast.connect(url_of(node)) as bus:
        stream = await bus.subscribe("x >= 0", "desk", delay_ms_max=NEVER_MS, bandwidth=1e6).ready()
        await asyncio.gather(  # all are sent before the first is on the disk
            stream.replace(delay_ms_max=500.0),
            stream.replace(bandwidth=2e6),
            stream.replace("x > 1"),
        )
        (row,) = node.describe()["subscriptions"]
        assert (row["delay_ms_max"], row["bandwidth"], row["filter"]) == (500.0, 2e6, "x > 1")
        await stream.replace(bandwidth=None)
        (row,) = node.describe()["subscriptions"]
        assert (row["delay_ms_max"], row["bandwidth"]) == (500.0, None)


async def read(bus: siftcast.Bus, stream: EventStream) -> None:
    """Publishes and reads, for as long as that goes on."""
    while True:
        await bus.publish({"x": 1})
        await anext(stream)


def fail(bound: Bound) -> None:
    raise ArithmeticError(f"what is {bound.state}?")


@on_loop
async def test_what_a_callback_of_a_bound_raises_ends_its_stream_and_no_other() -> None:
    async with in_process() as bus:
        other = await bus.subscribe("x >= 0", delay_ms_max=NEVER_MS).ready()
        stream = await bus.subscribe("x >= 0", delay_ms_max=NEVER_MS, on_bound=fail).ready()
        with pytest.raises(ArithmeticError, match="what is met"):
            await read(bus, stream)
        assert (await aged(bus, other)).late_ms == 0.0
        assert len((await bus.describe())["subscriptions"]) == 1, "the node ends it as well"


@on_loop
async def test_what_a_callback_for_one_of_many_filters_raises_ends_them_all() -> None:
    async with in_process() as bus:
        stream = await bus.subscribe_many(["x >= 0", "x >= 1"], delay_ms_max=NEVER_MS, on_bound=fail).ready()
        with pytest.raises(ArithmeticError, match="what is met"):
            await read(bus, stream)
        assert (await bus.describe())["subscriptions"] == []


@on_loop
async def test_what_a_callback_beside_a_handler_raises_ends_the_wait_for_it() -> None:
    async with in_process() as bus:

        @bus.on("x >= 0", delay_ms_max=NEVER_MS, on_bound=fail)
        def ignore(_: siftcast.ReceivedEvent) -> None: ...

        waiting = asyncio.create_task(bus.wait())
        while not waiting.done():
            await bus.publish({"x": 1})
        with pytest.raises(ArithmeticError, match="what is met"):
            await waiting


@on_loop
async def test_a_node_counts_each_bound_once_and_by_what_is_measured() -> None:
    async with running() as node, siftcast.connect(url_of(node)) as bus:
        stream = await bus.subscribe("x >= 0", delay_ms_max=NEVER_MS).ready()
        hopeless = await bus.subscribe("x = -1", delay_ms_max=10.0).ready()
        boundless = await bus.subscribe("x = -2").ready()
        ids = tuple(row["id"] for row in node.describe()["subscriptions"])
        node.life.carrier.carry_out([ExpectDelay(ids, 2 * NEVER_MS, 2 * NEVER_MS)])
        assert counted(node.describe()) == {"bounds missed": 0, "bounds impossible": 2}
        await aged(bus, stream)
        await until(lambda: stream.bound and stream.bound.state == "met")
        assert counted(node.describe()) == {"bounds missed": 0, "bounds impossible": 1}
        boundless.close()
        assert (hopeless.bound and hopeless.bound.state) == "impossible"


def counted(described: dict[str, object]) -> dict[str, int]:
    """How many bounds `siftcast subscriptions` says are not kept."""
    shown = io.StringIO()
    _show(described, Console(file=shown, width=200))
    lines = [line.split() for line in shown.getvalue().splitlines() if line.startswith("bounds")]
    return {" ".join(words[:2]): int(words[2]) for words in lines}
