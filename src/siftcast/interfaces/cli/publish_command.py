"""`siftcast publish`: events from a file or from standard input, to a node."""

from __future__ import annotations

import asyncio
import secrets
import shlex
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from io import BufferedReader
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

import msgspec
from rich.progress import Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from siftcast.files import EventReader, RejectedFile, event_format, open_events, reader_class
from siftcast.interfaces.cli.caller import call_node, node_at
from siftcast.interfaces.cli.options import Authorities, Flag, KeysFolder, Node, Quiet, TypesFile
from siftcast.interfaces.cli.outcome import OK, REJECTED
from siftcast.interfaces.cli.terminal import err, out
from siftcast.interfaces.cli.trace_command import print_reach
from siftcast.model import DataError, Event, EventError, Schema
from siftcast.model.event import decode_attributes
from siftcast.model.showing import shown
from siftcast.overlays.wire_events import encode_event

if TYPE_CHECKING:
    from siftcast.runtimes.live.client.bus import Bus

_CHUNK_BYTES = 65_536


def publish(
    events: Path | None = None,
    /,
    *,
    at: Node = None,
    format: Literal["jsonl", "csv"] = "jsonl",
    schema: TypesFile = None,
    token: str | None = None,
    authorities: Authorities = None,
    dry_run: Flag = False,
    rejected_to: Path | None = None,
    durable: Flag = False,
    payload: str | None = None,
    seal: Literal["payload"] | None = None,
    group: str | None = None,
    keys: KeysFolder = None,
    quiet: Quiet = False,
) -> int:
    """Publish events: each reaches exactly the subscribers whose filter it satisfies.

    Rows that cannot be used go, each with its reason, to INPUT.rejected; the exit status is then 1. A field
    event_id becomes the event's id, by which siftcast trace finds it; an event without one is given one, and the last
    is printed.

    Example: siftcast generate stock-quotes --output quotes && siftcast publish quotes/events.jsonl

    Example: siftcast publish orders.jsonl --payload note --seal payload --group desk --keys feed

    Parameters
    ----------
    events
        A file: .jsonl, .csv, .parquet or .arrow, each also with .gz. Without one, standard input; JSON lines are then
        published as they come.
    format
        How standard input is written.
    token
        Says who publishes; SIFTCAST_TOKEN in the environment does too, and is seen by fewer.
    dry_run
        Publish nothing; show which subscriptions at which nodes each event would reach, and why not the others.
    rejected_to
        A folder for the .rejected file, instead of the folder of the input.
    durable
        Count an event as published only when it is on the node's disk; one with an event_id counts once, however often
        it is published.
    payload
        The field that becomes the payload of its event, and is no attribute then: a text as it is, other values as
        JSON.
    seal
        Encrypt and sign the payload. All attributes, the id, the source and the time stay readable on the way, so a
        row without the field that --payload names is rejected.
    group
        The key group whose members can read it.
    """
    from siftcast.runtimes.live.node.node import run

    url = node_at(at)
    types = None if schema is None else Schema.load(schema)
    _check_seal(seal, group, keys, payload)
    if events is not None:
        event_format(events)
    named, taken_out = _Named(), _Payload(payload, is_sealed=seal is not None)
    with ExitStack() as stack:
        rejected = stack.enter_context(RejectedFile(events or Path("standard-input"), "events", rejected_to))
        source: AsyncIterator[Event] | Iterator[Event]
        if events is not None:
            source = _from_blocks(stack.enter_context(open_events(events, types, rejected)), rejected, taken_out)
        elif format == "csv":
            reader = reader_class("csv")(_StandardInput(), types, rejected)  # type: ignore[arg-type]
            source = _from_blocks(reader, rejected, taken_out)
        else:
            source = _from_lines(types, rejected, taken_out)
        columns = (TextColumn("{task.fields[taken]:,} events published"), TimeElapsedColumn())
        console = err()
        shown = not quiet and console.is_terminal
        with Progress(*columns, console=console, transient=True, disable=not shown) as progress:
            task = progress.add_task("", total=None, taken=0)

            async def send() -> int:
                name = "siftcast publish"
                async with call_node(url, name, token=token, authorities=authorities, keys=keys) as bus:
                    if dry_run:
                        return await _try_each(bus, source)
                    return await bus.publish_many(
                        named.each(source),
                        durable=durable,
                        seal=seal,
                        group=group,
                        progress=lambda taken: progress.update(task, taken=taken),
                    )

            taken: int = run(send())
        if not quiet and not dry_run:
            out().print(Text(_summary(taken, url, named.last)), soft_wrap=True)
        if rejected.count:
            err().print(Text(f"{rejected.count:,} rows rejected, see {rejected.path}", "yellow"), soft_wrap=True)
        return REJECTED if rejected.count else OK


def _check_seal(seal: str | None, group: str | None, keys: Path | None, payload: str | None) -> None:
    """Raises SealError where payloads could not be sealed as asked, before anything is read or connected."""
    from siftcast.runtimes.live.client.sealing import sealing_of
    from siftcast.security import Rings, SealError

    sealing_of(seal, group, keys, Rings())
    if seal is not None and payload is None:
        raise SealError("the payload is what is sealed, and all fields would be attributes; add --payload FIELD")


def _at(url: str) -> str:
    """The flag that has another command call the same node, where it would not by itself."""
    from siftcast.runtimes.live.client.environment import node_url

    return "" if url == node_url() else f" --at {shlex.quote(url)}"


def _summary(taken: int, url: str, last: str) -> str:
    """What was published, with an id for `siftcast trace`; ids are text of others, which may hold anything."""
    if not taken:
        return f"nothing published to {url}"
    id = f"{'-- ' if last.startswith('-') else ''}{shlex.quote(last)}"  # without the dashes it would be an option
    named = f"; siftcast trace{_at(url)} {id} shows its way" if last.isprintable() else ""
    return (
        f"1 event published to {url} as {last!r}{named}"
        if taken == 1
        else (f"{taken:,} events published to {url}, the last as {last!r}{named}")
    )


class _Named:
    """Gives events without an id one, so that it can be shown, and remembers the last."""

    def __init__(self) -> None:
        self.last = ""
        self._begin = secrets.token_hex(6)
        self._count = 0

    def each(self, source: AsyncIterator[Event] | Iterator[Event]) -> AsyncIterator[Event] | Iterator[Event]:
        """The same events, all with ids, in the way they come."""
        if isinstance(source, AsyncIterator):
            return self._each_later(source)
        return map(self._name, source)

    async def _each_later(self, source: AsyncIterator[Event]) -> AsyncIterator[Event]:
        async for event in source:
            yield self._name(event)

    def _name(self, event: Event) -> Event:
        if not event.id:
            self._count += 1
            event = replace(event, id=f"{self._begin}-{self._count}")
        self.last = event.id
        return event


async def _try_each(bus: Bus, source: AsyncIterator[Event] | Iterator[Event]) -> int:
    """Says what would become of each event; returns how many there were."""
    number = 0
    async for event in _each(source):
        number += 1
        print_reach(number, await bus.dry_run(event))
    return number


async def _each(source: AsyncIterator[Event] | Iterator[Event]) -> AsyncIterator[Event]:
    """Events one by one, whichever way they come."""
    if isinstance(source, AsyncIterator):
        async for event in source:
            yield event
    else:
        for event in source:
            yield event


def _from_blocks(reader: EventReader, rejected: RejectedFile, payload: _Payload) -> Iterator[Event]:
    """The events of a file; a row with a value that cannot be sent, such as a time of day, is rejected by itself."""
    for block in reader.blocks():
        rows = block.events if isinstance(block.events, list) else block.events.to_pylist()
        for number, row in zip(block.numbers, rows, strict=True):
            try:
                event = _event(row, payload)
                encode_event(event)
            except EventError as error:
                rejected.add(int(number) + 1, error, repr(row))
            else:
                yield event


@dataclass(frozen=True, slots=True)
class _Payload:
    """The field that becomes the payload of each event, if any does."""

    field: str | None
    is_sealed: bool

    def of(self, row: dict[str, object]) -> object:
        """What a row has there; raises EventError for one without the field, if that was to be sealed.

        Its name may be mistyped, and then what was to be secret is an attribute, which everybody reads.
        """
        if self.field is None:
            return None
        if self.is_sealed and self.field not in row:
            raise EventError(f"it has no field {shown(self.field)}, so nothing of it would be sealed")
        return row.get(self.field)


def _event(row: dict[str, object], payload: _Payload) -> Event:
    """The event of a row; raises EventError if it has not what is to be its payload, or that has no form as JSON."""
    id, body = row.get("event_id"), payload.of(row)
    attributes = {name: value for name, value in row.items() if value is not None and name != payload.field}
    return Event(attributes, "" if id is None else str(id), payload=_bytes_of(body))


def _bytes_of(body: object) -> bytes:
    if body is None or isinstance(body, str):
        return (body or "").encode("utf-8", "surrogatepass")
    try:
        return msgspec.json.encode(body)
    except (TypeError, ValueError) as error:
        raise EventError(f"the payload has no form as JSON: {error}") from None


async def _from_lines(schema: Schema | None, rejected: RejectedFile, payload: _Payload) -> AsyncIterator[Event]:
    """JSON lines of standard input, each as soon as it is there."""
    loop = asyncio.get_running_loop()
    number, rest = 0, b""
    while True:
        chunk = await loop.run_in_executor(None, _read_some)
        *lines, rest = (rest + chunk).split(b"\n") if chunk else (rest, b"")
        for line in lines:
            number += 1
            if not line.strip():
                continue
            try:
                attributes = decode_attributes(line)
                yield _event(attributes if schema is None else schema.coerce(attributes), payload)
            except (EventError, DataError) as error:
                rejected.add(number, error, line)
        if not chunk:
            return


def _read_some() -> bytes:
    """What standard input has, as soon as it has something; nothing at its end."""
    return cast(BufferedReader, sys.stdin.buffer).read1(_CHUNK_BYTES)


class _StandardInput:
    """Standard input in place of a file (`InputBytes`); its length is unknown."""

    path = Path("standard input")
    size = 0
    position = 0
    compressed = False

    def __iter__(self) -> Iterator[bytes]:
        while chunk := _read_some():
            self.position += len(chunk)
            yield chunk
