"""Workloads as files: every format reads back, equal workloads write equal bytes."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from siftcast.model import Schema, WorkloadError
from siftcast.workloads import Workload, generate, presets

FORMATS = ("parquet", "arrow", "jsonl")


@pytest.mark.parametrize("name", presets())
@pytest.mark.parametrize("chosen", FORMATS)
def test_a_workload_reads_back(name: str, chosen: str, tmp_path: Path) -> None:
    workload = generate(name, events=120, subscriptions=40, seed=1)
    workload.write(tmp_path, formats=(chosen,))
    again = Workload.read(tmp_path)
    assert again.events.equals(workload.events)
    assert again.subscriptions.equals(workload.subscriptions)
    assert again.schema == workload.schema
    assert (again.name, again.seed, again.description) == (workload.name, 1, workload.description)
    assert dict(again.parameters) == dict(workload.parameters)


@pytest.mark.parametrize("chosen", FORMATS)
def test_an_empty_workload_reads_back(chosen: str, tmp_path: Path) -> None:
    workload = generate("games", events=0, subscriptions=0, seed=1)
    workload.write(tmp_path, formats=(chosen,))
    again = Workload.read(tmp_path)
    assert again.events.equals(workload.events)
    assert again.subscriptions.equals(workload.subscriptions)


def test_equal_workloads_write_equal_bytes(tmp_path: Path) -> None:
    for folder in ("first", "second"):
        generate("stock-quotes", events=500, subscriptions=100, seed=2).write(tmp_path / folder, formats=FORMATS)
    names = sorted(path.name for path in (tmp_path / "first").iterdir())
    assert len(names) == 8
    for name in names:
        assert (tmp_path / "first" / name).read_bytes() == (tmp_path / "second" / name).read_bytes()


def test_write_returns_every_path_it_wrote(tmp_path: Path) -> None:
    workload = generate("rss", events=3, subscriptions=3, seed=2)
    written = workload.write(tmp_path / "deep" / "folder", formats=("parquet", "jsonl"))
    assert sorted(path.name for path in written) == [
        "events.jsonl",
        "events.parquet",
        "schema.toml",
        "subscriptions.jsonl",
        "subscriptions.parquet",
        "workload.json",
    ]
    assert all(path.exists() for path in written)
    assert pq.read_table(tmp_path / "deep" / "folder" / "events.parquet").num_rows == 3
    assert Schema.load(tmp_path / "deep" / "folder" / "schema.toml") == workload.schema


def test_metadata_is_enough_to_generate_again(tmp_path: Path) -> None:
    original = generate("kyra-multimodal", events=20, subscriptions=10, seed=77, interest_rate=0.5, peaks=3)
    original.write(tmp_path)
    found = json.loads((tmp_path / "workload.json").read_text(encoding="utf-8"))
    again = generate(
        found["name"],
        events=found["events"],
        subscriptions=found["subscriptions"],
        seed=found["seed"],
        **found["parameters"],
    )
    assert again.events.equals(original.events)
    assert again.subscriptions.equals(original.subscriptions)


def test_json_lines_leave_out_what_is_missing_and_write_times_in_utc(tmp_path: Path) -> None:
    generate("security-alerts", events=200, subscriptions=1, seed=1).write(tmp_path / "alerts", formats=("jsonl",))
    rows = [json.loads(line) for line in (tmp_path / "alerts" / "events.jsonl").read_text().splitlines()]
    assert len(rows) == 200
    assert all(value is not None for row in rows for value in row.values())
    assert any("account" not in row for row in rows)
    generate("stock-quotes", events=1, subscriptions=1, seed=1).write(tmp_path / "stocks", formats=("jsonl",))
    quote = json.loads((tmp_path / "stocks" / "events.jsonl").read_text())
    assert quote["quoted_at"] == "2024-01-31T09:30:00Z"


def test_unknown_formats_and_missing_folders_are_refused(tmp_path: Path) -> None:
    workload = generate("games", events=1, subscriptions=1, seed=1)
    with pytest.raises(WorkloadError, match="'formats'"):
        workload.write(tmp_path / "none", formats=("parquet", "csv"))
    assert not (tmp_path / "none").exists()
    with pytest.raises(WorkloadError, match=r"workload\.json"):
        Workload.read(tmp_path)
