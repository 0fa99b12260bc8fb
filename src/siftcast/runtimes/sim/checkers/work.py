"""What servers keep, how often they match, and how long events take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow.compute as pc

from siftcast.overlays.contract import NodeId, Protocol
from siftcast.overlays.trace import Trace
from siftcast.runtimes.sim.checkers.columns import Floats, Integers, read_columns


def routing_state(protocols: Mapping[NodeId, Protocol]) -> Integers:
    """The entries that each node keeps to route by, in the order of the nodes."""
    return np.array([protocols[node].state().get("entries", 0) for node in sorted(protocols)], dtype=np.int64)


def matching_load(trace: Trace) -> Integers:
    """For each published event, the number of servers that matched it in order to route it.

    A server whose only work is to find its own subscribers did not match: every scheme must do that.
    """
    columns = read_columns(trace, ("published", "received"))
    working = columns.matches > 0
    per_event = np.bincount(columns.event[working], minlength=len(columns.events))
    loads: Integers = per_event[columns.event[columns.of("published")]]
    return loads


def delays_ms(trace: Trace) -> Floats:
    """The time from publication to delivery, once for each event and server that delivered it."""
    published = read_columns(trace, ("published",))
    begun = {published.events[event]: time for event, time in zip(published.event, published.time_ms, strict=True)}
    table = trace.delivery_table()
    encoded = table["event"].combine_chunks().dictionary_encode()
    starts = np.array([begun.get(event, np.nan) for event in encoded.dictionary.to_pylist()], dtype=np.float64)
    indices = pc.cast(encoded.indices, "int64").to_numpy(zero_copy_only=False)
    times: Floats = table["time_ms"].to_numpy() - starts[indices]
    return times[~np.isnan(times)]


@dataclass(frozen=True, slots=True)
class DelayBounds:
    """How many deliveries had a bound on their delay (`Subscription.delay_ms_max`), and how many came after it."""

    judged: int
    late: int
    worst_ms: float
    """By how much the latest of them was; 0 if none was."""


def delay_bounds(trace: Trace) -> DelayBounds:
    """Compares each delivery with the bound of its subscription; what has none is not judged."""
    bound_of = {item.id: item.delay_ms_max for item in trace.subscriptions.values()}
    published = read_columns(trace, ("published",))
    begun = {published.events[event]: time for event, time in zip(published.event, published.time_ms, strict=True)}
    table = trace.delivery_table()
    over: list[float] = []
    for time, event, ids in zip(
        table["time_ms"].to_pylist(), table["event"].to_pylist(), table["subscriptions"].to_pylist(), strict=True
    ):
        taken = time - begun.get(event, np.nan)
        over.extend(taken - bound for id in ids if (bound := bound_of.get(id)) is not None)
    late = np.array(over, dtype=np.float64)
    late = late[~np.isnan(late)]
    return DelayBounds(len(late), int((late > 0).sum()), float(late.max(initial=0.0)))
