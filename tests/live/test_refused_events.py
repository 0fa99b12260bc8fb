"""Events that a client cannot put on the wire: refused by name before anything of them is sent."""

import uuid
from collections.abc import AsyncIterator, Iterator
from datetime import time

import pytest

import siftcast
import siftcast.testing
from siftcast.model import EventError
from tests.live.asynchronous import on_loop
from tests.live.nodes import running, url_of


@on_loop
async def test_events_that_cannot_be_published_are_refused_by_attribute_and_nothing_is_lost_around_them() -> None:
    async with running() as node, siftcast.connect(url_of(node)) as bus, bus.subscribe("n >= 0") as stream:
        with pytest.raises(EventError, match=r"attribute 'order\.items\[1\]' is of type set; convert it: list"):
            await bus.publish({"n": 0, "order": {"items": [1, {2}]}})
        with pytest.raises(EventError, match="an event is a mapping"):
            await bus.publish(5)  # type: ignore[arg-type]
        events = [{"n": number, "tag": {number} if number == 150 else uuid.UUID(int=number)} for number in range(300)]
        seen: list[int] = []
        with pytest.raises(EventError, match=r"'tag' is of type set; .* \(number 151 of many; those before it are"):
            await bus.publish_many(events, progress=seen.append)
        assert seen[-1] == 150
        assert bus._link is not None
        assert not bus._link._pending
        got = [await anext(stream) for _ in range(150)]
        assert [(event["n"], event["tag"]) for event in got] == [(n, str(uuid.UUID(int=n))) for n in range(150)]
        await bus.publish({"n": 1_000})
        assert (await anext(stream))["n"] == 1_000  # and nothing of those after it


@on_loop
async def test_durable_events_before_a_refused_one_are_kept_though_the_connection_breaks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with siftcast.testing.in_process() as bus, bus.subscribe("n >= 0", durable="desk") as stream:

        async def events() -> AsyncIterator[dict[str, object]]:
            assert bus._link is not None
            broken = bus._link.connection
            monkeypatch.setattr(broken, "send_bytes", lambda data: None)  # what is sent from now on is lost
            for number in range(5):
                yield {"n": number}
            broken.abort("the network breaks")
            yield {"n": 5, "tags": {1}}

        with pytest.raises(EventError, match=r"'tags' is of type set; .* \(number 6 of many"):
            await bus.publish_many(events(), durable=True)
        assert [(await anext(stream))["n"] for _ in range(5)] == [0, 1, 2, 3, 4]


@on_loop
async def test_a_failure_before_a_refused_event_comes_first() -> None:
    async with running("[limits]\nevent_bytes_max = 100\n") as node, siftcast.connect(url_of(node)) as bus:
        with pytest.raises(EventError, match="limit is 100"):
            await bus.publish_many([{"n": 0}, {"n": 1, "text": "x" * 200}, {"n": 2, "tags": {1}}])


@on_loop
async def test_what_the_source_of_events_raises_comes_after_those_before_are_published() -> None:
    def events() -> Iterator[dict[str, object]]:
        yield {"n": 0}
        raise RuntimeError("no more")

    async with siftcast.testing.in_process() as bus, bus.subscribe("n >= 0") as stream:
        seen: list[int] = []
        with pytest.raises(RuntimeError, match="no more"):
            await bus.publish_many(events(), progress=seen.append)
        assert seen == [1]
        assert (await anext(stream))["n"] == 0


@on_loop
async def test_a_bus_for_tests_refuses_what_a_node_would_never_get() -> None:
    async with siftcast.testing.in_process() as bus:
        for durable in (False, True):
            with pytest.raises(EventError, match=r"attribute 'at\.time' is of type datetime\.time; convert it"):
                await bus.publish({"at": {"time": time(12)}}, durable=durable)
        assert (await bus.describe())["published"] == 0
