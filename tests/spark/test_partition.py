"""Zones from Spark tables: even on the paper's data models, and explained."""

import json
from pathlib import Path

import numpy as np
import pytest

from siftcast.interfaces.cli import spark_planning
from siftcast.model import DataError, Filter
from siftcast.planning import quality
from siftcast.space import Partition
from siftcast.spark import SparkSession
from siftcast.spark.partition import partition
from siftcast.spark.statistics import statistics
from siftcast.workloads import generate

ZONES = 20
FULL = pytest.mark.full


@pytest.mark.parametrize(
    "preset",
    ["kyra-zipf", *(pytest.param(f"kyra-{kind}", marks=FULL) for kind in ("uniform", "multimodal", "regional"))],
)
def test_twenty_zones_are_even_on_the_papers_data_models(spark: SparkSession, preset: str) -> None:
    workload = generate(preset, events=20_000, subscriptions=100, seed=3)
    events, subscriptions = spark.createDataFrame(workload.events), spark.createDataFrame(workload.subscriptions)
    zones = partition(events, subscriptions, workload.schema, zones=ZONES)
    assert len(zones) == ZONES
    largest = int(np.argmax(zones.loads))
    box = zones.zones[largest].box
    assert quality(zones.loads).imbalance <= 1.1 or box.volume == 1.0
    values = workload.events["value"].to_numpy()
    wanted = np.zeros(1_000)
    for filter_ in map(Filter.parse, workload.subscriptions["filter"].to_pylist()):
        wanted += [filter_.matches({"value": value}) for value in range(1_000)]
    load = (wanted / 100) ** 0.6101 * np.bincount(values, minlength=1_000) / len(values)
    here = zones.zones_of_points(np.arange(1_000.0)[:, None])
    assert np.bincount(here, weights=load) == pytest.approx(zones.loads)


def test_zones_over_several_attributes_hold_every_match(spark: SparkSession) -> None:
    workload = generate("stock-quotes", events=2_000, subscriptions=200, seed=2)
    events, subscriptions = spark.createDataFrame(workload.events), spark.createDataFrame(workload.subscriptions)
    measured = statistics(events, subscriptions, workload.schema)
    zones = partition(events, subscriptions, workload.schema, zones=6, measured=measured)
    assert len(zones) == 6
    assert "6 zones along" in zones.explain()
    assert "→" in zones.explain()
    assert Partition.from_json(zones.to_json()) == zones
    filters = [Filter.parse(text) for text in workload.subscriptions["filter"].to_pylist()]
    spans = [set(zones.zones_of(filter_)) for filter_ in filters]
    for event in workload.events.to_pylist()[:200]:
        home = zones.zone_of_event(event)
        assert home is not None
        assert all(home in span for filter_, span in zip(filters, spans, strict=True) if filter_.matches(event))
    one = partition(events, subscriptions, workload.schema, zones=6, attributes=["price"])
    assert [axis.attribute.name for axis in one.space.axes] == ["price"]
    assert quality(one.loads).imbalance <= 1.1


def test_impossible_wishes_are_refused(spark: SparkSession) -> None:
    workload = generate("kyra-uniform", events=1, subscriptions=1, seed=0)
    frame = spark.createDataFrame(workload.subscriptions)
    with pytest.raises(DataError, match="at least one zone"):
        partition(frame, frame, workload.schema, zones=0)
    with pytest.raises(DataError, match="whole number"):
        partition(frame, frame, workload.schema, zones=2.5)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="alpha"):
        partition(frame, frame, workload.schema, zones=2, alpha=-1.0)


def test_without_data_the_values_are_shared_out(spark: SparkSession) -> None:
    workload = generate("kyra-uniform", events=1, subscriptions=1, seed=0)
    events, subscriptions = spark.createDataFrame(workload.events), spark.createDataFrame(workload.subscriptions)
    zones = partition(events.where("false"), subscriptions.where("false"), workload.schema, zones=4)
    assert [zone.box.volume for zone in zones.zones] == [250.0] * 4


def test_zones_say_which_subscriptions_were_left_out(spark: SparkSession) -> None:
    workload = generate("kyra-uniform", events=50, subscriptions=9, seed=0)
    events, subscriptions = spark.createDataFrame(workload.events), spark.createDataFrame(workload.subscriptions)
    said = partition(events, subscriptions, workload.schema, zones=2).explain()
    assert "Left out" not in said
    bad = spark.createDataFrame([("bad", "value = 'x'")], "id string, filter string")
    found = partition(events, subscriptions.select("id", "filter").union(bad), workload.schema, zones=2)
    left_out = "Left out: 1 of 10 subscriptions, which cannot be used; the first is 'bad': in 'value = 'x''"
    assert left_out in found.explain()
    assert Partition.from_json(found.to_json()).explain() == found.explain()


def test_the_commands_refuse_the_schema_of_another_table(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert spark.version
    workload = generate("stock-quotes", events=20, subscriptions=4, seed=6)
    workload.write(tmp_path, ("jsonl", "parquet"))
    (tmp_path / "events.csv").write_text("symbol,price\nA,8.5\n", encoding="utf-8")
    schema = tmp_path / "other.toml"
    schema.write_text('[[attribute]]\nname = "prise"\ntype = "float"\ndomain = [0, 9]\n', encoding="utf-8")
    rules = str(tmp_path / "subscriptions.jsonl")
    for name in ("events.jsonl", "events.parquet", "events.csv"):
        paths = {"events": str(tmp_path / name), "subscriptions": rules}
        for command in (spark_planning.statistics, spark_planning.partition):
            with pytest.raises(DataError, match=r"no column 'prise'; did you mean 'price'\?(.|\n)*--lenient"):
                command(**paths, schema=schema)
    paths["events"] = str(tmp_path / "events.jsonl")
    right = tmp_path / "schema.toml"
    with pytest.raises(DataError, match=r"no column 'volumes' to take weights from; did you mean 'volume'\?"):
        spark_planning.statistics(**paths, schema=right, weight="volumes")
    spark_planning.statistics(**paths, schema=schema, lenient=True)
    assert "no values" in capsys.readouterr().out
    (tmp_path / "nothing.jsonl").write_text("", encoding="utf-8")
    empty = {"events": str(tmp_path / "nothing.jsonl"), "subscriptions": rules}
    assert spark_planning.statistics(**empty, schema=right) == 0
    shown = capsys.readouterr().out
    assert "no events in the" in shown
    assert "None" not in shown


def test_the_commands_write_json_and_say_that_rows_were_rejected(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert spark.version
    workload = generate("stock-quotes", events=300, subscriptions=40, seed=6)
    workload.write(tmp_path, ("jsonl",))
    with (tmp_path / "events.jsonl").open("a", encoding="utf-8") as lines:
        lines.write("{broken\n")
    with (tmp_path / "subscriptions.jsonl").open("a", encoding="utf-8") as lines:
        lines.write('{"id": "bad", "filter": "price <"}\n')
    paths = {name: str(tmp_path / f"{name}.jsonl") for name in ("events", "subscriptions")}
    schema = tmp_path / "schema.toml"
    assert spark_planning.partition(**paths, schema=schema, zones=3, output=tmp_path / "zones.json") == 1
    zones = Partition.from_json((tmp_path / "zones.json").read_text(encoding="utf-8"))
    shown = capsys.readouterr().out
    assert len(zones) == 3
    assert "3 zones along" in shown
    assert "2 rows" in shown
    assert "the first is 'bad': line 1, column" in " ".join(shown.split())
    output = tmp_path / "statistics.json"
    assert spark_planning.statistics(**paths, schema=schema, attributes=("symbol",), output=output) == 1
    written = json.loads(output.read_text(encoding="utf-8"))
    assert (written["events"], written["subscriptions"], written["rejected"]) == (300, 40, 2)
    assert sum(cell["events"] for cell in written["cells"]) == 300
    assert "cells of symbol" in capsys.readouterr().out
    with pytest.raises(DataError, match="no such file"):
        spark_planning.partition(events="missing.jsonl", subscriptions="missing.jsonl", schema=schema)
