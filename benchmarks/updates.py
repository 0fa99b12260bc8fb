"""What changes cost at a million subscriptions: building, adding, removing, saving, loading, and memory.

Everything runs on W2, whose filters have tens of thousands of forms, which is the hard case for loading from text; W3
has a single form. An addition is amortised: what the next match pays for indexing it belongs to it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import process_time

import numpy as np
import pyarrow as pa

from benchmarks.boxes import BoxWorkload, make_w2, make_w3
from benchmarks.exactness import Rows, check_equal, check_rows, id_of, rows_of_batch, rows_of_ids
from benchmarks.measuring import seconds_of
from benchmarks.report import Report
from benchmarks.settings import Settings
from siftcast import Filter, Matcher

CHECKED_EVENTS = 5
ADDS_PER_MATCH = 10
GOAL_ADD_US, GOAL_REMOVE_US = 50, 5
GOAL_COLUMNS_S, GOAL_TEXT_S, GOAL_SAVE_S, GOAL_LOAD_S, GOAL_BYTES = 10, 60, 2, 2, 500


def run(settings: Settings, report: Report) -> None:
    """Measures all of it."""
    count, changes = settings.size(1_000_000, 20_000), settings.size(20_000, 2_000)
    report.progress(f"updates: making W2 with {count:,} subscriptions and {2 * changes:,} to add")
    workload = make_w2(settings.generator(2, 200), 0.001, count=count + 2 * changes, events=200)
    _warm_up(settings)
    table = workload.subscription_table(0, count)
    _measure_memory(table, workload, report)
    report.progress("building from columns")
    start = process_time()
    matcher = Matcher.from_arrow(table)
    matcher.match(workload.event_dicts(1)[0])
    report.add("build from columns", process_time() - start, "s", "lower", goal=GOAL_COLUMNS_S, note=f"W2, {count:,}")
    del table
    _check(matcher, workload, np.arange(len(workload)) < count, "from columns")
    _measure_saving(matcher, workload, np.arange(len(workload)) < count, report)
    _measure_changes(matcher, workload, count, changes, settings=settings, report=report)
    del matcher
    _measure_texts("W2", workload, count, report)
    _measure_texts("W3", make_w3(settings.generator(3, 200), count=count, events=200), count, report)


def _warm_up(settings: Settings) -> None:
    """Lets everything be compiled that is compiled once."""
    small = make_w2(settings.generator(2, 201), 0.01, count=2_000, events=50)
    matcher = Matcher.from_arrow(small.subscription_table(0, 1_000))
    for row in range(1_000, 2_000):
        matcher.add(id_of(row), small.filter_text(row))
        if row % 50 == 0:
            matcher.match(small.event_dicts(1)[0])
    matcher.match_batch(small.event_table())
    Matcher.from_bytes(matcher.to_bytes()).match_batch(small.event_table())
    Matcher.from_arrow(small.filter_table()).match_batch(small.event_table())


def _check(matcher: Matcher, workload: BoxWorkload, present: Rows, what: str) -> None:
    """Compares batch and single matches with the brute force over the rows that are present."""
    found = [rows[present[rows]] for rows in map(workload.matching_rows, workload.events[:CHECKED_EVENTS])]
    batch = rows_of_batch(matcher.match_batch(workload.event_table(CHECKED_EVENTS)), CHECKED_EVENTS)
    check_rows(f"updates, {what}, match_batch", batch, found)
    single = [rows_of_ids(matcher.match(event)) for event in workload.event_dicts(CHECKED_EVENTS)]
    check_rows(f"updates, {what}, match", single, found)
    check_equal(f"updates, {what}, size", len(matcher), int(present.sum()))


# -- adding and removing -----------------------------------------------------------------------------


def _measure_changes(
    matcher: Matcher, workload: BoxWorkload, count: int, changes: int, *, settings: Settings, report: Report
) -> None:
    events = workload.event_dicts(len(workload.events))
    texts = [workload.filter_text(row) for row in range(count, count + 2 * changes)]
    start = process_time()
    filters = [Filter.parse(text) for text in texts]
    parsing = (process_time() - start) / len(texts) * 1e6
    report.add("parse before adding", parsing, "µs", "lower", note="W2's texts, nearly all of forms not seen before")
    present = np.arange(len(workload)) < count

    report.progress(f"adding {changes:,}, then matching")
    start = process_time()
    for row, filter_ in enumerate(filters[:changes], count):
        matcher.add(id_of(row), filter_)
    matcher.match(events[0])
    taken = process_time() - start
    present[count : count + changes] = True
    note = f"{changes:,} filters, then a match"
    report.add("add", taken / changes * 1e6, "µs", "lower", goal=GOAL_ADD_US, note=note)

    report.progress(f"adding {changes:,} with a match after every {ADDS_PER_MATCH}")
    settled = _time_matches(matcher, events)
    start, number = process_time(), 0
    for row, filter_ in enumerate(filters[changes:], count + changes):
        matcher.add(id_of(row), filter_)
        if row % ADDS_PER_MATCH == 0:
            matcher.match(events[number % len(events)])
            number += 1
    taken = process_time() - start
    present[count + changes :] = True
    amortised = max(taken - number * settled, 0) / changes * 1e6
    note = f"beyond the {settled * 1e6:.0f} µs of a match without additions"
    report.add("add among matches", amortised, "µs", "lower", goal=GOAL_ADD_US, note=note)
    report.add("match among additions", _time_matches(matcher, events) * 1e6, "µs", "lower")

    gone = settings.generator(2, 202).choice(np.flatnonzero(present), changes, replace=False)
    report.progress(f"removing {changes:,}")
    start = process_time()
    for row in gone.tolist():
        matcher.remove(id_of(row))
    matcher.match(events[0])
    taken = process_time() - start
    present[gone] = False
    note = f"{changes:,} at random, then a match"
    report.add("remove", taken / changes * 1e6, "µs", "lower", goal=GOAL_REMOVE_US, note=note)
    _check(matcher, workload, present, "after changes")
    report.add("settle after all changes", seconds_of(matcher.settle), "s", "lower")
    _check(matcher, workload, present, "after settling")


def _time_matches(matcher: Matcher, events: Sequence[dict[str, object]]) -> float:
    """The seconds of one single match, on average."""
    return seconds_of(lambda: [matcher.match(event) for event in events]) / len(events)


# -- texts, bytes, memory ----------------------------------------------------------------------------


def _measure_texts(name: str, workload: BoxWorkload, count: int, report: Report) -> None:
    report.progress(f"building from the texts of {name}")
    table = workload.filter_table(0, count)
    start = process_time()
    matcher = Matcher.from_arrow(table)
    matcher.match(workload.event_dicts(1)[0])
    taken = process_time() - start
    report.add(f"build from texts of {name}", taken, "s", "lower", goal=GOAL_TEXT_S, note=f"{count:,}")
    _check(matcher, workload, np.arange(len(workload)) < count, f"from texts of {name}")


def _measure_saving(matcher: Matcher, workload: BoxWorkload, present: Rows, report: Report) -> None:
    report.progress("saving and loading")
    start = process_time()
    data = matcher.to_bytes()
    saved = process_time()
    loaded = Matcher.from_bytes(data)
    finished = process_time()
    note = f"{len(data) / len(matcher):.0f} bytes a subscription"
    report.add("to_bytes", saved - start, "s", "lower", goal=GOAL_SAVE_S, note=note)
    report.add("from_bytes", finished - saved, "s", "lower", goal=GOAL_LOAD_S)
    _check(loaded, workload, present, "from bytes")


def _measure_memory(table: pa.Table, workload: BoxWorkload, report: Report) -> None:
    """Builds the matcher in a process of its own and asks the system how much that process grew.

    The table is a mapped file, so it does not count; ids, index and the result of the first batch do.
    """
    report.progress("measuring memory in a process of its own")
    with tempfile.TemporaryDirectory(prefix="siftcast-bench-") as room:
        paths = [Path(room) / "subscriptions.arrow", Path(room) / "events.arrow"]
        for path, content in zip(paths, (table, workload.event_table(10)), strict=True):
            with pa.ipc.new_file(path, content.schema) as writer:
                writer.write_table(content)
        command = [sys.executable, "-m", "benchmarks.memory_growth", *map(str, paths)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    grown = json.loads(done.stdout)
    if grown is None:
        report.progress("  no /proc here; memory is not measured")
        return
    count = table.num_rows
    note = "growth of resident memory, ids included"
    report.add("memory", grown["kept"] / count, "bytes/sub", "lower", goal=GOAL_BYTES, note=note)
    report.add("memory at the peak of building", grown["peak"] / count, "bytes/sub", "lower")
