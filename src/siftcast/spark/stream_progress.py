"""How a stream is doing, in numbers; drawing them is for `interfaces`.

Counts are those of the receipts, so they add up and survive a restart. The rate is Spark's own. The backlog is known
for sources that report it, such as Kafka, and for folders of files, whose names are compared with those that Spark
has noted in its checkpoint.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import msgspec

_FILE_SOURCE = re.compile(r"FileStreamSource\[(?:file:)?(/.*)\]")
# What sources call the amount that they have not handed over yet.
_BEHIND = ("numFilesOutstanding", "maxOffsetsBehindLatest", "numRowsOutstanding")


class BatchReceipt(msgspec.Struct, frozen=True):
    """What became of one micro-batch: in = matched + unmatched + rejected, changes = made + rejected."""

    batch: int
    version: int
    subscriptions: int
    events_in: int
    events_matched: int
    events_unmatched: int
    events_rejected: int
    pairs: int
    changes_in: int
    changes_made: int
    changes_rejected: int
    seconds: float


@dataclass(frozen=True, slots=True)
class StreamTotals:
    """Sums over micro-batches."""

    batches: int = 0
    events_in: int = 0
    events_matched: int = 0
    events_unmatched: int = 0
    events_rejected: int = 0
    pairs: int = 0
    changes_in: int = 0
    changes_made: int = 0
    changes_rejected: int = 0

    @property
    def rejected(self) -> int:
        """How many rows of both inputs were refused."""
        return self.events_rejected + self.changes_rejected

    def plus(self, receipt: BatchReceipt) -> StreamTotals:
        """The sums with one micro-batch more."""
        names = [each.name for each in fields(self) if each.name != "batches"]
        sums = {name: getattr(self, name) + getattr(receipt, name) for name in names}
        return StreamTotals(self.batches + 1, **sums)

    def minus(self, earlier: StreamTotals) -> StreamTotals:
        """What has come since."""
        return StreamTotals(*(getattr(self, each.name) - getattr(earlier, each.name) for each in fields(self)))


@dataclass(frozen=True, slots=True)
class StreamProgress:
    """A stream at one moment.

    `backlog` counts what waits, in files or in whatever the source counts by; None where that is not known. `run` has
    the sums since this start, `total` those since the first one.
    """

    running: bool
    batch: int | None
    version: int
    subscriptions: int
    rows_per_second: float
    backlog: int | None
    run: StreamTotals
    total: StreamTotals


def totals_of(receipts: Iterable[BatchReceipt]) -> StreamTotals:
    """The sums of receipts."""
    total = StreamTotals()
    for receipt in receipts:
        total = total.plus(receipt)
    return total


class Backlog:
    """How much of a stream's input waits."""

    def __init__(self, checkpoint: Path) -> None:
        self._sources = checkpoint / "sources"
        self._read: set[Path] = set()
        self._taken: set[str] = set()

    def of(self, sources: Sequence[Mapping[str, Any]]) -> int | None:
        """The sum over sources as Spark reports them; None if one of them does not say."""
        amounts = [self._of_source(index, source) for index, source in enumerate(sources)]
        known = [amount for amount in amounts if amount is not None]
        return sum(known) if amounts and len(known) == len(amounts) else None

    def _of_source(self, index: int, source: Mapping[str, Any]) -> int | None:
        metrics = source.get("metrics") or {}
        for name in _BEHIND:
            if name in metrics:
                return int(float(metrics[name]))
        folder = _FILE_SOURCE.fullmatch(str(source.get("description")))
        return None if folder is None else self._files(index, unquote(folder[1]))

    def _files(self, index: int, folder: str) -> int:
        """The files that Spark has not noted; its notes are small files of JSON lines, each written once."""
        for log in (self._sources / str(index)).glob("[0-9]*"):
            if log not in self._read:
                lines = log.read_text(encoding="utf-8").splitlines()[1:]
                noted = (msgspec.json.decode(line).get("path", "") for line in lines if line.startswith("{"))
                self._taken.update(unquote(urlsplit(path).path) for path in noted)
                self._read.add(log)
        return sum(path not in self._taken for path in _visible_files(folder))


def _visible_files(folder: str) -> Iterable[str]:
    pattern = folder if glob.has_magic(folder) else os.path.join(folder, "*")
    for found in glob.iglob(pattern):
        for path in [found] if not os.path.isdir(found) else glob.iglob(os.path.join(found, "**"), recursive=True):
            if os.path.isfile(path) and not os.path.basename(path).startswith(("_", ".")):
                yield path
