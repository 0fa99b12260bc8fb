"""Did durable subscriptions get what they were promised, whatever happened to nodes, links and disks?

Reads nothing but the trace. Around a durable subscription S and an event e:

    missing      e matches, was accepted, was published no sooner than `settle_ms` after S was accepted, and not offered
    duplicate    S was offered e at two positions: it is there twice, and no client could tell
    repeated     S was offered e again after it acknowledged it, and its node was not down in between
    disordered   S was offered e before an earlier event of the same publisher; no fault where no order is promised
    wrong        S was offered e, and no filter of S matches it

Unlike `exactly_once`, no crash and no cut is an excuse. Events that S gave up on (`expired`) are not missing. Offers
that come again because client or node were gone count once. A publisher is a node and an `Event.source`; its order is
that of publication, and an event that was published more than once has no place in it. An event that was not accepted
may be offered: its publisher does not know.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from siftcast.overlays.trace import Trace
from siftcast.runtimes.sim.checkers.columns import Floats, rows_of
from siftcast.runtimes.sim.checkers.exactly_once import Violation
from siftcast.runtimes.sim.checkers.outcomes import Outcome, outcome_of
from siftcast.runtimes.sim.checkers.story import tell_event

_KINDS = (
    "published", "refused", "accepted", "subscribed durably", "unsubscribed", "offered", "acknowledged", "replayed",
    "expired", "dead letter", "crashed",
)  # fmt: skip
_SHOWN = 20
_FAULTS = ("missing", "duplicate", "repeated", "disordered", "wrong")


@dataclass(frozen=True, slots=True)
class DurableDelivery:
    """The verdict: counts of all, and the first violations with the story of their event."""

    accepted: int
    required: int
    offered: int
    missing: int
    duplicate: int
    repeated: int
    disordered: int
    wrong: int
    violations: tuple[Violation, ...]
    ordered: bool = True
    """Whether order was promised."""

    @property
    def faults(self) -> int:
        """How many promises were not kept."""
        disordered = self.disordered if self.ordered else 0
        return self.missing + self.duplicate + self.repeated + disordered + self.wrong

    @property
    def outcome(self) -> Outcome:
        """Vacuous where nothing was required, and nothing wrong was done."""
        return outcome_of(faults=self.faults, required=self.required)

    @property
    def ok(self) -> bool:
        """Whether something was promised, and all of it was kept."""
        return self.outcome == "passed"


@dataclass(slots=True)
class _Held:
    """What the trace tells of one durable subscription."""

    node: int
    keys: list[str]
    accepted_ms: float = float("inf")
    ended_ms: float = float("inf")
    positions: dict[str, set[int]] = field(default_factory=dict)  # of each event, in the order of first offers
    acknowledged: set[int] = field(default_factory=set)
    expired: set[int] = field(default_factory=set)
    repeated: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Published:
    """What the trace tells of one event."""

    node: int
    order: int
    first_ms: float
    times: int = 1
    accepted: bool = False


def durable_delivery(trace: Trace, *, settle_ms: float = 0.0, ordered: bool = True) -> DurableDelivery:
    """Compares what durable subscriptions were offered with what they were promised; `ordered`, if order was, too."""
    events: dict[str, _Published] = {}
    held: dict[str, _Held] = {}
    for row in rows_of(trace, _KINDS).to_pylist():
        _read_publication(row, events)
        _read_subscription(row, trace, held)
    found: dict[str, list[Violation]] = {kind: [] for kind in _FAULTS}
    required = 0
    for name, item in held.items():
        wanted = set(_wanted(trace, item, events, settle_ms))
        required += len(wanted)
        for kind, event in _faults(trace, item, events, wanted):
            story = tell_event(trace, event) if len(found[kind]) < _SHOWN // 4 else ""
            found[kind].append(Violation(kind, event, name, item.node, story))
    return DurableDelivery(
        accepted=sum(event.accepted for event in events.values()),
        required=required,
        offered=sum(len(item.positions) for item in held.values()),
        violations=tuple(
            each for kind in _FAULTS if ordered or kind != "disordered" for each in found[kind][: _SHOWN // 4]
        ),
        ordered=ordered,
        **{kind: len(found[kind]) for kind in _FAULTS},
    )


def offer_delays_ms(trace: Trace) -> Floats:
    """The time from an event's first publication to its first offer, for each durable subscription."""
    begun: dict[str, float] = {}
    first: dict[tuple[str, str], float] = {}
    for row in rows_of(trace, ("published", "offered")).to_pylist():
        if row["kind"] == "published":
            begun.setdefault(row["event"], row["time_ms"])
        else:
            first.setdefault((row["message"].rpartition("@")[0], row["event"]), row["time_ms"])
    return np.array([time - begun[event] for (_, event), time in first.items()], dtype=np.float64)


def _read_publication(row: dict[str, Any], events: dict[str, _Published]) -> None:
    id = row["event"]
    if row["kind"] == "published":
        if id in events:
            events[id].times += 1
        else:
            events[id] = _Published(row["node"], len(events), row["time_ms"])
    elif row["kind"] == "accepted" and id is not None:
        events[id].accepted = True


def _read_subscription(row: dict[str, Any], trace: Trace, held: dict[str, _Held]) -> None:
    kind, name, time = row["kind"], row["message"], row["time_ms"]
    if kind == "crashed":
        for item in held.values():
            if item.node == row["node"]:
                item.acknowledged.clear()  # what it had not on disk yet is offered again
    elif kind == "subscribed durably":
        item = held.setdefault(trace.subscriptions[name].id, _Held(row["node"], []))
        item.keys.append(name)
    elif kind == "accepted" and name in held:
        held[name].accepted_ms = min(held[name].accepted_ms, time)
    elif kind == "unsubscribed" and name in held:
        held[name].ended_ms = time
    elif kind == "replayed" and name in held:
        held[name].acknowledged.clear()
    elif kind in ("offered", "acknowledged", "expired", "dead letter"):
        owner, _, place = name.rpartition("@")
        if owner in held:
            _read_offer(kind, held[owner], int(place), row["event"])


def _read_offer(kind: str, item: _Held, position: int, event: str | None) -> None:
    if kind == "acknowledged":
        item.acknowledged.add(position)
    elif kind == "expired":
        item.expired.add(position)
    elif event is not None:
        item.positions.setdefault(event, set()).add(position)
        if kind == "offered" and position in item.acknowledged:
            item.repeated.append(event)


def _wanted(trace: Trace, item: _Held, events: dict[str, _Published], settle_ms: float) -> Iterator[str]:
    """The events that a subscription must have been offered."""
    filter_ = trace.subscriptions[item.keys[-1]].filter
    since = item.accepted_ms + settle_ms
    for id, event in events.items():
        whole = event.accepted and since <= event.first_ms and item.ended_ms == float("inf") and len(item.keys) == 1
        if whole and filter_.matches(trace.events[id]):
            yield id


def _faults(trace: Trace, item: _Held, events: dict[str, _Published], wanted: set[str]) -> Iterator[tuple[str, str]]:
    missing = sorted(wanted - set(item.positions), key=lambda id: events[id].order)
    # An expired position does not name its event, which may never have been offered; so many may lack.
    for event in missing[len(item.expired) :]:
        yield "missing", event
    for event, positions in item.positions.items():
        if len(positions) > 1:
            yield "duplicate", event
        if not any(trace.subscriptions[key].filter.matches(trace.events[event]) for key in item.keys):
            yield "wrong", event
    for event in Counter(item.repeated):
        yield "repeated", event
    latest: dict[tuple[int, str], int] = {}
    for event in item.positions:
        known = events[event]
        if known.times > 1:
            continue
        publisher = known.node, trace.events[event].source
        if known.order < latest.get(publisher, -1):
            yield "disordered", event
        latest[publisher] = max(known.order, latest.get(publisher, -1))
