"""What a matching engine must do. Everything else (ids, order, schemas, files) is `Matcher`'s work.

An engine holds filters under *slots*: small integers the matcher hands out, reuses after removal, and maps to
subscription ids. It answers with slots in any order; `Matcher` puts them into the order of addition. A new
engine is one module with a subclass of `Engine`, an entry in `registry.ENGINES`, and a test class of three
lines that inherits the suite in `conformance`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa

from siftcast.matching.arrow_times import column_in_microseconds
from siftcast.model import Filter
from siftcast.model.expression import Comparison, Literal, Predicate, Reference, conjunction
from siftcast.model.values import in_utc

Attributes = Mapping[str, object]
Int32Array = np.ndarray[Any, np.dtype[np.int32]]
Int64Array = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True, slots=True)
class BatchResult:
    """The matches of many events: `codes[offsets[i]:offsets[i + 1]]` belong to event i.

    A code is an index into the parts of `slots`, one after the other. An engine that works on positions of its own
    may thus answer with positions, and the translation to ids is done once per part, not once per match: as long as
    an engine returns the same array for a part, the matcher reuses the ids it looked up for it.
    """

    codes: Int32Array
    offsets: Int64Array
    slots: tuple[Int32Array, ...]


@dataclass(frozen=True, slots=True)
class Bounds:
    """Intervals on one attribute, one for each of many subscriptions, both ends included.

    A null end is open; where both are null the attribute is free.
    """

    path: tuple[str, ...]
    lows: pa.Array
    highs: pa.Array


class BulkLoader(ABC):
    """Reads many subscriptions in chunks; they are in the engine once `finish` has returned, and none if it raises."""

    @abstractmethod
    def add(self, slots: Sequence[int], filters: Sequence[Filter]) -> None:
        """Adds a chunk of filters under free slots."""

    def add_bounds(self, slots: Sequence[int], bounds: Sequence[Bounds]) -> None:
        """Adds a chunk of conjunctions of intervals, given as columns."""
        self.add(slots, filters_of(bounds, len(slots)))

    @abstractmethod
    def finish(self) -> None:
        """Makes everything added take effect."""


class OneByOne(BulkLoader):
    """For engines that gain nothing from seeing many filters at once."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._waiting: list[tuple[int, Filter]] = []

    def add(self, slots: Sequence[int], filters: Sequence[Filter]) -> None:
        self._waiting += zip(slots, filters, strict=True)

    def finish(self) -> None:
        added: list[int] = []
        try:
            for slot, filter_ in self._waiting:
                self._engine.add(slot, filter_)
                added.append(slot)
        except BaseException:
            for slot in added:
                self._engine.remove(slot)
            raise


def filters_of(bounds: Sequence[Bounds], count: int) -> list[Filter]:
    """Columns of intervals as filters, one per row; a row without any interval matches everything."""
    terms: list[list[Predicate]] = [[] for _ in range(count)]
    for column in bounds:
        reference = Reference(column.path)
        lows, highs = (column_in_microseconds(ends).to_pylist() for ends in (column.lows, column.highs))
        for row, low, high in zip(terms, lows, highs, strict=True):
            if low is not None:
                row.append(Comparison(">=", reference, Literal(in_utc(low) if isinstance(low, datetime) else low)))
            if high is not None:
                row.append(Comparison("<=", reference, Literal(in_utc(high) if isinstance(high, datetime) else high)))
    return [Filter.of(conjunction(row) if row else Literal(True)) for row in terms]


class Engine(ABC):
    """A set of filters that can be asked which of them an event satisfies."""

    name: ClassVar[str]
    is_concurrent: ClassVar[bool] = False
    """Whether it may be changed by one thread while others match; one that may not is put behind a lock."""

    @abstractmethod
    def add(self, slot: int, filter_: Filter) -> None:
        """Adds a filter under a slot that is free."""

    @abstractmethod
    def remove(self, slot: int) -> None:
        """Removes the filter of a slot that is taken."""

    @abstractmethod
    def find(self, event: Attributes, limit: int | None = None) -> Sequence[int]:
        """The slots of matching filters: all of them, or any `limit` of them where there are more."""

    def exists(self, event: Attributes) -> bool:
        """Whether any filter matches."""
        return len(self.find(event, 1)) > 0

    @abstractmethod
    def find_batch(self, events: pa.Table) -> BatchResult:
        """The matches of every row of a table."""

    def count_batch(self, events: pa.Table) -> Int64Array:
        """How many filters every row of a table satisfies; to be overridden where that takes less than naming them."""
        return np.diff(self.find_batch(events).offsets)

    def bulk(self) -> BulkLoader:
        """Something to load many subscriptions with; engines that can do better than one by one override this."""
        return OneByOne(self)

    def settle(self) -> None:  # noqa: B027 (most engines put nothing off)
        """Finishes work that was put off, so that the next match is as fast as it gets."""

    def stats(self) -> dict[str, object]:
        """Facts about this engine beyond the number of subscriptions."""
        return {}

    @abstractmethod
    def save(self) -> dict[str, bytes]:
        """The engine as named blobs, from which `load` makes an equal one."""

    @classmethod
    @abstractmethod
    def load(cls, blobs: Mapping[str, bytes]) -> Self:
        """The engine that `save` wrote."""
