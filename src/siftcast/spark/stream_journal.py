"""What a stream has taken from its changelog, kept so that it can be taken again.

    journal/000000000003.parquet    the third lot of changes: those that were made, those that were refused and why,
                                    the files they are from, and the version they lead to
    plans/000000000042.json         under which version micro-batch 42 is matched

Both are written before the micro-batch is matched, the lot first. After a crash Spark runs the last micro-batch again
with the same events; its plan then says which lots apply, and the result is the same, whatever has happened to the
changelog since. A lot without a plan (the crash came between the two) simply belongs to the next plan.

Rejected: keeping the version alone and reading the changelog again. Rows that were added later under an old version
would then change what that version was, and files could never be deleted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet

from siftcast.files import Rejection
from siftcast.model import EngineError
from siftcast.spark.changelog import NO_VERSION, Change, FileMark
from siftcast.spark.stream_folders import numbered, numbered_path, write_once

_LOT = pa.schema(
    [
        *(pa.field(name, pa.string()) for name in ("op", "id", "filter", "dialect")),
        pa.field("version", pa.int64()),
        *(pa.field(name, pa.string()) for name in ("code", "reason", "source")),
    ]
)
_HEADER = b"siftcast.lot"
_LOTS, _PLANS = ".parquet", ".json"
PLANS_KEPT = 100  # as many as Spark keeps of its own; only the last can be needed


class LotHeader(msgspec.Struct, frozen=True):
    """A lot without its rows."""

    version: int
    rows: int
    files: dict[str, FileMark | int]
    version_read: int = NO_VERSION


@dataclass(frozen=True, slots=True)
class Lot:
    """Changes that were taken together, in the order in which they were made."""

    version: int
    made: tuple[Change, ...]
    refused: tuple[Rejection, ...]
    files: dict[str, FileMark | int]
    version_read: int  # the highest of all rows, those that were refused included

    def to_bytes(self, *, with_sources: bool) -> bytes:
        """The lot as Parquet; the source of a change that was made is needed for tables alone."""
        rows = [
            *((c.op, c.id, c.filter, c.dialect, c.version, None, None, c.source) for c in self.made),
            *((None, None, None, None, None, r.code, r.reason, r.source) for r in self.refused),
        ]
        columns = list(zip(*rows, strict=True)) or [()] * len(_LOT)
        if not with_sources:
            columns[-1] = (*(None for _ in self.made), *(letter.source for letter in self.refused))
        arrays = [pa.array(column, field.type) for column, field in zip(columns, _LOT, strict=True)]
        header = LotHeader(self.version, len(rows), self.files, self.version_read)
        sink = pa.BufferOutputStream()
        table = pa.table(arrays, schema=_LOT.with_metadata({_HEADER: msgspec.json.encode(header)}))
        pa.parquet.write_table(table, sink)
        return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


class Plan(msgspec.Struct, frozen=True):
    """How a micro-batch is matched: with all lots up to `lots`, of which those behind `lots_before` are new in it."""

    batch: int
    version: int
    lots: int
    lots_before: int


class Journal:
    """The lots and plans of one stream; what it says of itself is as of the last lot."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "journal"
        self._plans = folder / "plans"
        self.version = NO_VERSION
        self.version_read = NO_VERSION
        self.files: dict[str, FileMark | int] = {}
        self.rows = 0
        self._sizes: list[int] = []
        for number in numbered(self._folder, _LOTS):
            if number != self.lots + 1:
                raise EngineError(f"{self._folder}: lot {self.lots + 1} is missing; the checkpoint is damaged")
            self._count(_header(self._path(number)))

    @property
    def lots(self) -> int:
        """How many there are."""
        return len(self._sizes)

    def _count(self, header: LotHeader) -> None:
        self._sizes.append(header.rows)
        self.version = header.version
        self.version_read = max(self.version_read, header.version, header.version_read)
        self.rows += header.rows
        self.files |= header.files

    def _path(self, lot: int) -> Path:
        return numbered_path(self._folder, lot, _LOTS)

    def append(self, lot: Lot, *, with_sources: bool) -> None:
        """Keeps a lot for good."""
        write_once(self._path(self.lots + 1), lot.to_bytes(with_sources=with_sources))
        self._count(LotHeader(lot.version, len(lot.made) + len(lot.refused), lot.files, lot.version_read))

    def sources(self) -> Iterator[str]:
        """Every row that was read, as it came; only where lots are kept with their sources."""
        for lot in range(1, self.lots + 1):
            yield from self._read(lot, "source")["source"].to_pylist()

    def refused(self, lots: Iterable[int]) -> list[Rejection]:
        """The letters of some lots."""
        letters: list[Rejection] = []
        for lot in lots:
            table = self._read(lot, "code", "reason", "source")
            bad = table.filter(table["code"].is_valid())
            texts = (column.to_pylist() for column in bad.columns)
            letters += [Rejection("subscriptions", *row) for row in zip(*texts, strict=True)]
        return letters

    def rows_of(self, lot: int) -> int:
        """How many rows a lot has, those that were refused included."""
        return self._sizes[lot - 1]

    def standing(self, lots: int) -> pa.Table:
        """The subscriptions after the first so many lots: id, filter, dialect."""
        net: dict[str, tuple[str, str | None]] = {}
        for lot in range(1, lots + 1):
            table = self._read(lot, "op", "id", "filter", "dialect")
            made = table.filter(table["op"].is_valid())
            columns = (column.to_pylist() for column in made.columns)
            for op, id, filter_, dialect in zip(*columns, strict=True):
                if op == "remove":
                    del net[id]
                else:
                    net[id] = (filter_, dialect)
        return subscription_table((id, filter_, dialect) for id, (filter_, dialect) in net.items())

    def plan(self, batch: int) -> Plan | None:
        """The plan of a micro-batch, if it has one."""
        try:
            content = numbered_path(self._plans, batch, _PLANS).read_bytes()
        except FileNotFoundError:
            return None
        return msgspec.json.decode(content, type=Plan)

    def last_plan(self) -> Plan | None:
        """The plan of the last micro-batch."""
        batches = numbered(self._plans, _PLANS)
        return self.plan(batches[-1]) if batches else None

    def write_plan(self, plan: Plan) -> None:
        """Keeps a plan for good; those that cannot be needed any more go."""
        write_once(numbered_path(self._plans, plan.batch, _PLANS), msgspec.json.encode(plan))
        numbered_path(self._plans, plan.batch - PLANS_KEPT, _PLANS).unlink(missing_ok=True)

    def _read(self, lot: int, *columns: str) -> pa.Table:
        return pa.parquet.read_table(self._path(lot), columns=list(columns))


def subscription_table(rows: Iterable[tuple[str, str, str | None]]) -> pa.Table:
    """Subscriptions as a matcher takes them: id, filter, dialect."""
    columns = list(zip(*rows, strict=True)) or [(), (), ()]
    arrays = [pa.array(column, pa.string()) for column in columns]
    return pa.table(arrays, names=["id", "filter", "dialect"])


def _header(path: Path) -> LotHeader:
    found = pa.parquet.read_schema(path).metadata or {}
    if _HEADER not in found:
        raise EngineError(f"{path} is no lot of changes; the checkpoint is damaged")
    return msgspec.json.decode(found[_HEADER], type=LotHeader)
