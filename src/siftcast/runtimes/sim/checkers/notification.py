"""What it costs to notify: all traffic, over the subscriptions that were notified (thesis, section 3.6.3).

    notification cost = (messages that carry events + control messages) / (event, subscription) pairs delivered

Control traffic is everything else that nodes send: subscriptions, trees, changes of clusters. What is worked out beside
the simulated network (an embedding, k-means) sends messages too; whoever knows how many adds them as `more_control`.

A **false positive** is an event received by a node that has no subscriber for it: a message that only costs. Nodes
that just pass an event on are among them. A network multicast counts once for each receiver here, because that is
what its receivers bear.

`notification_costs` gives the same for every so many events, to see how a network recovers when the traffic changes;
what is sent before the first publication belongs to no such window. Cost: a pass over the records.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from siftcast.overlays.trace import Trace
from siftcast.runtimes.sim.checkers.columns import NONE, Columns, Flags, Floats, Integers, read_columns, rows_of

Control = tuple[float, int]
"""A time in ms, and how many control messages were sent then beside those in the trace."""


@dataclass(frozen=True, slots=True)
class NotificationCost:
    """Traffic and what it was good for."""

    events: int
    deliveries: int
    event_messages: int
    control_messages: int
    false_positives: int

    @property
    def cost(self) -> float:
        """Messages for each subscription notified; infinite if there was traffic for nothing."""
        messages = self.event_messages + self.control_messages
        if self.deliveries:
            return messages / self.deliveries
        return float("inf") if messages else 0.0

    @property
    def false_positives_per_event(self) -> float:
        """How many nodes, on average, receive an event for nothing; a node counts as often as it does."""
        return self.false_positives / self.events if self.events else 0.0

    @property
    def false_positive_share(self) -> float:
        """The share of the messages with events that was for nothing."""
        return self.false_positives / self.event_messages if self.event_messages else 0.0


@dataclass(frozen=True, slots=True)
class _Traffic:
    """One entry a message, a publication, a (delivered event, subscription) and an addition to control traffic."""

    sent_ms: Floats
    is_control: Flags
    false_ms: Floats
    published_ms: Floats
    delivered_ms: Floats
    delivered: Integers
    more_ms: Floats
    more: Integers

    def between(self, start_ms: float, end_ms: float) -> NotificationCost:
        """The cost of what happened from one time until before another."""

        def within(times: Floats) -> Flags:
            flags: Flags = (times >= start_ms) & (times < end_ms)
            return flags

        sent = within(self.sent_ms)
        return NotificationCost(
            events=int(within(self.published_ms).sum()),
            deliveries=int(self.delivered[within(self.delivered_ms)].sum()),
            event_messages=int((sent & ~self.is_control).sum()),
            control_messages=int((sent & self.is_control).sum() + self.more[within(self.more_ms)].sum()),
            false_positives=int(within(self.false_ms).sum()),
        )


def notification_cost(trace: Trace, *, more_control: Sequence[Control] = ()) -> NotificationCost:
    """The cost of a whole run, everything that was sent before the first event included."""
    return _traffic(trace, more_control).between(-np.inf, np.inf)


def notification_costs(
    trace: Trace, every: int, *, more_control: Sequence[Control] = ()
) -> tuple[NotificationCost, ...]:
    """The cost of every so many events, from the publication of the first of them to that of the first of the next."""
    if every < 1:
        raise ValueError(f"a window has at least one event, not {every}")
    traffic = _traffic(trace, more_control)
    edges = [*np.sort(traffic.published_ms)[::every].tolist(), np.inf]
    return tuple(traffic.between(start, end) for start, end in pairwise(edges))


def _traffic(trace: Trace, more_control: Sequence[Control]) -> _Traffic:
    columns = read_columns(trace, ("sent", "multicast", "received", "published"), control=True)
    sent = columns.of("sent", "multicast")
    told_ms, told = _told(trace)
    more = np.array(list(more_control), dtype=np.float64).reshape(-1, 2)
    return _Traffic(
        sent_ms=columns.time_ms[sent],
        is_control=columns.event[sent] == NONE,
        false_ms=columns.time_ms[_false(trace, columns)],
        published_ms=columns.time_ms[columns.of("published")],
        delivered_ms=told_ms,
        delivered=told,
        more_ms=more[:, 0],
        more=more[:, 1].astype(np.int64),
    )


def _told(trace: Trace) -> tuple[Floats, Integers]:
    """When subscriptions were notified, and how many of them; a durable one is by the first offer of an event."""
    table = trace.delivery_table()
    first: dict[tuple[str, str], float] = {}
    for row in rows_of(trace, ("offered",)).to_pylist():
        first.setdefault((row["message"].rpartition("@")[0], row["event"]), row["time_ms"])
    times = [*table["time_ms"].to_pylist(), *first.values()]
    counts = [*(len(ids) for ids in table["subscriptions"].to_pylist()), *(1 for _ in first)]
    return np.array(times, dtype=np.float64), np.array(counts, dtype=np.int64)


def _false(trace: Trace, columns: Columns) -> Flags:
    """Which rows are events received where nobody wants them."""
    table, numbers = trace.delivery_table(), {event: number for number, event in enumerate(columns.events)}
    offered = rows_of(trace, ("offered",))
    told = zip(
        [*table["event"].to_pylist(), *offered["event"].to_pylist()],
        [*table["node"].to_pylist(), *offered["node"].to_pylist()],
        strict=True,
    )
    nodes = int(columns.node.max(initial=0)) + 1
    wanted = np.array(
        [numbers[event] * nodes + node for event, node in told if event in numbers],
        dtype=np.int64,
    )
    received = columns.of("received") & (columns.event != NONE)
    false: Flags = received & ~np.isin(columns.event * nodes + columns.node, wanted)
    return false
