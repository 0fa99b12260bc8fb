"""Zones from Spark tables: even on the paper's data models, and explained."""

import numpy as np
import pytest

from siftcast.model import DataError, Filter
from siftcast.planning import quality
from siftcast.space import Partition
from siftcast.spark import SparkSession
from siftcast.spark.partition import partition
from siftcast.spark.statistics import statistics
from siftcast.workloads import generate

ZONES = 20


@pytest.mark.parametrize("preset", ["kyra-uniform", "kyra-zipf", "kyra-multimodal", "kyra-regional"])
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
    with pytest.raises(DataError, match="alpha"):
        partition(frame, frame, workload.schema, zones=2, alpha=-1.0)
