"""The subscriptions that stand at some version of a stream, and their matcher in the workers.

The driver keeps one matcher and changes it: a new version costs what its changes cost, not what all subscriptions cost.
Only the saved form travels again as a whole, once per version that changed anything; that of the previous version is
withdrawn from the workers when the new one is used.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import groupby, islice

import pyarrow as pa
from pyspark.core.broadcast import Broadcast
from pyspark.sql import SparkSession

from siftcast.files import Rejection
from siftcast.matching import Matcher
from siftcast.model import Filter, Schema, SiftcastError, SubscriptionError
from siftcast.spark.changelog import Change, ChangeRow, FileMark
from siftcast.spark.compiled import Shipment, ship
from siftcast.spark.filter_check import FilterCheck
from siftcast.spark.stream_journal import Journal, Lot

_TOGETHER = 65_536  # filters that are loaded at once
Made = tuple[Change, Filter | None]


class StandingSubscriptions:
    """A matcher that follows the lots of a journal.

    Changes must pass the check; what a journal holds has passed the check of its time and is taken as it is.
    """

    def __init__(self, spark: SparkSession, schema: Schema | None, engine: str, check: FilterCheck) -> None:
        self._spark = spark
        self._schema = schema
        self._check = check
        self._asked = FilterCheck()  # what standing filters, and some that stood, ask for
        self._engine = engine
        self._matcher = Matcher(engine, schema)
        self._lots = 0
        self._shipment: Shipment | None = None

    def __len__(self) -> int:
        return len(self._matcher)

    def restore(self, journal: Journal, lots: int) -> None:
        """Makes this what it was after the first so many lots; costs nothing if it is that already."""
        if lots == self._lots:
            return
        table: pa.Table = journal.standing(lots)
        self._asked.forget()
        self._matcher = Matcher.from_arrow(table, self._engine, look=self._asked)
        self._matcher.schema = self._schema
        self._lots = lots
        self._take_back()

    def take(self, rows: Iterable[ChangeRow], files: dict[str, FileMark | int], version: int) -> Lot:
        """Makes the changes that can be made, the lower version first, and says which could not and why.

        A version that was applied is closed: results say that they were matched under it, so a change that comes later
        with such a version is refused, and must be sent again with a higher one. A row that is refused closes nothing.
        """
        refused = [row for row in rows if isinstance(row, Rejection)]
        offered = sorted((row for row in rows if isinstance(row, Change)), key=lambda change: change.version)
        made: list[Made] = []
        present: dict[str, bool] = {}  # what becomes of ids in this lot; the others are as the matcher has them
        for change in offered:
            try:
                if change.version <= version:
                    raise SubscriptionError(
                        f"version {change.version} is closed, because {version} has been applied; "
                        "send the change again with a higher version"
                    )
                made.append((change, self._checked(change, present)))
            except SiftcastError as error:
                refused.append(change.refused(error))
        reached = max((change.version for change, _ in made), default=version)
        read = max((change.version for change in offered), default=version)
        self._make(made)
        self._lots += 1
        return Lot(reached, tuple(change for change, _ in made), tuple(refused), files, read)

    def shipment(self) -> Shipment:
        """The matcher for the workers; shipped when it was changed since the last time."""
        if self._shipment is None:
            self._shipment = ship(self._spark, self._matcher.to_bytes(), self._asked.attributes)
        return self._shipment

    def close(self) -> None:
        """Takes back what the workers hold."""
        self._take_back()

    def _checked(self, change: Change, present: dict[str, bool]) -> Filter | None:
        """The filter of a change that can be made after those before it, none for a removal; raises otherwise."""
        stands = present.get(change.id, change.id in self._matcher)
        if change.op == "add" and stands:
            raise SubscriptionError(f"the id '{change.id}' is taken; to give it another filter, replace it")
        if change.op != "add" and not stands:
            raise SubscriptionError(f"there is no subscription '{change.id}' to {change.op}")
        filter_ = None
        if change.op != "remove":
            filter_ = Filter.parse(change.filter, change.dialect or "sql")
            self._check(filter_)
        present[change.id] = change.op != "remove"
        return filter_

    def _make(self, made: Sequence[Made]) -> None:
        if not made:
            return
        for _, filter_ in made:
            if filter_ is not None:
                self._asked(filter_)
        for op, group in groupby(made, key=lambda item: item[0].op):
            if op == "add":
                while lot := list(islice(group, _TOGETHER)):
                    self._matcher.add_many((change.id, filter_) for change, filter_ in lot if filter_ is not None)
                continue
            for change, filter_ in group:
                if filter_ is None:
                    self._matcher.remove(change.id)
                else:
                    self._matcher.replace(change.id, filter_)
        self._take_back()

    def _take_back(self) -> None:
        """Frees the memory and disk that a shipment takes; no job uses it between micro-batches."""
        shipment, self._shipment = self._shipment, None
        fetch = None if shipment is None else shipment.fetch
        if isinstance(fetch, partial) and fetch.args and isinstance(fetch.args[0], Broadcast):
            fetch.args[0].destroy()
