"""What a matching engine must do. Everything else (ids, order, schemas, files) is `Matcher`'s work.

An engine holds filters under *slots*: small integers the matcher hands out, reuses after removal, and maps to
subscription ids. It answers with slots in any order; `Matcher` puts them into the order of addition. A new
engine is one module with a subclass of `Engine`, an entry in `registry.ENGINES`, and a test class of three
lines that inherits the suite in `conformance`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa

from siftcast.model import Filter

Attributes = Mapping[str, object]
Int32Array = np.ndarray[Any, np.dtype[np.int32]]
Int64Array = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True, slots=True)
class BatchResult:
    """The matches of many events: `codes[offsets[i]:offsets[i + 1]]` belong to event i.

    A code is an index into `slots`. An engine that works on positions of its own may thus answer with
    positions, and the translation to ids is done once for a layout, not once for a match: as long as an engine
    returns the same `slots` object, the matcher reuses the ids it looked up for it.
    """

    codes: Int32Array
    offsets: Int64Array
    slots: Int32Array


class Engine(ABC):
    """A set of filters that can be asked which of them an event satisfies."""

    name: ClassVar[str]

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

    def add_many(self, slots: Sequence[int], filters: Iterable[Filter]) -> None:
        """Adds many filters at once; engines that can do better than one by one override this."""
        for slot, filter_ in zip(slots, filters, strict=True):
            self.add(slot, filter_)

    def settle(self) -> None:
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
