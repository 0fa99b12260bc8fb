"""How fast events are read from files, beside DuckDB's readers: stock quotes as JSON lines, CSV and Parquet.

Both end with the same columns in Arrow's memory, in one thread, and the rows are compared in the run that times them.
DuckDB gets the types of the columns; Siftcast finds them, block by block, unless the case has a schema. One JSON
file has a bad line in every thousand, which Siftcast rejects with its reason and DuckDB, told to ignore errors, reads
as nulls. At last the whole of `siftcast match`, from files to matches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from benchmarks.exactness import check_equal
from benchmarks.measuring import Contender, take_turns
from benchmarks.report import Report
from benchmarks.settings import Settings
from siftcast import Matcher, Schema
from siftcast.files import RejectedFile, open_events
from siftcast.interfaces.cli.match_run import MatchRequest, run_match
from siftcast.matching import wait_until_prepared
from siftcast.workloads import Workload, generate

GOAL_JSON = 400_000
BAD_EVERY = 1_000
SUBSCRIPTIONS = 100
OURS, THEIRS = "Siftcast", "DuckDB"
_TYPES = {"event_id": "BIGINT", "publisher": "VARCHAR", "symbol": "VARCHAR", "price": "DOUBLE", "volume": "BIGINT"}
_TEXT, _TIME = _TYPES | {"quoted_at": "VARCHAR"}, _TYPES | {"quoted_at": "TIMESTAMP"}


@dataclass(frozen=True, slots=True)
class Case:
    """A file, and how DuckDB is asked to read it into the same columns."""

    name: str
    path: Path
    query: str
    schema: Schema | None = None
    goal: float | None = None


def run(settings: Settings, report: Report) -> None:
    """Measures all of it."""
    events = settings.size(300_000, 30_000)
    workload = generate("stock-quotes", events=events, subscriptions=SUBSCRIPTIONS, seed=settings.seed)
    with TemporaryDirectory() as folder:
        report.progress(f"files: {events:,} stock quotes")
        for case in _write(workload, Path(folder)):
            _measure(case, settings, report)
        _measure_match(workload, Path(folder), settings, report)


def _write(workload: Workload, folder: Path) -> list[Case]:
    """The files, and what is asked of each."""
    workload.write(folder, ("jsonl", "parquet"))
    json, bad, csv, parquet = (folder / f"events{end}" for end in (".jsonl", "-bad.jsonl", ".csv", ".parquet"))
    lines = json.read_bytes().splitlines(keepends=True)
    bad.write_bytes(b"".join(b'{"event_id":\n' if row % BAD_EVERY == 7 else line for row, line in enumerate(lines)))
    pa_csv.write_csv(pq.read_table(parquet), csv, pa_csv.WriteOptions(quoting_style="needed"))
    schema = Schema.load(folder / "schema.toml")
    as_text, as_time = (f"format='newline_delimited', columns={types}" for types in (_TEXT, _TIME))
    return [
        Case("JSON lines", json, f"read_json('{json}', {as_text})", goal=GOAL_JSON),
        Case("JSON lines, with a schema", json, f"read_json('{json}', {as_time})", schema, GOAL_JSON),
        Case("JSON lines, 1 of 1,000 bad", bad, f"read_json('{bad}', {as_text}, ignore_errors=true)"),
        Case("CSV", csv, f"read_csv('{csv}', header=true, columns={_TIME})"),
        Case("Parquet", parquet, f"read_parquet('{parquet}')"),
    ]


def _measure(case: Case, settings: Settings, report: Report) -> None:
    connection = duckdb.connect(":memory:", config={"threads": 1})

    def read_theirs() -> Any:
        return connection.sql(f"SELECT * FROM {case.query}").to_arrow_table()

    def read_ours() -> Any:
        return read_table(case.path, case.schema)

    ours, theirs = read_ours(), read_theirs()
    if theirs.num_rows > ours.num_rows:  # of a bad line it makes a row of nulls
        theirs = theirs.filter(theirs["event_id"].is_valid())
    check_equal(f"files, {case.name}", ours.equals(theirs.select(ours.column_names).cast(ours.schema)), True)
    contenders = [_reader(name, call, ours.num_rows) for name, call in ((OURS, read_ours), (THEIRS, read_theirs))]
    timings, _ = take_turns(contenders, rounds=settings.rounds, round_s=settings.round_s)
    rates = {timing.name: 1e6 / timing.us_per_event for timing in timings}
    note = f"DuckDB {rates[THEIRS]:,.0f} events/s, {rates[OURS] / rates[THEIRS]:.2f} of its speed; the same rows"
    report.add(f"reading {case.name}", rates[OURS], "events/s", "higher", goal=case.goal, note=note)


def read_table(path: Path, schema: Schema | None) -> pa.Table:
    """All events of a file that are good, as the command line reads them."""
    with RejectedFile(path) as rejected, open_events(path, schema, rejected) as reader:
        return pa.concat_tables(block.events for block in reader.blocks())


def _reader(name: str, call: Callable[[], object], events: int) -> Contender:
    return Contender(name, lambda _count: call, events_max=events, events_min=events)


def _measure_match(workload: Workload, folder: Path, settings: Settings, report: Report) -> None:
    wait_until_prepared()
    request = MatchRequest(
        folder / "subscriptions.parquet",
        folder / "events.jsonl",
        schema=Schema.load(folder / "schema.toml"),
        progress=False,
    )
    matcher = Matcher.from_arrow(workload.subscriptions.select(["id", "filter"]))
    expected = _count_pairs(matcher.match_batch(workload.attributes()).chunks)
    found = run_match(request)
    check_equal("siftcast match", (found.tally.events, found.tally.pairs), (workload.events.num_rows, expected))
    contender = _reader("match", lambda: run_match(request), workload.events.num_rows)
    (timing,), _ = take_turns([contender], rounds=settings.rounds, round_s=settings.round_s)
    note = f"{SUBSCRIPTIONS} subscriptions, {expected:,} matches, all threads; limited by {found.profile.limiting}"
    report.add(
        "siftcast match, JSON lines with a schema", 1e6 / timing.us_per_event, "events/s", "higher",
        goal=GOAL_JSON, note=note,
    )  # fmt: skip


def _count_pairs(chunks: Sequence[pa.Array]) -> int:
    return sum(len(chunk.flatten()) for chunk in chunks)
