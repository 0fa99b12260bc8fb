"""`siftcast match` as a whole: results, counts, statuses, and how it ends when something is wrong."""

import csv
import gzip
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

SUBSCRIPTIONS = [
    {"id": "cheap", "filter": "price < 50"},
    {"id": "ibm", "filter": "symbol = 'IBM'", "subscriber": "ann"},
    {"id": "both", "filter": "symbol = 'IBM' AND price BETWEEN 40 AND 60"},
]
EVENTS = [
    {"id": "e0", "symbol": "IBM", "price": 45},
    {"id": "e1", "symbol": "SAP", "price": 45.5},
    {"id": "e2", "symbol": "IBM", "price": 95},
    {"id": "e3", "symbol": "SAP"},
]
PAIRS = {(0, "cheap"), (0, "ibm"), (0, "both"), (1, "cheap"), (2, "ibm")}


@pytest.fixture
def inputs(write):
    return write("subs.jsonl", SUBSCRIPTIONS), write("events.jsonl", EVENTS)


def pairs_of(path):
    if path.suffix == ".parquet":
        rows = pq.read_table(path).to_pylist()
    elif path.suffix == ".jsonl":
        rows = [json.loads(line) for line in path.read_text().splitlines()]
    else:
        rows = [{**row, "event": int(row["event"])} for row in csv.DictReader(path.open())]
    return rows


@pytest.mark.parametrize("suffix", ["parquet", "jsonl", "csv"])
def test_pairs_are_written_in_every_format(match, inputs, tmp_path, suffix):
    output = tmp_path / f"pairs.{suffix}"
    outcome = match(*inputs, "--output", output)
    rows = pairs_of(output)
    assert outcome.status == 0
    assert {(row["event"], row["subscription_id"]) for row in rows} == PAIRS
    assert {(row["event"], row["event_id"]) for row in rows} == {(0, "e0"), (1, "e1"), (2, "e2")}
    assert {row["subscriber"] for row in rows if row["subscription_id"] == "ibm"} == {"ann"}
    assert not list(tmp_path.glob("*.partial"))


@pytest.mark.parametrize("engine", ["auto", "brute_force"])
def test_summary_counts_add_up(match, inputs, engine):
    summary = match(*inputs, "--engine", engine).json
    assert summary["events"] == {"used": 4, "rejected": 0, "matched": 3}
    assert summary["subscriptions"] == {"used": 3, "rejected": 0}
    assert summary["matches"] == 5
    assert {each["id"]: each["matches"] for each in summary["busiest"]} == {"cheap": 2, "ibm": 2, "both": 1}
    assert summary["limited_by"] in ("reading", "matching", "writing")


def test_report_for_people_names_rate_limit_and_busiest(run, inputs):
    # brute_force, because an engine with kernels may say on standard error that it compiles them, the first time.
    outcome = run("match", "--subscriptions", inputs[0], "--events", inputs[1], "--engine", "brute_force")
    assert outcome.status == 0
    assert "events/s" in outcome.out
    assert "limited by" in outcome.out
    assert "Busiest" in outcome.out
    assert outcome.err == ""


def test_quiet_says_nothing(run, inputs):
    outcome = run("match", "--subscriptions", inputs[0], "--events", inputs[1], "--quiet", "--engine", "brute_force")
    assert (outcome.status, outcome.out, outcome.err) == (0, "", "")


def test_bad_subscriptions_are_rejected_and_the_others_used(match, write, rejected, inputs):
    lines = [
        *map(json.dumps, SUBSCRIPTIONS),
        "not json",
        '{"id": "x", "filter": "price <"}',
        '{"id": "ibm", "filter": "price > 1"}',
        '{"id": "y", "fitler": "price > 1"}',
        '["id"]',
        '{"id": 5, "filter": "price > 1"}',
    ]
    subs = write("subs.jsonl", "\n".join(lines).encode() + b'\n{"id": "\xff", "filter": "a = 1"}')
    outcome = match(subs, inputs[1])
    assert outcome.status == 1
    assert outcome.json["subscriptions"] == {"used": 3, "rejected": 7}
    assert outcome.json["matches"] == 5
    found = rejected(subs)
    assert [each["line"] for each in found] == [4, 5, 6, 7, 8, 9, 10]
    assert [each["code"] for each in found] == ["subscription", "filter-syntax"] + ["subscription"] * 5
    assert "taken by line 2" in found[2]["reason"]
    assert "fitler" in found[3]["reason"]
    assert found[0]["source"] == "not json"
    assert "\\xff" in found[6]["source"]


def test_rejected_file_of_an_earlier_run_does_not_survive_a_clean_one(match, write, inputs):
    stale = write("events.jsonl.rejected", "old")
    assert match(*inputs).status == 0
    assert not stale.exists()


def test_subscriptions_may_be_csv_or_parquet(match, write, inputs, tmp_path):
    table = write(
        "subs.csv",
        "id,filter,delay_ms_max,bandwidth\n"
        'cheap,price < 50,,1e6\n"i,bm","symbol = ""x"" OR symbol = \'IBM\'",5,\nz,a = 1,soon,\ny,a = 1,,wide\n',
    )
    outcome = match(table, inputs[1])
    assert outcome.json["subscriptions"] == {"used": 1, "rejected": 3}
    assert outcome.status == 1
    pq.write_table(
        pa.table({"id": ["cheap", "cheap"], "filter": ["price < 50", "price < 5"]}), tmp_path / "subs.parquet"
    )
    outcome = match(tmp_path / "subs.parquet", inputs[1])
    assert outcome.json["subscriptions"] == {"used": 1, "rejected": 1}
    assert outcome.json["matches"] == 2


SCHEMA = """
[[attribute]]
name = "symbol"
type = "string"
[[attribute]]
name = "price"
type = "float"
domain = [0.0, 1000.0]
[[attribute]]
name = "at"
type = "timestamp"
"""


def test_schema_types_events_and_checks_filters(match, write, rejected):
    schema = write("schema.toml", SCHEMA)
    subs = write(
        "subs.jsonl",
        [
            {"id": "early", "filter": "at < TIMESTAMP '2024-02-01'"},
            {"id": "wrong", "filter": "price = 'x'"},
            {"id": "unknown", "filter": "pirce = 5"},
        ],
    )
    events = write(
        "events.jsonl",
        [
            {"at": "2024-01-01T10:00:00Z", "price": 5},
            {"at": "soon", "price": 5},
            {"at": "2024-03-01", "price": 5000},
            {"at": "2024-01-05", "symbol": 5},
            {"at": "2024-01-05", "symbol": "x"},
        ],
    )
    outcome = match(subs, events, "--schema", schema, "--output", "pairs.jsonl")
    assert outcome.status == 1
    assert outcome.json["events"] == {"used": 2, "rejected": 3, "matched": 2}
    assert [row["event"] for row in pairs_of(Path("pairs.jsonl"))] == [0, 4]
    assert [each["line"] for each in rejected(events)] == [2, 3, 4]
    assert "did you mean 'price'" in rejected(subs)[1]["reason"]


def test_empty_inputs_are_fine(match, write):
    subs, events = write("subs.jsonl", ""), write("events.jsonl", "")
    outcome = match(subs, events, "--output", "pairs.parquet")
    assert outcome.status == 0
    assert outcome.json["events"]["used"] == outcome.json["matches"] == 0
    assert pq.read_table("pairs.parquet").num_rows == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--events", "missing.jsonl"], "no such file"),
        (["--events", "events.xlsx"], "must end in .jsonl, .csv, .parquet"),
        (["--events", "events.jsonl", "--output", "pairs.xlsx"], "must end in .parquet, .jsonl, .csv"),
        (["--events", "events.jsonl", "--output", "nowhere/pairs.csv"], "does not exist"),
        (["--events", "events.jsonl", "--output", "events.jsonl"], "is an input"),
        (["--events", "events.jsonl", "--engine", "warp"], "unknown engine 'warp'"),
        (["--events", "events.jsonl", "--schema", "missing.toml"], "missing.toml"),
        (["--events", "events.jsonl", "--rejected-to", "nowhere"], "not a folder"),
        (["--events", "."], "must end in"),
        (["--events", "events.jsonl", "--outptu", "x.csv"], "--help"),
        ([], "--events"),
    ],
)
def test_mistakes_are_named_in_a_few_lines(run, inputs, options, words):
    outcome = run("match", "--subscriptions", inputs[0], *options)
    assert outcome.status == 2
    assert words in outcome.err
    assert len(outcome.err.splitlines()) <= 12
    assert outcome.out == ""


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="permissions do not bind the superuser")
def test_unwritable_output_is_refused_before_any_work(run, inputs, tmp_path):
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    outcome = run("match", "--subscriptions", inputs[0], "--events", inputs[1], "--output", locked / "pairs.csv")
    assert outcome.status == 2
    assert "cannot be written" in outcome.err


def test_output_that_cannot_be_opened_is_refused(run, inputs, tmp_path):
    (tmp_path / "pairs.csv.partial").mkdir()
    outcome = run("match", "--subscriptions", inputs[0], "--events", inputs[1], "--output", "pairs.csv")
    assert outcome.status == 2
    assert "pairs.csv.partial: cannot be written" in outcome.err


def test_half_a_gzip_keeps_what_was_done(run, write, tmp_path):
    subs = write("subs.jsonl", [{"id": "all", "filter": "n >= 0"}])
    packed = gzip.compress(b"".join(b'{"n": %d}\n' % n for n in range(200_000)))
    events = write("events.jsonl.gz", packed[: len(packed) // 2])
    outcome = run("match", "--subscriptions", subs, "--events", events, "--output", "pairs.parquet")
    assert outcome.status == 2
    assert "cut off before its end" in outcome.err
    assert "pairs.parquet.partial" in outcome.err
    assert not (tmp_path / "pairs.parquet").exists()
    kept = pq.read_table(tmp_path / "pairs.parquet.partial")["event"].to_pylist()
    assert kept == list(range(len(kept)))
    assert 50_000 < len(kept) < 150_000
    assert f"{len(kept):,} events were matched" in outcome.err


def test_half_a_parquet_is_named_as_such(run, write, inputs, tmp_path):
    pq.write_table(pa.table({"price": list(range(1000))}), tmp_path / "whole.parquet")
    events = write("events.parquet", (tmp_path / "whole.parquet").read_bytes()[:-100])
    outcome = run("match", "--subscriptions", inputs[0], "--events", events)
    assert outcome.status == 2
    assert "damaged, cut off" in outcome.err


def test_write_error_leaves_no_output(run, inputs, tmp_path, monkeypatch):
    from siftcast.files import pair_files

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pair_files._JsonSink, "write", fail)
    outcome = run("match", "--subscriptions", inputs[0], "--events", inputs[1], "--output", "pairs.jsonl")
    assert outcome.status == 2
    assert "No space left" in outcome.err
    assert not list(tmp_path.glob("pairs*"))


def test_interruption_keeps_what_was_done_and_says_so(run, inputs, tmp_path, monkeypatch):
    from siftcast.interfaces.cli import match_run

    class InterruptedPipeline(match_run.Pipeline):
        def run(self, tick):
            super().run(tick)
            raise KeyboardInterrupt

    monkeypatch.setattr(match_run, "Pipeline", InterruptedPipeline)
    outcome = run("match", "--subscriptions", inputs[0], "--events", inputs[1], "--output", "pairs.parquet")
    assert outcome.status == 130
    assert "Interrupted after 4 events" in outcome.err
    assert not (tmp_path / "pairs.parquet").exists()
    assert pq.read_table(tmp_path / "pairs.parquet.partial").num_rows == 5


def test_a_real_signal_interrupts(write, tmp_path):
    subs = write("subs.jsonl", [{"id": f"s{n}", "filter": f"n >= {n}"} for n in range(2_000)])
    events = write("events.jsonl", b"".join(b'{"n": %d}\n' % (n % 100) for n in range(300_000)))
    command = [sys.executable, "-m", "siftcast", "match", "--engine", "brute_force", "--output", "pairs.csv"]
    child = subprocess.Popen(
        [*command, "--subscriptions", str(subs), "--events", str(events)],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    partial, deadline = tmp_path / "pairs.csv.partial", time.monotonic() + 60
    while not (partial.exists() and partial.stat().st_size > 100) and time.monotonic() < deadline:
        assert child.poll() is None
        time.sleep(0.05)
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=60)
    assert child.returncode == 130
    assert "Interrupted after" in err
    assert "Traceback" not in err
    assert len(partial.read_text().splitlines()) > 1
