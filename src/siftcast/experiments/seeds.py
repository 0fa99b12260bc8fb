"""One scenario under many seeds: a Spark task each, on all cores, with results that outlive the program.

One seed shows that a run can pass; many show how often, and how far the measures spread. The sweep is that of the
papers: what is finished is kept, under a name that follows from the text of the scenario and the seed, so that a sweep
that was interrupted goes on, and one more seed costs one more run.

    scenario, seeds ──▶ sweep (a Spark task each) ──▶ SeedOutcome each ──▶ a table, and the first seed that failed
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from siftcast import spark as ss
from siftcast.runtimes.sim import execute, judge, load_scenario, prepare
from siftcast.runtimes.sim.checkers import Spread, delays_ms, offer_delays_ms
from siftcast.spark.sweeps import Configuration, Show, sweep

_VERSION = "1"


@dataclass(frozen=True, slots=True)
class SeedOutcome:
    """What one seed came to; `failed` names the checks that did not hold, `digest` is that of the trace."""

    seed: int
    outcome: str
    failed: tuple[str, ...]
    required: int
    faults: int
    delay_ms_mean: float
    delay_ms_max: float
    steps: int
    digest: str
    seconds: float


def sweep_seeds(
    scenario: str | Path, seeds: Sequence[int], folder: str | Path, *, show: Show | None = None
) -> list[SeedOutcome]:
    """Runs a scenario under each seed; `folder` keeps the results, and all workers must share it and the scenario.

    Raises ScenarioError for a scenario that cannot be read, and SparkError if a run broke.
    """
    path = Path(scenario).resolve()
    load_scenario(path)  # a mistake in it is reported once, and not by each worker
    text = hashlib.blake2b(path.read_bytes(), digest_size=12).hexdigest()
    configurations = [{"scenario": str(path), "text": text, "seed": seed} for seed in seeds]
    session = ss.session("siftcast simulate")
    outcomes = sweep(session, f"{__name__}:run_seed", configurations, folder, version=_VERSION, show=show)
    return [_read(outcome.result, outcome.seconds) for outcome in outcomes]


def run_seed(configuration: Configuration) -> dict[str, Any]:
    """The entry of the sweep."""
    run = execute(prepare(load_scenario(configuration["scenario"]), configuration["seed"]))
    verdict = judge(run)
    trace = run.simulation.trace
    delay = Spread.of(offer_delays_ms(trace) if run.is_durable else delays_ms(trace))
    return {
        "seed": run.seed,
        "outcome": verdict.outcome,
        "failed": [line.name for line in verdict.lines if line.ok is False],
        "required": verdict.required,
        "faults": verdict.faults,
        "delay_ms_mean": float(delay.mean),
        "delay_ms_max": float(delay.max),
        "steps": run.simulation.handled,
        "digest": trace.digest(),
    }


def _read(result: Any, seconds: float) -> SeedOutcome:
    return SeedOutcome(**{**result, "failed": tuple(result["failed"])}, seconds=seconds)
