"""A live ring of matchers in processes: one of them is killed under load, and nothing is missed; another one joins."""

import asyncio
from collections import Counter
from pathlib import Path

import pytest

from siftcast.model import Event
from siftcast.runtimes.live.client.bus import connect
from siftcast.runtimes.live.local_network import LocalNetwork
from siftcast.runtimes.live.node.node import run

PATIENCE_S = 60.0
EVENTS = 1_500
OPTIONS = {"clusters": 2, "replicas": 2, "parts": 2, "retry_ms": 300.0}
FILTERS = {"n0": "value >= 0", "n2": "value < 500", "n3": "value >= 500 OR value = 7"}


async def load(network: LocalNetwork, victim: str, *, durable: bool) -> tuple[dict[str, list[str]], dict[str, int]]:
    """Publishes at n0 while the victim is killed; what each subscriber got, and what was accepted."""
    got: dict[str, list[str]] = {name: [] for name in FILTERS}
    published: dict[str, int] = {}

    async def subscribe(name: str) -> None:
        async with (
            connect(network.urls[name], name="subscriber") as bus,
            bus.subscribe(FILTERS[name], durable=f"d-{name}" if durable else None) as stream,
        ):
            subscribed[name].set()
            async for received in stream:
                got[name].append(received.id)
                if durable:
                    received.ack()

    subscribed = {name: asyncio.Event() for name in FILTERS}
    readers = [asyncio.create_task(subscribe(name)) for name in FILTERS]
    await asyncio.gather(*(each.wait() for each in subscribed.values()))
    await asyncio.to_thread(network.await_quiet)
    async with connect(network.urls["n0"], name="publisher") as bus:
        for number in range(EVENTS):
            if number == EVENTS // 3:
                network.kill(victim)
            value = number * 37 % 1_000
            await bus.publish(Event({"value": value}, f"e{number}"), durable=durable)
            published[f"e{number}"] = value
            if number % 10 == 0:
                await asyncio.sleep(0.005)

    async def complete() -> None:
        while any(len(set(got[name])) < len(expected(name, published)) for name in FILTERS):
            for reader in readers:
                if reader.done():
                    reader.result()
            await asyncio.sleep(0.05)

    try:
        await asyncio.wait_for(complete(), PATIENCE_S)
    finally:
        for reader in readers:
            reader.cancel()
        await asyncio.gather(*readers, return_exceptions=True)
    return got, published


def expected(name: str, published: dict[str, int]) -> set[str]:
    wanted = {
        "n0": lambda value: True,
        "n2": lambda value: value < 500,
        "n3": lambda value: value >= 500 or value == 7,
    }[name]
    return {id for id, value in published.items() if wanted(value)}


@pytest.mark.full
@pytest.mark.parametrize("durable", [False, True], ids=["ephemeral", "durable"])
def test_one_matcher_of_a_cluster_is_killed_under_load_and_nothing_is_missed(tmp_path: Path, durable: bool) -> None:
    more = 'data = "{name}"' if durable else ""
    with LocalNetwork(tmp_path, 4, "rendezvous", options=OPTIONS, more=more, absent_ms=3_600_000.0) as network:
        network.await_joined()
        got, published = run(load(network, "n1", durable=durable))
        assert len(published) == EVENTS
        for name, ids in got.items():
            assert set(ids) == expected(name, published)
            assert max(Counter(ids).values()) == 1, f"{name} has some twice"
        network.start("n1", wait=True)  # and takes up its work when it knows what it is to keep
        network.await_joined()

        async def caught_up() -> None:
            while not (await asyncio.to_thread(network.describe, "n1"))["state"]["caught_up"]:
                await asyncio.sleep(0.05)

        run(asyncio.wait_for(caught_up(), PATIENCE_S))


@pytest.mark.full
def test_a_ring_grows_from_one_process_to_eight_and_every_matcher_takes_a_share(tmp_path: Path) -> None:
    with LocalNetwork(tmp_path, 1, "rendezvous", options={"retry_ms": 300.0}) as network:
        for number in range(1, 8):
            network.join(f"n{number}", "n0" if number < 3 else "n1")
        names = [f"n{number}" for number in range(8)]

        async def shared() -> None:
            async with connect(network.urls["n0"], name="both") as bus, bus.subscribe("value >= 0") as stream:
                number = 0
                while not all(
                    [(await asyncio.to_thread(network.describe, each))["state"]["matched"] for each in names]
                ):
                    for value in range(0, 1_000, 50):
                        await bus.publish(Event({"value": value}, f"e{number}"))
                        assert (await anext(stream)).id == f"e{number}"
                        number += 1

        run(asyncio.wait_for(shared(), PATIENCE_S))
        assert all(network.describe(each)["state"]["matched"] > 0 for each in names)
