"""Eight processes that join through one another, one that leaves, and one that is killed and comes back.

For schemes that are ephemeral: what is published while a node is down, a crash is not noticed yet or a connection is
made again may be lost. What is judged is that the network is whole again afterwards.
"""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from siftcast.runtimes.live.client import operating
from siftcast.runtimes.live.client.bus import connect
from siftcast.runtimes.live.local_network import LocalNetwork
from siftcast.runtimes.live.node.node import run
from tests.live.readers import Readers

EVERY = "value >= 0"
LEAVER, VICTIM = "n5", "n3"
Afterwards = Callable[[LocalNetwork, list[str]], Awaitable[None]]


async def _nothing(network: LocalNetwork, names: list[str]) -> None:
    pass


def outlive(folder: Path, scheme: str, options: dict[str, Any], afterwards: Afterwards = _nothing) -> dict[str, Any]:
    """Runs such a network; `afterwards` looks at those that stay. Returns the state of the first node."""
    with LocalNetwork(folder, 1, scheme, options=options) as network:
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
                await readers.stop(LEAVER)
                async with connect(network.urls[LEAVER]) as leaver:
                    await operating.leave(leaver, lambda _: None)
                number = await readers.expect_all(first, wanted, number)
                network.kill(VICTIM)
                await readers.stop(VICTIM)
                number = await readers.expect_all(other, wanted, number)
                network.start(VICTIM, wait=True)
                await readers.start(VICTIM, EVERY)
                await readers.expect_all(first, wanted, number)
            await afterwards(network, sorted(filters.keys() - {LEAVER}))
            described.update(await asyncio.to_thread(network.describe, "n0"))  # while all still want something
            await readers.stop()

        described: dict[str, Any] = {}
        run(live())
        state: dict[str, Any] = described["state"]
        return state
