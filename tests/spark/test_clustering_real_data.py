"""Flights and stock quotes: clusters made from one period save messages in the next."""

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import functions as fn

from siftcast import spark as ss
from siftcast.planning.clustering import SubscriptionClusters
from siftcast.spark.clustering import cluster_compiled
from siftcast.spark.clustering_cost import Reference, labels_cost

SUBSCRIPTIONS = 300


def flight_filters(rows, rng):
    """Travellers of one destination or carrier, and people who watch delays of an airport."""
    for row in rows:
        delay = int(rng.integers(0, 30))
        yield [
            f"dest = '{row['dest']}'",
            f"dest = '{row['dest']}' AND dep_delay > {delay}",
            f"origin = '{row['origin']}' AND carrier = '{row['carrier']}'",
            f"carrier = '{row['carrier']}' AND distance > {row['distance'] - 200}",
        ][rng.integers(4)]


def quote_filters(rows, rng):
    """Owners of a symbol, some with a limit."""
    for row in rows:
        yield [
            f"symbol = '{row['symbol']}'",
            f"symbol = '{row['symbol']}' AND volume > {row['volume'] // 2}",
            f"symbol = '{row['symbol']}' AND close > {row['close'] / 2:.2f}",
        ][rng.integers(3)]


@pytest.mark.parametrize(
    ("file", "columns", "order_by", "periods", "make", "k"),
    [
        (
            "nycflights13-flights.csv.gz",
            "time_hour timestamp, dest string, origin string, carrier string, dep_delay double, distance double",
            "time_hour",
            ("2013-01-02", "2013-01-08", "2013-01-12"),
            flight_filters,
            30,
        ),
        (
            "padres-stockquotes.csv.gz",
            "date timestamp, symbol string, volume long, close double",
            "date",
            ("1999-01-04", "1999-03-01", "1999-04-01"),
            quote_filters,
            100,  # more than the 76 symbols that are asked for, which have nothing in common
        ),
    ],
    ids=["flights", "quotes"],
)
def test_clusters_of_one_period_save_messages_in_the_next(
    spark, shared_data, file, columns, order_by, periods, make, k
):
    path = str(shared_data / "data" / "events" / file)
    wanted = [column.split() for column in columns.split(", ")]
    texts = spark.read.csv(path, header=True)
    whole = texts.select(*(fn.expr(f"try_cast(`{name}` AS {kind})").alias(name) for name, kind in wanted))
    first, middle, last = periods
    time = fn.col(order_by)
    learned = whole.where((time >= first) & (time < middle)).cache()
    judged = whole.where((time >= middle) & (time < last)).cache()
    assert learned.count() > 1_000
    assert judged.count() > 500
    rng = np.random.default_rng(7)
    rows = learned.orderBy(*learned.columns).toArrow().to_pylist()
    chosen = [rows[place] for place in rng.choice(len(rows), SUBSCRIPTIONS, replace=False)]
    table = pa.table({"id": [f"s{n}" for n in range(SUBSCRIPTIONS)], "filter": list(make(chosen, rng))})
    compiled = ss.compile_subscriptions(spark.createDataFrame(table))
    compiled.check()

    found = cluster_compiled(learned, compiled, SubscriptionClusters(k), order_by=order_by)
    reference = Reference.of(found.labels, np.random.default_rng(1))
    cost = labels_cost(judged, compiled, {"clusters": found.labels, "random": reference.at_random})
    learned.unpersist()
    judged.unpersist()
    assert found.unmatched < SUBSCRIPTIONS // 4
    assert cost["clusters"].wanted == cost["random"].wanted > 0
    assert cost["clusters"].count < 0.5 * cost["random"].count
