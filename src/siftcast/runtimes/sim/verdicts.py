"""What a run came to: every measure, and whether it keeps the bound that the scenario sets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from siftcast.runtimes.sim.checkers import (
    DurableDelivery,
    ExactlyOnce,
    Spread,
    Violation,
    delays_ms,
    durable_delivery,
    exactly_once,
    link_stress,
    matching_load,
    node_stress,
    notification_cost,
    offer_delays_ms,
    resource_usage,
)
from siftcast.runtimes.sim.scenario_run import ScenarioRun


@dataclass(frozen=True, slots=True)
class Line:
    """A measure in words, and whether it holds; None where nothing was asked of it."""

    name: str
    value: str
    bound: str = ""
    ok: bool | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """All measures of a run, and what was delivered; `durable` where everything was."""

    lines: tuple[Line, ...]
    deliveries: ExactlyOnce
    durable: DurableDelivery | None = None

    @property
    def violations(self) -> tuple[Violation, ...]:
        """The first of what should not have been, with the story of their event."""
        return self.deliveries.violations if self.durable is None else self.durable.violations

    @property
    def faults(self) -> int:
        """How many there are in all."""
        found = self.durable or self.deliveries
        return sum(getattr(found, kind, 0) for kind in ("missing", "duplicate", "repeated", "disordered", "wrong"))

    @property
    def ok(self) -> bool:
        return all(line.ok is not False for line in self.lines)


def judge(run: ScenarioRun) -> Verdict:
    """Lets all checkers read the trace of a run."""
    checks, trace = run.file.scenario.checks, run.simulation.trace
    found = exactly_once(trace, settle_ms=checks.settle_ms, repair_ms=checks.repair_ms)
    durable = durable_delivery(trace, settle_ms=checks.settle_ms) if run.is_durable else None
    told = _delivery_lines(run, found) if durable is None else _durable_lines(durable)
    return Verdict((*told, *_measured_lines(run, found.events)), found, durable)


def _durable_lines(found: DurableDelivery) -> Iterator[Line]:
    """Durable subscriptions are promised everything, whatever the scenario lets happen."""
    yield Line("events accepted", f"{found.accepted:,}")
    yield Line("offers", f"{found.offered:,} ({found.required:,} required)")
    for name in ("missing", "duplicate", "repeated", "disordered", "wrong"):
        count = getattr(found, name)
        yield Line(name, f"{count:,}", "0", count == 0)


def _delivery_lines(run: ScenarioRun, found: ExactlyOnce) -> Iterator[Line]:
    checks = run.file.scenario.checks
    yield Line("events published", f"{found.events:,}")
    yield Line("deliveries", f"{found.delivered:,} ({found.required:,} required)")
    kept = found.missing == 0
    yield Line(
        "missing", f"{found.missing:,}", "0" if checks.exactly_once else "", kept if checks.exactly_once else None
    )
    for name, count in (("duplicate", found.duplicate), ("wrong", found.wrong)):
        asked = checks.exactly_once or checks.at_most_once
        yield Line(name, f"{count:,}", "0" if asked else "", count == 0 if asked else None)


def _measured_lines(run: ScenarioRun, events: int) -> Iterator[Line]:
    checks, trace, underlay = run.file.scenario.checks, run.simulation.trace, run.underlay
    delays = offer_delays_ms(trace) if run.is_durable else delays_ms(trace)
    delay = Spread.of(delays)
    late = float(np.percentile(delays, 99)) if len(delays) else 0.0
    shown = f"{_spread(delay)}; 99 % within {late:,.1f}"
    yield _bounded("delay, ms", shown, delay.max, checks.delay_ms_max)
    stress = Spread.of(node_stress(trace, underlay.servers))
    scaled = f"{_spread(stress)}; mean for 1,000 events {stress.per(events).mean:,.1f}"
    yield _bounded("node stress", scaled, stress.max, checks.node_stress_max)
    links = link_stress(trace, underlay)
    yield _bounded("link stress", f"{_spread(links)}; {links.count:,} arcs used", links.mean, checks.link_stress_mean)
    if not run.is_durable:  # what comes twice and what is acknowledged has no ideal to compare with
        usage = resource_usage(trace, underlay)
        yield _bounded("normalised resource usage", f"{usage:.3f}", usage, checks.resource_usage)
    load = Spread.of(matching_load(trace))
    yield _bounded("matching load, servers an event", _spread(load), load.mean, checks.matching_load_mean)
    state = Spread.of(np.array(run.state_after_subscribing, dtype=np.int64))
    yield _bounded("routing state, entries a server", _spread(state), state.max, checks.state_max)
    notified = notification_cost(trace)
    traffic = f"{notified.event_messages:,} with events, {notified.control_messages:,} control"
    yield _bounded(
        "notification cost", f"{notified.cost:.3f} messages ({traffic})", notified.cost, checks.notification_cost
    )
    false = notified.false_positives_per_event
    yield _bounded("false positives an event", f"{false:,.2f}", false, checks.false_positives_mean)


def _bounded(name: str, shown: str, value: float, bound: float | None) -> Line:
    return Line(name, shown) if bound is None else Line(name, shown, f"≤ {bound:g}", not value > bound)


def _spread(spread: Spread) -> str:
    return f"mean {spread.mean:,.1f}, median {spread.median:,.1f}, max {spread.max:,.1f}"
