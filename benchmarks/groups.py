"""The groups of benchmarks, and how one is run.

Every group has a process of its own: in one that others have used, full of caches and what the collector scans,
adding a subscription took 52 µs instead of 30. A module apart from `__main__`, because a spawned process does not find
what is defined there.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks.report import Comparison, Result
    from benchmarks.settings import Settings

GROUPS = (
    "matching", "updates", "language", "files", "cliffs", "limits", "covering", "first_use", "simulation", "live",
    "sealed", "security", "digests", "dz", "ring", "membership", "homed", "qos", "clustering",
    "curves",
)  # fmt: skip
# Only when named: thousands of peers take minutes, clustering starts Spark, and curves write figures.
USUAL_GROUPS = GROUPS[:-5]


def measure(group: str, settings: Settings, started: float) -> tuple[list[Result], list[Comparison]]:
    """What a group measures, in the process that calls this; `started` is when the whole run was."""
    import pyarrow as pa

    from benchmarks.machine import this_machine
    from benchmarks.report import Report

    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    report = Report(this_machine(), started=started)
    importlib.import_module(f"benchmarks.{group}").run(settings, report)
    return report.results, report.comparisons
