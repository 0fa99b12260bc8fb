"""`siftcast spark match`: paths in, a table and counts that add up out."""

import json
import os
import signal
import time
from pathlib import Path
from threading import Thread, current_thread, main_thread

import pytest

from siftcast.interfaces.cli.match_command import match as plain_match
from siftcast.interfaces.cli.outcome import OK, REJECTED
from siftcast.interfaces.cli.spark_match import match
from siftcast.interfaces.cli.spark_running import run_cancellable
from siftcast.model import DataError, SiftcastError

pytestmark = pytest.mark.usefixtures("spark")


@pytest.fixture
def files(tmp_path):
    (tmp_path / "events.jsonl").write_text('{"a":1}\n{"a":2}\n{"a":"x"}\n{"a":3}\n')
    (tmp_path / "subscriptions.csv").write_text("id,filter\none,a = 1\nfew,a < 3\nbad,a <\n")
    (tmp_path / "schema.toml").write_text('[[attribute]]\nname = "a"\ntype = "int"\n')
    return {
        "events": str(tmp_path / "events.jsonl"),
        "subscriptions": str(tmp_path / "subscriptions.csv"),
        "output": str(tmp_path / "out"),
        "schema": tmp_path / "schema.toml",
    }


def test_pairs_are_written_rejects_beside_them_and_the_counts_add_up(spark, files, capsys):
    assert match(**files, json=True) == REJECTED
    report = json.loads(capsys.readouterr().out)
    assert report["events_in"] == report["events_matched"] + report["events_unmatched"] + report["events_rejected"] == 4
    assert report["subscriptions_in"] == report["subscriptions_used"] + report["subscriptions_rejected"] == 3
    assert report["rejected"] == files["output"] + ".rejected"
    pairs = spark.read.parquet(files["output"]).collect()
    assert sorted((row["a"], row["subscription_id"]) for row in pairs) == [(1, "few"), (1, "one"), (2, "few")]
    letters = spark.read.json(report["rejected"]).collect()
    assert sorted(row["source"] for row in letters) == ['{"a":"x"}', '{"id":"bad","filter":"a <"}']


def test_lists_in_another_format_and_a_summary_for_a_person(spark, files, capsys):
    assert match(**files, output_mode="lists", output_format="json") == REJECTED
    said = " ".join(capsys.readouterr().out.split())
    assert "4 = 2 matched + 1 unmatched + 1 rejected" in said
    assert "3 = 2 used + 1 rejected" in said
    assert spark.read.json(files["output"]).count() == 3


def test_what_exists_is_replaced_only_by_force(files, tmp_path):
    (tmp_path / "events.jsonl").write_text('{"a":1}\n')
    (tmp_path / "subscriptions.csv").write_text("id,filter\none,a = 1\n")
    assert match(**files, quiet=True) == OK
    with pytest.raises(DataError, match="--force"):
        match(**files, quiet=True)
    assert match(**files, quiet=True, force=True) == OK


@pytest.mark.parametrize("force", [False, True])
def test_inputs_are_never_written_over(files, tmp_path, force):
    for options in (
        {"output": files["events"]},
        {"output": str(tmp_path)},
        {"rejected": files["subscriptions"]},
        {"rejected": files["output"]},
        {"rejected": files["output"] + "/rejected"},
        {"events": str(tmp_path / "*.jsonl"), "output": files["events"]},
    ):
        with pytest.raises(DataError, match="would be written over"):
            match(**files | options, force=force, quiet=True)
    assert (tmp_path / "events.jsonl").is_file()
    assert (tmp_path / "subscriptions.csv").is_file()


def test_csv_has_a_header(spark, files):
    match(**files, output_format="csv", quiet=True)
    assert spark.read.csv(files["output"], header=True).columns == ["a", "subscription_id"]


def test_plain_match_on_spark_writes_what_the_name_says(spark, files, tmp_path):
    plain = {name: Path(files[name]) for name in ("events", "subscriptions", "schema")}
    plain_match(**plain, output=tmp_path / "pairs.jsonl", spark=True, quiet=True)
    assert spark.read.json(str(tmp_path / "pairs.jsonl")).count() == 3
    with pytest.raises(DataError, match=r"pairs\.jsonl: exists; name another folder, or remove it"):
        plain_match(**plain, output=tmp_path / "pairs.jsonl", spark=True, quiet=True)
    with pytest.raises(DataError, match="must end in"):
        plain_match(**plain, output=tmp_path / "pairs.xlsx", spark=True, quiet=True)


def test_ctrl_c_cancels_the_job_and_nothing_is_left_of_it(spark, tmp_path, capfd):
    def wait(batches):
        for batch in batches:
            time.sleep(60)
            yield batch

    def work():
        spark.range(2).mapInArrow(wait, "id long").write.parquet(str(tmp_path / "out"))

    tracker, usual = spark.sparkContext.statusTracker(), signal.getsignal(signal.SIGINT)
    others = set(tracker.getActiveJobsIds())  # what an earlier test has not put away yet

    def press():
        while signal.getsignal(signal.SIGINT) is usual or not set(tracker.getActiveJobsIds()) - others:
            time.sleep(0.1)
        os.kill(os.getpid(), signal.SIGINT)

    assert current_thread() is main_thread()
    presser = Thread(target=press)
    presser.start()
    with pytest.raises(KeyboardInterrupt):
        run_cancellable(spark, work)
    presser.join()
    assert not list(tmp_path.rglob("*"))[1:]  # the folder itself, at most
    assert "Traceback" not in capfd.readouterr().err
    assert run_cancellable(spark, lambda: spark.range(3).count()) == 3


def test_mistakes_are_found_before_spark_starts_or_said_in_one_line(files):
    with pytest.raises(DataError, match="there is no such file"):
        match(**files | {"events": files["events"] + "x"})
    with pytest.raises(SiftcastError, match="nonsense") as caught:
        match(**files, format="nonsense", quiet=True)
    assert len(str(caught.value).splitlines()) == 1


def test_a_schema_of_another_table_is_refused_and_not_read_as_nulls(files, tmp_path):
    (tmp_path / "schema.toml").write_text('[[attribute]]\nname = "ab"\ntype = "int"\n')
    (tmp_path / "subscriptions.csv").write_text("id,filter\none,ab = 1\n")
    with pytest.raises(DataError, match="did you mean 'a'"):
        match(**files, quiet=True)
    assert match(**files, quiet=True, lenient=True) == OK
