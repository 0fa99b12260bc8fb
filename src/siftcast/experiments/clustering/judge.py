"""Rows C1 to C8: a verdict for each that the outcomes speak about."""

from __future__ import annotations

from collections.abc import Sequence

from siftcast.experiments.claims import Verdict
from siftcast.experiments.clustering.judge_costs import judge_dissemination, judge_reduction, judge_scale
from siftcast.experiments.clustering.judge_quality import (
    judge_dimensions,
    judge_embedding,
    judge_false_positives,
    judge_kmeans,
)
from siftcast.experiments.table import Table
from siftcast.spark.sweeps import Outcome


def judge(outcomes: Sequence[Outcome]) -> list[Verdict]:
    """All rows, in their order."""
    table = Table(outcomes)
    return [
        *judge_dimensions(table),
        *judge_false_positives(table),
        *judge_embedding(table),
        *judge_reduction(table),
        *judge_scale(table),
        *judge_kmeans(table),
        *judge_dissemination(table),
    ]
