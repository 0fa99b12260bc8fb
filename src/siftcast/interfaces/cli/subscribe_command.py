"""`siftcast subscribe`: prints events as they come."""

from __future__ import annotations

import asyncio
import signal
import sys
from base64 import b64encode
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
from cyclopts import Parameter
from rich.text import Text

from siftcast.interfaces.cli.caller import call_node, node_at
from siftcast.interfaces.cli.options import Authorities, Flag, KeysFolder, Node
from siftcast.interfaces.cli.outcome import OK
from siftcast.interfaces.cli.terminal import err
from siftcast.model import DataError, Filter, Subscription, SubscriptionError

if TYPE_CHECKING:
    from siftcast.runtimes.live.client.bounds import Bound
    from siftcast.runtimes.live.client.bus import Bus
    from siftcast.runtimes.live.client.received import EventStream, ReceivedEvent


def subscribe(
    filter: str | None = None,
    /,
    *,
    filters: Path | None = None,
    at: Node = None,
    count: int | None = None,
    token: str | None = None,
    authorities: Authorities = None,
    durable: str | None = None,
    from_: Annotated[str | None, Parameter(name="--from")] = None,
    delay_ms_max: float | None = None,
    bandwidth: float | None = None,
    keys: KeysFolder = None,
    allow_plain: Flag = False,
    envelope: Flag = False,
    quiet: Flag = False,
) -> int:
    """Print the events that satisfy a filter, one JSON object a line, as they come.

    With --durable, the node holds what comes while nobody reads, and an event counts as read once it is printed.

    Example: siftcast subscribe "symbol = 'IBM' AND price < 95"

    Example: siftcast subscribe --filters subs.jsonl

    Example: siftcast subscribe "price < 95" --delay-ms-max 50

    Example: siftcast subscribe "price < 95" --keys desk

    With --keys, only events come that were sealed for a group of the key ring, each as {"attributes": {…}, "payload",
    "sealed_by", "group"}; a payload that is no text is "payload_base64" instead. Others are counted at the end.

    Parameters
    ----------
    filter
        What is wanted, as in the WHERE clause of SQL.
    filters
        A file with many filters instead: .jsonl, .csv or .parquet with the fields id and filter, each also with .gz.
        Each event that satisfies any of them is printed once, as {"matched": [their ids], "attributes": {…}}.
    count
        Stop after so many events; without it, on Ctrl-C. With --durable, 0 makes the subscription and prints nothing.
    token
        Says who subscribes; SIFTCAST_TOKEN in the environment does too, and is seen by fewer.
    durable
        The name of a subscription that outlives this command, at a node that has a data folder.
    from_
        Print what a durable subscription still holds once more: from a position, or from a time such as
        2026-03-01T12:00 (in UTC, unless it says otherwise).
    delay_ms_max
        How many milliseconds an event may take to get here, for 99 of the last 100. Whether that is kept is said on
        standard error when it changes, with the slowest hop. With --filters, for each that has no bound of its own.
    bandwidth
        How many bytes per second the node may spend on receiving these events and passing them on for others.
    allow_plain
        With --keys, print events whose payload is not sealed as well; nothing says who published those.
    envelope
        Print each event's id, source and time beside its attributes, its position in a durable subscription, and where
        there is a bound its age and by how much it came late, in milliseconds.
    quiet
        Do not say when the subscription stands, nor whether its bound is kept.
    """
    from siftcast.runtimes.live.client.bounds import Wishes
    from siftcast.runtimes.live.node.node import run
    from siftcast.security import load_keys

    if (filter is None) is (filters is None):
        raise SubscriptionError('give a filter, as in siftcast subscribe "price < 95", or many with --filters FILE')
    if count is not None and count < (1 if durable is None else 0):
        raise SubscriptionError(f"--count {count} would print nothing: take 1 or more, or leave it out")
    if filters is not None and durable is not None:
        raise SubscriptionError("a durable subscription has one filter: leave out --filters or --durable")
    if from_ is not None and durable is None:
        raise SubscriptionError("--from is for durable subscriptions; name one with --durable")
    if filters is not None and bandwidth is not None:
        raise SubscriptionError("--bandwidth is for one filter; with --filters, give it as a field of each in the file")
    start, since = (None, None) if from_ is None else _beginning(from_)
    if keys is not None:
        load_keys(keys)
    elif allow_plain:
        raise SubscriptionError("--allow-plain is for subscriptions with keys; add --keys FOLDER")
    # Bounds are checked and filters read before anything is connected, so that a mistake is told at once.
    Wishes(delay_ms_max, bandwidth).check()
    wanted = Filter.parse(filter) if filter is not None else None
    many = [] if filters is None else _read_filters(filters)

    def open_stream(bus: Bus) -> EventStream:
        on_bound = None if quiet else _say_bound
        if wanted is None:
            has_bounds = delay_ms_max is not None or any(each.delay_ms_max is not None for each in many)
            told = on_bound if has_bounds else None
            return bus.subscribe_many(many, delay_ms_max=delay_ms_max, on_bound=told, allow_plain=allow_plain)
        return bus.subscribe(
            wanted,
            durable,
            start=start,
            since=since,
            delay_ms_max=delay_ms_max,
            bandwidth=bandwidth,
            on_bound=on_bound if delay_ms_max is not None or durable is not None else None,
            allow_plain=allow_plain,
        )

    url = node_at(at)
    call = partial(call_node, url, "siftcast subscribe", token=token, authorities=authorities, keys=keys)
    run(_print_events(open_stream, call, url, count, envelope=envelope, quiet=quiet))
    return OK


def _say_bound(bound: Bound) -> None:
    err().print(Text(str(bound), "dim" if bound.state == "met" else "yellow"), soft_wrap=True)


def _read_filters(path: Path) -> list[Subscription]:
    """All subscriptions of a file; one that cannot be used is told with its line, and then none is subscribed."""
    from siftcast.files import parse_subscriptions

    found: list[Subscription] = []
    for entry in parse_subscriptions(path):
        if not isinstance(entry.outcome, Subscription):
            raise DataError(f"{path}, line {entry.line}: {entry.outcome}\nsiftcast check {path} shows all such lines.")
        found.append(entry.outcome)
    if not found:
        raise DataError(f"{path}: there is no subscription in it")
    return found


def _beginning(text: str) -> tuple[int | None, datetime | None]:
    """A position or a time."""
    if text.isdecimal():
        return int(text), None
    try:
        return None, datetime.fromisoformat(text)
    except ValueError:
        raise SubscriptionError(f"--from takes a position or a time such as 2026-03-01T12:00, not '{text}'") from None


async def _print_events(
    open_stream: Callable[[Bus], EventStream],
    call: Callable[[], Bus],
    url: str,
    count: int | None,
    *,
    envelope: bool,
    quiet: bool,
) -> None:
    task = asyncio.current_task()
    assert task is not None
    stopped = False

    def stop() -> None:
        nonlocal stopped
        stopped = True
        task.cancel()

    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop)
    try:
        async with call() as bus, open_stream(bus) as stream:
            if not quiet:
                err().print(Text(f"subscribed at {url}", "dim"), soft_wrap=True)
            seen = 0
            try:
                while count is None or seen < count:
                    event = await anext(stream)
                    has_bound = stream.bound is not None
                    shown = _shown(event, envelope=envelope, position=stream.is_durable, has_bound=has_bound)
                    sys.stdout.write(msgspec.json.encode(shown).decode() + "\n")
                    sys.stdout.flush()
                    event.ack()
                    seen += 1
            finally:
                for reason, unopened in sorted(stream.unopened.items()):
                    err().print(Text(f"{unopened:,} events not opened: {reason}", "yellow"), soft_wrap=True)
    except asyncio.CancelledError:
        if not stopped:
            raise


def _shown(event: ReceivedEvent, *, envelope: bool, position: bool, has_bound: bool) -> Mapping[str, object]:
    """What is printed of an event."""
    if not envelope and not event.matched and event.sealed_by is None:
        return event.attributes
    facts_of_it: dict[str, object] = {"matched": event.matched} if event.matched else {}
    if envelope:
        facts_of_it |= {"id": event.id, "source": event.source, "time": event.time}
    facts_of_it["attributes"] = event.attributes
    if event.sealed_by is not None:
        facts_of_it |= {**_shown_payload(event.payload), "sealed_by": event.sealed_by, "group": event.group}
    if envelope and position:
        facts_of_it["position"] = event.position
    if envelope and has_bound:
        facts_of_it |= {"age_ms": event.age_ms, "late_ms": event.late_ms}
    return facts_of_it


def _shown_payload(payload: bytes) -> Mapping[str, object]:
    try:
        return {"payload": payload.decode()}
    except UnicodeDecodeError:
        return {"payload_base64": b64encode(payload).decode()}
