"""`siftcast spark stream`: options in, results and counts that add up out; Ctrl-C ends it cleanly."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from siftcast import spark as ss
from siftcast.interfaces.cli.outcome import OK, REJECTED
from siftcast.interfaces.cli.spark_stream import stream, stream_line
from siftcast.model import DataError


@pytest.fixture
def options(tmp_path):
    (tmp_path / "events").mkdir()
    (tmp_path / "events" / "1.jsonl").write_text('{"a":1}\n{"a":2}\n{"a":"x"}\n{"a":3}\n')
    (tmp_path / "changes.csv").write_text("op,id,filter,version\nadd,one,a = 1,1\nadd,few,a < 3,1\nadd,bad,a <,1\n")
    return {
        "events": str(tmp_path / "events"),
        "event_schema": "a long",
        "subscriptions": str(tmp_path / "changes.csv"),
        "output": tmp_path / "out",
        "checkpoint": tmp_path / "checkpoint",
    }


def test_what_is_there_is_matched_once(spark, options, capsys):
    assert stream(**options, once=True, json=True) == REJECTED
    report = json.loads(capsys.readouterr().out)
    assert report["events_in"] == report["events_matched"] + report["events_unmatched"] + report["events_rejected"] == 4
    assert (report["changes_in"], report["changes_made"], report["changes_rejected"]) == (3, 2, 1)
    assert (report["version"], report["subscriptions"], report["pairs"]) == (1, 2, 3)
    assert stream(**options, once=True) == OK
    assert "0 = 0 matched + 0 unmatched + 0 rejected" in " ".join(capsys.readouterr().out.split())
    pairs = ss.read_matches(options["output"]).select("a", "subscription_id", "subscription_version").collect()
    assert sorted(map(tuple, pairs)) == [(1, "few", 1), (1, "one", 1), (2, "few", 1)]


def test_mistakes_are_said_in_a_line(spark, options):
    with pytest.raises(DataError, match="no such folder"):
        stream(**options | {"events": options["events"] + "x"})
    with pytest.raises(DataError, match="no such file, folder or table"):
        stream(**options | {"subscriptions": "nowhere"}, once=True)
    with pytest.raises(DataError) as caught:
        stream(**options | {"event_schema": "a nonsense"}, once=True)
    assert len(str(caught.value).splitlines()) == 1


def test_the_live_line_has_rate_backlog_subscriptions_and_version():
    totals = ss.StreamTotals(batches=2, events_in=1200, pairs=30, events_rejected=1)
    progress = ss.StreamProgress(True, 1, 7, 2500, 812.4, 3, totals, totals)
    said = stream_line(progress, 1.0).plain
    assert "812 events/s · backlog 3 · 2,500 subscriptions, version 7 · 1,200 events" in said
    assert "1 rejected" in said
    waiting = ss.StreamProgress(True, None, -1, 0, 0.0, None, ss.StreamTotals(), ss.StreamTotals())
    assert "waiting for the first events" in stream_line(waiting, 1.0).plain


DRIVER = """
import sys
from pathlib import Path
from siftcast.interfaces.cli.spark_stream import stream
events, subscriptions, output, checkpoint = sys.argv[1:]
sys.exit(stream(events=events, event_schema="a long", subscriptions=subscriptions, output=Path(output),
                checkpoint=Path(checkpoint), master="local[1]", json=True))
"""


@pytest.mark.full
@pytest.mark.embedded
def test_ctrl_c_ends_it_after_the_micro_batch_with_a_summary(options):
    names = [str(options[name]) for name in ("events", "subscriptions", "output", "checkpoint")]
    driver = subprocess.Popen(
        [sys.executable, "-c", DRIVER, *names], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    limit = time.perf_counter() + 200
    while not list((options["output"] / "_siftcast" / "batches").glob("[0-9]*.json")):
        assert driver.poll() is None, driver.stderr.read()
        assert time.perf_counter() < limit
        time.sleep(0.05)
    os.kill(driver.pid, signal.SIGINT)
    said, complaints = driver.communicate(timeout=120)
    assert driver.returncode == REJECTED, complaints
    report = json.loads(said.strip().splitlines()[-1])
    assert (report["events_in"], report["batches"]) == (4, 1)
    assert "Traceback" not in complaints
    assert "spark: ERROR" not in complaints
