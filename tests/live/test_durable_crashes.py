"""Processes that are killed or stopped in the middle of things: what was acknowledged arrives, and is seen once.

Nothing here waits for a while: a node is killed after it has acknowledged some number of events, with others under way.
"""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from random import Random

import pytest

import siftcast
from siftcast import Event
from siftcast.runtimes.live.local_network import LocalNetwork
from siftcast.runtimes.live.node.node import run
from tests.live.asynchronous import until

KILLS = 100 if os.environ.get("HYPOTHESIS_PROFILE") == "soak" else 20
DATA = 'data = "{name}"'
PUBLISHERS = 4
PATIENCE_S = 120.0


class Story:
    """Publishers that never rest, and a reader that acknowledges all it sees."""

    def __init__(self, publishing: str, reading: str) -> None:
        self.acknowledged: list[str] = []
        self.seen: list[str] = []
        self.is_over = False
        self._urls = publishing, reading

    @asynccontextmanager
    async def told(self) -> AsyncIterator[None]:
        """Runs both, and at the end waits for a last event: all that was acknowledged before comes before it."""
        publishing, reading = self._urls
        async with (
            siftcast.connect(publishing, name="publisher", timeout_s=PATIENCE_S) as source,
            siftcast.connect(reading, name="reader", timeout_s=PATIENCE_S) as bus,
            bus.subscribe("value >= 0", durable="desk") as stream,
        ):
            publishers = [asyncio.create_task(self._publish(source, number)) for number in range(PUBLISHERS)]
            reader = asyncio.create_task(self._read(stream))
            yield
            self.is_over = True
            await asyncio.gather(*publishers)
            await source.publish(Event({"value": 0}, "end"), durable=True)
            await reader

    async def _publish(self, bus: siftcast.Bus, publisher: int) -> None:
        for number in count():
            if self.is_over:
                return
            event = Event({"value": number}, f"{publisher}-{number}", source=str(publisher))
            self.acknowledged.append(await bus.publish(event, durable=True))

    async def _read(self, stream: siftcast.EventStream) -> None:
        async for event in stream:
            event.ack()
            if event.id == "end":
                return
            self.seen.append(event.id)

    def check(self) -> None:
        """Nothing acknowledged is lost, nothing was seen twice, and each publisher's events came in order."""
        assert set(self.acknowledged) <= set(self.seen)
        assert len(self.seen) == len(set(self.seen))
        for publisher in range(PUBLISHERS):
            numbers = [int(id.partition("-")[2]) for id in self.seen if id.startswith(f"{publisher}-")]
            assert numbers == sorted(numbers)


def test_a_node_killed_while_it_takes_events_loses_none_it_acknowledged_and_repeats_none(tmp_path: Path) -> None:
    random = Random(7)

    async def tell(network: LocalNetwork) -> Story:
        url = network.urls["n0"]
        story = Story(url, url)
        async with story.told():
            for _ in range(KILLS):
                enough = len(story.acknowledged) + random.randint(1, 60)
                await until(lambda enough=enough: len(story.acknowledged) >= enough)  # type: ignore[misc]
                await asyncio.to_thread(network.kill, "n0")
                await asyncio.to_thread(network.start, "n0", wait=True)
        return story

    with LocalNetwork(tmp_path, 1, more=DATA) as network:
        story = run(tell(network))
    story.check()
    assert len(story.acknowledged) >= KILLS


READER = """
import asyncio, sys
import siftcast

async def read(url):
    async with siftcast.connect(url) as bus, bus.subscribe("value >= 0", durable="desk") as stream:
        for _ in range(9):
            event = await anext(stream)
            print(event["value"], flush=True)
            event.ack()
        await bus.describe()
        print((await anext(stream))["value"], flush=True)
        await asyncio.Event().wait()

asyncio.run(read(sys.argv[1]))
"""


def test_a_reader_that_is_killed_is_followed_by_one_that_goes_on_where_it_was(tmp_path: Path) -> None:
    async def publish(url: str) -> None:
        async with siftcast.connect(url) as bus:
            async with bus.subscribe("value >= 0", durable="desk"):
                pass
            await bus.publish_many(({"value": number} for number in range(100)), durable=True)

    def read(url: str) -> list[int]:
        with subprocess.Popen([sys.executable, "-c", READER, url], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            found = [int(process.stdout.readline()) for _ in range(10)]
            process.kill()
        return found

    with LocalNetwork(tmp_path, 1, more=DATA) as network:
        url = network.urls["n0"]
        run(publish(url))
        assert [read(url) for _ in range(3)] == [list(range(first, first + 10)) for first in (0, 9, 18)]


def test_a_node_that_is_stopped_and_goes_on_has_lost_nothing(tmp_path: Path) -> None:
    async def tell(network: LocalNetwork) -> Story:
        url = network.urls["n0"]
        story = Story(url, url)
        async with story.told():
            for _ in range(3):
                enough = len(story.acknowledged) + 50
                await until(lambda enough=enough: len(story.acknowledged) >= enough)  # type: ignore[misc]
                network.processes["n0"].send_signal(signal.SIGSTOP)
                before = len(story.acknowledged)
                await asyncio.sleep(0.1)
                assert len(story.acknowledged) <= before + PUBLISHERS
                network.processes["n0"].send_signal(signal.SIGCONT)
        return story

    with LocalNetwork(tmp_path, 1, more=DATA) as network:
        story = run(tell(network))
    story.check()


@pytest.mark.parametrize("scheme", ["filter-based", "kyra"])
def test_in_a_network_of_eight_events_wait_for_a_node_that_is_down(tmp_path: Path, scheme: str) -> None:
    async def tell(network: LocalNetwork) -> list[object]:
        async with siftcast.connect(network.urls["n7"]) as bus, bus.subscribe("value < 500", durable="desk"):
            pass
        await asyncio.to_thread(network.await_quiet)
        async with siftcast.connect(network.urls["n0"], name="publisher") as bus:
            await bus.publish_many(({"value": number} for number in range(20)), durable=True)
            for name in ("n7", "n5"):
                await asyncio.to_thread(network.kill, name)
            await bus.publish_many(({"value": number} for number in range(20, 40)), durable=True)
            for name in ("n7", "n5"):
                await asyncio.to_thread(network.start, name, wait=True)
            await bus.publish_many(({"value": number} for number in range(40, 60)), durable=True)
        found: list[object] = []
        async with (
            siftcast.connect(network.urls["n7"], timeout_s=PATIENCE_S) as bus,
            bus.subscribe("value < 500", durable="desk") as stream,
        ):
            while len(found) < 60:
                event = await anext(stream)
                event.ack()
                found.append(event["value"])
        return found

    with LocalNetwork(tmp_path, 8, scheme, more=DATA) as network:
        network.await_joined(120.0)
        assert run(tell(network)) == list(range(60))
