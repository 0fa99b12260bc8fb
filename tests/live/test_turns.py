"""One client that has much to be done does not keep the others waiting."""

import asyncio

import siftcast
from tests.live.asynchronous import on_loop, until
from tests.live.nodes import running, url_of

EVENTS = 400


@on_loop
async def test_others_are_answered_among_the_events_of_one_that_sends_many(tmp_path) -> None:
    """All its events come in one read; each takes a while, so one turn is over long before they are."""
    async with running("", tmp_path) as node, siftcast.connect(url_of(node)) as busy:
        async with siftcast.connect(url_of(node)) as other, busy.subscribe("x = 1"):
            protocol, handled = node.life.protocol, []
            handle = protocol.handle

            def slow(stimulus, now):  # type: ignore[no-untyped-def]
                handled.append(sum(range(100_000)))
                return handle(stimulus, now)

            protocol.handle = slow  # type: ignore[method-assign]
            sending = asyncio.create_task(busy.publish_many([{"x": 0}] * EVENTS, window=EVENTS))
            await until(lambda: len(handled) > 1)
            await other.describe()
            assert 0 < len(handled) < EVENTS
            assert await sending == EVENTS
        assert node.tally.published == EVENTS


@on_loop
async def test_what_is_left_of_a_turn_is_read_on_in_order_and_nothing_is_lost(tmp_path) -> None:
    async with running("", tmp_path) as node, siftcast.connect(url_of(node)) as bus:
        for connection in node._connections:
            connection._turn_s = 0.0  # a turn is one frame
        async with bus.subscribe("x >= 0") as stream:
            assert await bus.publish_many([{"x": number} for number in range(EVENTS)]) == EVENTS
            assert [(await anext(stream))["x"] for _ in range(EVENTS)] == list(range(EVENTS))
