"""Outcomes of the sweep by what was asked, as the judges and the figures read them."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Any

from siftcast.experiments.kyra.setup import CHOSEN
from siftcast.spark.sweeps import Outcome


class Runs:
    """The runs of a sweep, one result per seed."""

    def __init__(self, outcomes: Sequence[Outcome]) -> None:
        self.outcomes = outcomes
        self._runs: dict[tuple[Any, ...], list[tuple[int, Any]]] = {}
        for outcome in outcomes:
            setting = outcome.configuration
            if setting["part"] == "run":
                self._runs.setdefault(_key(**setting), []).append((setting["seed"], outcome.result))

    def __call__(
        self, scheme: str, rate: float, measure: str, statistic: str | None = "mean", **more: Any
    ) -> list[float]:
        """One number per seed, none where it was not run; Kyra as in Table III by default."""
        if scheme == "kyra" and "clique_ms" not in more:
            more["clique_ms"], more["trees"] = CHOSEN[rate]
        if scheme == "kyra" and (more["clique_ms"], more["trees"]) == (0, 1):
            scheme = "fbr"  # which is what Kyra is then
        if scheme != "kyra":
            more = {name: value for name, value in more.items() if name not in ("clique_ms", "trees")}
        found = sorted(self._runs.get(_key(scheme=scheme, rate=rate, **more), ()), key=lambda run: run[0])
        return [run[measure] if statistic is None else run[measure][statistic] for _, run in found]

    def mean(self, *asked: Any, **more: Any) -> float:
        """The mean over seeds, NaN where it was not run."""
        values = self(*asked, **more)
        return fmean(values) if values else float("nan")


def _key(
    *,
    scheme: str,
    rate: float,
    model: str = "zipf-uniform",
    draw: str = "stratified",
    clique_ms: float | None = None,
    trees: int | None = None,
    multi_homed: bool = False,
    balance_factor: int = 1,
    zones: str = "bottleneck",
    peaks: str = "neighbours",
    **_: Any,
) -> tuple[Any, ...]:
    return scheme, rate, model, draw, clique_ms, trees, multi_homed, balance_factor, zones, peaks
