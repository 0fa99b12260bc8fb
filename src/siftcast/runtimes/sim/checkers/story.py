"""What happened to one event, told hop by hop."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from siftcast.overlays.trace import Trace

_LINES = 30


@dataclass(frozen=True, slots=True)
class Hop:
    """An event's way from one node to another; `received_ms` is None if it did not arrive."""

    sender: int
    receiver: int
    sent_ms: float
    received_ms: float | None


def hops_of(trace: Trace, event: str) -> tuple[Hop, ...]:
    """The hops of an event in the order in which they were begun."""
    rows = _rows(trace, event)
    arrivals: dict[tuple[int, int], list[float]] = {}
    for row in rows:
        if row["kind"] == "received":
            arrivals.setdefault((row["peer"], row["node"]), []).append(row["time_ms"])
    hops = []
    for row in rows:
        if row["kind"] in ("sent", "multicast"):
            times = arrivals.get((row["node"], row["peer"]), [])
            hops.append(Hop(row["node"], row["peer"], row["time_ms"], times.pop(0) if times else None))
    return tuple(hops)


def publisher_of(trace: Trace, event: str) -> int | None:
    """The node at which an event entered the network."""
    return next((row["node"] for row in _rows(trace, event) if row["kind"] == "published"), None)


def receivers_of(trace: Trace, event: str) -> tuple[int, ...]:
    """The nodes that delivered an event, ascending."""
    table = trace.delivery_table()
    return tuple(sorted(set(table.filter(pc.equal(table["event"], event))["node"].to_pylist())))


def tell_event(trace: Trace, event: str) -> str:
    """The event's rows, a line each."""
    lines = list(_lines(trace, event))
    if len(lines) > _LINES:
        lines = [*lines[: _LINES - 1], f"  … {len(lines) - _LINES + 1} lines more"]
    return "\n".join(lines) if lines else "  nothing is recorded of this event"


def _lines(trace: Trace, event: str) -> Iterator[str]:
    told: list[tuple[float, str]] = []
    for row in _rows(trace, event):
        node, peer = row["node"], row["peer"]
        words = {
            "published": f"published at node {node}",
            "sent": f"node {node} sends it to {peer}",
            "multicast": f"node {node} multicasts it to {peer}",
            "received": f"node {node} has it from {peer}",
            "lost": f"lost between node {node} and {peer}",
            "dropped": f"node {node} is down and does not get it from {peer}",
            "missed": f"node {node} is down and does not publish it",
            "refused": f"node {node} refuses to publish it",
            "accepted": f"node {node} has it on disk",
            "offered": f"node {node} offers it as {row['message']}",
            "dead letter": f"node {node} gives it up as {row['message']}",
        }
        told.append((row["time_ms"], words.get(row["kind"], f"node {node}: {row['kind']}")))
    table = trace.delivery_table()
    for row in table.filter(pc.equal(table["event"], event)).to_pylist():
        told.append((row["time_ms"], f"node {row['node']} delivers it to {', '.join(row['subscriptions'][:8])}"))
    for time, words_ in sorted(told, key=lambda line: line[0]):
        yield f"  {time:10.3f} ms  {words_}"


def _rows(trace: Trace, event: str) -> list[dict[str, Any]]:
    table = trace.record_table()
    found: list[dict[str, Any]] = table.filter(pc.equal(table["event"], pa.scalar(event, pa.string()))).to_pylist()
    return found
