"""Clustering: time against the number of subscriptions, and beside scikit-learn and Spark ML in time and messages.

    python -m benchmarks clustering            ten minutes on two idle cores; needs 12 GiB
    python -m benchmarks clustering --quick    a minute or two, most of it Spark's

Boxes that are uniform, events around hot spots, an event matches 5 %; k clusters from the last 20 matches of each. The
first two thirds of the events are what clusters are made from, the last third is what they are judged by: the share of
false positives among all messages, when an event goes to whole clusters. Beyond SAMPLE subscriptions it is the share
within a uniform sample.

The clock is processor time, all threads, and for Spark also its JVM and workers. Siftcast's time starts from matching
pairs. scikit-learn's SpectralClustering and Spark ML's PowerIterationClustering get the similarities for nothing, which
is to their advantage, and take the largest size that they finish within PATIENCE_S at the growth seen so far; Spark's
jobs are cancelled then.
Matches are verified on a sample; clusters have no right answer, only a cost.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import log
from threading import Timer
from time import process_time
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.cluster import SpectralClustering
from threadpoolctl import threadpool_limits

from benchmarks.exactness import check_equal
from benchmarks.processes import cpu_s_of, family_of
from benchmarks.report import Report
from benchmarks.settings import Settings
from siftcast.matching import Matcher
from siftcast.model import Filter
from siftcast.planning.clustering import (
    FalsePositives,
    MatchedEvents,
    SubscriptionClusters,
    false_positives,
    matched_events,
    similarities,
)
from siftcast.spark.matched_numbers import match_numbers
from siftcast.workloads import Workload, generate

K = 20
EVENTS = 900
LEARNED = 600
SAMPLE = 20_000
CHECKED = 100
PATIENCE_S = 300.0
PAIRS_MAX = 120_000_000  # similarities of so many pairs take 1.5 GiB, and the peers copy them
GOAL_FASTER, GOAL_GROWTH, GOAL_MILLION_S = 20.0, 1.2, 300.0

Labels = Any


class TookTooLong(Exception):
    """A peer did not finish."""


@dataclass(frozen=True, slots=True)
class Log:
    """Matching pairs of all events: number of the subscription, number of the event."""

    count: int
    subscriptions: Any
    events: Any

    def learned(self) -> MatchedEvents:
        """The recent matches before the events that judge."""
        kept = self.events < LEARNED
        return matched_events(self.subscriptions[kept], self.events[kept], count=self.count)

    def judged(self, labels: Labels, rng: np.random.Generator) -> FalsePositives:
        """Messages of the later events among all subscriptions, or among a sample of them."""
        later = self.events >= LEARNED
        who, what = self.subscriptions[later], self.events[later]
        own = np.where(labels < 0, labels.max(initial=-1) + 1, labels)
        if self.count > SAMPLE:
            chosen = np.zeros(self.count, dtype=np.bool_)
            chosen[rng.choice(self.count, SAMPLE, replace=False)] = True
            number = np.cumsum(chosen) - 1
            kept = chosen[who]
            who, what, own = number[who[kept]], what[kept], own[chosen]
        return false_positives(who, what, own)


def run(settings: Settings, report: Report) -> None:
    """Measures all of it."""
    sizes = (1_000, 2_000, 4_000) if settings.quick else (10_000, 100_000, 1_000_000)
    peer_sizes = (300, 600) if settings.quick else (1_000, 2_000, 4_000, 8_000, 16_000)
    _grow(sizes, settings, report)
    _beside("scikit-learn", _scikit_learn, peer_sizes, settings, report, goals=True)
    from siftcast import spark as ss

    # Its graph of pairs does not fit into the gigabyte that Spark takes unless told otherwise.
    spark = ss.session("siftcast benchmarks", config={"spark.driver.memory": "8g"})
    try:
        _beside("Spark ML", _power_iteration(spark), peer_sizes, settings, report, goals=False)
    finally:
        spark.stop()


def _grow(sizes: tuple[int, ...], settings: Settings, report: Report) -> None:
    """Time against size, and how fast it grows from one to the next."""
    seconds: list[float] = []
    for size in sizes:
        log_ = make_log(size, settings, report)
        taken, labels = _ours(log_, settings, repeats=1 if size >= 1_000_000 else 3)
        seconds.append(taken)
        rng = settings.generator(size)
        at_random = log_.judged(rng.integers(0, K, size), rng)
        judged = log_.judged(labels, rng)
        note = f"false positives {judged.share:.1%}, at random {at_random.share:.1%}"
        goal = GOAL_MILLION_S if size >= 1_000_000 else None
        report.add(f"rassoc, {size:,} subscriptions", taken, "s", "lower", goal=goal, note=note)
    exponent = log(seconds[-1] / seconds[-2]) / log(sizes[-1] / sizes[-2])
    note = f"time ~ N^x from {sizes[-2]:,} to {sizes[-1]:,}"
    report.add("rassoc, growth", exponent, "", "lower", goal=GOAL_GROWTH, note=note)


def _beside(
    name: str,
    peer: Callable[[MatchedEvents, int], tuple[float, Labels]],
    sizes: tuple[int, ...],
    settings: Settings,
    report: Report,
    *,
    goals: bool,
) -> None:
    """A peer at growing sizes until it would take too long; the goals are for the last that it finished."""
    before: list[float] = []
    last: tuple[float, float] | None = None
    for size in sizes:
        if len(before) > 1 and before[-1] * before[-1] / max(before[-2], 1e-3) > PATIENCE_S:
            report.progress(f"{name}: {size:,} would take more than {PATIENCE_S:.0f} s")
            break
        log_ = make_log(size, settings, report)
        known = log_.learned()
        if similarities(known).nnz > PAIRS_MAX:
            report.progress(f"{name}: {size:,} subscriptions have too many similar pairs for its memory")
            break
        try:
            taken, labels = peer(known, settings.seed)
        except TookTooLong:
            report.progress(f"{name}: {size:,} not finished after {PATIENCE_S:.0f} s")
            break
        ours, own_labels = _ours(log_, settings, repeats=3)
        theirs, own = (log_.judged(each, settings.generator(size)) for each in (labels, own_labels))
        before.append(taken)
        last = taken / ours, own.share / max(theirs.share, 1e-9)
        note = f"false positives {theirs.share:.1%}; rassoc {ours:.2f} s, {own.share:.1%}"
        report.add(f"{name}, {size:,} subscriptions", taken, "s", "lower", note=note)
    assert last is not None, "the smallest size is always tried"
    faster, share = last
    report.add(f"rassoc beside {name}, time", faster, "x", "higher", goal=GOAL_FASTER if goals else None)
    report.add(f"rassoc beside {name}, false positives", share, "x", "lower", goal=1.0 if goals else None)


def make_log(size: int, settings: Settings, report: Report) -> Log:
    """All matches of a workload."""
    report.progress(f"clustering: {size:,} subscriptions, {EVENTS} events")
    options = {"subscription_distribution": "uniform", "event_distribution": "hotspots"}
    made = generate("clustering-hotspots", events=EVENTS, subscriptions=size, seed=settings.seed, **options)
    matcher = Matcher.from_arrow(made.subscriptions.select(["id", "filter"]))
    table = made.attributes()
    parts = list(_pairs(matcher, table))
    log_ = Log(size, *(np.concatenate(column) for column in zip(*parts, strict=True)))
    _verify(log_, made)
    return log_


def _verify(log_: Log, made: Workload) -> None:
    """Compares the matches of some events and subscriptions with the definition of a filter."""
    filters = [Filter.parse(text) for text in made.subscriptions["filter"][:CHECKED].to_pylist()]
    events = made.attributes().slice(0, CHECKED).to_pylist()
    wanted = {(i, j) for i, each in enumerate(filters) for j, event in enumerate(events) if each.matches(event)}
    kept = (log_.subscriptions < CHECKED) & (log_.events < CHECKED)
    found = set(zip(log_.subscriptions[kept].tolist(), log_.events[kept].tolist(), strict=True))
    check_equal(f"clustering, matches of {log_.count:,}", found, wanted)


def _pairs(matcher: Matcher, events: pa.Table) -> Iterator[tuple[Any, Any]]:
    done = 0
    for found in match_numbers(matcher, events.combine_chunks().to_batches(), events.column_names):
        yield found.subscriptions, found.rows + done
        done += found.events.num_rows


def _ours(log_: Log, settings: Settings, *, repeats: int) -> tuple[float, Labels]:
    """The best of some times, from pairs to labels."""
    best, labels = float("inf"), None
    for _ in range(repeats):
        started = process_time()
        labels = SubscriptionClusters(K, seed=settings.seed).fit(log_.learned()).labels_
        best = min(best, process_time() - started)
    return best, labels


def _scikit_learn(known: MatchedEvents, seed: int) -> tuple[float, Labels]:
    members = np.flatnonzero(known.matched)
    affinity = similarities(known.take(members)).astype(np.float64)
    with threadpool_limits(limits=1):
        started = process_time()
        found = SpectralClustering(K, affinity="precomputed", random_state=seed).fit_predict(affinity)
        taken = process_time() - started
    labels = np.full(len(known), -1, dtype=np.int64)
    labels[members] = found
    return taken, labels


def _power_iteration(spark: Any) -> Callable[[MatchedEvents, int], tuple[float, Labels]]:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException
    from pyspark.ml.clustering import PowerIterationClustering

    def cluster(known: MatchedEvents, seed: int) -> tuple[float, Labels]:
        pairs = similarities(known).tocoo()
        upper = (pairs.row < pairs.col) & (pairs.data > 0)
        columns = {"src": pairs.row[upper].astype(np.int64), "dst": pairs.col[upper].astype(np.int64)}
        table = spark.createDataFrame(pa.table(columns | {"weight": pairs.data[upper].astype(np.float64)})).cache()
        table.count()
        patience = Timer(PATIENCE_S, spark.sparkContext.cancelAllJobs)
        patience.start()
        started = family_cpu_s()
        try:
            rows = PowerIterationClustering(k=K, maxIter=20, weightCol="weight").assignClusters(table).toArrow()
        except (PySparkException, Py4JError) as error:
            if patience.is_alive():
                raise
            raise TookTooLong from error
        finally:
            patience.cancel()
        taken = family_cpu_s() - started
        table.unpersist()
        labels = np.full(len(known), -1, dtype=np.int64)
        labels[rows["id"].to_numpy()] = rows["cluster"].to_numpy()
        return taken, labels

    return cluster


def family_cpu_s() -> float:
    """The processor time of this process and all that live below it."""
    return sum(map(cpu_s_of, family_of(os.getpid())))
