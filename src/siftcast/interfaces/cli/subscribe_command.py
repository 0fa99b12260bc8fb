"""`siftcast subscribe` prints events as they come, `siftcast subscriptions` what a node has."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path
from typing import Annotated, Any

import msgspec
from cyclopts import Parameter
from rich.table import Table
from rich.text import Text

from siftcast.interfaces.cli.caller import DEFAULT_URL, call_node
from siftcast.interfaces.cli.outcome import OK
from siftcast.interfaces.cli.terminal import err, facts, out, shorten
from siftcast.model import Filter

Flag = Annotated[bool, Parameter(negative="", show_default=False)]


def subscribe(
    filter: str,
    /,
    *,
    at: str = DEFAULT_URL,
    count: int | None = None,
    token: str | None = None,
    authorities: Path | None = None,
    envelope: Flag = False,
    quiet: Flag = False,
) -> int:
    """Print the events that satisfy a filter, one JSON object a line, as they come.

    Example: siftcast subscribe "symbol = 'IBM' AND price < 95"

    Parameters
    ----------
    filter
        What is wanted, as in the WHERE clause of SQL.
    at
        The node.
    count
        Stop after so many events; without it, on Ctrl-C.
    token
        Says who subscribes; SIFTCAST_TOKEN in the environment does too, and is seen by fewer.
    authorities
        A file with the certificates to believe, instead of the machine's, where the node's address is siftcasts://.
    envelope
        Print each event's id, source and time beside its attributes.
    quiet
        Do not say when the subscription stands.
    """
    from siftcast.runtimes.live.node import run

    wanted = Filter.parse(filter)  # before anything is connected, so that a mistake is told at once
    run(_print_events(wanted, at, count, token, authorities, envelope=envelope, quiet=quiet))
    return OK


async def _print_events(
    filter: Filter,
    at: str,
    count: int | None,
    token: str | None,
    authorities: Path | None,
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
        async with (
            call_node(at, "siftcast subscribe", token=token, authorities=authorities) as bus,
            bus.subscribe(filter) as stream,
        ):
            if not quiet:
                err().print(Text(f"subscribed at {at}", "dim"), soft_wrap=True)
            seen = 0
            while count is None or seen < count:
                event = await anext(stream)
                shown: Any = event.attributes
                if envelope:
                    shown = {"id": event.id, "source": event.source, "time": event.time, "attributes": shown}
                sys.stdout.write(msgspec.json.encode(shown).decode() + "\n")
                sys.stdout.flush()
                seen += 1
    except asyncio.CancelledError:
        if not stopped:
            raise


def subscriptions(
    *, at: str = DEFAULT_URL, token: str | None = None, authorities: Path | None = None, json: Flag = False
) -> int:
    """Show what a node has: who subscribes to what, its peers, and what it has done.

    Example: siftcast subscriptions --at siftcast://127.0.0.1:7007

    Parameters
    ----------
    at
        The node.
    token
        Says who asks; its principal needs see = true.
    authorities
        A file with the certificates to believe, instead of the machine's, where the node's address is siftcasts://.
    json
        Print everything as one line of JSON.
    """
    from siftcast.runtimes.live.node import run

    async def ask() -> dict[str, Any]:
        async with call_node(at, "siftcast subscriptions", token=token, authorities=authorities) as bus:
            return await bus.describe()

    described: dict[str, Any] = run(ask())
    console = out()
    if json:
        console.print(Text(msgspec.json.encode(described).decode()), soft_wrap=True)
        return OK
    rows = described.pop("subscriptions")
    state = described.pop("state")
    lines = [(name, ", ".join(value) if isinstance(value, list) else str(value)) for name, value in described.items()]
    lines.append(("routing entries", str(state.get("entries", 0))))
    console.print(facts(lines))
    table = Table(box=None, pad_edge=False)
    for heading in ("client", "address", "filter", "dropped"):
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(Text(row["client"]), Text(row["address"]), Text(shorten(row["filter"], 80)), str(row["dropped"]))
    console.print(table if rows else Text("no subscriptions", "dim"))
    return OK
