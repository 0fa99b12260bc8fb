"""Subscribers at the nodes of a live network without a plan, and whether events reach exactly those who want them."""

import asyncio

from siftcast.runtimes.live.client.bus import Bus, connect
from siftcast.runtimes.live.local_network import LocalNetwork

PATIENCE_S = 60.0


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
