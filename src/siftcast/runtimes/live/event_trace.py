"""One event across the nodes: their memories (`hops`) put together, hop by hop, with the reason for each.

A hop is a message that one node sent and another received. Why it was sent is seen at its end: the deliveries at the
node it went to, and at those the event reached from there. A hop that led to no delivery had its purpose in the scheme
(an event on its way to where it is matched), or was of no use, as when merged filters let too much through; then what
the scheme says its message is for is the reason. Times are the nodes' own calendars: between two machines they are as
exact as the machines agree.

Invariant: a hop comes after the one that brought the event to its sender, whatever the clocks say.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class TracedDelivery:
    """Subscriptions of a node that an event was handed to; the first few with their filters, all counted."""

    node: str
    at_ms: float
    subscriptions: tuple[tuple[str, str], ...]
    count: int


@dataclass(frozen=True, slots=True)
class TracedHop:
    """A message with the event; `arrived_ms` is None if the receiver does not remember it, or did not get it."""

    sender: str
    receiver: str
    sent_ms: float
    arrived_ms: float | None
    message: str
    reason: str


@dataclass(frozen=True, slots=True)
class EventTrace:
    """What the nodes remember of an event."""

    event: str
    published: tuple[tuple[str, float], ...]
    hops: tuple[TracedHop, ...]
    deliveries: tuple[TracedDelivery, ...]
    refusals: tuple[tuple[str, float, str], ...]
    silent: tuple[str, ...]
    """Nodes that did not answer."""

    @property
    def is_known(self) -> bool:
        """Whether any node remembers it."""
        return bool(self.published or self.hops or self.deliveries or self.refusals)


def follow(event: str, answers: Iterable[Mapping[str, Any]], silent: Iterable[str]) -> EventTrace:
    """The way of an event, from what each node answers."""
    rows = [(str(answer["node"]), row) for answer in answers for row in answer["rows"]]
    published = tuple((node, row["at_ms"]) for node, row in rows if row["what"] == "published")
    refusals = tuple((node, row["at_ms"], row["reason"]) for node, row in rows if row["what"] == "refused")
    deliveries = tuple(
        TracedDelivery(
            node, row["at_ms"], tuple((each["id"], each["filter"]) for each in row["subscriptions"]), row["count"]
        )
        for node, row in rows
        if row["what"] == "delivered"
    )
    hops = _in_order(_hops(rows, deliveries), [node for node, _ in published])
    return EventTrace(
        event,
        published,
        tuple(hops),
        tuple(sorted(deliveries, key=lambda each: each.at_ms)),
        refusals,
        tuple(silent),
    )


def _hops(rows: Sequence[tuple[str, Mapping[str, Any]]], deliveries: Sequence[TracedDelivery]) -> list[TracedHop]:
    """Messages sent, each with the first one received that fits and was not taken yet."""
    arrivals: dict[tuple[str, str, str], list[float]] = {}
    for node, row in rows:
        if row["what"] == "received":
            arrivals.setdefault((row["nodes"][0], node, row["message"]), []).append(row["at_ms"])
    sent = [(node, other, row) for node, row in rows if row["what"] == "sent" for other in row["nodes"]]
    onward: dict[str, list[str]] = {}
    for sender, receiver, _ in sent:
        onward.setdefault(sender, []).append(receiver)
    hops = []
    for sender, receiver, row in sent:
        arrived = arrivals.get((sender, receiver, row["message"]), [])
        at_ms = arrived.pop(0) if arrived else None
        reason = _reason(row["purpose"], sender, receiver, onward, deliveries)
        hops.append(TracedHop(sender, receiver, row["at_ms"], at_ms, row["message"], reason))
    return hops


def _reason(
    purpose: str, sender: str, receiver: str, onward: Mapping[str, Sequence[str]], deliveries: Sequence[TracedDelivery]
) -> str:
    beyond, waiting = {sender, receiver}, [receiver]
    while waiting:
        for other in onward.get(waiting.pop(), ()):
            if other not in beyond:
                beyond.add(other)
                waiting.append(other)
    wanted = [each for each in deliveries if each.node in beyond and each.node != sender]
    if not wanted:
        return f"{purpose or 'the scheme sends it'}; nothing was delivered there or beyond"
    parts = []
    for node in dict.fromkeys(each.node for each in wanted):
        here = [each for each in wanted if each.node == node]
        count = sum(each.count for each in here)
        filters = next((text for each in here for _, text in each.subscriptions if text), "")
        example = f" ({'one of them ' if count > 1 else ''}{filters})" if filters else ""
        place = "there" if node == receiver else f"beyond it at {node}"
        parts.append(f"{count:,} {'subscription' if count == 1 else 'subscriptions'} {place}{example}")
    return "wanted by " + ", ".join(parts)


def _in_order(hops: list[TracedHop], begun_at: Sequence[str]) -> list[TracedHop]:
    """By cause first and by time second: clocks of two machines may disagree."""
    waiting = sorted(hops, key=lambda hop: hop.sent_ms)
    reached = set(begun_at)
    ordered: list[TracedHop] = []
    while waiting:
        ready = next((hop for hop in waiting if hop.sender in reached), waiting[0])
        waiting.remove(ready)
        ordered.append(ready)
        reached.add(ready.receiver)
    return ordered
