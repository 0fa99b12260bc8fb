"""Rows H1 to H6: a verdict for each that the outcomes speak about."""

from __future__ import annotations

from collections.abc import Sequence

from siftcast.experiments.claims import Verdict
from siftcast.experiments.homed.judge_network import judge_growth, judge_recovery, judge_variants
from siftcast.experiments.homed.judge_printed import judge_covering, judge_example, judge_printed
from siftcast.experiments.table import Table
from siftcast.spark.sweeps import Outcome


def judge(outcomes: Sequence[Outcome]) -> list[Verdict]:
    """All rows, in their order."""
    table = Table(outcomes)
    found = [
        *judge_covering(table),
        *judge_example(table),
        *judge_growth(table),
        *judge_recovery(table),
        *judge_printed(table),
        *judge_variants(table),
    ]
    return sorted(found, key=lambda verdict: verdict.id.partition(" ")[0])
