"""Rows U1 to U13. What must hold was written on 19 November 2026 after trials with one seed, before the full run.

Means are over seeds, if nothing else is said. The baseline, each peer's nearest by measured delays and one distant
link, stands in every table of overlays.

U1    on transit-stub and multi-level grounds, with 10 and with 20 targets, the nearest targets show more of the
      underlay than landmarks, and these more than the farthest; on transit-stub the first lead is at least 8 points
U2    DBest shows more than TarRand on transit-stub, without a degree limit and with log2 N
U3    the mean of the thesis's three heuristics comes to an RDP of 1.19 ± 0.15 on Waxman with the most peers and no
      degree limit (whether the best of them does is printed); DOnly has at least 15 % more RDP and 8 % more stress than
      DWorst on Waxman without a limit, with 512 peers and with the most
U4    RDP is lower with the most peers than with the fewest, on Waxman, for each heuristic, and the share of all pairs
      that is inferred falls; for no peer at all are more than k_L + 1 routes inferred, and one each time it joins again
U5    after ten steps neither RDP nor stress has grown more than 10 % with 2 % churn and 35 % with 12 %; not more than
      5 % if a fifth walk again in each step; without degree limits
U6    with one core SPath costs least in four of five seeds, in every cell; MST costs more than Rand in the mean;
      SPotent at most 1.1 times MaxPath without degree limits; with 32 cores and all pairs, SPotent saves 47 ± 12
      points against MST and CNeigh 49 ± 12, in every cell. Algorithm 8, repaired, finds the shortest paths everywhere
      (exact), and as printed nobody joins
U7    all pairs: 32 cores cost less than one; one tree: eight cost more than one; for each strategy. MST has 50 to 110 %
      more RDP than CNeigh with 32 cores, on each ground
U8    no child stands beside one that lies before it; as printed some do
U9    messages per delivery grow from 1 to 32 cores, joined either way, and MST has more than each strategy with each
      number of cores in one tree (with one core only: printed)
U10   with churn, for each share of it, the cost per delivery rises until the rebuild, and more than without churn, and
      falls with it; the rebuild has at least 1.5 times the control messages of the mean step
U11   on transit-stub more is shown with the most targets than with the fewest, and with the largest σ
U12   MLink has more joins than DWorst and DBest, with each number of peers
U13   printed
"""

from __future__ import annotations

from collections.abc import Sequence

from siftcast.experiments.claims import Verdict
from siftcast.experiments.table import Table
from siftcast.experiments.underlay.judge_change import judge_changing, judge_churn, judge_landmarks
from siftcast.experiments.underlay.judge_cores import (
    judge_algorithm_8,
    print_potential,
    print_rules,
    print_scale,
    print_votes,
)
from siftcast.experiments.underlay.judge_delays import judge_delays
from siftcast.experiments.underlay.judge_maps import print_coordinates, print_maps, print_triangle
from siftcast.experiments.underlay.judge_overlays import (
    judge_counts,
    judge_growth,
    judge_heuristics,
    judge_selectivity,
    judge_targets,
)
from siftcast.experiments.underlay.judge_routing import (
    judge_control,
    judge_cores,
    judge_strategies,
    judge_workloads,
)
from siftcast.spark.sweeps import Outcome


def judge(outcomes: Sequence[Outcome]) -> list[Verdict]:
    """A verdict for each row that the outcomes speak about."""
    table = Table(outcomes)
    judges = (
        judge_targets,
        judge_heuristics,
        judge_delays,
        judge_growth,
        judge_churn,
        judge_strategies,
        judge_algorithm_8,
        judge_cores,
        judge_landmarks,
        judge_control,
        judge_changing,
        judge_selectivity,
        judge_counts,
        judge_workloads,
        print_rules,
        print_votes,
        print_potential,
        print_scale,
        print_triangle,
        print_coordinates,
        print_maps,
    )
    return [verdict for each in judges for verdict in each(table)]
