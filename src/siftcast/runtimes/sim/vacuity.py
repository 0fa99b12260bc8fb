"""Why a run showed nothing, and what to change so that it does: in the words of the scenario file.

A run is vacuous because nothing was published, nobody subscribed, nothing matched, everything was published while
something was broken, or subscriptions came and went too near to every event. Which of these it was is read off from
the counts of the checkers and the trace.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from siftcast.runtimes.sim.checkers import Disturbance, DurableDelivery, ExactlyOnce, disturbances
from siftcast.runtimes.sim.checkers.columns import rows_of
from siftcast.runtimes.sim.scenario_run import ScenarioRun

_SHOWN = 3
_NOT_ASKED = "nothing was asked of this run: every check is turned off, and [checks] sets no bound"
_DELIVERIES = ("required", "deliveries")


def explain_vacuity(
    run: ScenarioRun, found: ExactlyOnce | DurableDelivery, unjudged: tuple[str, ...]
) -> tuple[str, ...]:
    """Sentences: what was not put to the test, the likely cause, and what to change."""
    if not unjudged:
        return (_NOT_ASKED,)
    if not any(name in unjudged for name in _DELIVERIES):
        return (f"nothing was there to measure: {', '.join(unjudged)}",)
    what = "nothing was required to be delivered" if "required" in unjudged else "nothing was delivered"
    return (f"{what}, so nothing could be missed", *_causes(run, found))


def _causes(run: ScenarioRun, found: ExactlyOnce | DurableDelivery) -> Iterator[str]:
    trace = run.simulation.trace
    trouble = disturbances(trace)
    if missed := len(rows_of(trace, ("missed",))):
        yield f"{missed:,} requests came to servers that were down"
    if not len(rows_of(trace, ("published",))):
        ended = "the run ended before (timing.publish_ms)" if run.workload.events.num_rows else "workload.events is 0"
        yield "no event was published" if missed else f"no event was published: {ended}"
    elif not run.subscriptions:
        yield "nobody subscribed: workload.subscriptions is 0"
    elif isinstance(found, DurableDelivery):
        yield from _durable_causes(found)
    elif not found.events:
        yield "every event was refused"
    elif not found.wanted:
        yield "no event matches a subscription that was there; more events or subscriptions, or other workload.options"
    elif found.required:
        yield "every event was lost on its way"
    elif trouble:
        yield from _excuses(trouble, found)
    else:
        yield (
            "subscriptions came or went within checks.settle_ms of every event that they match; a shorter time, or "
            "more events (workload.events)"
        )


def _excuses(trouble: Sequence[Disturbance], found: ExactlyOnce) -> Iterator[str]:
    deliveries = f"the {found.wanted:,} deliveries that might have been"
    yield f"{deliveries} are excused, because their events were published around this:"
    yield from (f"    {each}" for each in trouble[:_SHOWN])
    if len(trouble) > _SHOWN:
        yield f"    … and {len(trouble) - _SHOWN:,} more"
    if any(not each.is_over for each in trouble):
        yield (
            "end it in the schedule (restart, join, heal), or say with checks.repair_ms how soon the network must have "
            "recovered although it lasts"
        )
    else:
        yield (
            "publish more events before or after it (workload.events, workload.interval_ms), or let less time count as "
            "around it (checks.settle_ms)"
        )


def _durable_causes(found: DurableDelivery) -> Iterator[str]:
    if not found.accepted:
        yield "no event was accepted"
    else:
        yield (
            f"none of the {found.accepted:,} events that were accepted matches a durable subscription that had been "
            "accepted checks.settle_ms before; more events or subscriptions, or a shorter time"
        )
