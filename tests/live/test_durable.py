"""What is durable is kept: subscriptions are resumed by name, refusals become dead letters, and disks may be full."""

import asyncio
import resource
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import siftcast
from siftcast import Event
from siftcast.model import SubscriptionError
from siftcast.overlays.durability.contract import QueuePolicy
from siftcast.runtimes.live.errors import DurabilityUnavailable, Refused, Superseded
from siftcast.runtimes.live.node.node import Node
from siftcast.runtimes.live.storage.memory_store import MemoryStore
from siftcast.runtimes.live.storage.store import Changes, Reported
from siftcast.testing import in_process
from tests.live.asynchronous import on_loop, until
from tests.live.nodes import configured, running, url_of

DATA = 'data = "kept"'


@asynccontextmanager
async def kept(folder: Path) -> AsyncIterator[siftcast.Bus]:
    """A bus at a node of its own that keeps things in a folder; used again, the node comes back."""
    async with running(DATA, folder) as node, siftcast.connect(url_of(node), name="test") as bus:
        yield bus


async def values(stream: siftcast.EventStream, count: int, *, ack: bool = True) -> list[object]:
    found = []
    for _ in range(count):
        event = await anext(stream)
        found.append(event["value"])
        if ack:
            event.ack()
    return found


def numbered(count: int) -> list[dict[str, object]]:
    return [{"value": number} for number in range(count)]


@on_loop
async def test_a_node_without_a_folder_refuses_what_is_durable() -> None:
    async with running() as node, siftcast.connect(url_of(node)) as bus:
        with pytest.raises(DurabilityUnavailable, match="name a folder as data"):
            await bus.publish({"value": 1}, durable=True)
        with pytest.raises(DurabilityUnavailable):
            await bus.subscribe("value > 0", durable="desk").ready()


class SlowStore(MemoryStore):
    """Reports nothing until it is told to."""

    def __init__(self, report: Callable[[Reported], None]) -> None:
        super().__init__(report, {})
        self.waiting: list[str] | None = []

    def write(self, key: str, changes: Changes) -> None:
        if self.waiting is None:
            super().write(key, changes)
        else:
            self.waiting.append(key)

    def release(self) -> None:
        waiting, self.waiting = self.waiting or [], None
        self._report([(key, None) for key in waiting])


@on_loop
async def test_a_durable_publish_is_answered_when_it_is_on_disk_and_not_before() -> None:
    stores: list[SlowStore] = []

    def make(report: Callable[[Reported], None]) -> SlowStore:
        stores.append(SlowStore(report))
        return stores[0]

    node = Node(configured(), make_store=make)
    await node.start()
    try:
        async with siftcast.connect(url_of(node)) as bus:
            durable = asyncio.create_task(bus.publish({"value": 1}, durable=True))
            await until(lambda: node.tally.published == 1)
            await bus.publish({"value": 2})
            await bus.describe()
            assert not durable.done()
            stores[0].release()
            await durable
    finally:
        await node.stop()


@on_loop
async def test_a_subscription_is_resumed_by_its_name_after_the_client_crashed(tmp_path: Path) -> None:
    async with (
        running(DATA, tmp_path) as node,
        siftcast.connect(url_of(node)) as bus,
        siftcast.connect(url_of(node)) as doomed,
    ):
        stream = await doomed.subscribe("value >= 0", durable="desk").ready()
        await bus.publish_many(numbered(5), durable=True)
        assert await values(stream, 2) == [0, 1]
        assert await values(stream, 1, ack=False) == [2]
        await until(lambda: node.describe()["state"]["durable"] == {"node/desk": 3})
        assert doomed._link is not None
        assert doomed._keeper is not None
        doomed._keeper.cancel()
        doomed._link.connection.abort("the client crashes")
        await until(lambda: len(node.life.sessions.open) == 1)
        async with bus.subscribe("value >= 0", durable="desk") as resumed:
            assert await values(resumed, 3) == [2, 3, 4]


@on_loop
async def test_events_wait_for_their_subscriber_while_it_is_away_and_while_the_node_is_down(tmp_path: Path) -> None:
    async with kept(tmp_path) as bus:
        async with bus.subscribe("value >= 2", durable="desk"):
            pass
        await bus.publish_many(numbered(5), durable=True)
    async with kept(tmp_path) as bus:
        await bus.publish({"value": 9}, durable=True)
        async with bus.subscribe("value >= 2", durable="desk") as stream:
            assert await values(stream, 4) == [2, 3, 4, 9]
    async with kept(tmp_path) as bus, bus.subscribe("value >= 2", durable="desk") as stream:
        await bus.publish({"value": 10}, durable=True)
        assert await values(stream, 1) == [10]


@on_loop
async def test_a_stream_that_outlives_its_connection_shows_nothing_twice(tmp_path: Path) -> None:
    async with running(DATA, tmp_path) as node, siftcast.connect(url_of(node)) as bus:
        stream = await bus.subscribe("value >= 0", durable="desk").ready()
        await bus.publish_many(numbered(4), durable=True)
        answered, refused, held = [await anext(stream) for _ in range(3)]
        lost = bus._link
        assert lost is not None
        lost.connection.abort("the network breaks")
        await until(lambda: bus._link is None)
        answered.ack()
        refused.nack("not now")
        await until(lambda: bus._link is not None)
        assert [(event["value"], event.attempt) for event in [await anext(stream), await anext(stream)]] == [
            (3, 1),
            (1, 2),
        ]
        held.ack()
        await until(lambda: node.describe()["state"]["durable"] == {"node/desk": 2})


@on_loop
async def test_what_is_refused_too_often_becomes_a_dead_letter_with_its_reason(tmp_path: Path) -> None:
    async with kept(tmp_path) as bus:
        policy = QueuePolicy(refusals_max=3)
        async with bus.subscribe("value >= 0", durable="desk", policy=policy) as stream:
            await bus.publish_many(numbered(2), durable=True)
            seen = []
            for _ in range(4):
                event = await anext(stream)
                seen.append((event["value"], event.attempt))
                event.ack() if event["value"] else event.nack(f"cannot be used, {event.attempt}")
            assert sorted(seen) == [(0, 1), (0, 2), (0, 3), (1, 1)]
    async with kept(tmp_path) as bus:
        letters = await bus.dead_letters("desk")
        assert [(each.event["value"], each.refusals, each.reason) for each in letters] == [(0, 3, "cannot be used, 3")]
        with pytest.raises(SubscriptionError, match="no durable subscription 'other'"):
            await bus.dead_letters("other")


@on_loop
async def test_handlers_acknowledge_by_returning_and_refuse_by_raising() -> None:
    async with in_process() as bus:
        seen = []

        def handle(event: siftcast.ReceivedEvent) -> None:
            seen.append((event["value"], event.attempt))
            if event["value"] == 0:
                raise RuntimeError("no zero")

        bus.on("value >= 0", durable="desk")(handle)
        await until(lambda: bus._standing and all(each.done() for each in bus._standing.values()))
        await bus.publish_many(numbered(2), durable=True)
        await until(lambda: len(seen) == 6)
        assert sorted(seen) == [(0, 1), (0, 2), (0, 3), (0, 4), (0, 5), (1, 1)]
        assert [each.reason for each in await bus.dead_letters("desk")] == ["RuntimeError: no zero"]


@on_loop
async def test_events_are_replayed_from_a_position_or_a_time(tmp_path: Path) -> None:
    async with kept(tmp_path) as bus:
        async with bus.subscribe("value >= 0", durable="desk") as stream:
            await bus.publish_many(numbered(5), durable=True)
            positions = []
            for _ in range(5):
                event = await anext(stream)
                positions.append(event.position)
                event.ack()
        async with bus.subscribe("value >= 0", durable="desk", start=positions[3]) as stream:
            assert await values(stream, 2) == [3, 4]
        long_ago = datetime.now(UTC) - timedelta(hours=1)
        async with bus.subscribe("value >= 0", durable="desk", since=long_ago) as stream:
            assert await values(stream, 5) == [0, 1, 2, 3, 4]
        in_an_hour = datetime.now(UTC) + timedelta(hours=1)
        async with bus.subscribe("value >= 0", durable="desk", since=in_an_hour) as stream:
            await bus.publish({"value": 5}, durable=True)
            assert await values(stream, 1) == [5]
        with pytest.raises(SubscriptionError, match="not at both"):
            bus.subscribe("value >= 0", durable="desk", start=1, since=long_ago)
        with pytest.raises(SubscriptionError, match="for durable subscriptions"):
            bus.subscribe("value >= 0", start=1)


@on_loop
async def test_a_subscription_holds_no_more_than_its_policy_allows_and_says_so() -> None:
    async with in_process() as bus:
        policy = QueuePolicy(events_max=3)
        async with bus.subscribe("value >= 0", durable="desk", policy=policy) as stream:
            await bus.publish_many(numbered(10), durable=True)
            await until(lambda: stream.expired == 7)
        async with bus.subscribe("value >= 0", durable="desk") as stream:
            assert await values(stream, 3) == [7, 8, 9]


@on_loop
async def test_an_event_published_again_under_its_id_counts_once(tmp_path: Path) -> None:
    async with kept(tmp_path) as bus:
        async with bus.subscribe("value >= 0", durable="desk"):
            pass
        await bus.publish(Event({"value": 1}, "order-1"), durable=True)
    async with kept(tmp_path) as bus:
        await bus.publish(Event({"value": 1}, "order-1"), durable=True)
        await bus.publish(Event({"value": 2}, "order-2"), durable=True)
        async with bus.subscribe("value >= 0", durable="desk") as stream:
            assert await values(stream, 2) == [1, 2]


@on_loop
async def test_the_last_client_to_ask_for_a_name_has_it() -> None:
    async with in_process() as bus, bus.connect() as other:
        first = await bus.subscribe("value >= 0", durable="desk").ready()
        async with other.subscribe("value >= 0", durable="desk") as second:
            await bus.publish({"value": 1}, durable=True)
            assert await values(second, 1) == [1]
            with pytest.raises(Superseded, match="another client took over 'desk'"):
                await anext(first)


@on_loop
async def test_a_subscription_that_is_ended_holds_nothing_and_can_be_made_anew() -> None:
    async with in_process() as bus:
        async with bus.subscribe("value >= 0", durable="desk"):
            await bus.publish({"value": 1}, durable=True)
        await bus.end_durable("desk")
        with pytest.raises(SubscriptionError):
            await bus.end_durable("desk")
        async with bus.subscribe("value >= 0", durable="desk") as stream:
            await bus.publish({"value": 2}, durable=True)
            assert await values(stream, 1) == [2]
        with pytest.raises(SubscriptionError, match="cannot name a durable subscription"):
            await bus.subscribe("value >= 0", durable="a/b").ready()


@on_loop
async def test_ephemeral_events_wait_in_durable_subscriptions_and_filters_are_replaced_in_place() -> None:
    async with in_process() as bus:
        async with bus.subscribe("value < 0", durable="desk") as stream:
            await stream.replace("value >= 0")
        await bus.publish({"value": 1})
        await bus.publish({"value": -1})
        async with bus.subscribe("value >= 0", durable="desk") as stream:
            assert await values(stream, 1) == [1]


def test_the_client_without_async_acknowledges_too(tmp_path: Path) -> None:
    started: list[Node] = []

    async def serve(until_done: asyncio.Event) -> None:
        async with running(DATA, tmp_path) as node:
            started.append(node)
            await until_done.wait()

    @on_loop
    async def story() -> None:
        done = asyncio.Event()
        server = asyncio.create_task(serve(done))
        await until(lambda: started)

        def use() -> None:
            with siftcast.connect_sync(url_of(started[0])) as bus:
                with bus.subscribe("value >= 0", durable="desk") as stream:
                    assert bus.publish_many(numbered(2), durable=True) == 2
                    bus.publish({"value": 2}, durable=True)
                    next(stream).ack()
                    next(stream).nack("later")
                with bus.subscribe("value >= 0", durable="desk") as stream:
                    assert [next(stream)["value"], next(stream)["value"]] == [1, 2]
                assert bus.dead_letters("desk") == []
                bus.end_durable("desk")

        await asyncio.to_thread(use)
        done.set()
        await server

    story()


@contextmanager
def files_no_larger_than(size: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)


@on_loop
async def test_a_full_disk_refuses_with_its_reason_loses_nothing_and_recovers(tmp_path: Path) -> None:
    accepted: list[int] = []
    async with kept(tmp_path) as bus:
        async with bus.subscribe("value >= 0", durable="desk"):
            pass

        async def publish(value: int) -> None:
            await bus.publish(Event({"value": value, "text": "x" * 2_000}, f"event-{value}"), durable=True)
            accepted.append(value)

        async def publish_all(numbers: range) -> None:
            for value in numbers:
                await publish(value)

        with files_no_larger_than(200_000):
            with pytest.raises(Refused, match="kept now"):
                await publish_all(range(1_000))
            with pytest.raises(Refused, match="kept now"):
                await publish(1_000)
        while 1_001 not in accepted:
            try:
                await publish(1_001)
            except Refused:
                await asyncio.sleep(0.01)
    async with kept(tmp_path) as bus, bus.subscribe("value >= 0", durable="desk") as stream:
        found = await values(stream, len(accepted))
        while found[-1] != 1_001:  # the one that was refused was kept all the same, which at-least-once allows
            found += await values(stream, 1)
        assert set(accepted) <= set(found)
        assert len(found) == len(set(found))
