"""Durable subscriptions and principals: names belong to whoever made them, and rights hold for what is durable too."""

from pathlib import Path

import pytest

import siftcast
from siftcast import Event
from siftcast.model import SubscriptionError
from siftcast.runtimes.live.errors import Forbidden
from siftcast.runtimes.live.node.rights import new_token
from tests.live.asynchronous import on_loop
from tests.live.nodes import running, url_of
from tests.live.test_rights import principal

ONE, TWO = new_token(), new_token()
RIGHTS = 'publish = "n >= 0"\nsubscribe = "n < 100"\nsee = true'
CONFIGURATION = f'data = "data"\n{principal("one", ONE, RIGHTS)}{principal("two", TWO, RIGHTS)}'


@on_loop
async def test_nobody_takes_up_reads_or_ends_what_is_anothers(tmp_path: Path) -> None:
    async with (
        running(CONFIGURATION, tmp_path) as node,
        siftcast.connect(url_of(node), token=ONE) as one,
        siftcast.connect(url_of(node), token=TWO) as two,
        one.subscribe("n < 50", durable="desk") as stream,
    ):
        with pytest.raises(SubscriptionError, match="no durable subscription 'desk'"):
            await two.end_durable("desk")
        with pytest.raises(SubscriptionError, match="no durable subscription 'desk'"):
            await two.dead_letters("desk")
        async with two.subscribe("n < 10", durable="desk") as others:
            await two.publish(Event({"n": 20}, "e-20"), durable=True)
            await two.publish(Event({"n": 5}, "e-5"), durable=True)
            assert [(await anext(stream))["n"] for _ in range(2)] == [20, 5]
            assert (await anext(others))["n"] == 5
        await two.end_durable("desk")
        await one.dead_letters("desk")


@on_loop
async def test_rights_hold_for_what_is_durable(tmp_path: Path) -> None:
    async with running(CONFIGURATION, tmp_path) as node, siftcast.connect(url_of(node), token=ONE) as bus:
        with pytest.raises(Forbidden, match="may publish only"):
            await bus.publish({"n": -1}, durable=True)
        with pytest.raises(Forbidden, match="may subscribe only within"):
            await bus.subscribe("n < 200", durable="desk").ready()
        async with bus.subscribe("n < 50", durable="desk") as stream:
            with pytest.raises(Forbidden, match="may subscribe only within"):
                await stream.replace("n < 200")


@on_loop
async def test_dry_runs_and_traces_know_durable_subscriptions_without_a_client(tmp_path: Path) -> None:
    async with running(CONFIGURATION, tmp_path) as node, siftcast.connect(url_of(node), token=ONE) as bus:
        async with bus.subscribe("n < 50", durable="desk"):
            pass
        found = await bus.dry_run({"n": 1})
        assert [(row.id, row.filter) for row in found.reached] == [("node/one/desk", "n < 50")]
        await bus.publish(Event({"n": 1}, "e-1"), durable=True)
        assert (await bus.trace("e-1")).deliveries == ()
        async with bus.subscribe("n < 50", durable="desk") as stream:
            (await anext(stream)).ack()
        (delivered,) = (await bus.trace("e-1")).deliveries
        assert delivered.subscriptions == (("node/one/desk", "n < 50"),)
