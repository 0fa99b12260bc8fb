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
even though a node is still gone; without it, the disturbance lasts until the node is back. What would have been
required but for a disturbance is counted as `excused`; a run in which nothing else was left is `vacuous`.

Cost: one match for each different event; the rest is sorting pairs of numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec
import numpy as np

from siftcast.matching import Matcher
from siftcast.overlays.trace import Trace
from siftcast.runtimes.sim.checkers.columns import Floats, Integers, read_columns, rows_of
from siftcast.runtimes.sim.checkers.disturbances import disturbances, disturbed
from siftcast.runtimes.sim.checkers.outcomes import Outcome, outcome_of
from siftcast.runtimes.sim.checkers.story import tell_event

_SHOWN = 20
_FOREVER = float("inf")


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
    """The verdict: counts of all, and the first violations with the story of their event.

    `wanted` are the pairs of an event and a subscription that were to be delivered or might have been; of these,
    `required` had to be, and `excused`, of `events_excused` events, would have had to but for a crash or a cut.
    """

    events: int
    wanted: int
    required: int
    excused: int
    events_excused: int
    delivered: int
    missing: int
    duplicate: int
    wrong: int
    violations: tuple[Violation, ...]

    @property
    def faults(self) -> int:
        """How many deliveries are not as they should be."""
        return self.missing + self.duplicate + self.wrong

    @property
    def outcome(self) -> Outcome:
        """Vacuous where nothing was required, and nothing wrong was done."""
        return outcome_of(faults=self.faults, required=self.required)

    @property
    def ok(self) -> bool:
        """Whether something was required, and all of it was right."""
        return self.outcome == "passed"

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
    settled = (start <= at - settle_ms) & (end >= at + settle_ms)
    broken = disturbed(disturbances(trace), times, settle_ms, repair_ms)[events]
    allowed = (start <= at + settle_ms) & (end >= at - settle_ms)
    required_codes, allowed_codes = np.unique(codes[settled & ~broken]), np.unique(codes[allowed])
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
        wanted=len(allowed_codes),
        required=len(required_codes),
        excused=len(np.unique(codes[settled & broken])),
        events_excused=len(np.unique(events[settled & broken])),
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
