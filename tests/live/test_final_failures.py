"""What can never succeed is refused once and in words, and keeps nothing else of its client from being done."""

from typing import Any

import pytest

import siftcast
from siftcast import Event
from siftcast.model import EventError, SubscriptionError
from siftcast.runtimes.live.errors import FrameError, Refused
from siftcast.runtimes.live.wire.frames import EndDurable, Subscribe
from tests.live.asynchronous import on_loop
from tests.live.nodes import running, url_of

TOO_LARGE = "x" * 1_100_000


@pytest.mark.parametrize("durable", [True, False])
@on_loop
async def test_an_event_that_no_frame_holds_is_refused_and_others_go_on(durable: bool, tmp_path: Any) -> None:
    async with running('data = "data"', tmp_path) as node, siftcast.connect(url_of(node), timeout_s=60) as bus:
        with pytest.raises(EventError, match="the limit is 262,144"):
            await bus.publish({"text": TOO_LARGE}, durable=durable)
        with pytest.raises(EventError, match="the limit is 262,144"):
            await bus.publish_many([{"n": 1}, {"text": TOO_LARGE}, {"n": 2}], durable=durable)
        assert await bus.publish(Event({"n": 3}, "e3"), durable=durable) == "e3"
        assert node.tally.sessions == 1, "it was never sent, so the connection stands"


@on_loop
async def test_a_filter_that_no_frame_holds_is_refused_and_others_go_on() -> None:
    async with running() as node, siftcast.connect(url_of(node), timeout_s=60) as bus:
        stream = bus.subscribe("a = 1")
        await stream.ready()
        with pytest.raises(FrameError, match="at once"):
            await bus._link.request(lambda number: Subscribe(number, 99, TOO_LARGE))  # type: ignore[union-attr]
        await bus.publish({"a": 1})
        assert (await anext(stream))["a"] == 1


@pytest.mark.parametrize("name", [7, b"x", 1.5, True, ["q"]])
@on_loop
async def test_a_name_that_is_none_is_refused_at_once(name: Any) -> None:
    async with running() as node, siftcast.connect(url_of(node), timeout_s=60) as bus:
        with pytest.raises(SubscriptionError, match="cannot name a durable subscription"):
            bus.subscribe("n = 1", durable=name)
        assert await bus.publish({"n": 1})


@on_loop
async def test_what_a_node_cannot_read_is_not_sent_again_for_ever() -> None:
    async with running() as node, siftcast.connect(url_of(node), timeout_s=60) as bus:
        with pytest.raises(FrameError):
            await bus._link.request(lambda number: EndDurable(number, 5))  # type: ignore[union-attr, arg-type]
        assert await bus.publish({"n": 1})
        assert node.tally.sessions == 2


@on_loop
async def test_a_client_whose_name_is_too_long_is_refused_at_once_and_calls_once() -> None:
    async with running() as node:
        calls = 0
        admit = node.admit

        def counted(*given: Any) -> None:
            nonlocal calls
            calls += 1
            admit(*given)

        node.admit = counted  # type: ignore[assignment, method-assign]
        with pytest.raises(Refused, match="257 characters; the limit is 256"):
            await siftcast.connect(url_of(node), name="c" * 257, timeout_s=1).__aenter__()
        assert calls == 1
        async with siftcast.connect(url_of(node), name="c" * 256) as bus:
            assert await bus.publish({"n": 1})
