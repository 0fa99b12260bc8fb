"""Outcomes of the sweep by what was asked, as the judges and the figures read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from siftcast.spark.sweeps import Outcome

Result = Mapping[str, Any]


class Table:
    """The results of each part, one per seed."""

    def __init__(self, outcomes: Sequence[Outcome]) -> None:
        self._outcomes = sorted(outcomes, key=lambda outcome: outcome.configuration["seed"])

    def __call__(self, part: str, **asked: Any) -> list[Result]:
        """Results of a part whose configurations say what is asked; None asks for what is not said."""
        return [
            outcome.result
            for outcome in self._outcomes
            if outcome.configuration["part"] == part
            and all(outcome.configuration.get(name) == value for name, value in asked.items())
        ]

    def pairs(self, part: str) -> list[tuple[Mapping[str, Any], Result]]:
        """The configurations of a part and their results."""
        return [
            (outcome.configuration, outcome.result)
            for outcome in self._outcomes
            if outcome.configuration["part"] == part
        ]

    def settings(self, part: str, name: str) -> list[Any]:
        """The values that a setting takes in a part, ascending."""
        found = {outcome.configuration[name] for outcome in self._outcomes if outcome.configuration["part"] == part}
        return sorted(found)


def mean(results: Sequence[Result], *path: str) -> float:
    """The mean over seeds of the number at a path."""
    return fmean(values(results, *path))


def values(results: Sequence[Result], *path: str) -> list[float]:
    """One number per seed."""
    found = []
    for result in results:
        at: Any = result
        for name in path:
            at = at[name]
        found.append(float(at))
    return found
