"""`siftcast trace`, and what `siftcast publish --dry-run` prints: where an event went, and where one would go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec
from rich.text import Text

from siftcast.interfaces.cli.caller import call_node, node_at
from siftcast.interfaces.cli.options import Authorities, JsonAnswer
from siftcast.interfaces.cli.outcome import OK, REJECTED
from siftcast.interfaces.cli.terminal import err, out, shorten

if TYPE_CHECKING:
    from siftcast.runtimes.live.event_trace import EventTrace
    from siftcast.runtimes.live.reach import Reach, Reached


def trace(
    event: str,
    /,
    *,
    at: str | None = None,
    token: str | None = None,
    authorities: Authorities = None,
    json: JsonAnswer = False,
) -> int:
    """Follow one event across the nodes: hop by hop, with times and the reason for each hop.

    Nodes remember what passed them last ([tracing] in their configuration). The exit status is 1 if none of them
    remembers the event.

    Example: siftcast trace quote-17

    Parameters
    ----------
    event
        The event's id: event_id where it was published, or what siftcast subscribe --envelope shows.
    at
        Any node of the network; without it SIFTCAST_URL in the environment says which, or else
        siftcast://127.0.0.1:7007.
    token
        Says who asks; SIFTCAST_TOKEN in the environment does too. Its principal needs see = true.
    """
    from siftcast.runtimes.live.node.node import run

    async def ask() -> EventTrace:
        async with call_node(node_at(at), "siftcast trace", token=token, authorities=authorities) as bus:
            return await bus.trace(event)

    found: EventTrace = run(ask())
    if json:
        out().print(Text(msgspec.json.encode(asdict(found)).decode()), soft_wrap=True)
    elif found.is_known:
        print_trace(found)
    else:
        _say(f"no node remembers event '{event}'", "yellow")
    _tell_silent(found.silent)
    return OK if found.is_known else REJECTED


def print_trace(found: EventTrace) -> None:
    """An event's way across the nodes."""
    times = [at for _, at in found.published] + [hop.sent_ms for hop in found.hops]
    begun_ms = min(times + [each.at_ms for each in found.deliveries] + [at for _, at, _ in found.refusals])

    def after(at_ms: float) -> str:
        return f"{at_ms - begun_ms:+.3f} ms"

    begun = datetime.fromtimestamp(begun_ms / 1_000, UTC).isoformat(timespec="milliseconds")
    _say(f"{found.event}, first seen {begun}", "bold")
    for node, at in found.published:
        _say(f"{after(at):>13}  published at {node}")
    for hop in found.hops:
        arrived = "not received" if hop.arrived_ms is None else f"received {after(hop.arrived_ms)}"
        _say(f"{after(hop.sent_ms):>13}  {hop.sender} → {hop.receiver}, {arrived} ({hop.message})")
        _say(f"{'':15}because {hop.reason}", "dim")
    for each in found.deliveries:
        _say(f"{after(each.at_ms):>13}  delivered at {each.node} to {each.count:,}")
        for id, filter_ in each.subscriptions:
            _say(f"{'':15}{id}  {shorten(filter_, 80)}", "dim")
    for node, at, reason in found.refusals:
        _say(f"{after(at):>13}  refused at {node}: {reason}", "red")


def print_reach(number: int, found: Reach) -> None:
    """What a dry run of the event with this number found."""
    at = f" at {', '.join(found.reached_nodes)}" if found.reached_nodes else ""
    _say(f"event {number} would reach {found.reached_count:,} of the subscriptions{at}", "bold")
    _list(found.reached, found.reached_count, "green")
    if found.missed_count:
        _say(f"it would not reach {found.missed_count:,}")
        _list(found.missed, found.missed_count, "")
    _tell_silent(found.silent)


def _list(rows: Sequence[Reached], count: int, style: str) -> None:
    for row in rows:
        _say(f"  {row.id} of {row.client} at {row.node}", style)
        for line in row.why.splitlines():
            _say(f"    {line}", "dim")
    if count > len(rows):
        _say(f"  … and {count - len(rows):,} more")


def _say(line: str, style: str = "") -> None:
    out().print(Text(line, style), soft_wrap=True)


def _tell_silent(silent: Sequence[str]) -> None:
    if silent:
        err().print(Text(f"did not answer: {', '.join(silent)}", "yellow"), soft_wrap=True)
