"""The bus for tests: `settled` returns when handlers have dealt with all that was published, and not before."""

import asyncio

import pytest

import siftcast
from siftcast import LiveError, ReceivedEvent
from tests.live.asynchronous import on_loop


@on_loop
async def test_handlers_have_run_when_it_is_settled() -> None:
    got: list[object] = []
    async with siftcast.testing.in_process() as bus, bus.connect("other") as other:

        @bus.on("value >= 0")
        async def pass_on(event: ReceivedEvent) -> None:
            await asyncio.sleep(0.01)  # longer than any number of turns of the loop
            if event["value"] == 0:
                await bus.publish({"value": 1})

        other.on("value = 1")(lambda event: got.append(event["value"]))
        await bus.settled()  # the subscriptions stand
        await bus.publish({"value": 0})
        await bus.settled()
        assert got == [1]
        assert await bus.publish_many({"value": 1} for _ in range(500)) == 500
        await bus.settled()
        assert got == [1] * 501


@on_loop
async def test_durable_events_are_waited_for_until_they_are_dealt_with_or_dead() -> None:
    tried: list[int] = []
    async with siftcast.testing.in_process() as bus:

        @bus.on("value > 0", durable="desk")
        def refuse(event: ReceivedEvent) -> None:
            tried.append(event.attempt)
            raise RuntimeError("no")

        await bus.settled()
        await bus.publish({"value": 1}, durable=True)
        await bus.settled()
        assert tried == [1, 2, 3, 4, 5]
        (letter,) = await bus.dead_letters("desk")
        assert letter.reason == "RuntimeError: no"


@on_loop
async def test_what_a_handler_raises_is_raised() -> None:
    bus = siftcast.testing.in_process()
    await bus.__aenter__()
    bus.on("value = 1")(lambda event: 1 / 0)  # type: ignore[arg-type, return-value]
    await bus.publish({"value": 1})
    with pytest.raises(ZeroDivisionError):
        await bus.settled()
    with pytest.raises(ZeroDivisionError):
        await bus.__aexit__(None, None, None)


@on_loop
async def test_a_handler_that_awaits_something_cancelled_has_failed_and_nobody_waits_for_it() -> None:
    bus = siftcast.testing.in_process()
    await bus.__aenter__()

    @bus.on("value >= 1")
    async def handle(event: ReceivedEvent) -> None:
        inner = asyncio.create_task(asyncio.sleep(10))
        inner.cancel()
        await inner

    await bus.publish_many([{"value": 1}, {"value": 2}])
    with pytest.raises(LiveError, match="ended in CancelledError"):
        await bus.settled()
    with pytest.raises(LiveError, match="ended in CancelledError"):
        await bus.__aexit__(None, None, None)


@on_loop
async def test_a_handler_cannot_wait_for_itself() -> None:
    told: list[str] = []
    async with siftcast.testing.in_process() as bus:

        @bus.on("value = 1")
        async def handle(event: ReceivedEvent) -> None:
            try:
                await bus.settled()
            except LiveError as error:
                told.append(str(error))

        await bus.publish({"value": 1})
        await bus.settled()
    assert told == ["a handler cannot wait until all handlers have run: it would wait for itself"]
