"""No cliffs: nothing may be more than three times slower than the neighbouring sizes predict.

Every sweep (see `sweeps`) gives a curve of times; each of its inner points is compared with the straight line between
its neighbours on logarithmic scales. A step of a hundredfold between two sizes shows as ten times at either end of it.
"""

from __future__ import annotations

from benchmarks.report import Report, show
from benchmarks.settings import Settings
from benchmarks.sweeps import Curve, measure, predicted, sweeps

GOAL = 3


def run(settings: Settings, report: Report) -> None:
    """Measures all sweeps and reports the worst point of each curve."""
    for sweep in sweeps(settings):
        report.progress(f"cliffs: {sweep.name}")
        for curve in measure(sweep, settings, report):
            ratio, note = worst_point(curve)
            report.add(f"{sweep.name}: {curve.way}", ratio, "×", "lower", goal=GOAL, note=note)


def worst_point(curve: Curve) -> tuple[float, str]:
    """The largest ratio of a time to what its neighbours predict, and where that is."""
    ratios = [time / guess for time, guess in zip(curve.times[1:-1], predicted(curve.sizes, curve.times), strict=True)]
    worst = max(range(len(ratios)), key=ratios.__getitem__)
    size, time = curve.sizes[worst + 1], curve.times[worst + 1]
    return ratios[worst], f"worst at {size:,.10g} {curve.quantity}: {show(time)} µs/event"
