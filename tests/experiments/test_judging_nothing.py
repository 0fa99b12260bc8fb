"""Rows of a reproduction that nothing was measured for do not hold: they are left out, fail, or stop with an error."""

from dataclasses import replace

import pytest

from siftcast.experiments import STUDIES
from siftcast.experiments import reproduce as reproducing
from siftcast.experiments.kyra.judge import judge as judge_kyra
from siftcast.experiments.kyra.setup import configurations as kyra_configurations
from siftcast.experiments.lookup_reuse.judge import judge as judge_reuse
from siftcast.experiments.lookup_reuse.setup import STRATEGIES
from siftcast.model import DataError
from siftcast.spark.sweeps import Outcome


def ran(violations, required):
    setting = {"part": "run", "scheme": "fbr", "rate": 0.1, "model": "uniform", "seed": 0}
    return Outcome(setting, {"violations": violations, "required": required}, 0.0)


@pytest.mark.parametrize(
    ("runs", "held"),
    [([ran(0, 5), ran(0, 7)], [True]), ([ran(1, 5)], [False]), ([ran(0, 5), ran(0, 0)], [False]), ([], [])],
    ids=["right", "wrong", "nothing was required once", "nothing was run"],
)
def test_kyra_is_exact_only_where_deliveries_were_required(runs, held):
    assert [verdict.holds for verdict in judge_kyra(runs) if verdict.id == "K13"] == held


@pytest.mark.parametrize(("largest", "held"), [(0, False), (240, True), (241, False)])
def test_bytes_of_keys_are_judged_only_if_there_were_any(largest, held):
    result = {strategy: {"total_us": 1.0, "bytes_max": largest} for strategy in STRATEGIES}
    result["operations"] = {"exists_us": 200.0, "lookup_us": 1.0}
    setting = {"part": "costs", "engine": "counting", "density": 0.1, "seed": 0}
    (verdict,) = [each for each in judge_reuse([Outcome(setting, result, 0.0)]) if each.id == "L5 bytes"]
    assert verdict.holds is held


@pytest.mark.parametrize("quick", [True, False])
@pytest.mark.parametrize("paper", STUDIES)
def test_every_row_that_may_be_asked_for_has_something_to_measure(paper, quick):
    study = STUDIES[paper]()
    assert [row for row in study.figures if not study.configurations(quick, row)] == []


def test_the_row_about_deliveries_runs_every_scheme():
    assert {each["scheme"] for each in kyra_configurations(True, "K13")} == {
        "fbr",
        "kyra",
        "mbr",
        "unicast",
        "broadcast",
    }


def test_a_row_that_was_asked_for_and_not_judged_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(reproducing, "sweep", lambda *asked, **more: [ran(0, 5)])
    monkeypatch.setattr(reproducing.ss, "session", lambda name: None)
    study = replace(STUDIES["kyra"](), draw=lambda outcomes, folder: {})
    with pytest.raises(DataError, match="nothing was measured that kyra K8 could be judged by"):
        reproducing.reproduce(study, tmp_path, quick=True, figure="K8")
    assert (tmp_path / "kyra.md").exists()
    found = reproducing.reproduce(study, tmp_path, quick=True, figure="K13")
    assert [verdict.id for verdict in found.verdicts] == ["K13"]
