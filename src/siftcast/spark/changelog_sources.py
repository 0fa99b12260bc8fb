"""Where a changelog is: in files that are added to a folder, or in a table of Spark's catalogue.

The driver alone reads files, with Arrow, which also knows s3:, gs: and hdfs:. One Spark job per look would cost as
much as a small micro-batch. A file is read once, when it is first seen. It may be deleted afterwards, but not
changed, and must be moved into the folder whole, as for Spark's own file streams. A file whose time has changed but
not its size is compared by a hash: files that are copied back get a new time.

A table has no files of its own, so there the version says what is new: rows above the last one. The number of rows
shows whether others came as well, with a version that has already been applied; those are found by comparing with
what was read before, and refused later.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

import pyarrow as pa
import pyarrow.fs
import pyarrow.orc
import pyarrow.parquet
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from siftcast.files import COMPRESSIONS, Rejection, format_named
from siftcast.model import DataError
from siftcast.spark.changelog import (
    COLUMNS,
    Changelog,
    ChangeRow,
    FileMark,
    Poll,
    ReadSoFar,
    csv_rows,
    json_rows,
    table_rows,
)
from siftcast.spark.intake import FORMATS, format_of

_UNFINISHED = (".tmp", ".crc", ".inprogress", "._COPYING_")


def open_changelog(spark: SparkSession, changes: str | Path, format: str | None = None) -> Changelog:
    """A changelog by its path or by the name of its table; raises DataError where there is neither."""
    text = str(changes)
    kind = format_named(format)
    if kind is not None and kind not in FORMATS:
        raise DataError(f"the format of the subscriptions must be {', '.join(FORMATS)}, not {format!r}")
    uri = "://" in text or text.startswith("file:")
    if uri or Path(text).exists():
        return FileChangelog(text if uri else str(Path(text).absolute()), kind)
    if "/" not in text and spark.catalog.tableExists(text):
        return TableChangelog(spark, text)
    raise DataError(f"{text}: there is no such file, folder or table with changes of subscriptions")


class FileChangelog:
    """Changes in files: JSON lines, CSV with a header, Parquet or ORC, as the names say unless stated otherwise."""

    def __init__(self, path: str, format: str | None = None) -> None:
        self._format = format
        self._unchanged: dict[str, int] = {}  # files with another time than when they were read, and that time
        try:
            self._files, self._root = pa.fs.FileSystem.from_uri(path)
        except (pa.ArrowInvalid, OSError) as error:
            raise DataError(f"{path}: {error}") from error

    def poll(self, known: ReadSoFar) -> Poll:
        """The rows of new files, file by file in the order of their names."""
        rows: list[ChangeRow] = []
        marks: dict[str, FileMark] = {}
        for info in self._list():
            before = known.files.get(info.path)
            try:
                if before is None:
                    content = self._content(info.path)
                    rows += self._rows(info.path, content)
                    marks[info.path] = FileMark(info.size, info.mtime_ns, _digest(content))
                elif self._has_changed(info, before if isinstance(before, FileMark) else FileMark(before)):
                    raise DataError(
                        f"{info.path} has changed since it was read, so changes could be lost; write new ones into a "
                        "new file, and restore or delete this one"
                    )
            except FileNotFoundError:  # it has gone again
                continue
        return Poll(tuple(rows), marks)

    @property
    def folder(self) -> Path | None:
        """Where the files are, if this machine sees them."""
        return Path(self._root) if isinstance(self._files, pa.fs.LocalFileSystem) else None

    def _has_changed(self, info: pa.fs.FileInfo, before: FileMark) -> bool:
        if info.size != before.size:
            return True
        if before.digest is None or info.mtime_ns in (before.mtime_ns, self._unchanged.get(info.path)):
            return False
        if _digest(self._content(info.path)) != before.digest:
            return True
        self._unchanged[info.path] = info.mtime_ns
        return False

    def _list(self) -> list[pa.fs.FileInfo]:
        top = self._files.get_file_info(self._root)
        if top.type == pa.fs.FileType.NotFound:
            raise DataError(f"{self._root}: there are no changes of subscriptions any more")
        if top.is_file:
            return [top]
        below = self._files.get_file_info(pa.fs.FileSelector(self._root, recursive=True))
        return sorted((info for info in below if info.is_file and self._counts(info.path)), key=lambda info: info.path)

    def _counts(self, path: str) -> bool:
        """Whether a file is there for good: not hidden, as Spark has it, and not being written."""
        parts = PurePosixPath(path).relative_to(self._root).parts
        return not any(part.startswith((".", "_")) for part in parts) and not path.endswith(_UNFINISHED)

    def _content(self, path: str) -> bytes:
        """A file as it lies there. That this fails says nothing about the file: the stream ends, and may try again."""
        with self._files.open_input_stream(path, compression=None) as stream:
            return stream.read()  # type: ignore[no-any-return]

    def _rows(self, path: str, content: bytes) -> list[ChangeRow]:
        """The rows of a file; one that is broken as a whole becomes one letter."""
        try:
            kind = self._format or format_of(path)
            if kind in ("parquet", "orc"):
                table = (pa.parquet if kind == "parquet" else pa.orc).read_table(pa.BufferReader(content))
                return list(table_rows(table))
            return list((json_rows if kind == "json" else csv_rows)(_unpacked(path, content)))
        except (DataError, pa.ArrowException, OSError) as error:  # an OSError is what broken gzip raises
            return [Rejection.of("subscriptions", DataError(f"the file cannot be read: {error}"), path)]


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def _unpacked(path: str, content: bytes) -> bytes:
    """What a file that its name calls compressed holds."""
    packed = COMPRESSIONS.get(PurePosixPath(path).suffix)
    if packed is None:
        return content
    with pa.CompressedInputStream(pa.BufferReader(content), packed) as stream:
        return stream.read()  # type: ignore[no-any-return]


class TableChangelog:
    """Changes in a table or view of Spark's catalogue to which rows are appended."""

    def __init__(self, spark: SparkSession, name: str) -> None:
        self._spark = spark
        self._name = name
        missing = [column for column in COLUMNS if column not in spark.table(name).columns]
        if missing:
            raise DataError(f"the table {name} has no column '{missing[0]}'; changes need {', '.join(COLUMNS)}")

    def poll(self, known: ReadSoFar) -> Poll:
        """The rows above the last version, and rows of earlier ones that were not there before."""
        self._spark.catalog.refreshTable(self._name)  # Spark remembers which files a table has
        table = self._spark.table(self._name)
        total = table.count()
        if total == known.rows:
            return Poll()
        if total < known.rows:
            raise DataError(
                f"the table {self._name} has {total:,} rows, but {known.rows:,} were read; it may only grow"
            )
        is_new = f.coalesce(f.col("version").try_cast("bigint") > known.version_read, f.lit(False))
        rows = list(_collected(table.where(is_new)))
        if known.rows + len(rows) < total:
            rows += _without(_collected(table.where(~is_new)), known.sources())
        return Poll(tuple(rows))


def _collected(table: DataFrame) -> Iterator[ChangeRow]:
    return table_rows(table.toArrow())


def _without(rows: Iterable[ChangeRow], sources: Iterable[str]) -> list[ChangeRow]:
    """The rows that are not among those read before, each as often as it came."""
    seen = Counter(sources)
    late: list[ChangeRow] = []
    for row in rows:
        if seen[row.source]:
            seen[row.source] -= 1
        else:
            late.append(row)
    return late
