"""Matching that loses nothing: what matched, what was refused and why, and counts that add up.

Every event that comes in is matched, unmatched or rejected, and every subscription is used or rejected. The counts are
taken at different places of the pipeline while the data passes (incoming rows before anything is sorted out, matched
and unmatched ones after the matcher), so that a row lost on the way is noticed: then `SparkError` is raised.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from os import fspath

from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as f

from siftcast.model import DataError, Schema
from siftcast.spark.compiled import CompiledSubscriptions, Shipment, compile_subscriptions
from siftcast.spark.dead_letters import dead_letter_frame
from siftcast.spark.errors import SparkError
from siftcast.spark.intake import CORRUPT, FilePath, Intake, as_intake, good_rows
from siftcast.spark.matching import IDS, match_places, matched_frame, shape
from siftcast.spark.schemas import Output, check_event_columns
from siftcast.spark.stream_output import options_of


@dataclass(frozen=True, slots=True)
class MatchCounts:
    """Where every row went: in = matched + unmatched + rejected for events, in = used + rejected for subscriptions."""

    events_in: int
    events_matched: int
    events_unmatched: int
    events_rejected: int
    pairs: int
    subscriptions_in: int
    subscriptions_used: int
    subscriptions_rejected: int

    def __post_init__(self) -> None:
        events = self.events_matched + self.events_unmatched + self.events_rejected
        subscriptions = self.subscriptions_used + self.subscriptions_rejected
        if events != self.events_in or subscriptions != self.subscriptions_in:
            raise SparkError(f"a defect in Siftcast, please report it: rows were lost or doubled in {asdict(self)}")


@dataclass(frozen=True, slots=True)
class MatchResult:
    """A matching that is set up and runs when its tables are used, counted or saved."""

    events: Intake
    subscriptions: CompiledSubscriptions
    subscriptions_unread: DataFrame
    subscriptions_unread_count: int
    output: Output

    @property
    def matched(self) -> DataFrame:
        """The result in the form that was asked for."""
        return matched_frame(self.events.good, self.subscriptions.shipment, self.output)

    @property
    def rejected_events(self) -> DataFrame:
        """Events that could not be read, as dead letters."""
        return self.events.rejected

    @property
    def rejected_subscriptions(self) -> DataFrame:
        """Subscriptions that could not be read or used, as dead letters."""
        return self.subscriptions_unread.unionByName(self.subscriptions.rejected)

    @property
    def rejected(self) -> DataFrame:
        """Everything that was refused, as dead letters."""
        return self.rejected_events.unionByName(self.rejected_subscriptions)

    def counts(self) -> MatchCounts:
        """Runs the matching once more, for its counts alone."""
        counted = self._counted()
        counted.matched.write.format("noop").mode("overwrite").save()
        return self._counts(counted)

    def save(
        self, path: FilePath, *, rejected: FilePath | None = None, format: str = "parquet", mode: str = "error"
    ) -> MatchCounts:
        """Writes the result (CSV with a header), and what was refused as JSON lines if a path is given; counts both."""
        counted = self._counted()
        counted.matched.write.format(format).options(**options_of(format)).mode(mode).save(fspath(path))
        counts = self._counts(counted)
        if rejected is not None and counts.events_rejected + counts.subscriptions_rejected:
            letters = self.rejected_subscriptions
            if counts.events_rejected:  # reads the events again, for the sake of the few that are bad
                letters = letters.unionByName(self.rejected_events)
            letters.write.mode(mode).json(fspath(rejected))
        return counts

    def _counted(self) -> CountedMatching:
        if self.events.rows.isStreaming:
            raise DataError("a stream has no end to count to; its progress has the counts")
        return CountedMatching(self.events.rows, self.subscriptions.shipment, self.output)

    def _counts(self, counted: CountedMatching) -> MatchCounts:
        refused = len(self.subscriptions.rejections) + self.subscriptions_unread_count
        return counted.counts(used=self.subscriptions.used, refused=refused)


def match_with_rejects(
    events: DataFrame | Intake,
    subscriptions: DataFrame | Intake | CompiledSubscriptions,
    output: Output = "pairs",
    *,
    id_column: str = "id",
    filter_column: str = "filter",
    schema: Schema | None = None,
    strict: bool = True,
    engine: str = "auto",
) -> MatchResult:
    """As `match`, but continues where input is bad and keeps what it refused.

    Subscriptions that were compiled before cannot be sorted any more: they must fit the columns of these events.
    """
    taken = as_intake(events, "events")
    check_event_columns(taken.good.columns, output)
    if isinstance(subscriptions, CompiledSubscriptions):
        if strict:
            subscriptions.check_events(taken.good)
        return MatchResult(taken, subscriptions, dead_letter_frame(subscriptions.spark, ()), 0, output)
    offered = as_intake(subscriptions, "subscriptions")
    compiled = compile_subscriptions(
        offered.good,
        events=taken.good if strict else None,
        id_column=id_column,
        filter_column=filter_column,
        schema=schema,
        engine=engine,
    )
    unread = offered.rejected
    return MatchResult(taken, compiled, unread, unread.count(), output)


class CountedMatching:
    """One run of a matching, with a counter before the bad rows leave and one behind the matcher: a loss would show."""

    def __init__(self, rows: DataFrame, shipment: Shipment, output: Output) -> None:
        self._before, self._behind = Observation(), Observation()
        bad = f.count(CORRUPT) if CORRUPT in rows.columns else f.count(f.lit(None))
        good = good_rows(rows.observe(self._before, f.count(f.lit(1)).alias("rows"), bad.alias("bad")))
        places = match_places(good, shipment).observe(
            self._behind,
            f.count(f.lit(1)).alias("rows"),
            f.count_if(f.size(IDS) > 0).alias("matched"),
            f.coalesce(f.sum(f.size(IDS)), f.lit(0)).alias("pairs"),
        )
        self.matched = shape(places, good.columns, output)

    def counts(self, *, used: int, refused: int) -> MatchCounts:
        """After an action on `matched`; with so many subscriptions, or changes of them, used and refused."""
        before, behind = self._before.get, self._behind.get
        return MatchCounts(
            events_in=before.get("rows", 0),
            events_matched=behind.get("matched", 0),
            events_unmatched=behind.get("rows", 0) - behind.get("matched", 0),
            events_rejected=before.get("bad", 0),
            pairs=behind.get("pairs", 0),
            subscriptions_in=used + refused,
            subscriptions_used=used,
            subscriptions_rejected=refused,
        )
