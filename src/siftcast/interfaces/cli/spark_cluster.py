"""`siftcast spark cluster`: subscriptions that receive the same events, grouped, and what that saves.

Importing this module does not import Spark; the functions do when they run.
"""

from __future__ import annotations

import json as jsonlib
from dataclasses import asdict, dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter
from rich.console import Console

from siftcast.interfaces.cli.options import (
    ColumnTypesFile,
    EventFiles,
    EventFormat,
    Flag,
    JsonSummary,
    LenientFilters,
    Master,
    OutputFormat,
    Quiet,
    SubscriptionFiles,
    SubscriptionFormat,
)
from siftcast.interfaces.cli.outcome import OK, REJECTED
from siftcast.interfaces.cli.spark_running import check_inputs, check_outputs, start_session
from siftcast.interfaces.cli.terminal import facts, out
from siftcast.model import ClusteringError, Schema

if TYPE_CHECKING:
    from siftcast.planning.clustering import FalsePositives
    from siftcast.spark.clustering import ClusteredSubscriptions


def cluster(
    *,
    events: EventFiles,
    subscriptions: SubscriptionFiles,
    clusters: Annotated[int, Parameter(name=["--clusters", "-k"])],
    output: str,
    method: Literal["rassoc", "ncut"] = "rassoc",
    levels: int | None = None,
    groups: int | None = None,
    landmarks: str | None = None,
    kmeans: Literal["central", "sampling", "hierarchical", "hp2pc"] | None = None,
    recent: int = 20,
    similarity: Literal["jaccard", "dice", "simpson", "russell", "simple_matching"] = "jaccard",
    order_by: str | None = None,
    judge: str | None = None,
    format: EventFormat = None,
    subscriptions_format: SubscriptionFormat = None,
    output_format: OutputFormat = "parquet",
    schema: ColumnTypesFile = None,
    seed: int = 0,
    lenient: LenientFilters = False,
    master: Master = None,
    force: Flag = False,
    quiet: Quiet = False,
    json: JsonSummary = False,
) -> int:
    """Group subscriptions that receive the same events, and say what it saves.

    The result has a row for each subscription: subscription_id, cluster and recent_matches. A subscription that matched
    none of the events has no cluster. Rows of the inputs that cannot be used are counted; the exit status is then 1.

    The summary compares what is sent when an event goes to all members of each cluster that has a match: to everybody,
    to as many clusters made at random, of the same sizes and of equal ones, and to these clusters.

    Example: siftcast spark cluster --events events.parquet --subscriptions subs.jsonl -k 50 --output clusters

    Parameters
    ----------
    clusters
        How many clusters at most.
    output
        The folder to write the clusters to.
    method
        rassoc: principal components of the similarities, the faster one; ncut: normalised cut.
    levels
        Deal subscriptions to groups that are embedded side by side, joined by so many levels of landmarks.
    groups
        How many groups; without it one for each thousand subscriptions.
    landmarks
        How many of a group join it to the others: a share (0.25) or a number (200). Without levels: from how many
        subscriptions all others are placed.
    kmeans
        How the clusters of all groups are found: hierarchical (centres go down the levels and come back merged),
        sampling (those of the landmarks at the top), hp2pc (groups by themselves, then merged) or central (all in one
        place). By default hierarchical with several groups, else central.
    recent
        How many of its newest matches count for a subscription.
    similarity
        How alike two subscriptions are by the events they share.
    order_by
        The column that says which events are newer; by default event_id, time or timestamp.
    judge
        Other events to count messages for; by default the same ones.
    output_format
        The format of the result.
    seed
        The seed of everything random.
    force
        Replace what is in the output folder.
    """
    check_outputs(output, force=force)
    check_inputs(events, subscriptions, judge)
    from siftcast import spark as ss
    from siftcast.interfaces.cli.spark_progress import show_spark_progress
    from siftcast.planning.clustering import SubscriptionClusters
    from siftcast.spark.clustering import cluster_compiled
    from siftcast.spark.intake import read_declared_events
    from siftcast.spark.stream_output import options_of

    template = SubscriptionClusters(
        clusters,
        method=method,
        levels=levels,
        groups=groups,
        landmarks=_landmarks(landmarks),
        kmeans=kmeans,
        similarity=similarity,
        seed=seed,
    )
    types = None if schema is None else Schema.load(schema)
    spark = start_session(master, shown=not quiet)
    started = perf_counter()
    with show_spark_progress(spark, enabled=not quiet) as say, ss.short_errors():
        say("reading")
        read = read_declared_events(events, format, types, strict=not lenient, spark=spark)
        judged = read if judge is None else ss.read_events(judge, format, types, spark=spark)
        wanted = ss.read_subscriptions(subscriptions, subscriptions_format, spark=spark)
        compiled = ss.compile_subscriptions(wanted.good, events=None if lenient else read.good, schema=types)
        say("matching and clustering")
        found = cluster_compiled(read.good, compiled, template, recent=recent, order_by=order_by)
        say("counting messages")
        cost = _costs(judged.good, compiled, found, seed)
        say("writing")
        found.table.coalesce(1).write.format(output_format).options(**options_of(output_format)).save(
            output, mode="overwrite" if force else "error"
        )
        refused = read.rejected.count() + wanted.rejected.count() + len(compiled.rejections)
    report = _Report(found, cost, refused, output, perf_counter() - started)
    if json:
        out().print(report.to_json(), soft_wrap=True, markup=False)
    elif not quiet:
        report.show(out())
    return REJECTED if refused else OK


@dataclass(frozen=True, slots=True)
class _Report:
    found: ClusteredSubscriptions
    cost: dict[str, FalsePositives]
    refused: int
    output: str
    seconds: float

    def to_json(self) -> str:
        found = self.found
        content: dict[str, Any] = {
            "subscriptions": len(found.ids),
            "unmatched": found.unmatched,
            "rejected": self.refused,
            "clusters": found.clusters,
            "levels": found.levels,
            "groups": found.base_groups,
            "messages": {
                name: {"sent": each.sent, "wanted": each.wanted, "false_positives": round(each.share, 4)}
                for name, each in self.cost.items()
            },
            "output": self.output,
            "seconds": round(self.seconds, 3),
        }
        return jsonlib.dumps(content)

    def show(self, console: Console) -> None:
        found = self.found
        rows = [
            (
                "subscriptions",
                f"{len(found.ids):,}, of which {found.unmatched:,} matched nothing and have no cluster",
            ),
            ("clusters", f"{found.clusters:,}" + _grouping(found)),
        ]
        titles = {
            "together": "sent to all",
            "at_random": "random clusters",
            "equal_at_random": "random, equal",
            "clusters": "these clusters",
        }
        for name, each in self.cost.items():
            wanted = f"{each.sent:,} messages, {each.share:.1%} of them false positives"
            rows.append((titles[name], wanted))
        if self.refused:
            rows.append(("rejected", f"{self.refused:,} rows that cannot be used; `siftcast spark match` says why"))
        rows += [("time", f"{self.seconds:.1f} s after the start of Spark"), ("output", self.output)]
        console.print(facts(rows))


def _grouping(found: ClusteredSubscriptions) -> str:
    return f" from {found.base_groups:,} groups on {found.levels} levels" if found.base_groups > 1 else ""


def _costs(events: Any, compiled: Any, found: ClusteredSubscriptions, seed: int) -> dict[str, FalsePositives]:
    import numpy as np

    from siftcast.spark.clustering_cost import Reference, labels_cost

    reference = Reference.of(found.labels, np.random.default_rng(seed))
    return labels_cost(events, compiled, {**asdict(reference), "clusters": found.labels})


def _landmarks(text: str | None) -> float | int | None:
    """A whole number is a number of landmarks, one with a point a share."""
    if text is None:
        return None
    try:
        return float(text) if "." in text else int(text)
    except ValueError:
        raise ClusteringError(f"landmarks are a share such as 0.25 or a number such as 200, not {text!r}") from None
