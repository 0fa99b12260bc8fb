"""The client for code without async: the same bus, on an event loop in a thread of its own.

    with siftcast.connect_sync("siftcast://localhost:7007") as bus:
        bus.publish({"symbol": "IBM", "price": 88.0})
        for event in bus.subscribe("price < 95"):
            ...

Calls block until they are answered; several threads may use one bus. Functions registered with `on` are called in the
bus's thread and should be short.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from datetime import datetime
from types import TracebackType
from typing import Any, Self, TypeVar

from siftcast.model import ArgumentError
from siftcast.model.filter import AnyFilter
from siftcast.model.showing import shown
from siftcast.overlays.durability.contract import QueuePolicy
from siftcast.runtimes.live.client.bounds import Bound, BoundHandler, Unchanged
from siftcast.runtimes.live.client.bus import BUFFER, Bus, EventHandler, connect
from siftcast.runtimes.live.client.durable_inbox import DeadLetter, answered_in
from siftcast.runtimes.live.client.many import ManyFilters
from siftcast.runtimes.live.client.publishing import AnyEvent
from siftcast.runtimes.live.client.received import EventStream, ReceivedEvent
from siftcast.runtimes.live.client.sealing import SealWord
from siftcast.runtimes.live.errors import ConnectionLost
from siftcast.runtimes.live.event_trace import EventTrace
from siftcast.runtimes.live.reach import Reach
from siftcast.runtimes.live.wire.tls import Trust
from siftcast.security import AnyKeys, Reason

T = TypeVar("T")


def connect_sync(
    url: str | None = None,
    *,
    token: str | None = None,
    tls: Trust | None = None,
    name: str = "",
    timeout_s: float = 10.0,
    keys: AnyKeys | None = None,
) -> SyncBus:
    """A bus at `siftcast://host:port`, to be entered with `with`; what it takes is what `connect` takes."""
    return SyncBus(connect(url, token=token, tls=tls, name=name, timeout_s=timeout_s, keys=keys))


class SyncBus:
    """A `Bus` whose calls block."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="siftcast-bus", daemon=True)
        self._thread.start()
        try:
            self.run(self._bus.__aenter__())
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.run(self._bus.__aexit__(kind, error, trace))
        finally:
            self._end()

    @property
    def dropped(self) -> int:
        """Deliveries that the node dropped because this client did not keep up."""
        return self._bus.dropped

    @property
    def token_expires(self) -> datetime | None:
        """When the token of this client expires, by its own clock; None if it does not, or nobody has said so yet."""
        return self._bus.token_expires

    def publish(
        self,
        event: AnyEvent,
        *,
        durable: bool = False,
        seal: SealWord | None = None,
        group: str | None = None,
        keys: AnyKeys | None = None,
    ) -> str:
        """Publishes an event and waits until the node has taken it, or has it on disk; returns the event's id."""
        return self.run(self._bus.publish(event, durable=durable, seal=seal, group=group, keys=keys))

    def publish_many(
        self,
        events: Iterable[AnyEvent],
        *,
        durable: bool = False,
        seal: SealWord | None = None,
        group: str | None = None,
        keys: AnyKeys | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> int:
        """Publishes events, many at a time; returns how many. `events` is read in the bus's thread."""
        return self.run(
            self._bus.publish_many(events, durable=durable, seal=seal, group=group, keys=keys, progress=progress)
        )

    def subscribe(
        self,
        filter: AnyFilter,
        durable: str | None = None,
        *,
        start: int | None = None,
        since: datetime | None = None,
        policy: QueuePolicy | None = None,
        delay_ms_max: float | None = None,
        bandwidth: float | None = None,
        on_bound: BoundHandler | None = None,
        keys: AnyKeys | None = None,
        allow_plain: bool = False,
        buffer: int = BUFFER,
    ) -> SyncStream:
        """A stream of the events that match; it stands when this returns. `on_bound` is called in the bus's thread."""

        async def open_stream() -> EventStream:
            stream = self._bus.subscribe(
                filter,
                durable,
                start=start,
                since=since,
                policy=policy,
                delay_ms_max=delay_ms_max,
                bandwidth=bandwidth,
                on_bound=on_bound,
                keys=keys,
                allow_plain=allow_plain,
                buffer=buffer,
            )
            return await stream.ready()

        return SyncStream(self, self.run(open_stream()))

    def subscribe_many(
        self,
        filters: ManyFilters,
        *,
        delay_ms_max: float | None = None,
        on_bound: BoundHandler | None = None,
        keys: AnyKeys | None = None,
        allow_plain: bool = False,
        buffer: int = BUFFER,
    ) -> SyncStream:
        """One stream for many filters, each event once, with the names of those it satisfies as `matched`.

        All of them stand when this returns, or none: what is wrong with one is told with its number and name.
        """

        async def open_stream() -> EventStream:
            stream = self._bus.subscribe_many(
                filters,
                delay_ms_max=delay_ms_max,
                on_bound=on_bound,
                keys=keys,
                allow_plain=allow_plain,
                buffer=buffer,
            )
            return await stream.ready()

        return SyncStream(self, self.run(open_stream()))

    def on(
        self,
        filter: AnyFilter,
        durable: str | None = None,
        *,
        delay_ms_max: float | None = None,
        bandwidth: float | None = None,
        on_bound: BoundHandler | None = None,
        keys: AnyKeys | None = None,
        allow_plain: bool = False,
    ) -> Callable[[EventHandler], EventHandler]:
        """Has a function called with each event that matches, in the bus's thread."""
        wishes: Any = {"delay_ms_max": delay_ms_max, "bandwidth": bandwidth, "on_bound": on_bound}
        wishes |= {"keys": keys, "allow_plain": allow_plain}

        def register(handler: EventHandler) -> EventHandler:
            if self._loop is None:
                return self._bus.on(filter, durable, **wishes)(handler)

            async def start() -> EventHandler:
                return self._bus.on(filter, durable, **wishes)(handler)

            return self.run(start())

        return register

    def wait(self) -> None:
        """Waits while handlers work (`on`); raises what one of them raises."""
        self.run(self._bus.wait())

    def end_durable(self, name: str) -> None:
        """Ends a durable subscription of the node, with all it holds."""
        self.run(self._bus.end_durable(name))

    def dead_letters(self, name: str, *, keys: AnyKeys | None = None) -> list[DeadLetter]:
        """What a durable subscription refused too often, the oldest first."""
        return self.run(self._bus.dead_letters(name, keys=keys))

    def describe(self) -> dict[str, Any]:
        """What the node says about itself."""
        return self.run(self._bus.describe())

    def dry_run(self, event: AnyEvent) -> Reach:
        """Which subscriptions at all nodes an event would reach, and why not others; nothing is published."""
        return self.run(self._bus.dry_run(event))

    def trace(self, event: str) -> EventTrace:
        """What the nodes remember of an event, by its id: the way it took, hop by hop."""
        return self.run(self._bus.trace(event))

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Has a coroutine run in the bus's thread, and waits for it."""
        check: object = work
        if not inspect.iscoroutine(check):
            raise ArgumentError(f"run takes a coroutine, not {shown(check)}")
        if self._loop is None:
            work.close()
            raise ConnectionLost("the bus is not open; use it inside `with`")
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def _end(self) -> None:
        if self._loop is not None and self._thread is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()
            self._loop = None

    def call(self, function: Callable[[], None]) -> None:
        """Has something done in the bus's thread, if there still is one."""
        if not callable(function):
            raise ArgumentError(f"call takes a function without arguments, not {shown(function)}")
        if self._loop is not None:
            self._loop.call_soon_threadsafe(function)


class SyncStream(Iterator[ReceivedEvent]):
    """The events of one subscription: `for event in stream`."""

    def __init__(self, bus: SyncBus, stream: EventStream) -> None:
        self._bus = bus
        self._stream = stream

    def __next__(self) -> ReceivedEvent:
        return self.take(None)

    def take(self, timeout_s: float | None) -> ReceivedEvent:
        """The next event; raises TimeoutError if none comes in time, StopIteration at the end."""

        async def take() -> ReceivedEvent | None:
            # The time runs out in the bus's thread, where an event that was taken cannot be lost to it.
            return await asyncio.wait_for(_next(self._stream), timeout_s)

        event = self._bus.run(take())
        if event is None:
            raise StopIteration
        return answered_in(event, self._bus.call)

    @property
    def bound(self) -> Bound | None:
        """How the subscription's bound on delay stands, the worst of them if there are many; None without one."""
        return self._stream.bound

    @property
    def bounds(self) -> Mapping[str, Bound]:
        """How the bounds of `subscribe_many` stand, by name; a stream of one filter has `bound`."""
        return self._stream.bounds

    @property
    def unopened(self) -> Counter[Reason]:
        """How many events were not handed out because the subscription's keys did not open them, by reason."""
        return self._stream.unopened

    def replace(
        self,
        filter: AnyFilter | None = None,
        *,
        delay_ms_max: float | Unchanged | None = ...,
        bandwidth: float | Unchanged | None = ...,
    ) -> None:
        """Asks for something else from now on; what is left out stays, and None takes a bound or bandwidth away."""
        self._bus.run(self._stream.replace(filter, delay_ms_max=delay_ms_max, bandwidth=bandwidth))

    def close(self) -> None:
        """Unsubscribes."""
        self._bus.call(self._stream.close)

    def __del__(self) -> None:
        self.close()  # in the bus's thread, to which the stream belongs

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


async def _next(stream: EventStream) -> ReceivedEvent | None:
    return await anext(stream, None)
