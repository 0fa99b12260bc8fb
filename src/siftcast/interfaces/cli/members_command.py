"""`siftcast members`, `leave` and `forget`: who is in a network, and who is not any more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import msgspec
from cyclopts import Parameter
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from siftcast.interfaces.cli.caller import call_node, node_at
from siftcast.interfaces.cli.outcome import OK
from siftcast.interfaces.cli.terminal import err, out
from siftcast.interfaces.cli.waiting_line import Facts, WaitingLine, waiting_line

Flag = Annotated[bool, Parameter(negative="", show_default=False)]
_WHOLE = ("name", "identity", "address")
"""What is copied from the table, and so is not folded where there is little room."""
_SHOWN = ("name", "identity", "state", "reach", "address", "delay_ms")
_MEASURED = ("predicted_ms", "coordinate", "route", "shared_routers")
"""What is shown where it is known of some node."""
_ENDLESS = 10_000
"""Characters in a line that has room for any table."""


def members(
    *,
    all: Flag = False,
    at: str | None = None,
    token: str | None = None,
    authorities: Path | None = None,
    json: Flag = False,
) -> int:
    """Show the nodes of a network as one of them sees them: who is connected, lost, gone, and how far away.

    The nodes of a planned network agree on the state of each; reach is what the node that is asked sees of it. What
    coordinates predict stands beside the delay that was measured, and the routers on the way where they were inferred.

    The last line says what the network is planned by.

    Example: siftcast members --at siftcast://127.0.0.1:7007

    Parameters
    ----------
    all
        Ask all nodes, and show what each of them sees.
    at
        The node; without it SIFTCAST_URL in the environment says where it is, or else siftcast://127.0.0.1:7007.
    token
        Says who asks; SIFTCAST_TOKEN in the environment does too. Its principal needs see = true.
    authorities
        A file with the certificates to believe, instead of the machine's, where the node's address is siftcasts://.
    json
        Print everything as one line of JSON.
    """
    from siftcast.runtimes.live.client.operating import Rows, members_of_all
    from siftcast.runtimes.live.node.node import run

    async def ask() -> tuple[dict[str, Rows], list[str], Facts]:
        async with call_node(node_at(at), "siftcast members", token=token, authorities=authorities) as bus:
            if all:
                return *await members_of_all(bus), {}
            described = await bus.describe()
            return {"": described["members"]}, [], described.get("plan", {})

    found, silent, plan = run(ask())
    if json:
        shown = {"nodes": found, "silent": silent} if all else found[""]
        out().print(Text(msgspec.json.encode(shown).decode()), soft_wrap=True)
        return OK
    for node, rows in sorted(found.items()):
        if all:
            out().print(Text(f"as {node} sees it", "bold"))
        for table in member_tables(rows, out()):
            out().print(table)
    if plan:
        out().print(Text(_plan_words(plan)), soft_wrap=True)
    if silent:
        err().print(Text(f"did not answer: {', '.join(silent)}", "yellow"), soft_wrap=True)
    return OK


def _plan_words(plan: Facts) -> str:
    """What the newest plan was made by, and when that was measured."""
    words = f"plan {plan['number']} is by {plan['by']}"
    if "at_s" in plan:
        when = datetime.fromtimestamp(plan["at_s"]).astimezone()
        words += f" of {when.isoformat(sep=' ', timespec='seconds')}"
    if plan.get("after_ms") is not None:
        words += f": {plan['after_ms']:.1f} ms between two nodes, {plan['before_ms']:.1f} ms before"
    return f"{words}; it follows the ground" if plan["follows_ground"] else words


def member_tables(rows: Sequence[Mapping[str, Any]], console: Console) -> list[Table]:
    """One table where there is room for it; else one of the nodes, and one of the ways to them."""
    more = list(dict.fromkeys(name for row in rows for name in row if name not in (*_SHOWN, *_MEASURED)))
    known = [name for name in ("reach", *_MEASURED) if any(row.get(name) for row in rows)]
    shown = [name for name in (*_SHOWN, *_MEASURED) if name in known or name not in ("reach", *_MEASURED)] + more
    whole = _table(rows, shown)
    ways = [name for name in shown if name in ("delay_ms", *_MEASURED)]
    needed = Measurement.get(console, console.options.update(width=_ENDLESS), whole).maximum
    if len(ways) == 1 or needed <= console.width:
        return [whole]
    return [_table(rows, [name for name in shown if name not in ways]), _table(rows, ["name", *ways])]


def _table(rows: Sequence[Mapping[str, Any]], shown: Sequence[str]) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in shown:
        header = {"delay_ms": "delay", "predicted_ms": "predicted"}.get(name, name.replace("_", " "))
        table.add_column(header, overflow="fold", no_wrap=name in _WHOLE)
    for row in rows:
        said = {**row, **_measured(row)}
        said |= {name: ", ".join(map(str, value)) for name, value in said.items() if isinstance(value, list | tuple)}
        table.add_row(*(Text(str(said.get(name, ""))) for name in shown))
    return table


def _measured(row: Mapping[str, Any]) -> dict[str, str]:
    """What was found out about the way to a node, in words."""
    said = dict.fromkeys(("delay_ms", *_MEASURED), "")
    for name in ("delay_ms", "predicted_ms"):
        if row.get(name) is not None:
            said[name] = f"{row[name]:.1f} ms"
    if row.get("coordinate"):
        x, y, height, error = row["coordinate"]
        said["coordinate"] = f"({x:.1f}, {y:.1f}) + {height:.1f} ± {error:.0%}"
    if route := row.get("route"):
        routers = " ".join("*" if router is None else router for router in route["routers"])
        status = "" if route["status"] == "ok" else f"({route['status']})"
        said["route"] = " ".join(filter(None, (routers, status))) or "direct"
    shared = sorted(row.get("shared_routers", ()), key=lambda each: (-len(each["routers"]), each["name"]))
    said["shared_routers"] = ", ".join(f"{len(each['routers'])} with {each['name']}" for each in shared)
    return said


def leave(*, at: str | None = None, token: str | None = None, authorities: Path | None = None) -> int:
    """Have a node leave its network for good: it hands over what it holds for others, and then stops.

    A node that shall come back is stopped instead (Ctrl-C, SIGTERM): what waits for it is kept.

    Example: siftcast leave --at siftcast://127.0.0.1:7007

    Parameters
    ----------
    at
        The node; without it SIFTCAST_URL in the environment says where it is, or else siftcast://127.0.0.1:7007.
    token
        Says who asks; SIFTCAST_TOKEN in the environment does too. Its principal needs operate = true, and see = true to
        be shown how far it is.
    authorities
        A file with the certificates to believe, instead of the machine's, where the node's address is siftcasts://.
    """
    from siftcast.runtimes.live.client import operating
    from siftcast.runtimes.live.node.node import run

    url = node_at(at)

    def words(facts: Facts) -> str:
        state = facts["state"]
        return str(state.get("leaving") or f"it holds {state.get('relays_waiting', 0):,} messages for others")

    async def ask(show: WaitingLine) -> str:
        async with call_node(url, "siftcast leave", token=token, authorities=authorities) as bus:
            return await operating.leave(bus, show)

    with waiting_line("leaving", url, words) as show:
        said = run(ask(show))
    out().print(Text(said), soft_wrap=True)
    return OK


def forget(
    node: str,
    /,
    *,
    at: str | None = None,
    token: str | None = None,
    authorities: Path | None = None,
    json: Flag = False,
) -> int:
    """Declare a node gone that will not come back: what waits for it goes elsewhere, or is reported as lost.

    Only for a node that is down for good. One that runs is made to leave (siftcast leave), and loses nothing.

    Example: siftcast forget n3

    Parameters
    ----------
    node
        Its name, or its identity as siftcast members shows it.
    at
        Any other node; without it SIFTCAST_URL in the environment says which, or else siftcast://127.0.0.1:7007.
    token
        Says who asks; SIFTCAST_TOKEN in the environment does too. Its principal needs operate and see.
    authorities
        A file with the certificates to believe, instead of the machine's, where the node's address is siftcasts://.
    json
        Print what was reported as one line of JSON.
    """
    from siftcast.runtimes.live.client import operating
    from siftcast.runtimes.live.node.node import run

    url = node_at(at)

    def words(facts: Facts) -> str:
        states = [row["state"] for row in facts["members"] if node in (row["name"], str(row["identity"]))]
        return f"it is still {' and '.join(states) or 'known'}; the network plans without it first"

    async def ask(show: WaitingLine) -> list[dict[str, Any]]:
        async with call_node(url, "siftcast forget", token=token, authorities=authorities) as bus:
            return await operating.forget(bus, node, show)

    with waiting_line(f"forgetting {node}", url, words) as show:
        reports: list[dict[str, Any]] = run(ask(show))
    if json:
        out().print(Text(msgspec.json.encode(reports).decode()), soft_wrap=True)
        return OK
    out().print(Text(f"node '{node}' is gone"), soft_wrap=True)
    for report in reports:
        facts = ", ".join(
            f"{value}" if name == "is" else f"{name} {value}" for name, value in report.items() if name != "what"
        )
        out().print(Text(f"{report['what']}{': ' if facts else ''}{facts}"), soft_wrap=True)
    return OK
