"""A network of processes follows its ground while its coordinator is killed in the middle of that: nothing is lost."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import pytest

from siftcast.runtimes.live.local_network import LocalNetwork
from siftcast.runtimes.live.node.node import run
from siftcast.testing import SlowLine
from tests.live.test_growing_network import Publisher, described, read_all, subscribe, wait_for

NEAR_MS, FAR_MS = 10.0, 80.0
COORDINATOR = "n0"
MORE = 'data = "{name}"\n[overlay]\nground = "measured"\nground_ms = 500.0\n'


class FarApart:
    """Processes `n0`, `n1`, …, each two of them so far apart as is said, until something else is said."""

    def __init__(self, folder: Path, count: int, delays_ms: Mapping[str, float]) -> None:
        self.lines: dict[str, SlowLine] = {}
        self._delays_ms = delays_ms
        self.network = _Network(folder, count, MORE, self)
        self._loop = asyncio.get_running_loop()

    async def __aenter__(self) -> Self:
        await asyncio.to_thread(self.network.__enter__)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.network.stop)
        for line in self.lines.values():
            await line.__aexit__(None, None, None)

    def put(self, delays_ms: Mapping[str, float]) -> None:
        for pair, delay_ms in delays_ms.items():
            here, there = pair.split()
            self.lines[f"{here} {there}"].delay_ms = self.lines[f"{there} {here}"].delay_ms = delay_ms

    def line_port(self, here: str, there: str, port: int) -> int:
        """Where a node finds another one; called by the thread that starts the processes."""

        async def make() -> int:
            pair = f"{here} {there}"
            if pair not in self.lines:
                delay_ms = self._delays_ms.get(pair, self._delays_ms.get(f"{there} {here}", 0.0))
                self.lines[pair] = await SlowLine("127.0.0.1", port, delay_ms).__aenter__()
            return self.lines[pair].port

        return asyncio.run_coroutine_threadsafe(make(), self._loop).result(10.0)


class _Network(LocalNetwork):
    """Has the nodes take each other to be at the ends of lines."""

    def __init__(self, folder: Path, count: int, more: str, apart: FarApart) -> None:
        super().__init__(folder, count, more=more.partition("[overlay]")[0])
        self._overlay = more.partition("[overlay]")[2]
        self._apart = apart

    def start(self, name: str, *, wait: bool = False) -> None:
        path = self.folder / f"{name}.toml"
        text = path.read_text()
        if self._overlay not in text:
            text = text.replace("[overlay]\n", f"[overlay]{self._overlay}", 1)
            for other in self.names:
                port = int(self.urls[other].rpartition(":")[2])
                if other != name:
                    line = self._apart.line_port(name, other, port)
                    text = text.replace(f'address = "127.0.0.1:{port}"', f'address = "127.0.0.1:{line}"')
            path.write_text(text)
        super().start(name, wait=wait)


@pytest.mark.full
def test_the_coordinator_is_killed_whenever_it_plans_by_ground_that_has_moved(tmp_path: Path) -> None:
    all_near = {"n0 n1": NEAR_MS, "n0 n2": NEAR_MS, "n0 n3": NEAR_MS}
    around_n0 = all_near | {"n1 n2": FAR_MS, "n1 n3": FAR_MS, "n2 n3": FAR_MS}
    around_n1 = {"n0 n1": NEAR_MS, "n1 n2": NEAR_MS, "n1 n3": NEAR_MS, "n0 n2": FAR_MS, "n0 n3": FAR_MS}

    async def follow() -> None:
        async with FarApart(tmp_path, 4, around_n0) as apart:
            network = apart.network

            async def plans() -> list[dict]:
                return [(await described(network.urls[name]))["plan"] for name in network.names]

            def moves() -> int:
                return network.log_of(COORDINATOR).count("the ground has moved")

            async def settled(number: int) -> bool:
                facts = [await described(network.urls[name]) for name in network.names]
                newest = {each["plan"]["number"] for each in facts}
                is_one = all(len(each["state"]["epochs"]) == 1 for each in facts)
                return len(newest) == 1 and min(newest) > number and is_one

            async def said_first() -> bool:
                return "nodes were not measured" in network.log_of(COORDINATOR) and await settled(1)

            await asyncio.to_thread(network.await_quiet)
            await subscribe(network.urls["n2"], "all", "TRUE")
            await subscribe(network.urls["n3"], "some", "value < 500")
            publisher = Publisher(network.urls["n1"])
            publishing = asyncio.create_task(publisher.publish())
            await wait_for(said_first, "planned by measured delays")
            for ground in (around_n1, around_n0):
                before, known = moves(), (await plans())[0]["number"]
                apart.put(ground)

                async def moved(before: int = before) -> bool:
                    return moves() > before

                await wait_for(moved, "the coordinator plans by the new delays")
                await asyncio.to_thread(network.kill, COORDINATOR)
                await asyncio.to_thread(network.start, COORDINATOR, wait=True)

                # What the plan was reckoned to cost does not count: it may have been made while some delays were old.
                async def followed(known: int = known) -> bool:
                    return await settled(known)

                await wait_for(followed, "the network is planned by the new delays")
            publisher.stop()
            await publishing
            accepted = publisher.accepted
            assert len(accepted) > 100
            found = await read_all(network.urls["n2"], "all", "TRUE", set(accepted))
            assert sorted(found) == sorted(accepted)
            some = {id for id, value in accepted.items() if value < 500}
            assert sorted(await read_all(network.urls["n3"], "some", "value < 500", some)) == sorted(some)

    run(follow())
