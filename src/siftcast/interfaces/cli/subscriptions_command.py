"""`siftcast subscriptions`: what a node has."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from siftcast.interfaces.cli.caller import call_node, node_at
from siftcast.interfaces.cli.options import Authorities, JsonAnswer, Node
from siftcast.interfaces.cli.outcome import OK
from siftcast.interfaces.cli.terminal import facts, out, shorten
from siftcast.model import SubscriptionError

if TYPE_CHECKING:
    from siftcast.runtimes.live.client.bus import Bus

Answer = TypeVar("Answer")


def subscriptions(
    *,
    at: Node = None,
    token: str | None = None,
    authorities: Authorities = None,
    dead_letters: str | None = None,
    end: str | None = None,
    json: JsonAnswer = False,
) -> int:
    """Show what a node has: who subscribes to what, its peers, and what it has done.

    Example: siftcast subscriptions --at siftcast://127.0.0.1:7007

    Parameters
    ----------
    token
        Says who asks; its principal needs see = true, but for durable subscriptions of its own.
    dead_letters
        Print, one JSON object a line, what the durable subscription of this name refused too often, with the reasons.
    end
        End the durable subscription of this name, with all it holds.
    """
    from siftcast.runtimes.live.node.node import run

    def ask(question: Callable[[Bus], Awaitable[Answer]]) -> Answer:
        async def put() -> Answer:
            async with call_node(node_at(at), "siftcast subscriptions", token=token, authorities=authorities) as bus:
                return await question(bus)

        answer: Answer = run(put())
        return answer

    if dead_letters is not None and end is not None:
        raise SubscriptionError("read dead letters before the subscription is ended: one of both at a time")
    if end is not None:
        ask(lambda bus: bus.end_durable(end))
        return OK
    if dead_letters is not None:
        for letter in ask(lambda bus: bus.dead_letters(dead_letters)):
            facts_of_letter = {"reason": letter.reason, "refusals": letter.refusals, "position": letter.position}
            shown = {**facts_of_letter, "id": letter.event.id, "attributes": letter.event.attributes}
            sys.stdout.write(msgspec.json.encode(shown).decode() + "\n")
        return OK
    described = ask(lambda bus: bus.describe())
    if json:
        out().print(Text(msgspec.json.encode(described).decode()), soft_wrap=True)
    else:
        _show(described, out())
    return OK


def _show(described: dict[str, Any], console: Console) -> None:
    rows = described.pop("subscriptions")
    state = described.pop("state")
    del described["members"]  # siftcast members shows them
    lines = [(name, ", ".join(value) if isinstance(value, list) else str(value)) for name, value in described.items()]
    lines.append(("routing entries", str(state.get("entries", 0))))
    counts = ("relays_waiting", "events_parked")
    lines += [(name.replace("_", " "), str(state[name])) for name in counts if name in state]
    lines += _bounds(rows)
    lines += [("takes on for others", each) for each in _taken_on(state.get("taken_on_share"))]
    lines += [("makes no progress", _stalled(each)) for each in state.get("stalled", ())]
    console.print(facts(lines))
    table = Table(box=None, pad_edge=False)
    has_bounds = any(row.get("delay_ms_max") is not None for row in rows)
    for heading in ("client", "address", "filter", "dropped", "durable", "waiting", *(["bound"] if has_bounds else [])):
        table.add_column(heading, overflow="fold")
    for row in rows:
        cells = [row["client"], row["address"], shorten(row["filter"], 80), str(row["dropped"])]
        cells += [row.get("durable", ""), str(row.get("waiting", "")), *([_bound(row)] if has_bounds else [])]
        table.add_row(*map(Text, cells))
    console.print(table if rows else Text("no subscriptions", "dim"))


def _stalled(facts_of_it: dict[str, Any]) -> str:
    """Something that does not go on although nothing keeps it, with its age."""
    more = ", ".join(f"{name} {value}" for name, value in facts_of_it.items() if name not in ("what", "age_s"))
    return f"{facts_of_it['what']} for {facts_of_it['age_s']:.0f} s" + (f" ({more})" if more else "")


def _bound(row: dict[str, Any]) -> str:
    """A subscription's bound on delay, how it stands, and where events lose most time if it is not kept."""
    bound_ms, standing = row.get("delay_ms_max"), row.get("bound")
    if bound_ms is None or standing is None:
        return "" if bound_ms is None else f"{bound_ms:g} ms"
    words = f"{bound_ms:g} ms {standing['state']}"
    if standing["state"] != "unmeasured":
        words += f" for {standing['for_ms'] / 1_000:,.0f} s"
    if standing["counted"]:
        words += f", {standing['share_in_time']:.1%} of {standing['counted']:,} in time"
    hop = standing["slowest_hop"]
    if hop is not None and standing["state"] != "met":
        words += f", slowest {hop['from']} → {hop['to']}, {hop['delay_ms']:,.0f} ms"
    return words


def _bounds(rows: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """How many bounds are not kept, by what is measured where anything is: each is one or the other."""
    states = [row["bound"]["state"] for row in rows if row.get("bound") is not None]
    return [(f"bounds {state}", str(states.count(state))) for state in ("missed", "impossible")] if states else []


def _taken_on(shares: object) -> list[str]:
    """What a place of a node passes on beyond its own wishes, as a share of what comes to it."""
    if isinstance(shares, dict):
        return [f"{place}: {share:.1%}" for place, share in shares.items()]
    return [f"{shares:.1%}"] if isinstance(shares, int | float) else []
