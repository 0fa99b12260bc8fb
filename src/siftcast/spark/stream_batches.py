"""One micro-batch: from the events that Spark hands over to a receipt.

    1  it has a receipt               nothing to do: Spark had not noted that it was done
    2  it has a plan                  it was begun before a crash: restore the subscriptions of then
       it has none                    read the changelog, make the changes, keep the lot, write the plan
    3  match, into an attempt's folder, counting on the way; refused rows in the same way
    4  give the folders their names
    5  write the receipt

A crash before 5 leads back to the start with the same events, and by 2 with the same subscriptions, so that 3 writes
the same rows. The changelog is read when the micro-batch begins: a change that is there by then takes effect in it.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from siftcast.files import Rejection
from siftcast.spark.accounts import CountedMatching, MatchCounts
from siftcast.spark.changelog import Changelog
from siftcast.spark.changelog_sources import TableChangelog
from siftcast.spark.compiled import Shipment
from siftcast.spark.dead_letters import dead_letter_frame, letters_of
from siftcast.spark.intake import CORRUPT, Intake
from siftcast.spark.schemas import Output
from siftcast.spark.stream_folders import attempt_folder, publish
from siftcast.spark.stream_journal import Journal, Plan
from siftcast.spark.stream_output import VERSION, Receipts, batch_folder, options_of
from siftcast.spark.stream_progress import BatchReceipt, StreamTotals, totals_of
from siftcast.spark.stream_standing import StandingSubscriptions


@dataclass(frozen=True, slots=True)
class Sink:
    """Where and how results are written."""

    output: Path
    dead_letters: Path
    mode: Output
    format: str


class BatchRunner:
    """What Spark calls for each micro-batch; one at a time."""

    def __init__(
        self, events: Intake, changelog: Changelog, standing: StandingSubscriptions, journal: Journal, sink: Sink
    ) -> None:
        self._events = events
        self._changelog = changelog
        self._standing = standing
        self._journal = journal
        self._sink = sink
        self._receipts = Receipts(sink.output)
        self.between_batches = threading.Lock()  # free while no micro-batch is being run
        self.error: BaseException | None = None
        done = self._receipts.batches()
        self.last: BatchReceipt | None = self._receipts.read(done[-1]) if done else None
        self.total = totals_of(map(self._receipts.read, done))
        self.total_before: StreamTotals = self.total

    def __call__(self, frame: DataFrame, batch: int) -> None:
        with self.between_batches:
            try:
                self._run(frame, batch)
            except BaseException as error:
                self.error = error  # Spark shows the user a Java stack; the stream raises this instead
                raise

    def _run(self, frame: DataFrame, batch: int) -> None:
        if self._receipts.has(batch):
            return
        started = perf_counter()
        plan = self._journal.plan(batch) or self._make_plan(batch)
        self._standing.restore(self._journal, plan.lots)
        new_lots = range(plan.lots_before + 1, plan.lots + 1)
        letters = self._journal.refused(new_lots)
        changes = sum(map(self._journal.rows_of, new_lots))
        counts = self._write(frame, batch, plan.version, self._standing.shipment(), letters, changes)
        receipt = BatchReceipt(
            batch=batch,
            version=plan.version,
            subscriptions=len(self._standing),
            events_in=counts.events_in,
            events_matched=counts.events_matched,
            events_unmatched=counts.events_unmatched,
            events_rejected=counts.events_rejected,
            pairs=counts.pairs,
            changes_in=counts.subscriptions_in,
            changes_made=counts.subscriptions_used,
            changes_rejected=counts.subscriptions_rejected,
            seconds=round(perf_counter() - started, 3),
        )
        self._receipts.write(receipt)
        self.last, self.total = receipt, self.total.plus(receipt)

    def _make_plan(self, batch: int) -> Plan:
        """Takes what is new in the changelog and settles the version of a micro-batch, for good."""
        journal = self._journal
        last = journal.last_plan()
        self._standing.restore(journal, journal.lots)
        poll = self._changelog.poll(journal)
        if poll.rows or poll.files:
            lot = self._standing.take(poll.rows, dict(poll.files), journal.version)
            journal.append(lot, with_sources=isinstance(self._changelog, TableChangelog))
        plan = Plan(batch, journal.version, journal.lots, last.lots if last else 0)
        journal.write_plan(plan)
        return plan

    def _write(
        self, frame: DataFrame, batch: int, version: int, shipment: Shipment, letters: list[Rejection], changes: int
    ) -> MatchCounts:
        """Matches, writes and counts."""
        sink = self._sink
        counted = CountedMatching(frame, shipment, sink.mode)
        result = counted.matched.withColumn(VERSION, f.lit(version).cast("bigint"))
        attempt = attempt_folder(sink.output)
        result.write.format(sink.format).options(**options_of(sink.format)).save(str(attempt))
        counts = counted.counts(used=changes - len(letters), refused=len(letters))
        if counts.events_rejected or letters:
            self._write_letters(frame, batch, letters, counts.events_rejected)
        publish(attempt, batch_folder(sink.output, batch))
        return counts

    def _write_letters(self, frame: DataFrame, batch: int, letters: list[Rejection], rejected: int) -> None:
        """Writes what was refused: changes, and events, which are read once more for the sake of the few bad ones."""
        table = dead_letter_frame(frame.sparkSession, letters)
        if rejected:
            # All columns are asked for: Spark does not read its column for corrupt rows alone from a file.
            others = [column for column in frame.columns if column != CORRUPT]
            bad = frame.where(f.col(CORRUPT).isNotNull()).select(CORRUPT, *(f.col(f"`{name}`") for name in others))
            table = table.unionByName(letters_of(bad, "events", self._events.explain))
        attempt = attempt_folder(self._sink.dead_letters)
        table.coalesce(1).write.json(str(attempt))
        publish(attempt, batch_folder(self._sink.dead_letters, batch))
