"""What a run came to: every measure, and whether it keeps the bound that the scenario sets.

A run passes if everything that was asked of it holds and was put to the test. If nothing failed, but something that was
asked had nothing to be judged by (no delivery was required, no delay was measured), the run is `vacuous`: it could not
have failed, so it shows nothing. `vacuity` says why and what to change.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import get_args

import numpy as np

from siftcast.overlays.bounds import State
from siftcast.runtimes.sim.checkers import (
    DurableDelivery,
    ExactlyOnce,
    KeptBound,
    Outcome,
    Progress,
    Spread,
    Violation,
    delay_bounds,
    delays_ms,
    durable_delivery,
    exactly_once,
    kept_bounds,
    link_stress,
    matching_load,
    node_stress,
    notification_cost,
    offer_delays_ms,
    progress,
    resource_usage,
)
from siftcast.runtimes.sim.queueing import QueueingSimulation
from siftcast.runtimes.sim.scenario import CheckSpec
from siftcast.runtimes.sim.scenario_run import ScenarioRun
from siftcast.runtimes.sim.vacuity import explain_vacuity

_STUCK_SHOWN = 5
_UNKEPT_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Line:
    """A measure in words, and whether it holds; None where nothing was asked of it, or nothing was there."""

    name: str
    value: str
    bound: str = ""
    ok: bool | None = None
    vacuous: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """All measures of a run, and what was delivered; `durable` and `progress` where everything was durable."""

    lines: tuple[Line, ...]
    deliveries: ExactlyOnce
    durable: DurableDelivery | None = None
    progress: Progress | None = None
    bounds: tuple[KeptBound, ...] = ()
    """Subscriptions with a bound on delay, and how they stood at the end; the worst first."""
    reasons: tuple[str, ...] = ()
    """Why the run is vacuous, and what to change; empty if it is not."""

    @property
    def violations(self) -> tuple[Violation, ...]:
        """The first of what should not have been, with the story of their event."""
        return self.deliveries.violations if self.durable is None else self.durable.violations

    @property
    def faults(self) -> int:
        """How many there are in all."""
        return (self.durable or self.deliveries).faults

    @property
    def required(self) -> int:
        """How many deliveries had to be."""
        return (self.durable or self.deliveries).required

    @property
    def outcome(self) -> Outcome:
        """Whether it passed, failed, or showed nothing."""
        return _outcome(self.lines)

    @property
    def ok(self) -> bool:
        """Whether it passed; a vacuous run did not."""
        return self.outcome == "passed"


def judge(run: ScenarioRun) -> Verdict:
    """Lets all checkers read the trace of a run."""
    checks, trace = run.file.scenario.checks, run.simulation.trace
    found = exactly_once(trace, settle_ms=checks.settle_ms, repair_ms=checks.repair_ms)
    durable = _durable_delivery(run) if run.is_durable else None
    ended = progress(trace, run.simulation.protocols) if run.is_durable else None
    told = _delivery_lines(run, found) if durable is None else _durable_lines(durable)
    bounds = kept_bounds(trace)
    measured = (*_measured_lines(run, found.events), *_bound_lines(bounds))
    lines = (*told, *(_progress_lines(ended) if ended is not None else ()), *measured)
    unjudged = tuple(line.name for line in lines if line.vacuous)
    reasons = explain_vacuity(run, durable or found, unjudged) if _outcome(lines) == "vacuous" else ()
    return Verdict(lines, found, durable, ended, bounds, reasons)


def _bound_lines(bounds: tuple[KeptBound, ...]) -> Iterator[Line]:
    """How many bounds are kept, and the worst of those that are not."""
    if not bounds:
        return
    counts = {state: sum(each.standing.state == state for each in bounds) for state in get_args(State)}
    counted = ", ".join(f"{count:,} {state}" for state, count in counts.items() if count)
    yield Line("bounds (99 % of the last 1,000)", counted)
    unkept = [each for each in bounds if each.standing.state in ("missed", "impossible")]
    for each in unkept[:_UNKEPT_SHOWN]:
        standing = each.standing
        words = [
            f"{standing.state}: {standing.share or 0.0:.1%} of {standing.counted:,} within {each.bound_ms:,.0f} ms"
        ]
        if (hop := standing.slowest) is not None:
            words.append(f"slowest hop {hop.source} → {hop.target}, {hop.taken_ms:,.1f} ms")
        yield Line(f"bound of {each.subscription}", "; ".join(words))


def _durable_delivery(run: ScenarioRun) -> DurableDelivery:
    settle_ms = run.file.scenario.checks.settle_ms
    return durable_delivery(run.simulation.trace, settle_ms=settle_ms, ordered=run.keeps_order)


def _outcome(lines: tuple[Line, ...]) -> Outcome:
    if any(line.ok is False for line in lines):
        return "failed"
    if any(line.vacuous for line in lines) or not any(line.ok for line in lines):
        return "vacuous"
    return "passed"


def _durable_lines(found: DurableDelivery) -> Iterator[Line]:
    """Durable subscriptions are promised everything, whatever the scenario lets happen; order where the scheme is."""
    yield Line("events accepted", f"{found.accepted:,}")
    yield Line("offers", f"{found.offered:,}")
    yield _needed("required", found.required, asked=True)
    yield _without("missing", found.missing, asked=True, judged=found.required)
    for name in ("duplicate", "repeated", "disordered", "wrong"):
        asked = found.ordered or name != "disordered"
        yield _without(name, getattr(found, name), asked=asked, judged=found.offered)


def _progress_lines(ended: Progress) -> Iterator[Line]:
    """Whatever durable nodes owe must be done with when a run is over; while something is broken, some must wait."""
    shown = "; ".join([f"{len(ended.stuck):,}", *map(str, ended.stuck[:_STUCK_SHOWN])])
    is_vacuous = ended.outcome == "vacuous"
    yield Line("stuck", shown, "0", None if is_vacuous else not ended.stuck, is_vacuous)
    if ended.broken:
        waiting = "; ".join([f"{len(ended.excused):,}", *map(str, ended.excused[:_STUCK_SHOWN])])
        yield Line("may wait", f"{waiting}, because {', '.join(map(str, ended.broken[:_STUCK_SHOWN]))}")


def _delivery_lines(run: ScenarioRun, found: ExactlyOnce) -> Iterator[Line]:
    checks = run.file.scenario.checks
    asked = checks.exactly_once or checks.at_most_once
    yield Line("events published", f"{found.events:,}")
    yield _needed("deliveries", found.delivered, asked=checks.at_most_once and not checks.exactly_once)
    yield _needed("required", found.required, asked=checks.exactly_once)
    if found.excused:
        events = f"{found.events_excused:,} events published around crashes and cuts"
        yield Line("excused", f"{found.excused:,} deliveries of {events}")
    yield _without("missing", found.missing, asked=checks.exactly_once, judged=found.required)
    for name, count in (("duplicate", found.duplicate), ("wrong", found.wrong)):
        yield _without(name, count, asked=asked, judged=found.delivered)


def _measured_lines(run: ScenarioRun, events: int) -> Iterator[Line]:
    checks, trace, underlay = run.file.scenario.checks, run.simulation.trace, run.underlay
    delays = offer_delays_ms(trace) if run.is_durable else delays_ms(trace)
    delay = Spread.of(delays)
    late = float(np.percentile(delays, 99)) if len(delays) else 0.0
    shown = f"{_spread(delay)}; 99 % within {late:,.1f}"
    yield _bounded("delay, ms", shown, delay.max, checks.delay_ms_max, delay.count)
    if any(item.delay_ms_max is not None for item in trace.subscriptions.values()):
        bounds = delay_bounds(trace)
        lateness = f"{bounds.late:,} of {bounds.judged:,}, the worst by {bounds.worst_ms:,.1f} ms"
        asked = checks.delay_bounds
        yield _without("late by their own bound", bounds.late, asked=asked, judged=bounds.judged, shown=lateness)
    if isinstance(run.simulation, QueueingSimulation):
        yield from _queueing_lines(run.simulation, checks)
    stress = Spread.of(node_stress(trace, underlay.servers))
    scaled = f"{_spread(stress)}; mean for 1,000 events {stress.per(events).mean:,.1f}"
    yield _bounded("node stress", scaled, stress.max, checks.node_stress_max, events)
    links = link_stress(trace, underlay)
    used = f"{_spread(links)}; {links.count:,} arcs used"
    yield _bounded("link stress", used, links.mean, checks.link_stress_mean, links.count)
    if not run.is_durable:  # what comes twice and what is acknowledged has no ideal to compare with
        usage = resource_usage(trace, underlay)
        judged = 0 if np.isnan(usage) else 1
        yield _bounded("normalised resource usage", f"{usage:.3f}", usage, checks.resource_usage, judged)
    load = Spread.of(matching_load(trace))
    yield _bounded("matching load, servers an event", _spread(load), load.mean, checks.matching_load_mean, load.count)
    state = Spread.of(np.array(run.state_after_subscribing, dtype=np.int64))
    wanted = run.workload.subscriptions.num_rows
    yield _bounded("routing state, entries a server", _spread(state), state.max, checks.state_max, wanted)
    notified = notification_cost(trace)
    traffic = f"{notified.event_messages:,} with events, {notified.control_messages:,} control"
    cost, told = notified.cost, notified.deliveries or notified.event_messages + notified.control_messages
    yield _bounded("notification cost", f"{cost:.3f} messages ({traffic})", cost, checks.notification_cost, told)
    false = notified.false_positives_per_event
    yield _bounded("false positives an event", f"{false:,.2f}", false, checks.false_positives_mean, events)


def _needed(name: str, count: int, *, asked: bool) -> Line:
    """What there must be some of, so that anything can be judged."""
    if not asked:
        return Line(name, f"{count:,}")
    return Line(name, f"{count:,}", "≥ 1", True if count else None, vacuous=not count)


def _queueing_lines(simulation: QueueingSimulation, checks: CheckSpec) -> Iterator[Line]:
    waits = Spread.of(np.array(simulation.waits_ms, dtype=np.float64))
    yield _bounded("queueing delay, ms", _spread(waits), waits.max, checks.queueing_ms_max, waits.count)
    busy = Spread.of(simulation.utilisation())
    shown = f"mean {busy.mean:.1%}, median {busy.median:.1%}, max {busy.max:.1%}"
    yield _bounded("utilisation", shown, busy.max, checks.utilisation_max, busy.count)


def _without(name: str, count: int, *, asked: bool, judged: int, shown: str = "") -> Line:
    """What there must be none of, among so many that were judged."""
    shown = shown or f"{count:,}"
    if not asked:
        return Line(name, shown)
    vacuous = not (count or judged)
    return Line(name, shown, "0", None if vacuous else count == 0, vacuous)


def _bounded(name: str, shown: str, value: float, bound: float | None, judged: int) -> Line:
    if bound is None:
        return Line(name, shown)
    return Line(name, shown, f"≤ {bound:g}", value <= bound if judged else None, vacuous=not judged)


def _spread(spread: Spread) -> str:
    return f"mean {spread.mean:,.1f}, median {spread.median:,.1f}, max {spread.max:,.1f}"
