"""What a subscriber sees of its bound on delay: whether it is kept, since when, and where events lose most time.

    stream = bus.subscribe("price < 95", delay_ms_max=50, on_bound=print)
    stream.bound.state         unmeasured, met, missed or impossible (`overlays.bounds`)
    event.late_ms              by how much the event came too late; 0 if it came in time

The node judges and reports to the client. `on_bound` is called when the state changes; the share in time is brought
up to date once a second.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import EllipsisType
from typing import NamedTuple

from siftcast.model import SubscriptionError
from siftcast.model.showing import shown
from siftcast.overlays.bounds import State
from siftcast.runtimes.live.wire.frames import BoundReported

_MOST = 1e15
_SEVERITY: dict[State, int] = {"met": 0, "unmeasured": 1, "missed": 2, "impossible": 3}


@dataclass(frozen=True, slots=True)
class SlowestHop:
    """From one node to the next, or from the last one to the subscriber; the mean time that it took."""

    source: str
    target: str
    delay_ms: float

    def __str__(self) -> str:
        return f"{self.source} → {self.target or 'the subscriber'}, {self.delay_ms:,.0f} ms"


@dataclass(frozen=True, slots=True)
class Bound:
    """How the bound of a subscription stands."""

    delay_ms_max: float
    name: str = ""
    """Of which filter of `subscribe_many` it is; a stream of one filter names none."""
    state: State = "unmeasured"
    since: datetime | None = None
    """When it came to this state, by this machine's clock; None before the node has said anything."""
    counted: int = 0
    """How many of the last 1,000 events there were whose age is known."""
    in_time: int = 0
    slowest_hop: SlowestHop | None = None
    reach_ms: float | None = None
    """How late events come over the links there are, as far as the scheme says."""
    direct_ms: float | None = None
    """The delay to the farthest publisher itself, as far as the scheme says."""
    taken_on_share: float | None = None
    """What of all that comes to the subscriber's node is passed on for others alone, as far as the scheme says."""

    @property
    def share_in_time(self) -> float | None:
        """The share of the last 1,000 events that came in time; None if there were none."""
        return self.in_time / self.counted if self.counted else None

    @property
    def severity(self) -> int:
        """The higher, the worse."""
        return _SEVERITY[self.state]

    def explain(self) -> str:
        """A line each: how it stands, where time is lost, what could be had, and what it costs."""
        lines = [f"{self.delay_ms_max:g} ms: {self.state}"]
        if self.counted:
            lines.append(f"{self.in_time:,} of the last {self.counted:,} events came in time")
        if self.slowest_hop is not None:
            lines.append(f"slowest hop: {self.slowest_hop}")
        if self.reach_ms is not None:
            lines.append(f"over the links there are, events of the farthest publisher take {self.reach_ms:,.0f} ms")
        if self.direct_ms is not None:
            lines.append(f"that publisher itself is {self.direct_ms:,.0f} ms away")
        if self.taken_on_share is not None:
            lines.append(f"{self.taken_on_share:.1%} of what the node receives for it is passed on for others alone")
        return "\n".join(lines)

    def __str__(self) -> str:
        whose = f" of {self.name}" if self.name else ""
        words = [f"bound{whose}, {self.delay_ms_max:g} ms: {self.state}"]
        if self.since is not None and self.state != "unmeasured":
            words[0] += f" since {self.since.astimezone():%H:%M:%S}"
        if self.state == "impossible" and self.direct_ms is not None:
            words.append(f"the farthest publisher itself is {self.direct_ms:,.0f} ms away")
        if self.counted:
            events = "events" if self.counted > 1 else "event"
            words.append(f"{self.in_time / self.counted:.1%} of the last {self.counted:,} {events} in time")
        elif self.state in ("met", "missed") and self.reach_ms is not None:
            words.append(f"events are expected within {self.reach_ms:,.0f} ms")
        if self.slowest_hop is not None and self.state != "met":
            words.append(f"slowest hop {self.slowest_hop}")
        return "; ".join(words)


BoundHandler = Callable[[Bound], object]
Unchanged = EllipsisType
"""What stands for a bound or a bandwidth that stays as it is."""


class Wishes(NamedTuple):
    """What is asked of a subscription beside its filter."""

    delay_ms_max: float | None = None
    bandwidth: float | None = None
    on_bound: BoundHandler | None = None

    @property
    def is_any(self) -> bool:
        """Whether anything is asked that only a node of version 4 understands."""
        return self.delay_ms_max is not None or self.bandwidth is not None

    def check(self, *, may_be_kept: bool = False) -> Wishes:
        """Itself; raises SubscriptionError for what no bound, bandwidth or handler can be.

        A bound `may_be_kept` by the node from earlier, so that there is one to tell of, though none is given.
        """
        for name, unit, value in (
            ("delay_ms_max", "milliseconds", self.delay_ms_max),
            ("bandwidth", "bytes per second", self.bandwidth),
        ):
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if value is not None and not (is_number and 0 < value < _MOST):
                rule = f"a positive number of {unit}, below {_MOST:g}"
                raise SubscriptionError(f"{name} is {rule}, not {shown(value)}")
        if self.on_bound is not None and not callable(self.on_bound):
            raise SubscriptionError(f"on_bound is a function of a bound, not {shown(self.on_bound)}")
        if inspect.iscoroutinefunction(self.on_bound):
            raise SubscriptionError("on_bound is called and not awaited: give it a plain function, not an async one")
        if self.on_bound is not None and self.delay_ms_max is None and not may_be_kept:
            raise SubscriptionError("on_bound tells of a bound on delay; give one as delay_ms_max")
        return self._replace(delay_ms_max=_plain(self.delay_ms_max), bandwidth=_plain(self.bandwidth))


class Change(NamedTuple):
    """What is to become of a bound and a bandwidth; None takes one away."""

    delay_ms_max: float | Unchanged | None = ...
    bandwidth: float | Unchanged | None = ...

    def check(self) -> Change:
        """Itself; raises SubscriptionError for what no bound or bandwidth can be."""
        delay_ms_max, bandwidth = (None if isinstance(each, Unchanged) else each for each in self)
        checked = Wishes(delay_ms_max, bandwidth).check()
        return Change(
            ... if isinstance(self.delay_ms_max, Unchanged) else checked.delay_ms_max,
            ... if isinstance(self.bandwidth, Unchanged) else checked.bandwidth,
        )

    @property
    def written(self) -> Wishes:
        """As it is written in a `Replace`: nothing for what stays, and 0 for what goes."""
        delay_ms_max, bandwidth = (None if isinstance(each, Unchanged) else each or 0.0 for each in self)
        return Wishes(delay_ms_max, bandwidth)

    def of(self, wishes: Wishes) -> Wishes:
        """What becomes of these."""
        delay_ms_max = wishes.delay_ms_max if isinstance(self.delay_ms_max, Unchanged) else self.delay_ms_max
        bandwidth = wishes.bandwidth if isinstance(self.bandwidth, Unchanged) else self.bandwidth
        return wishes._replace(delay_ms_max=delay_ms_max, bandwidth=bandwidth)


NOTHING_MORE = Wishes()


def _plain(value: float | None) -> float | None:
    """A number of a class of its own, such as NumPy's, as what it is."""
    return None if value is None else float(value)


def bound_of(report: BoundReported, name: str = "") -> Bound:
    """What a node has said."""
    hop = None if report.slow_ms is None else SlowestHop(report.slow_from, report.slow_to, report.slow_ms)
    for_ms = report.for_ms if 0.0 <= report.for_ms < 1e12 else 0.0  # it may be NaN
    since = datetime.now(UTC) - timedelta(milliseconds=for_ms)
    return Bound(
        report.delay_ms_max,
        name,
        report.state,
        since,
        report.counted,
        report.in_time,
        hop,
        report.reach_ms,
        report.direct_ms,
        report.taken_on_share,
    )


def tell(
    handler: BoundHandler | None, before: Bound | None, now: Bound, on_failure: Callable[[Exception], None]
) -> None:
    """Calls a handler if the state has changed; what it raises is for whoever reads the events."""
    if handler is None or now.state == ("unmeasured" if before is None else before.state):
        return

    def call() -> None:
        try:
            handler(now)
        except Exception as error:
            on_failure(error)

    asyncio.get_running_loop().call_soon(call)  # not amid the frames of a turn


def lateness_ms(age_ms: float | None, bound_ms: float | None) -> float | None:
    """By how much an event came too late; None if its age is unknown, or no bound holds."""
    return None if age_ms is None or bound_ms is None else max(0.0, age_ms - bound_ms)
