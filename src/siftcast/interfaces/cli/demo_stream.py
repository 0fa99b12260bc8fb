"""The last part of `siftcast demo`: the same market as a stream on Spark, with subscriptions that change midway.

Quotes arrive as files in a folder. After half of them the changelog of subscriptions grows by a version: one is
replaced, one is added, one is removed. A table then shows who got what under which version, and the answer is compared
with matching each half in one process.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table
from rich.text import Text

from siftcast.interfaces.cli.demo_network import Shown
from siftcast.interfaces.cli.terminal import bar, facts
from siftcast.matching import Matcher

FILES, QUOTES_PER_FILE = 4, 2_000
Standing = dict[str, str]
FIRST: Standing = {
    "bargain": "symbol = 'IBM' AND price < 45",
    "large": "volume >= 2000",
    "tech": "symbol IN ('IBM', 'SAP', 'AAPL')",
}
CHANGES = [
    {"op": "replace", "id": "bargain", "filter": "symbol = 'IBM' AND price < 60", "version": 2},
    {"op": "add", "id": "penny", "filter": "price < 5 AND NOT symbol LIKE 'A%'", "version": 2},
    {"op": "remove", "id": "large", "version": 2},
]
SECOND: Standing = {"bargain": "symbol = 'IBM' AND price < 60", "tech": FIRST["tech"], "penny": CHANGES[1]["filter"]}  # type: ignore[dict-item]


@dataclass(frozen=True, slots=True)
class StreamedMarket:
    """What the stream gave: deliveries by version and subscription, and the same from one process."""

    found: Counter[tuple[int, str]]
    expected: Counter[tuple[int, str]]
    batches: int
    start_s: float
    stream_s: float


def show_stream(quotes: pa.Table, console: Console) -> Shown | None:
    """Runs and shows the stream: whether it gave the right answer, vacuous if that is that nobody gets anything.

    Says so where Spark is not installed, and then shows nothing.
    """
    console.print(Text("\n5. The same on Spark, as a stream, while subscriptions change", "bold"))
    if find_spec("pyspark") is None:
        console.print('Spark is not installed here: pip install "siftcast[spark]" brings it, Java included.')
        return None
    console.print("starting Spark …", style="dim")
    market = _run(quotes.slice(0, FILES * QUOTES_PER_FILE))
    console.print(
        facts(
            [
                ("Spark", f"started in {market.start_s:.1f} s"),
                ("stream", f"{FILES} files of {QUOTES_PER_FILE:,} quotes in {market.batches} micro-batches"
                           f" and {market.stream_s:.1f} s; version 2 of the subscriptions came after half of them"),
            ]
        )
    )  # fmt: skip
    console.print(_table(market))
    right = market.found == market.expected
    verdict = "equals matching each half in one process" if right else "DIFFERS from matching in one process"
    if right and not market.expected:
        console.print(Text("Nobody wants any of these quotes, which shows nothing.", "yellow"))
        return "vacuous"
    console.print(Text(f"Every delivery happened exactly once, and the result {verdict}.", "green" if right else "red"))
    return "passed" if right else "failed"


def _run(quotes: pa.Table) -> StreamedMarket:
    from siftcast import spark as ss

    started = perf_counter()
    spark = ss.session("siftcast-demo", master="local[2]")
    spark.range(1).count()
    running = perf_counter()
    half = FILES // 2
    files = [quotes.slice(number * QUOTES_PER_FILE, QUOTES_PER_FILE) for number in range(FILES)]
    try:
        with TemporaryDirectory(prefix="siftcast-demo-") as name:
            folder = Path(name)
            arriving, changes = folder / "quotes.parquet", folder / "changes"
            arriving.mkdir()
            changes.mkdir()
            added = [{"op": "add", "id": id, "filter": text, "version": 1} for id, text in FIRST.items()]
            _write_changes(changes / "1.jsonl", added)
            events = ss.read_event_stream(
                arriving, "symbol string, price double, volume bigint", "parquet", files_per_batch_max=1, spark=spark
            )
            query = ss.match_stream(events, changes, output=folder / "out", checkpoint=folder / "checkpoint")
            try:
                for number, file in enumerate(files):
                    if number == half:
                        _write_changes(changes / "2.jsonl", CHANGES)
                    _arrive(file, arriving / f"{number}.parquet")
                    query.process_all_available()
                batches = query.progress().total.batches
            finally:
                query.stop()
            rows = ss.read_matches(str(folder / "out")).groupBy("subscription_version", "subscription_id").count()
            found = Counter({(row[0], row[1]): row[2] for row in rows.collect()})
    finally:
        spark.stop()
    expected = _counted(1, FIRST, pa.concat_tables(files[:half])) + _counted(2, SECOND, pa.concat_tables(files[half:]))
    return StreamedMarket(found, expected, batches, running - started, perf_counter() - running)


def _write_changes(path: Path, changes: list[dict[str, object]]) -> None:
    hidden = path.with_name(f".{path.name}")
    hidden.write_text("".join(json.dumps(change) + "\n" for change in changes))
    hidden.rename(path)  # a reader sees the whole file or none


def _arrive(quotes: pa.Table, path: Path) -> None:
    hidden = path.with_name(f".{path.name}")
    pq.write_table(quotes.select(["symbol", "price", "volume"]), hidden)
    hidden.rename(path)


def _counted(version: int, standing: Standing, quotes: pa.Table) -> Counter[tuple[int, str]]:
    matcher = Matcher()
    matcher.add_many(standing.items())
    return Counter((version, id) for ids in matcher.match_batch(quotes).to_pylist() for id in ids)


def _table(market: StreamedMarket) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("subscription")
    table.add_column("filter", overflow="fold")
    table.add_column("version 1", justify="right")
    table.add_column("version 2", justify="right")
    table.add_column()
    largest = max([*market.found.values(), 1])
    for id in dict.fromkeys([*FIRST, *SECOND]):
        before, after = market.found[1, id], market.found[2, id]
        text = FIRST.get(id, SECOND.get(id, ""))
        if id in FIRST and id in SECOND and FIRST[id] != SECOND[id]:
            text = f"{FIRST[id]}  →  {SECOND[id]}"
        one = f"{before:,}" if id in FIRST else "–"
        two = f"{after:,}" if id in SECOND else "–"
        table.add_row(id, Text(text), one, two, Text(bar((before + after) / (2 * largest), 16), "cyan"))
    return table
