"""The papers' experiments run end to end on small sizes, and what must hold exactly holds."""

import json
from pathlib import Path

import pytest

from siftcast.experiments import STUDIES
from siftcast.experiments.claims import Verdict
from siftcast.experiments.kyra.example import follow_example
from siftcast.experiments.reproduce import reproduce
from siftcast.spark import session
from siftcast.spark.errors import SparkError
from siftcast.spark.sweeps import sweep


@pytest.mark.full
@pytest.mark.parametrize("paper", STUDIES)
def test_a_quick_reproduction_judges_every_row_draws_figures_and_writes_a_page(paper, tmp_path):
    study = STUDIES[paper]()
    found = reproduce(study, tmp_path, quick=True)
    rows = json.loads((tmp_path / "claims.json").read_text())
    assert {row["id"].split()[0] for row in rows} == set(study.figures)
    assert all({"id", "paper", "ours", "spread", "verdict"} <= row.keys() for row in rows)
    assert [row["id"] for row in rows if row["judged"] == "exact" and row["verdict"] != "holds"] == []
    page = found.page.read_text()
    assert all(f"| {row['id']} |" in page for row in rows)
    figures = sorted(tmp_path.glob("*.svg"))
    assert figures
    assert all(figure.name in page and figure.with_suffix(".png").exists() for figure in figures)


def test_the_eight_servers_of_the_paper_pass_event_9_on_as_it_shows():
    assert follow_example() == {
        "fbr": "CEFGH",
        "kyra": "CEH",
        "members": {"t0": "ADF", "t1": "BDEG", "t2": "CEH"},
    }


# -- sweeps ------------------------------------------------------------------------------------------


def square(configuration):
    """What the sweeps below run; says no where a file tells it to."""
    if configuration.get("fail_while") and json.loads(Path(configuration["fail_while"]).read_text()):
        raise RuntimeError("not yet")
    return {"square": configuration["x"] ** 2}


NAME = "tests.experiments.test_reproduce:square"


def test_a_sweep_keeps_the_order_and_does_not_run_again_what_is_there(tmp_path):
    told = []
    asked = [{"x": x} for x in (3, 1, 2)]
    found = sweep(session(), NAME, asked, tmp_path, show=lambda done, total: told.append((done, total)))
    assert [outcome.result["square"] for outcome in found] == [9, 1, 4]
    assert told[-1] == (3, 3)
    times = {file: file.stat().st_mtime_ns for file in tmp_path.iterdir()}
    assert [o.result for o in sweep(session(), NAME, [*asked, {"x": 5}], tmp_path)][-1] == {"square": 25}
    assert {file: file.stat().st_mtime_ns for file in times} == times
    assert len(list(tmp_path.iterdir())) == 4


def test_a_configuration_that_fails_stops_no_other_and_is_tried_again(tmp_path):
    switch = tmp_path / "switch.json"
    switch.write_text("true")
    asked = [{"x": 1}, {"x": 2, "fail_while": str(switch)}]
    with pytest.raises(SparkError, match=r"1 of 2 configurations failed(.|\n)*not yet"):
        sweep(session(), NAME, asked, tmp_path / "results")
    assert len(list((tmp_path / "results").iterdir())) == 1
    switch.write_text("false")
    assert [outcome.result["square"] for outcome in sweep(session(), NAME, asked, tmp_path / "results")] == [1, 4]


def test_a_printed_claim_has_no_verdict_and_any_other_has_one():
    with pytest.raises(ValueError, match="has no verdict"):
        Verdict("X1", "", "print", "", "", "", True)
    with pytest.raises(ValueError, match="has no verdict"):
        Verdict("X1", "", "shape", "", "", "", None)
