"""Whether a subscription's bound on delay is kept: one judgement, for the live network and for the simulator.

    unmeasured   no event has come yet whose age is known, and no scheme has said what is to be expected
    met          at least SHARE_MIN of the last WINDOW events came within `delay_ms_max`
    missed       they did not
    impossible   they did not, or none has come yet, and the delay to a publisher itself exceeds the bound

The age of an event counts from when its publisher's node took it until the subscriber has it: all links on the way, and
how long it stayed at each node. What is measured goes before what a scheme expects (`ExpectDelay`); the expectation
decides where nothing was measured yet, and it alone knows what is impossible: unless a way over others is shorter than
the line to the publisher itself, as measured or expected. Where fewer than WINDOW events have come, those there are
count: after ten, one late event is too many. When the bound changes, the same events are judged again.

With its age, an event brings the hop that took it longest: from one node to the next, with the time that it stayed at
the first. The hop shown is the one that was slowest for most events; for most of the late ones, if there are any.

Cost: one to two microseconds an event, and 18 KB for a full window, which is columns of numbers: a node may have ten
thousand of them.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from math import isinf
from typing import Final, Literal, NamedTuple

from siftcast.overlays.contract import NodeId

WINDOW: Final = 1_000
SHARE_MIN: Final = 0.99
_LATE_MAX_IN: Final = 100
"""One of so many events may be late."""
State = Literal["unmeasured", "met", "missed", "impossible"]


class Hop(NamedTuple):
    """A part of an event's way: from one node to the next, or from the last one to the subscriber (None)."""

    source: NodeId
    target: NodeId | None
    taken_ms: float


Pair = tuple[NodeId, NodeId | None]


@dataclass(frozen=True, slots=True)
class Standing:
    """How a bound stands: since when, by how many of the last events, and where these lost most time."""

    state: State
    since_ms: float
    """When it came to this state, by the clock of whoever judges."""
    counted: int
    in_time: int
    slowest: Hop | None
    """With the mean time of those events for which it was the slowest."""
    reach_ms: float | None
    """How late events come over the links there are, as the scheme expects it; None if it does not say."""
    direct_ms: float | None
    """The delay to the farthest publisher itself, as the scheme knows it."""
    taken_on_share: float | None
    """What of all that comes in is passed on for others alone: what the place that keeps the bound costs."""

    @property
    def share(self) -> float | None:
        """The share of the last events that came in time; None if there were none."""
        return self.in_time / self.counted if self.counted else None


class _Tally:
    """For how many of the last events a hop was the slowest, and how long it took them."""

    __slots__ = ("count", "late", "late_ms", "pair", "place", "taken_ms")

    def __init__(self, pair: Pair, place: int) -> None:
        self.pair = pair
        self.place = place
        self.count = self.late = 0
        self.taken_ms = self.late_ms = 0.0

    def add(self, taken_ms: float, *, late: bool, sign: int) -> None:
        self.count += sign
        self.taken_ms += sign * taken_ms
        if late:
            self.late += sign
            self.late_ms += sign * taken_ms


_NO_HOP = 0
"""The place of what has none; the tally there is never looked at."""


class _Window:
    """The last events in columns: their ages, and which hop was slowest for how long."""

    __slots__ = ("ages", "hops", "next", "taken")

    def __init__(self) -> None:
        self.ages = array("d")
        self.hops = array("H")
        self.taken = array("d")
        self.next = 0
        """Where the next one goes, once all places are taken."""

    def __len__(self) -> int:
        return len(self.ages)

    def put(self, age_ms: float, hop: int, taken_ms: float) -> tuple[float, int, float] | None:
        """Adds an event; returns the oldest one, if that has to go for it."""
        if len(self.ages) < WINDOW:
            self.ages.append(age_ms)
            self.hops.append(hop)
            self.taken.append(taken_ms)
            return None
        at = self.next
        gone = self.ages[at], self.hops[at], self.taken[at]
        self.ages[at], self.hops[at], self.taken[at] = age_ms, hop, taken_ms
        self.next = (at + 1) % WINDOW
        return gone


class BoundWatch:
    """Judges one subscription's bound from the ages of its events."""

    __slots__ = (
        "_by_pair",
        "_direct_ms",
        "_free",
        "_late",
        "_reach_ms",
        "_recent",
        "_since_ms",
        "_state",
        "_taken_on_share",
        "_tallies",
        "bound_ms",
    )

    def __init__(self, bound_ms: float, now: float) -> None:
        self.bound_ms = bound_ms
        self._recent = _Window()
        self._late = 0
        self._tallies = [_Tally((0, None), _NO_HOP)]
        self._by_pair: dict[Pair, _Tally] = {}
        self._free: list[int] = []
        """Places of tallies of which no event is left."""
        self._reach_ms: float | None = None
        self._direct_ms: float | None = None
        self._taken_on_share: float | None = None
        self._state: State = "unmeasured"
        self._since_ms = now

    def note(self, age_ms: float, slowest: Hop | None, now: float) -> bool:
        """An event came; says whether that changed the state."""
        hop, taken_ms = (_NO_HOP, 0.0) if slowest is None else (self._place_of(slowest), slowest.taken_ms)
        self._count(age_ms, hop, taken_ms, sign=1)
        gone = self._recent.put(age_ms, hop, taken_ms)
        if gone is not None:
            self._count(*gone, sign=-1)
        return self._judge(now)

    def expect(self, reach_ms: float, direct_ms: float, now: float, taken_on_share: float | None = None) -> bool:
        """The scheme says how late events will come; says whether that changed the state."""
        self._reach_ms, self._direct_ms, self._taken_on_share = reach_ms, direct_ms, taken_on_share
        return self._judge(now)

    def change(self, bound_ms: float, now: float) -> bool:
        """Another bound holds from now on; says whether that changed the state."""
        self.bound_ms = bound_ms
        self._late = 0
        for tally in self._by_pair.values():
            tally.count = tally.late = 0
            tally.taken_ms = tally.late_ms = 0.0
        recent = self._recent
        for age_ms, hop, taken_ms in zip(recent.ages, recent.hops, recent.taken, strict=True):
            self._count(age_ms, hop, taken_ms, sign=1)
        return self._judge(now)

    @property
    def standing(self) -> Standing:
        """How the bound stands now."""
        counted = len(self._recent)
        in_time = counted - self._late
        expected = self._reach_ms, self._direct_ms, self._taken_on_share
        return Standing(self._state, self._since_ms, counted, in_time, self._slowest(), *expected)

    def _place_of(self, hop: Hop) -> int:
        """Where the tally of a hop is."""
        pair = hop.source, hop.target
        tally = self._by_pair.get(pair)
        if tally is None:
            place = self._free.pop() if self._free else len(self._tallies)
            tally = self._by_pair[pair] = _Tally(pair, place)
            self._tallies[place : place + 1] = [tally]
        return tally.place

    def _count(self, age_ms: float, hop: int, taken_ms: float, *, sign: int) -> None:
        is_late = age_ms > self.bound_ms
        self._late += sign if is_late else 0
        if hop != _NO_HOP:
            tally = self._tallies[hop]
            tally.add(taken_ms, late=is_late, sign=sign)
            if not tally.count:
                del self._by_pair[tally.pair]
                self._free.append(hop)

    def _judge(self, now: float) -> bool:
        state = self._found()
        if state == self._state:
            return False
        self._state, self._since_ms = state, now
        return True

    def _found(self) -> State:
        if len(self._recent) and self._late * _LATE_MAX_IN <= len(self._recent):
            return "met"
        is_nearer = self._reach_ms is not None and self._reach_ms <= self.bound_ms  # over others than the publisher
        if self._direct_ms is not None and self._direct_ms > self.bound_ms and not is_nearer:
            return "impossible"
        if len(self._recent):
            return "missed"
        if self._reach_ms is None or isinf(self._reach_ms):  # links are still being looked for
            return "unmeasured"
        return "met" if self._reach_ms <= self.bound_ms else "missed"

    def _slowest(self) -> Hop | None:
        if not self._by_pair:
            return None
        slowest = max(self._by_pair.values(), key=lambda each: (each.late, each.count))
        taken_ms = slowest.late_ms / slowest.late if slowest.late else slowest.taken_ms / slowest.count
        return Hop(*slowest.pair, taken_ms)
