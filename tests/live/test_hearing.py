"""A client is told that its subscription stands when all who must know have heard of it, and within some seconds."""

from pathlib import Path

import pytest

import siftcast
from siftcast.runtimes.live.node import hearing
from tests.live.asynchronous import on_loop, until
from tests.live.growing import Everybody, growing, use_everybody
from tests.live.nodes import url_of


@pytest.fixture(autouse=True)
def everybody(monkeypatch: pytest.MonkeyPatch) -> None:
    use_everybody(monkeypatch.setattr)
    monkeypatch.setattr(Everybody, "is_heard", False)


@on_loop
async def test_a_subscription_is_ready_once_it_is_heard_and_another_of_the_same_node_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hearing, "WITHIN_S", 1e6)
    async with growing(tmp_path) as network:
        node = await network.start("a")
        async with siftcast.connect(url_of(node)) as bus:
            streams = bus.subscribe("n = 1"), bus.subscribe("n = 2")
            await until(lambda: len(node.describe()["subscriptions"]) == 2)
            await bus.publish({"n": 1})  # a round trip, in which an answer would have come
            asked = [*bus._standing.values()]
            assert len(asked) == 2
            assert not any(each.done() for each in asked)
            monkeypatch.setattr(Everybody, "is_heard", True)
            await bus.publish({"n": 2})
            for number, stream in enumerate(streams, 1):
                await stream.ready()
                assert (await anext(stream))["n"] == number
            await streams[0].replace("n = 3")


@on_loop
async def test_nobody_waits_for_ever_for_those_who_do_not_hear(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hearing, "WITHIN_S", 0.02)
    async with growing(tmp_path) as network:
        node = await network.start("a")
        async with siftcast.connect(url_of(node)) as bus, bus.subscribe("n = 1") as stream:
            await bus.publish({"n": 1})
            assert (await anext(stream))["n"] == 1


@on_loop
async def test_a_client_that_goes_before_it_is_answered_does_no_harm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hearing, "WITHIN_S", 0.05)
    async with growing(tmp_path) as network:
        node = await network.start("a")
        async with siftcast.connect(url_of(node)) as bus:
            stream = bus.subscribe("n = 1")
            await until(lambda: node.describe()["subscriptions"])
        del stream
        async with siftcast.connect(url_of(node)) as bus:
            await bus.subscribe("n = 1").ready()
        assert "effect failed" not in network.logged("a")
