"""How subscriptions change while a stream runs: a table of changes that only grows.

    op        add | replace | remove
    id        of the subscription
    filter    its text; not needed to remove
    version   a whole number, 0 or more; changes of one version take effect together
    dialect   of the filter, if it is not SQL                                           (optional)

A row is a `Change`, or a dead letter with the reason why it is not. `stream_standing` decides whether a change fits
the current subscriptions; here each row is judged alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import msgspec
import pyarrow as pa

from siftcast.files import Rejection, escaped, read_cells
from siftcast.model import SiftcastError, SubscriptionError
from siftcast.model.json_objects import decode_object
from siftcast.spark.dead_letters import NOT_UTF8, table_texts

OPS = ("add", "replace", "remove")
COLUMNS = ("op", "id", "filter", "version")
NO_VERSION = -1  # before the first version
_VERSION_MAX = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Change:
    """One change of one subscription; `source` is the row as it came."""

    op: str
    id: str
    filter: str
    dialect: str | None
    version: int
    source: str

    def refused(self, error: SiftcastError) -> Rejection:
        """The letter for a change that cannot be made."""
        return Rejection.of("subscriptions", error, self.source)


ChangeRow = Change | Rejection


class FileMark(msgspec.Struct, frozen=True):
    """By what a file that was read is known again; the first streams kept its size alone, as a bare number."""

    size: int
    mtime_ns: int | None = None
    digest: str | None = None


Files = Mapping[str, FileMark | int]


@dataclass(frozen=True, slots=True)
class Poll:
    """What is new in a changelog: its rows, and the files they are from."""

    rows: tuple[ChangeRow, ...] = ()
    files: Files = field(default_factory=dict)


class ReadSoFar(Protocol):
    """What a stream has taken from its changelog."""

    @property
    def version_read(self) -> int: ...

    @property
    def files(self) -> Files: ...

    @property
    def rows(self) -> int: ...

    def sources(self) -> Iterable[str]: ...


class Changelog(Protocol):
    """Where changes come from."""

    def poll(self, known: ReadSoFar) -> Poll:
        """The rows that were not there before."""
        ...


# -- rows --------------------------------------------------------------------------------------------


def change_of(fields: Mapping[str, object], source: str) -> Change:
    """A row as a change; raises SubscriptionError where it is not one."""
    op = fields.get("op")
    if not isinstance(op, str) or op.strip().lower() not in OPS:
        raise SubscriptionError(f"the op is {_shown(op)}; it must be add, replace or remove")
    op = op.strip().lower()
    id = fields.get("id")
    if isinstance(id, int) and not isinstance(id, bool):
        id = str(id)
    if not isinstance(id, str) or not id:
        raise SubscriptionError(f"the id is {_shown(id)}; a subscription needs one, as a string")
    filter_, dialect = fields.get("filter"), fields.get("dialect")
    if op == "remove":
        filter_ = dialect = None
    elif not isinstance(filter_, str):
        raise SubscriptionError(f"the filter of '{id}' is {_shown(filter_)}; to {op} it needs one, as a string")
    if dialect is not None and not isinstance(dialect, str):
        raise SubscriptionError(f"the dialect of '{id}' is {_shown(dialect)}; it must be a string")
    return Change(op, id, filter_ or "", dialect or None, _version(fields.get("version")), source)


def _version(value: object) -> int:
    if isinstance(value, str) and value.strip().isdecimal():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _VERSION_MAX:
        raise SubscriptionError(f"the version is {_shown(value)}; it must be a whole number from 0 on")
    return value


def _shown(value: object) -> str:
    text = "missing" if value is None else repr(value)
    return text if len(text) <= 60 else text[:59] + "…"


def _judged(fields: Mapping[str, object], source: str) -> ChangeRow:
    try:
        return change_of(fields, source)
    except SubscriptionError as error:
        return _letter(error, source)


def _letter(error: SubscriptionError, source: str) -> Rejection:
    return Rejection.of("subscriptions", error, source)


# -- tables and texts of rows ------------------------------------------------------------------------


def table_rows(table: pa.Table) -> Iterator[ChangeRow]:
    """The rows of a table, in its order."""
    texts, readable = table_texts(table)
    good = iter(readable)
    for batch in texts.to_batches(max_chunksize=10_000):
        for fields in batch.to_pylist():
            source = msgspec.json.encode(fields, enc_hook=str).decode()
            yield _judged(fields, source) if next(good) else _letter(SubscriptionError(NOT_UTF8), source)


def json_rows(content: bytes) -> Iterator[ChangeRow]:
    """JSON lines, in their order; blank ones count for nothing."""
    for line in _lines(content):
        try:
            fields = decode_object(line, "a change", SubscriptionError)
        except SubscriptionError as error:
            yield _letter(error, escaped(line))
        else:
            yield _judged(fields, line.decode())


def csv_rows(content: bytes) -> Iterator[ChangeRow]:
    """Lines of cells below a header that names the columns; an empty cell is no value."""
    header: list[str] | None = None
    for line in _lines(content):
        try:
            cells = read_cells(line, None if header is None else len(header), SubscriptionError, strict=True)
        except SubscriptionError as error:
            yield _letter(error, escaped(line))
            continue
        if header is None:
            header = [cell.strip() for cell in cells]
        else:
            yield _judged({name: cell or None for name, cell in zip(header, cells, strict=True)}, line.decode())


def _lines(content: bytes) -> Iterator[bytes]:
    """Lines that are not blank."""
    lines = content.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    return (line.rstrip(b"\r") for line in lines if line.strip())
