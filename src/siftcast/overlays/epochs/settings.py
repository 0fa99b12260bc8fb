"""How patient the nodes of a planned network are with each other."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EpochSettings:
    """A member that does not answer for `absent_ms` is left out of the next plan, and expected back.

    What was not heard is said again every `tick_ms`; every `report_ms` at most a node says what only it holds.
    """

    absent_ms: float = 15_000.0
    tick_ms: float = 100.0
    report_ms: float = 5_000.0

    def __post_init__(self) -> None:
        if not 0 < self.tick_ms <= self.absent_ms or self.report_ms <= 0:
            raise ValueError("times are positive, and absent_ms is at least tick_ms")


DEFAULTS = EpochSettings()
