"""Exactly once, whatever happens to the driver.

The first test stops a stream at each step of a micro-batch in turn, the second between two steps of Spark's own. The
third kills the whole driver with SIGKILL, several times and whenever it pleases, while subscriptions change, and
compares with the batch answer.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict

import pytest

from siftcast import spark as ss
from siftcast.spark import stream_batches, stream_output
from siftcast.spark.stream_folders import write_once
from siftcast.spark.stream_journal import Journal
from siftcast.spark.stream_output import Receipts
from tests.spark.stream_folders import CHANGE, SCHEMA

pytestmark = pytest.mark.full


class Crash(Exception):
    """The driver is no more."""


# -- at each step ------------------------------------------------------------------------------------

STEPS = {
    "the lot is kept": (Journal, "append", True, 3),
    "the plan is made": (Journal, "write_plan", True, 2),
    "results are written": (stream_batches, "publish", False, 2),
    "results have their name": (stream_batches, "publish", True, 2),
    "the receipt is written": (Receipts, "write", True, 2),
}


@pytest.mark.parametrize("step", STEPS)
def test_a_micro_batch_that_was_cut_off_is_done_again_under_the_version_it_had(folders, monkeypatch, step):
    owner, name, after, version = STEPS[step]

    def crash(*arguments, **options):
        if after:
            working(*arguments, **options)
        raise Crash

    folders.change("1.jsonl", ("add", "x", "a = 1", 1))
    folders.publish("1.jsonl", {"n": 1, "a": 1})
    folders.run()
    folders.change("2.jsonl", ("replace", "x", "a = 2", 2), ("remove", "nobody", None, 2))
    folders.publish("2.jsonl", *({"n": number, "a": number} for number in range(5)))
    working = getattr(owner, name)
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, crash)
        with pytest.raises(Crash):
            folders.run()
    folders.change("3.jsonl", ("replace", "x", "a = 3", 3))
    folders.publish("3.jsonl", {"n": 9, "a": 3})
    folders.run()
    assert folders.pairs() == [(1, "x", 1, 0), (version, "x", version, 1), (9, "x", 3, 2)]
    receipts = ss.read_batches(folders.output)
    assert [receipt.version for receipt in receipts] == [1, version, 3]
    assert [receipt.events_in for receipt in receipts] == [1, 5, 1]
    assert sum(receipt.changes_in for receipt in receipts) == 4
    letters = ss.read_dead_letters(folders.output).collect()
    assert [(letter["batch"], json.loads(letter["source"])["id"]) for letter in letters] == [(1, "nobody")]


@pytest.mark.parametrize("step", [1, 2])
def test_a_start_that_was_cut_off_can_be_made_again(folders, tmp_path, monkeypatch, step):
    """The description is written twice, to the checkpoint and to the output."""
    folders.change("1.jsonl", ("add", "x", "a = 1", 1))
    folders.publish("1.jsonl", {"n": 1, "a": 1})
    written = []

    def crash(path, content):
        write_once(path, content)
        written.append(path)
        if len(written) == step:
            raise Crash

    with monkeypatch.context() as patch:
        patch.setattr(stream_output, "write_once", crash)
        with pytest.raises(Crash):
            folders.run(dead_letters=tmp_path / "letters")
    folders.run(dead_letters=tmp_path / "letters")
    assert [row["n"] for row in ss.read_matches(folders.output).collect()] == [1]


# -- between Spark's steps ---------------------------------------------------------------------------


def test_a_crash_between_two_logs_of_spark_joins_two_files_in_a_micro_batch_and_loses_nothing(
    folders, monkeypatch, capfd
):
    """Spark notes which file comes next, then that there is a next micro-batch; a folder in the way stops it there."""
    checkpoint = folders.checkpoint
    folders.change("1.jsonl", ("add", "x", "a >= 0", 1))
    for number in range(4):
        folders.publish(f"{number}.jsonl", {"n": number, "a": 1})

    def write_and_block(receipts, receipt):
        write(receipts, receipt)
        (checkpoint / "offsets" / "1").mkdir()

    write = Receipts.write
    with monkeypatch.context() as patch:
        patch.setattr(Receipts, "write", write_and_block)
        with pytest.raises(ss.SparkError, match="CONCURRENT_STREAM_LOG_UPDATE"):
            folders.run()
    assert "spark: ERROR" not in capfd.readouterr().err  # the exception has said it
    assert (checkpoint / "sources" / "0" / "1").exists()
    (checkpoint / "offsets" / "1").rmdir()
    folders.run()
    assert [receipt.events_in for receipt in ss.read_batches(folders.output)] == [1, 2, 1]
    assert [pair[:2] for pair in folders.pairs()] == [(number, "x") for number in range(4)]


# -- kill -9 -----------------------------------------------------------------------------------------

DRIVER = """
import sys
from siftcast import spark as ss
root, trigger = sys.argv[1:]
# Without the optimising compiler the JVM starts faster, which is most of what this test takes.
ss.session("stream driver", master="local[2]", config={"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1"})
ss.match_stream(
    ss.read_event_stream(f"{root}/events", "n long, a long", files_per_batch_max=1),
    f"{root}/changes",
    output=f"{root}/output",
    checkpoint=f"{root}/checkpoint",
    mode="lists",
    trigger=trigger or None,
).await_termination()
"""
FILES, FILES_LATE, ROWS = 16, 2, 50  # the late ones come after the last kill
VERSIONS = {
    1: [("add", f"s{number}", f"a >= {number} AND a < {5 * number}", 1) for number in range(6)],
    2: [("remove", "s1", None, 2), ("replace", "s2", "a < 10", 2), ("add", "t", "a > 20", 2)],
    3: [("add", "s1", "a BETWEEN 5 AND 25", 3), ("add", "s0", "a = 1", 3), ("remove", "t", None, 3)],
    4: [("replace", "s0", "n > 300", 4)],
}
KILLS = ((2, 0.0, 2), (3, 0.15, 3), (3, 0.3, 4))  # after so many more micro-batches and seconds; then this version


def standing_at(version):
    """What stands at a version, worked out anew from the changes."""
    filters = {}
    for number in range(1, version + 1):
        for op, id, text, _ in VERSIONS[number]:
            if op == "remove":
                filters.pop(id, None)
            elif (op == "add") != (id in filters):
                filters[id] = text
    return sorted(filters.items())


def events_of(number):
    """The lines of a file."""
    rows = [{"n": number * ROWS + row, "a": (number * 13 + row * 7) % 30} for row in range(ROWS)]
    return [*rows, f"bad {number}"]


def start_driver(root, trigger):
    return subprocess.Popen([sys.executable, "-c", DRIVER, str(root), trigger], stderr=subprocess.PIPE, text=True)


def done(root):
    return len(list((root / "output" / "_siftcast" / "batches").glob("[0-9]*.json")))


def wait_for(driver, root, batches):
    limit = time.perf_counter() + 240
    while done(root) < batches:
        assert driver.poll() is None, driver.stderr.read()
        assert time.perf_counter() < limit
        time.sleep(0.02)


@pytest.mark.embedded
def test_after_kill_9_the_output_equals_the_batch_answer_row_for_row(spark, folders, tmp_path):
    for number in range(FILES - FILES_LATE):
        folders.publish(f"{number:03}.jsonl", *events_of(number))
    folders.change("1.jsonl", *VERSIONS[1])
    driver = start_driver(tmp_path, "")
    for batches, delay_s, version in KILLS:
        wait_for(driver, tmp_path, done(tmp_path) + batches)
        folders.change(f"{version}.jsonl", *VERSIONS[version])
        time.sleep(delay_s)
        os.kill(driver.pid, signal.SIGKILL)
        driver.wait()
        if version == 4:
            for number in range(FILES - FILES_LATE, FILES):
                folders.publish(f"{number:03}.jsonl", *events_of(number))
        driver = start_driver(tmp_path, "available now" if version == 4 else "")
    _, said = driver.communicate(timeout=240)
    assert driver.returncode == 0, said

    receipts = ss.read_batches(folders.output)
    versions = [receipt.version for receipt in receipts]
    assert versions == sorted(versions)
    assert set(versions) == {1, 2, 3, 4}
    assert [receipt.batch for receipt in receipts] == list(range(len(receipts)))
    # A kill between two logs of Spark puts one file more into the micro-batch that comes next; see the test above.
    files_in = [receipt.events_in / (ROWS + 1) for receipt in receipts]
    assert sum(files_in) == FILES
    assert all(count == int(count) >= 1 for count in files_in)
    assert len(receipts) >= FILES - len(KILLS)

    version_of = {receipt.batch: receipt.version for receipt in receipts}
    files = defaultdict(set)
    by_version = defaultdict(list)
    for row in ss.read_matches(folders.output).collect():
        files[row["batch"]].add(row["n"] // ROWS)
        assert row["subscription_version"] == version_of[row["batch"]]
        by_version[row["subscription_version"]].append((row["n"], row["a"], tuple(sorted(row["matched"]))))
    assert [len(files[receipt.batch]) for receipt in receipts] == files_in
    assert sorted(number for numbers in files.values() for number in numbers) == list(range(FILES))
    for version, rows in by_version.items():
        numbers = [number for batch, each in version_of.items() if each == version for number in files[batch]]
        names = "{" + ",".join(f"{number:03}" for number in numbers) + "}.jsonl"
        batch_events = ss.read_events(str(folders.events / names), schema=SCHEMA)
        subscriptions = spark.createDataFrame(standing_at(version), "id string, filter string")
        answer = ss.match(batch_events.good, subscriptions, output="lists").collect()
        assert sorted(rows) == sorted((row["n"], row["a"], tuple(sorted(row["matched"]))) for row in answer)
    letters = Counter(letter["source"] for letter in ss.read_dead_letters(folders.output).collect())
    refused = json.dumps(dict(zip(CHANGE, ("add", "s0", "a = 1", 3), strict=True)))
    assert letters == Counter([*(f"bad {number}" for number in range(FILES)), refused])
