"""HOMED over sockets: processes join through those that run, leave in peace and are killed; the others miss nothing.

HOMED is ephemeral: what is published while a node is down, a crash is not noticed yet or a connection is made again may
be lost. What is judged here is that the network is whole again afterwards.
"""

import asyncio
from pathlib import Path

import pytest

from siftcast.interfaces.cli import main
from siftcast.runtimes.live.client import operating
from siftcast.runtimes.live.client.bus import Bus, connect
from siftcast.runtimes.live.local_network import LocalNetwork
from siftcast.runtimes.live.node.node import run

PATIENCE_S = 60.0
OPTIONS = {"degree": 2, "round_ms": 300.0, "request_ms": 200.0, "grace_ms": 1000.0, "forget_ms": 2000.0}
EVERY = "value >= 0"


class Readers:
    """A subscriber at each node, and which values each was handed, how often."""

    def __init__(self, network: LocalNetwork) -> None:
        self._network = network
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self.got: dict[str, list[int]] = {}

    async def start(self, name: str, wanted: str) -> None:
        ready = asyncio.Event()
        self.got[name] = []
        self._tasks[name] = asyncio.create_task(self._read(name, wanted, ready))
        await ready.wait()

    async def _read(self, name: str, wanted: str, ready: asyncio.Event) -> None:
        async with connect(self._network.urls[name], name=f"reader-{name}") as bus, bus.subscribe(wanted) as stream:
            ready.set()
            async for event in stream:
                self.got[name].append(event["value"])

    async def stop(self, *names: str) -> None:
        for name in names or tuple(self._tasks):
            task = self._tasks.pop(name)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            del self.got[name]

    async def expect_all(self, publisher: Bus, wanted: dict[str, range], first: int) -> int:
        """Publishes events until ten in a row reach exactly those who want them; returns the next number."""
        number, in_a_row = first, 0
        async with asyncio.timeout(PATIENCE_S):
            while in_a_row < 10:
                in_a_row = in_a_row + 1 if await self._reaches_all(publisher, wanted, number, patience_s=1.0) else 0
                number += 1
        return number

    async def _reaches_all(self, bus: Bus, wanted: dict[str, range], number: int, patience_s: float) -> bool:
        await bus.publish({"value": number})
        expected = {name for name, values in wanted.items() if number in values and name in self.got}
        try:
            async with asyncio.timeout(patience_s):
                while {name for name, got in self.got.items() if number in got} != expected:
                    await asyncio.sleep(0.01)
        except TimeoutError:
            return False
        return all(got.count(number) <= 1 for got in self.got.values())


@pytest.mark.full
def test_eight_processes_grow_into_a_network_that_outlives_a_leaver_and_a_kill(tmp_path: Path) -> None:
    with LocalNetwork(tmp_path, 1, "qos", options=OPTIONS) as network:
        for number in range(1, 8):
            network.join(f"n{number}", f"n{number // 2}")
        filters = {"n0": EVERY, "n1": "value < 500", "n2": "value >= 500", "n3": EVERY, "n4": "value < 250"}
        filters |= {"n5": "value BETWEEN 100 AND 900", "n6": EVERY, "n7": "value < 500"}
        wanted = {name: range(1_000) for name in ("n0", "n3", "n6")}
        wanted |= {"n1": range(500), "n7": range(500), "n4": range(250), "n2": range(500, 1_000), "n5": range(100, 901)}

        async def live() -> None:
            readers = Readers(network)
            for name, text in filters.items():
                await readers.start(name, text)
            async with connect(network.urls["n0"]) as first, connect(network.urls["n6"]) as other:
                number = await readers.expect_all(first, wanted, 0)
                await readers.expect_all(other, wanted, 500)
                await readers.stop("n5")
                async with connect(network.urls["n5"]) as leaver:
                    await operating.leave(leaver, lambda _: None)
                number = await readers.expect_all(first, wanted, number)
                network.kill("n3")
                await readers.stop("n3")
                number = await readers.expect_all(other, wanted, number)
                network.start("n3", wait=True)
                await readers.start("n3", EVERY)
                await readers.expect_all(first, wanted, number)
            await readers.stop()

        run(live())
        assert network.describe("n0")["state"]["publishing"]  # everybody got everything, whomever n0 counts on


def test_three_nodes_of_a_list_deliver_to_each_other(tmp_path: Path) -> None:
    with LocalNetwork(tmp_path, 3, "qos", options=OPTIONS) as network:

        async def live() -> None:
            readers = Readers(network)
            await readers.start("n1", "value < 500")
            await readers.start("n2", EVERY)
            async with connect(network.urls["n0"]) as publisher:
                await readers.expect_all(publisher, {"n1": range(500), "n2": range(1_000)}, 0)
            await readers.stop()

        run(live())


def test_a_schema_without_domains_is_refused_where_it_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "schema.toml").write_text('[[attribute]]\nname = "note"\ntype = "string"\n', encoding="utf-8")
    file = tmp_path / "node.toml"
    file.write_text('[node]\nname = "a"\n[overlay]\nscheme = "homed"\nschema = "schema.toml"\n', encoding="utf-8")
    assert main(["serve", "--config", str(file)]) == 2
    assert "digests of kind 'hashed'" in capsys.readouterr().err
