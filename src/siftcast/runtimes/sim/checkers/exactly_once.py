"""Did each event reach exactly the matching subscribers, once?

A checker that reads nothing but the trace: which subscriptions were there when (`subscribed`, `unsubscribed`, and the
crash of their server, which ends them), which events were published, and what was delivered where.

A network needs time until a subscription is known everywhere, so an event is judged by what was true around its
publication at time t:

    subscription active during all of  [t - settle, t + settle]    it must get the event, once
    active at some time in it                                      it may, once
    otherwise, or if its filter does not match, or elsewhere       it must not

Around crashes and cuts nothing can be promised: an event published from `settle` before one to `settle` after its end
may be missed, but never delivered twice or wrongly. `repair_ms` says after how long a network must have recovered
even though a node is still gone; without it, the disturbance lasts until the node is back.

Cost: one match for each different event; the rest is sorting pairs of numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec
import numpy as np

from siftcast.matching import Matcher
from siftcast.overlays.trace import Trace
from siftcast.runtimes.sim.checkers.columns import Flags, Floats, Integers, read_columns, rows_of
from siftcast.runtimes.sim.checkers.story import tell_event
from siftcast.runtimes.sim.recording import NOBODY

_SHOWN = 20
_FOREVER = float("inf")
_ENDS = {"crashed": "restarted", "left": "joined", "cut": "healed"}


@dataclass(frozen=True, slots=True)
class Violation:
    """A delivery that is missing, that came twice (`duplicate`), or that should not have been (`wrong`)."""

    kind: str
    event: str
    subscription: str
    node: int
    story: str = field(repr=False)

    def __str__(self) -> str:
        who = f"subscription '{self.subscription}' at node {self.node}"
        return f"{self.kind}: event '{self.event}' and {who}\n{self.story}"


@dataclass(frozen=True, slots=True)
class ExactlyOnce:
    """The verdict: counts of all, and the first violations with the story of their event."""

    events: int
    required: int
    delivered: int
    missing: int
    duplicate: int
    wrong: int
    violations: tuple[Violation, ...]

    @property
    def ok(self) -> bool:
        return not (self.missing or self.duplicate or self.wrong)

    @property
    def nothing_false(self) -> bool:
        """At most once, and to nobody else: what can be asked of a network that loses messages."""
        return not (self.duplicate or self.wrong)


@dataclass(frozen=True, slots=True)
class _Spans:
    """When each subscription was there: one entry a span."""

    key: list[str]
    id: list[str]
    node: Integers
    start: Floats
    end: Floats


def exactly_once(trace: Trace, *, settle_ms: float = 0.0, repair_ms: float | None = None) -> ExactlyOnce:
    """Compares what was delivered with what the filters say."""
    spans = _spans(trace)
    places = {
        place: number for number, place in enumerate(dict.fromkeys(zip(spans.id, spans.node.tolist(), strict=True)))
    }
    published, times = _published(trace)
    numbers = {event: number for number, event in enumerate(published)}
    events, owners = _matches(trace, spans, published)
    place_of = np.array(
        [places[id, node] for id, node in zip(spans.id, spans.node.tolist(), strict=True)], dtype=np.int64
    )
    at, start, end = times[events], spans.start[owners], spans.end[owners]
    codes = events * max(1, len(places)) + place_of[owners] if len(owners) else np.zeros(0, dtype=np.int64)
    required = (
        (start <= at - settle_ms) & (end >= at + settle_ms) & ~_disturbed(trace, times, settle_ms, repair_ms)[events]
    )
    allowed = (start <= at + settle_ms) & (end >= at - settle_ms)
    required_codes, allowed_codes = np.unique(codes[required]), np.unique(codes[allowed])
    delivered, strays = _delivered(trace, numbers, places)
    found, counts = np.unique(delivered, return_counts=True)
    missing = np.setdiff1d(required_codes, found, assume_unique=True)
    wrong = np.setdiff1d(found, allowed_codes, assume_unique=True)
    twice = found[counts > 1]
    names = list(places)
    violations = [
        _violation(trace, kind, published[code // len(places)], *names[code % len(places)])
        for kind, group in (("missing", missing), ("duplicate", twice), ("wrong", wrong))
        for code in group[: _SHOWN // 4].tolist()
    ]
    violations += [_violation(trace, "wrong", *stray) for stray in strays[: _SHOWN // 4]]
    return ExactlyOnce(
        events=len(published),
        required=len(required_codes),
        delivered=len(delivered) + len(strays),
        missing=len(missing),
        duplicate=int((counts - 1).sum()),
        wrong=len(wrong) + len(strays),
        violations=tuple(violations),
    )


def _violation(trace: Trace, kind: str, event: str, subscription: str, node: int) -> Violation:
    return Violation(kind, event, subscription, node, tell_event(trace, event))


def _spans(trace: Trace) -> _Spans:
    """Reads off when each subscription was there, with which filter, and at which node."""
    rows = rows_of(trace, ("subscribed", "unsubscribed", "crashed", "left")).to_pylist()
    open_: dict[tuple[int, str], tuple[str, float]] = {}
    closed: list[tuple[str, str, int, float, float]] = []
    for row in rows:
        node, time, name = row["node"], row["time_ms"], row["message"]
        if row["kind"] in ("crashed", "left"):
            ending = [place for place in open_ if place[0] == node]
        else:
            ending = [(node, trace.subscriptions[name].id if row["kind"] == "subscribed" else name)]
        for place in ending:
            if place in open_:
                key, start = open_.pop(place)
                closed.append((key, place[1], node, start, time))
        if row["kind"] == "subscribed":
            open_[ending[0]] = name, time
    closed.extend((key, id, node, start, _FOREVER) for (node, id), (key, start) in open_.items())
    return _Spans(
        [span[0] for span in closed],
        [span[1] for span in closed],
        np.array([span[2] for span in closed], dtype=np.int64),
        np.array([span[3] for span in closed], dtype=np.float64),
        np.array([span[4] for span in closed], dtype=np.float64),
    )


def _published(trace: Trace) -> tuple[list[str], Floats]:
    """Events that were published and not refused, with their times."""
    columns = read_columns(trace, ("published", "refused"))
    refused = set(columns.event[columns.of("refused")].tolist())
    rows = [row for row in np.flatnonzero(columns.of("published")) if columns.event[row] not in refused]
    return [columns.events[columns.event[row]] for row in rows], columns.time_ms[rows]


def _matches(trace: Trace, spans: _Spans, published: list[str]) -> tuple[Integers, Integers]:
    """Pairs of an event and a span whose filter it matches, as two arrays of numbers."""
    matcher = Matcher()
    for number, key in enumerate(spans.key):
        matcher.add(str(number), trace.subscriptions[key].filter)
    known: dict[bytes, Integers] = {}
    found: list[Integers] = []
    for event in published:
        # Events of equal content match alike; workloads draw from few values.
        attributes = trace.events[event].attributes
        content = msgspec.json.encode(attributes)
        if content not in known:
            known[content] = np.array([int(number) for number in matcher.match(trace.events[event])], dtype=np.int64)
        found.append(known[content])
    lengths = [len(each) for each in found]
    return np.repeat(np.arange(len(published)), lengths), np.concatenate([np.zeros(0, dtype=np.int64), *found])


def _disturbed(trace: Trace, times: Floats, settle_ms: float, repair_ms: float | None) -> Flags:
    """Which events were published while something was broken, or shortly before or after."""
    begun: dict[tuple[str, int], float] = {}
    periods: list[tuple[float, float]] = []
    for row in rows_of(trace, (*_ENDS, *_ENDS.values())).to_pylist():
        kind, node, time = row["kind"], row["node"], row["time_ms"]
        if kind in _ENDS:
            begun.setdefault((_ENDS[kind], NOBODY if kind == "cut" else node), time)
        elif (start := begun.pop((kind, node), None)) is not None:
            periods.append((start, time))
        else:
            periods.append((time, time))
    periods.extend((start, _FOREVER) for start in begun.values())
    flags: Flags = np.zeros(len(times), dtype=np.bool_)
    for start, end in periods:
        last = end if repair_ms is None else min(end, start + repair_ms)
        flags |= (times >= start - settle_ms) & (times <= last + settle_ms)
        if repair_ms is not None and end < _FOREVER:
            flags |= (times >= end - settle_ms) & (times <= end + settle_ms)
    return flags


def _delivered(
    trace: Trace, numbers: Mapping[str, int], places: Mapping[tuple[str, int], int]
) -> tuple[Integers, list[tuple[str, str, int]]]:
    """Each delivery as one number, and those of which nothing is known."""
    table = trace.delivery_table()
    codes: list[int] = []
    strays: list[tuple[str, str, int]] = []
    width = max(1, len(places))
    for event, node, ids in zip(
        table["event"].to_pylist(), table["node"].to_pylist(), table["subscriptions"].to_pylist(), strict=True
    ):
        number = numbers.get(event)
        for id in ids:
            place = places.get((id, node))
            if number is None or place is None:
                strays.append((event, id, node))
            else:
                codes.append(number * width + place)
    return np.array(codes, dtype=np.int64), strays
