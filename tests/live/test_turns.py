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


@on_loop
async def test_what_goes_out_is_gathered_while_a_read_is_cut_short_and_written_when_it_is_done(tmp_path) -> None:
    """A turn is one frame here, so without gathering there would be a write for each event."""
    async with running("", tmp_path) as node, siftcast.connect(url_of(node)) as bus, bus.subscribe("x >= 0") as stream:
        writes = []
        for connection in node._connections:
            connection._turn_s = 0.0
            connection.flush = counted(connection.flush, writes)  # type: ignore[method-assign]
        assert await bus.publish_many([{"x": number} for number in range(EVENTS)], window=EVENTS) == EVENTS
        assert [(await anext(stream))["x"] for _ in range(EVENTS)] == list(range(EVENTS))
        assert len(writes) < EVENTS / 2


def counted(flush, writes):  # type: ignore[no-untyped-def]
    def count() -> None:
        writes.append(1)
        flush()

    return count
