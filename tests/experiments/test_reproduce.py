"""The papers' experiments run end to end on small sizes, and what must hold exactly holds."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from siftcast.experiments import STUDIES
from siftcast.experiments.claims import Verdict
from siftcast.experiments.kyra.example import follow_example
from siftcast.experiments.reproduce import reproduce
from siftcast.experiments.study import Study
from siftcast.interfaces.cli import main
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


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"[]",
        b"{}",
        b'{"configuration": {}, "result": {}}',
        b'{"configuration": {"x": 4}, "result": {"square": 16}, "seconds": 1}',
        b'{"configuration": {"x": 3}, "result": 9, "seconds": 1}',
        b'{"configuration": {"x": 3}, "res',
        bytes(range(256)),
        b"[" * 100_000,
    ],
    ids=lambda damage: damage[:20].decode(errors="replace"),
)
def test_a_damaged_result_is_computed_again_and_the_log_names_it(tmp_path, caplog, damage):
    sweep(session(), NAME, [{"x": 3}], tmp_path)
    (file,) = tmp_path.iterdir()
    file.write_bytes(damage)
    (outcome,) = sweep(session(), NAME, [{"x": 3}], tmp_path)
    assert outcome.result == {"square": 9}
    (record,) = caplog.records
    assert f"{file} is damaged and is computed again" in record.getMessage()
    assert len(sweep(session(), NAME, [{"x": 3}], tmp_path)) == len(caplog.records) == 1


# -- the command -------------------------------------------------------------------------------------


def small_study(*verdicts):
    """A paper of one configuration, judged as it is told."""
    rows = tuple(item.id.split()[0] for item in verdicts)
    return Study(
        "kyra", "A paper", NAME, "1", rows, lambda quick, figure: [{"x": 3}], lambda outcomes: list(verdicts),
        lambda outcomes, folder: {}, "An account.",
    )  # fmt: skip


def claim(row, holds):
    return Verdict(row, "it is so", "print" if holds is None else "exact", "", "", "", holds)


@pytest.mark.parametrize(
    ("verdicts", "status", "last"),
    [
        ((claim("X1", True), claim("X2", None)), 0, "1 of 1 judged rows hold"),
        (
            (claim("X1", True), claim("X2 wide", False), claim("X3", False)),
            1,
            "does not hold: X2 wide, X3",
        ),
    ],
)
def test_the_last_line_names_the_rows_that_do_not_hold(tmp_path, monkeypatch, capsys, verdicts, status, last):
    monkeypatch.setitem(STUDIES, "kyra", lambda: small_study(*verdicts))
    assert main(["reproduce", "kyra", "--output", str(tmp_path / "out")]) == status
    assert capsys.readouterr().out.splitlines()[-1] == last


def test_a_file_in_place_of_the_output_folder_is_named_as_it_was_typed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("afile").write_text("")
    assert main(["reproduce", "kyra", "--output", "afile"]) == 2
    assert "siftcast: afile: is a file; name a folder" in capsys.readouterr().err


def wait_for_ever(configuration):
    """What the interrupted command below runs: says that it has begun, and waits."""
    Path(configuration["begun"]).touch()
    time.sleep(600)


INTERRUPTED = """
import sys
from siftcast.experiments import STUDIES
from siftcast.experiments.study import Study
from siftcast.interfaces.cli import main

begun, folder = sys.argv[1:]
STUDIES["kyra"] = lambda: Study(
    "kyra", "A paper", "tests.experiments.test_reproduce:wait_for_ever", "1", (),
    lambda quick, figure: [{"begun": begun}], lambda outcomes: [], lambda outcomes, folder: {}, "",
)
sys.exit(main(["reproduce", "kyra", "--output", folder]))
"""


def test_ctrl_c_says_one_line_and_no_traceback(tmp_path):
    begun = tmp_path / "begun"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", INTERRUPTED, str(begun), str(tmp_path / "out")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True) as done:
        try:
            while not begun.exists() and done.poll() is None:
                time.sleep(0.05)
            done.send_signal(signal.SIGINT)
            _, told = done.communicate(timeout=120)
        finally:
            done.kill()
    assert done.returncode == 130, told
    assert told.strip().splitlines()[-1] == "siftcast: Interrupted"
    assert "Traceback" not in told
    assert "py4j" not in told


def test_a_printed_claim_has_no_verdict_and_any_other_has_one():
    with pytest.raises(ValueError, match="has no verdict"):
        Verdict("X1", "", "print", "", "", "", True)
    with pytest.raises(ValueError, match="has no verdict"):
        Verdict("X1", "", "shape", "", "", "", None)
