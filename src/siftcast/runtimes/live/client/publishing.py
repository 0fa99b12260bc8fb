"""The publishing half of a client: events become bytes, and many of them are under way together.

An event without an id gets one that is its own in the whole network. What is durable is published again under its id
when the connection is lost, before anything newer, so that it counts once and the order stays.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable, Mapping
from itertools import islice
from typing import TypeVar

import msgspec

from siftcast.model import ArgumentError, Event, EventError
from siftcast.model.showing import shown
from siftcast.model.values import is_iterable
from siftcast.overlays.clear_parts import clear_part, with_payload
from siftcast.overlays.wire_events import encode_event, encode_fields
from siftcast.overlays.wire_values import printable
from siftcast.runtimes.live.client.link import ClientLink, Window
from siftcast.runtimes.live.client.received import ReceivedEvent
from siftcast.runtimes.live.client.sealing import Part, Sealing
from siftcast.runtimes.live.errors import ConnectionLost
from siftcast.runtimes.live.wire.frames import Publish
from siftcast.security import is_sealed

AnyEvent = Event | Mapping[str, object]
Made = TypeVar("Made", bytes, Part)
WINDOW = 1_000
_CHUNK = 100


class Publisher:
    """Publishes over whatever connection there is."""

    def __init__(self, name: str, ids: str, present: Callable[[], Awaitable[ClientLink]]) -> None:
        """`name` is the source of events that have none, or else `ids`, with which ids begin, is."""
        self._source = name or ids
        self._ids = ids
        self._count = 0
        self._present = present

    async def publish(self, event: AnyEvent, *, durable: bool, sealing: Sealing | None) -> str:
        """Publishes an event and waits until the node has taken it; returns the event's id."""
        if sealing is None:
            id, encoded = self.encode(event, durable=_flag(durable))
        else:
            id, part = self._part(event, durable=_flag(durable))
            (encoded,) = sealing.encode([part])
        while True:
            link = await self._present()
            try:
                await link.request(lambda number: Publish(number, msgspec.Raw(encoded), durable))
                return id
            except ConnectionLost:
                if not durable:
                    raise
                await asyncio.sleep(0)  # the connection must be seen to be gone before another is waited for

    async def publish_many(
        self,
        events: Iterable[AnyEvent] | AsyncIterable[AnyEvent],
        *,
        durable: bool,
        sealing: Sealing | None,
        window: int,
        progress: Callable[[int], None] | None,
    ) -> int:
        """Publishes events with up to `window` of them under way; returns how many. The first failure is raised.

        One that cannot be made or encoded ends it: those before it are published and answered first, and none after it.
        """
        if type(window) is not int or window < 1 or not (progress is None or callable(progress)):
            raise ArgumentError(
                f"window is a positive whole number, progress a function; not {shown(window)} and {shown(progress)}"
            )
        if isinstance(events, Mapping | str | bytes) or not (isinstance(events, AsyncIterable) or is_iterable(events)):
            raise EventError(f"publish_many takes many events, not {shown(events)}; see publish")
        batch = Window(asyncio.get_running_loop(), durable=_flag(durable))
        try:
            if isinstance(events, AsyncIterable):
                async for event in events:
                    if not await self._publish_some((event,), batch, sealing, window, progress):
                        break
            else:
                rest = iter(events)
                while await self._publish_some(islice(rest, min(_CHUNK, window)), batch, sealing, window, progress):
                    pass
        except Exception:
            await self._finish(batch, progress)
            raise
        await self._finish(batch, progress)
        return batch.taken

    async def _publish_some(
        self,
        events: Iterable[AnyEvent],
        batch: Window,
        sealing: Sealing | None,
        window: int,
        progress: Callable[[int], None] | None,
    ) -> bool:
        """Publishes these, and waits if too many are under way; False if there were none, or one failed.

        Those before one that cannot be made or encoded are published all the same.
        """
        encoded: list[bytes] = []
        parts: list[Part] = []
        try:
            for event in events:
                if sealing is None:
                    encoded.append(self._next_of(batch, len(encoded), self.encode, event))
                else:
                    parts.append(self._next_of(batch, len(parts), self._part, event))
        finally:
            if sealing is not None and parts:
                encoded = sealing.encode(parts)
            if encoded:
                if batch.lost:
                    await self._publish_again(batch)
                (await self._present()).publish_all(encoded, batch)
        if batch.open >= window:
            await batch.shrink(window // 2)
            if progress is not None:
                progress(batch.taken)
        return bool(encoded) and batch.failure is None

    def _next_of(self, batch: Window, waiting: int, make: Callable[..., tuple[str, Made]], event: AnyEvent) -> Made:
        """What is made of the event after `waiting` others; what is wrong with it is said with its place among all."""
        try:
            return make(event, durable=batch.durable)[1]
        except EventError as error:
            before = batch.taken + batch.open + len(batch.lost) + waiting
            raise EventError(f"{error} (number {before + 1:,} of many; those before it are published)") from None

    async def _finish(self, batch: Window, progress: Callable[[int], None] | None) -> None:
        """Waits until all are answered; raises the first failure."""
        await batch.shrink(0)
        while batch.lost and batch.failure is None:
            await self._publish_again(batch)
            await batch.shrink(0)
        if progress is not None:
            progress(batch.taken)
        if batch.failure is not None:
            raise batch.failure

    async def _publish_again(self, batch: Window) -> None:
        """Publishes what connections were lost with, before anything newer, so that the order stays."""
        while batch.lost:
            await asyncio.sleep(0)
            link = await self._present()
            lost, batch.lost = batch.lost, []
            link.publish_all(lost, batch)

    def encode(self, event: AnyEvent, *, durable: bool) -> tuple[str, bytes]:
        """An event's id and bytes. A durable one gets a source as well: order is kept among those of one source."""
        source = self._source if durable else ""
        if not isinstance(event, Event):
            if not isinstance(event, Mapping):
                raise EventError(f"an event is a mapping of attributes or an Event, not {shown(event)}")
            id = self._next_id()
            return id, encode_fields(id, event, source)
        if isinstance(event, ReceivedEvent) and event.sealed_by is not None:
            remedy = "publish it with seal=…, or make a new Event of what is not secret"
            raise EventError(
                f"the event '{printable(event.id)}' was sealed, and is not published in the clear; {remedy}"
            )
        if event.id and (event.source or not source):
            return event.id, encode_event(event)
        if is_sealed(event.payload):
            missing = "source" if event.id else "id"
            raise EventError(
                f"a sealed event without {missing} cannot be given one: its payload would not open any more"
            )
        id = event.id or self._next_id()
        return id, encode_fields(id, event.attributes, event.source or source, event.time, event.payload)

    def encode_bare(self, event: AnyEvent) -> bytes:
        """An event's bytes without its payload, for questions about it."""
        return with_payload(self._part(event, durable=False)[1][0], b"")

    def _part(self, event: AnyEvent, *, durable: bool) -> tuple[str, Part]:
        """An event's id, and what is sealed and what is not."""
        source = self._source if durable else ""
        if isinstance(event, Event):
            id = event.id or self._next_id()
            return id, (clear_part(id, event.attributes, event.source or source, event.time), event.payload)
        if not isinstance(event, Mapping):
            raise EventError(f"an event is a mapping of attributes or an Event, not {shown(event)}")
        id = self._next_id()
        return id, (clear_part(id, event, source), b"")

    def _next_id(self) -> str:
        self._count += 1
        return f"{self._ids}-{self._count}"


def _flag(durable: object) -> bool:
    if durable is not True and durable is not False:
        raise ArgumentError(f"durable is True or False, not {shown(durable)}")
    return durable
