"""Matches as files: one row per pair of event and subscription, in Parquet, JSONL or CSV.

    event             int64   the place of the event in its file, from 0
    event_id          text    what the events call `event_id`, or `id`; only if they do
    subscription_id   text
    subscriber        text    only if any subscription names one

A file is written under its name with `.partial` at the end and renamed when it is complete, so half a result is never
taken for a result. Texts are dictionaries (codes and the distinct texts) until the last moment: a subscription that
matches a million times is escaped, compressed or looked up once.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from siftcast.files.dictionary_memo import DictionaryMemo
from siftcast.files.formats import format_of, suffixes_of
from siftcast.model import DataError

PAIR_FORMATS = ("parquet", "json", "csv")
ROWS_PER_GROUP = 1 << 20
_TEXT = pa.dictionary(pa.int32(), pa.string())
_QUOTE = msgspec.json.encode


class PairSink(Protocol):
    """Takes tables of pairs, all of one schema."""

    def write(self, pairs: pa.Table) -> None: ...

    def close(self) -> None: ...


def check_output(output: Path, inputs: tuple[Path, ...]) -> None:
    """Raises DataError if the output cannot be written there, before any work is done for it."""
    if format_of(output, PAIR_FORMATS) is None:
        raise DataError(f"{output}: the name does not say how to write; it must end in {suffixes_of(PAIR_FORMATS)}")
    if output.is_dir():
        raise DataError(f"{output}: is a folder; name a file in it")
    if not output.parent.is_dir():
        raise DataError(f"{output}: the folder {output.parent} does not exist")
    for path in inputs:
        if output.exists() and path.exists() and output.samefile(path):
            raise DataError(f"{output}: is an input; the output needs a name of its own")


class PairFile:
    """A result that is being written; either `finish` or `keep_partial` or `discard` ends it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.partial = path.with_name(path.name + ".partial")
        self._sink: PairSink | None = None
        try:
            self._file = pa.OSFile(str(self.partial), "wb")
        except OSError as error:
            raise DataError(f"{self.partial}: cannot be written ({error.strerror or error})") from None

    def write(self, pairs: pa.Table) -> None:
        """Appends pairs; the first table decides which columns the file has."""
        if self._sink is None:
            self._sink = _SINKS[format_of(self.path, PAIR_FORMATS) or "parquet"](self._file, pairs.schema)
        self._sink.write(pairs)

    def finish(self, schema: pa.Schema) -> None:
        """Completes the file, with the schema given if there was no pair, and gives it its name."""
        self.keep_partial(schema).replace(self.path)

    def keep_partial(self, schema: pa.Schema) -> Path:
        """Completes the file under its temporary name."""
        if self._sink is None:
            self.write(schema.empty_table())
        assert self._sink is not None
        self._sink.close()
        self._file.close()
        return self.partial

    def discard(self) -> None:
        """Gives the file up."""
        self._file.close()
        self.partial.unlink(missing_ok=True)


def pair_schema(*, event_ids: bool, subscribers: bool) -> pa.Schema:
    """The columns of a result."""
    fields = [pa.field("event", pa.int64())]
    if event_ids:
        fields.append(pa.field("event_id", _TEXT))
    fields.append(pa.field("subscription_id", _TEXT))
    if subscribers:
        fields.append(pa.field("subscriber", _TEXT))
    return pa.schema(fields)


class _ParquetSink:
    """Row groups of about a million pairs. Events come in order, so their differences take next to no space."""

    def __init__(self, file: Any, schema: pa.Schema) -> None:
        texts = [name for name in schema.names if name != "event"]
        self._writer = pq.ParquetWriter(
            file, schema, use_dictionary=texts, column_encoding={"event": "DELTA_BINARY_PACKED"}, compression="zstd"
        )
        self._waiting: list[pa.Table] = []
        self._rows = 0

    def write(self, pairs: pa.Table) -> None:
        self._waiting.append(pairs)
        self._rows += pairs.num_rows
        if self._rows >= ROWS_PER_GROUP:
            self._flush()

    def close(self) -> None:
        self._flush()
        self._writer.close()

    def _flush(self) -> None:
        if self._waiting:
            group = pa.concat_tables(self._waiting)
            for name in group.schema.names:
                if group.schema.field(name).type == _TEXT:
                    place = group.schema.get_field_index(name)
                    group = group.set_column(place, name, _with_one_dictionary(group.column(place)))
            self._writer.write_table(group, row_group_size=max(1, group.num_rows))
        self._waiting, self._rows = [], 0


def _with_one_dictionary(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column with one dictionary, no larger than the column: Parquet would store every unused text."""
    if column.num_chunks and max(len(chunk.dictionary) for chunk in column.chunks) > len(column):
        return column.cast(pa.string()).dictionary_encode()
    return column.unify_dictionaries()


class _CsvSink:
    """CSV with a header line; Arrow quotes what needs it."""

    def __init__(self, file: Any, schema: pa.Schema) -> None:
        self._schema = pa.schema([(f.name, pa.string() if f.type == _TEXT else f.type) for f in schema])
        self._writer = pa_csv.CSVWriter(file, self._schema)

    def write(self, pairs: pa.Table) -> None:
        self._writer.write_table(pairs.cast(self._schema))

    def close(self) -> None:
        self._writer.close()


class _JsonSink:
    """JSON Lines, put together by Arrow from parts: the texts are escaped once for each distinct one."""

    def __init__(self, file: Any, schema: pa.Schema) -> None:
        self._file = file
        self._escaped = DictionaryMemo(_escape)

    def write(self, pairs: pa.Table) -> None:
        for batch in pairs.to_batches():
            parts: list[Any] = []
            for index, (field, column) in enumerate(zip(batch.schema, batch.columns, strict=True)):
                parts += [f'{"," if index else "{"}"{field.name}":', self._json(column)]
            lines = pc.binary_join_element_wise(*parts, "}\n", "")
            if len(lines):
                self._file.write(_joined(lines))

    def close(self) -> None:
        pass

    def _json(self, column: pa.Array) -> pa.Array:
        if pa.types.is_integer(column.type):
            return column.cast(pa.string())
        if pa.types.is_dictionary(column.type):
            return self._escaped(column.dictionary).take(column.indices)
        return _escape(column)


def _escape(texts: pa.Array) -> pa.Array:
    return pa.array([_QUOTE(text).decode() for text in texts.to_pylist()], pa.string())


def _joined(lines: pa.Array) -> Any:
    """The bytes of all texts of an array one after the other, as they lie in memory."""
    return lines.buffers()[2].slice(0, pc.sum(pc.binary_length(lines)).as_py())


_SINKS: dict[str, Callable[[Any, pa.Schema], PairSink]] = {
    "parquet": _ParquetSink,
    "csv": _CsvSink,
    "json": _JsonSink,
}
