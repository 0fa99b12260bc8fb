"""Flights, quotes and earthquakes through `siftcast match`, a sample compared with trying every filter.

The rows are read a second time by the `csv` module and typed here by hand, so that the reader of the command line
is compared with something that does not share its code.
"""

import csv
import gzip
import itertools
import json
from datetime import UTC, datetime

import pyarrow.parquet as pq
import pytest

import siftcast as sc

ROWS = 20_000
FILTERS = {
    "nycflights13-flights.csv.gz": [
        "dep_delay > 60",
        "dest = 'LAX' AND carrier IN ('UA', 'AA')",
        "dep_time IS NULL",
        "NOT (arr_delay <= 0)",
        "time_hour BETWEEN TIMESTAMP '2013-01-05T00:00:00Z' AND TIMESTAMP '2013-01-10T00:00:00Z'",
        "tailnum LIKE 'N1%' OR air_time < 40",
        "origin <> 'JFK' AND distance >= 1000 AND arr_time IS NOT NULL",
    ],
    "padres-stockquotes.csv.gz": [
        "symbol = 'AAPL' AND close < 40",
        "date < TIMESTAMP '1985-01-01'",
        "volume > 1000000 OR high > 100",
        "symbol LIKE 'A%' AND low BETWEEN 20 AND 30",
        "class = 'STOCK' AND open <> close",
    ],
    "ncedc-earthquakes-2016.csv.gz": [
        "Magnitude >= 4.5",
        "NbStations IS NULL AND Depth > 100",
        "MagType IN ('Md', 'Mw') OR Source = 'pr'",
        "NOT Gap < 100",
        "DateTime < '2016/01/15' AND RMS IS NOT NULL",
        "Latitude BETWEEN 30 AND 40 AND Longitude < -115",
    ],
}
TEXTS = {"carrier", "tailnum", "origin", "dest", "symbol", "class", "DateTime", "MagType", "Source"}
INSTANTS = {"time_hour", "date"}


def typed(row):
    event = {}
    for name, cell in row.items():
        if cell in ("", "NA"):
            continue
        if name in INSTANTS:
            event[name] = datetime.fromisoformat(cell).replace(tzinfo=UTC)
        else:
            event[name] = cell if name in TEXTS else float(cell)
    return event


@pytest.mark.parametrize("engine", ["auto", "brute_force"])
@pytest.mark.parametrize("name", FILTERS)
def test_real_events_match_as_every_filter_says(shared_data, match, write, tmp_path, name, engine):
    with gzip.open(shared_data / "data" / "events" / name, "rt", encoding="utf-8", newline="") as source:
        lines = list(itertools.islice(source, ROWS + 1))
    events = write(name, gzip.compress("".join(lines).encode()))
    filters = {f"f{place}": text for place, text in enumerate(FILTERS[name])}
    subs = write("subs.jsonl", [{"id": id, "filter": text} for id, text in filters.items()])
    outcome = match(subs, events, "--output", "pairs.parquet", "--engine", engine)
    assert outcome.status == 0
    assert outcome.json["events"]["used"] == len(lines) - 1 == ROWS

    pairs = pq.read_table(tmp_path / "pairs.parquet")
    found = set(zip(pairs["event"].to_pylist(), pairs["subscription_id"].to_pylist(), strict=True))
    assert len(found) == pairs.num_rows == outcome.json["matches"]
    parsed = {id: sc.Filter.parse(text) for id, text in filters.items()}
    matched = set()
    for number, row in enumerate(csv.DictReader(lines)):
        if number % 7 == 0:
            event = typed(row)
            wanted = {id for id, each in parsed.items() if each.matches(event)}
            matched |= wanted
            assert {id for id in parsed if (number, id) in found} == wanted, json.dumps(row)
    assert matched == set(parsed), "a filter that never matches tests nothing"
