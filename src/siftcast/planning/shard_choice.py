"""Choosing where to cut subscriptions into shards, from a sample of them and one of the events.

Each attribute that filters name and events have is tried. Places to cut are values that occur in the samples; the
attribute is cut there so that no zone has much more than its share of subscriptions and events: the load of a stretch
is the mean of its share of both, cut exactly by `split_line`. So memory, which follows the subscriptions, and time,
which follows the events as well, are both within twice an even share. Rejected: the product of the two, which is not a
sum over stretches and leaves zones without events as large as the memory; popularity^α · volume, the load of Kyra's
servers, for which subscriptions that nobody publishes for weigh nothing, though they need memory all the same.

What counts in the end is what an event costs. It is copied to each of its shards, and matched against what is in them:

    cost = Σ over zones, share of events · (parts · COPY + subscriptions)   + the same for the span, with share 1

The cheapest attribute is taken; then, for those that span it, a second one if it saves another tenth.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from siftcast.model import Filter
from siftcast.model.intervals import Cut
from siftcast.model.values import Kind
from siftcast.planning.zone_partition import split_line
from siftcast.space.shard_axes import CutValue, InterestReader, Ranges, ShardAxis, zones_between
from siftcast.space.shard_plan import REPLICAS_MAX, ShardPlan

AxisName = tuple[str, Kind]
EventSample = Mapping[AxisName, Sequence[CutValue | None]]  # for each attribute the sampled values, None for no value

COPY = 5_000  # copying an event costs about as much as matching it against so many subscriptions more
AXES_MAX = 2
TRIED_MAX = 8
VALUES_MAX = 1_024
_WORTH = 0.9


@dataclass(frozen=True)
class _Trial:
    """An attribute cut into zones, judged on the samples."""

    axis: ShardAxis
    counts: tuple[int, ...]
    event_shares: tuple[float, ...]
    idle: frozenset[int]
    spans: list[int]  # the sampled subscriptions that fit no zone


def choose_shards(
    filters: Sequence[Filter], events: EventSample, *, total: int, shards: int, axes_max: int = AXES_MAX
) -> ShardPlan:
    """The best plan for about so many shards of `total` subscriptions, of which the filters are a sample."""
    scale = total / max(1, len(filters))
    plan = ShardPlan((), shards, (total,), (1.0,), total=total)
    left = list(range(len(filters)))
    lines: list[str] = []
    while len(plan.axes) < axes_max and left and shards > 1:
        used = {axis.attribute for axis in plan.axes}
        names = [name for name in _names(filters, left, events) if name[0] not in used]
        trials = {name: _try(name, filters, left, events[name], len(left) * scale, plan) for name in names}
        tried = [(trial, _joined(plan, trial, scale)) for trial in trials.values() if trial is not None]
        useless = [name[0] for name, trial in trials.items() if trial is None]
        if not tried:
            break
        trial, best = min(tried, key=lambda each: _cost(each[1]))
        taken = _cost(best) < _WORTH * _cost(plan)
        lines += [*_lines(plan, tried, best if taken else None), *_useless(useless)]
        if not taken:
            break
        plan, left = best, trial.spans
    if not lines:
        lines = ["No attribute to cut: none has values in the events that filters are about."] if shards > 1 else []
    return ShardPlan(
        plan.axes, plan.asked, plan.counts, plan.event_shares, plan.idle, plan.total, reason="\n".join(lines)
    )


def _names(filters: Sequence[Filter], left: Sequence[int], events: EventSample) -> list[AxisName]:
    """The attributes that most of the filters name, with the kind of value the events have there."""
    named = Counter(name for index in left for name in filters[index].attributes)
    known = [name for name in events if named[name[0]]]
    return sorted(known, key=lambda name: (-named[name[0]], name[0]))[:TRIED_MAX]


def _try(
    name: AxisName,
    filters: Sequence[Filter],
    left: Sequence[int],
    values: Sequence[CutValue | None],
    amount: float,
    plan: ShardPlan,
) -> _Trial | None:
    """An attribute cut for the subscriptions that are left; None where nothing is gained."""
    attribute, kind = name
    reader = InterestReader(tuple(attribute.split(".")), kind)
    wanted = {index: ranges for index in left if (ranges := reader.ranges(filters[index])) is not None}
    present = [value for value in values if value is not None]
    zones = max(2, min(plan.asked, round(plan.asked * amount / max(1, plan.total) * len(wanted) / len(left))))
    for _ in range(2):  # the second time without those that turned out to span, which would blur the loads
        axis = ShardAxis(attribute, kind, _cut(list(wanted.values()), present, zones))
        cuts: list[Cut] = [(0, value, 0) for value in axis.cuts]
        found = {index: zones_between(cuts, ranges) for index, ranges in wanted.items()}
        wanted = {index: ranges for index, ranges in wanted.items() if len(found[index]) <= REPLICAS_MAX}
        if not wanted or not axis.cuts:
            return None
    counts = Counter(zone for index in wanted for zone in found[index])
    shares = Counter(zone for value in present for zone in zones_between(cuts, (((0, value, 0), (0, value, 1)),)))
    return _Trial(
        axis,
        tuple(counts[zone] for zone in range(len(axis))),
        tuple(shares[zone] / max(1, len(values)) for zone in range(len(axis))),
        frozenset(index for index in wanted if not found[index]),
        [index for index in left if index not in wanted],
    )


def _cut(wanted: Sequence[Ranges], present: Sequence[CutValue], zones: int) -> tuple[CutValue, ...]:
    """Values that give zones of about equal load; fewer where there are not enough distinct values."""
    ends = [cut[1] for ranges in wanted for each in ranges for cut in each if len(cut) > 1]
    # The high end of "= 'IBM'" is the next string, 'IBM' and a zero byte: right, but nobody would want to read it.
    ends = [end for end in ends if not (isinstance(end, str) and end.endswith("\0"))]
    points = sorted([*present, *ends])
    if not points:
        return ()
    steps = max(1, len(points) // VALUES_MAX)
    chosen = sorted(set(points[::steps]))[1:]
    cuts: list[Cut] = [(0, value, 0) for value in chosen]
    events, interests = np.zeros(len(chosen) + 2), np.zeros(len(chosen) + 2)
    for value in present:
        events[zones_between(cuts, (((0, value, 0), (0, value, 1)),))[0]] += 1
    change = np.zeros(len(chosen) + 2)
    for ranges in wanted:
        touched = zones_between(cuts, ranges)
        if touched:  # spread over all from first to last; exact for the single ranges that nearly all are
            change[touched[0]] += 1 / (touched[-1] + 1 - touched[0])
            change[touched[-1] + 1] -= 1 / (touched[-1] + 1 - touched[0])
    interests = np.maximum(np.cumsum(change), 0.0)
    loads = (events / max(1.0, events.sum()) + interests / max(1.0, interests.sum()))[: len(chosen) + 1]
    return tuple(chosen[cell - 1] for cell in split_line(loads, zones))


def _joined(plan: ShardPlan, trial: _Trial, scale: float) -> ShardPlan:
    """A plan with one attribute more, its counts those of all subscriptions."""
    counts = tuple(round(count * scale) for count in trial.counts)
    return ShardPlan(
        (*plan.axes, trial.axis),
        plan.asked,
        (*plan.counts[:-1], *counts, round(len(trial.spans) * scale)),
        (*plan.event_shares[:-1], *trial.event_shares, 1.0),
        plan.idle + round(len(trial.idle) * scale),
        plan.total,
    )


def _cost(plan: ShardPlan) -> float:
    return plan.copies * COPY + plan.met


def _lines(before: ShardPlan, tried: Sequence[tuple[_Trial, ShardPlan]], best: ShardPlan | None) -> list[str]:
    """How each attribute would do, in words."""
    whole = before.counts[-1] / max(1, before.total)
    who = "all subscriptions" if not before.axes else f"the {whole:.1%} that span {before.axes[-1].attribute}"
    lines = [f"For {who}, by the cost of an event ({COPY:,} · copies + subscriptions met; uncut {_cost(before):,.0f}):"]
    width = max(len(trial.axis.attribute) for trial, _ in tried)
    for trial, plan in sorted(tried, key=lambda each: _cost(each[1])):
        mark = "→" if plan is best else " "
        lines.append(
            f" {mark} {trial.axis.attribute:<{width}}  {_cost(plan):>12,.0f}  {len(trial.axis):>4} zones, "
            f"{plan.counts[-1] / max(1, plan.total):6.1%} span, {plan.copies:5.2f} copies"
        )
    if best is None:
        lines.append(f"   None saves {1 - _WORTH:.0%}.")
    return lines


def _useless(names: Sequence[str]) -> list[str]:
    why = f"no subscription fits into {REPLICAS_MAX} of its zones, or it has a single value"
    return [f"   {name}: {why}" for name in names]
