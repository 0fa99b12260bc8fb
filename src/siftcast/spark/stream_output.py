"""What a stream leaves behind, and how to read it.

    output/batch=42/                          the results of micro-batch 42, in the format that was asked for
    output/_siftcast/stream.json              what the stream is: columns, format, where its dead letters are; also in
                                              the checkpoint, and beside the dead letters, to say whose they are
    output/_siftcast/batches/…042.json        its receipt: micro-batch 42 is done; its version and its counts
    output/_dead_letters/batch=42/            what was refused, as JSON lines (or in a folder of the user's choice)

The receipt is the commit. It is written last and never changed; a micro-batch that has one is not run again, and one
that has none is written again from the start. So every event is in the committed output exactly once, and
`read_matches` shows committed micro-batches only. Spark itself ignores names that begin with an underscore.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import permutations
from pathlib import Path

import msgspec
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import LongType, StructField, StructType

from siftcast.model import DataError
from siftcast.spark.intake import CSV_OPTIONS
from siftcast.spark.schemas import DEAD_LETTERS
from siftcast.spark.session import active_session, session
from siftcast.spark.stream_folders import local_folder, numbered, numbered_path, write_once
from siftcast.spark.stream_progress import BatchReceipt

BATCH = "batch"
VERSION = "subscription_version"
FORMATS = ("parquet", "orc", "json", "csv")
_OF_SPARK = ("metadata", "offsets", "commits", "sources", "state")  # what Spark makes in a checkpoint


class StreamDescription(msgspec.Struct, frozen=True):
    """What must stay the same for as long as a stream lives."""

    stream: str
    mode: str
    format: str
    columns: str  # of the results, as Spark's JSON
    dead_letters: str


class Receipts:
    """The receipts of an output folder."""

    def __init__(self, output: Path) -> None:
        self._folder = output / "_siftcast" / "batches"

    def batches(self) -> list[int]:
        """The micro-batches that are done."""
        return numbered(self._folder, ".json")

    def has(self, batch: int) -> bool:
        """Whether a micro-batch is done."""
        return numbered_path(self._folder, batch, ".json").exists()

    def read(self, batch: int) -> BatchReceipt:
        """The receipt of a micro-batch that is done."""
        return msgspec.json.decode(numbered_path(self._folder, batch, ".json").read_bytes(), type=BatchReceipt)

    def write(self, receipt: BatchReceipt) -> None:
        """Commits a micro-batch."""
        write_once(numbered_path(self._folder, receipt.batch, ".json"), msgspec.json.encode(receipt))


def batch_folder(root: Path, batch: int) -> Path:
    """Where the rows of a micro-batch lie; Spark reads the number in the name as a column."""
    return root / f"{BATCH}={batch}"


def options_of(format: str) -> dict[str, str]:
    """What Spark is given when it writes a format, so that any text can be told again from another, or from none."""
    if format != "csv":
        return {}
    kept = {"ignoreLeadingWhiteSpace": "false", "ignoreTrailingWhiteSpace": "false"}
    return {"header": "true", "nullValue": "", "emptyValue": '""'} | CSV_OPTIONS | kept


def _reading_options(format: str) -> dict[str, str]:
    """What it is given when it reads; an empty cell in quotes is a text, one without quotes is none."""
    if format != "csv":
        return {}
    return options_of(format) | {"multiLine": "true", "nullValue": "\ufdd0siftcast-null", "emptyValue": ""}


# -- the description ---------------------------------------------------------------------------------


def describe(output: Path, checkpoint: Path, wanted: StreamDescription) -> StreamDescription:
    """Writes down what a new stream is, or checks that an old one is still the same; gives what counts.

    The description is kept with the output and with the checkpoint. If only one of them is there, the other was lost
    or belongs to another stream: going on would double results or leave some out. A stream that Spark has not begun
    may still become another: its start was cut off or refused.
    """
    here, there = _description_path(output), checkpoint / "siftcast" / "stream.json"
    begun = any((checkpoint / name).exists() for name in _OF_SPARK) or bool(Receipts(output).batches())
    if not here.exists() and begun and not there.exists():
        raise DataError(f"{checkpoint} is the checkpoint of another query of Spark; name another folder")
    if there.exists() and not begun and (not here.exists() or _read_description(here) == _read_description(there)):
        wanted = msgspec.structs.replace(wanted, stream=_read_description(there).stream)
        for path in (here, there):  # in this order: one that is left alone must be that of the checkpoint
            path.unlink(missing_ok=True)
    if not here.exists() and there.exists():
        raise DataError(f"{checkpoint} is the checkpoint of a stream, but its output is not in {output}")
    if here.exists() and not there.exists():
        raise DataError(f"{output} holds the output of another stream, or its checkpoint was lost; name another folder")
    if not here.exists():
        write_once(there, msgspec.json.encode(wanted))
        write_once(here, msgspec.json.encode(wanted))
        return wanted
    known = _read_description(here)
    if known != _read_description(there):
        raise DataError(f"{checkpoint} is not the checkpoint of the stream that writes to {output}")
    for name in ("mode", "format", "dead_letters", "columns"):
        before, now = getattr(known, name), getattr(wanted, name)
        if before != now:
            raise DataError(f"the stream in {output} has {name} {before}, not {now}; that cannot change on the way")
    return known


def claim_dead_letters(folder: Path, known: StreamDescription) -> None:
    """Notes in a folder of their own whose dead letters are there: two streams would overwrite each other's."""
    path = _description_path(folder)
    if not path.exists():
        write_once(path, msgspec.json.encode(known))
    elif _read_description(path).stream != known.stream:
        raise DataError(f"{folder} holds what another stream has written; name another folder for dead letters")


def check_apart(folders: Mapping[str, Path | None]) -> None:
    """Raises DataError where one of the folders is, or lies in, another whose files would then be taken for its own.

    What begins with a dot or an underscore is not looked at by anybody, so that may lie anywhere.
    """
    for (one, inner), (other, outer) in permutations(folders.items(), 2):
        if inner is None or outer is None or not inner.resolve().is_relative_to(outer.resolve()):
            continue
        if not any(part.startswith((".", "_")) for part in inner.resolve().relative_to(outer.resolve()).parts):
            raise DataError(f"the {one} cannot be in {inner}: {outer} is the place of the {other}; name another folder")


def _description_path(output: Path) -> Path:
    return output / "_siftcast" / "stream.json"


def _read_description(path: Path) -> StreamDescription:
    return msgspec.json.decode(path.read_bytes(), type=StreamDescription)


def _description_of(output: Path) -> StreamDescription:
    path = _description_path(output)
    if not path.exists():
        raise DataError(f"{output}: match_stream() has written nothing here")
    return _read_description(path)


# -- reading -----------------------------------------------------------------------------------------


def read_matches(output: str | Path, *, after_batch: int = -1, spark: SparkSession | None = None) -> DataFrame:
    """The results of a stream so far: those of committed micro-batches, with the number of theirs as `batch`.

    What it shows does not change while the stream runs. With `after_batch` it starts behind that micro-batch, which
    lets a reader follow the stream step by step.
    """
    root = local_folder(output, "output")
    known = _description_of(root)
    columns = StructType.fromJson(msgspec.json.decode(known.columns))
    return _read(spark, root, root, columns, known.format, after_batch)


def read_dead_letters(output: str | Path, *, after_batch: int = -1, spark: SparkSession | None = None) -> DataFrame:
    """What a stream has refused so far, events and changes of subscriptions: dead letters and `batch`."""
    root = local_folder(output, "output")
    letters = Path(_description_of(root).dead_letters)
    return _read(spark, root, letters, DEAD_LETTERS, "json", after_batch)


def read_batches(output: str | Path) -> list[BatchReceipt]:
    """The receipts of all committed micro-batches: under which version each was matched, and its counts."""
    receipts = Receipts(local_folder(output, "output"))
    return [receipts.read(batch) for batch in receipts.batches()]


def _read(
    spark: SparkSession | None, output: Path, rows: Path, columns: StructType, format: str, after_batch: int
) -> DataFrame:
    spark = spark or active_session() or session()
    done = Receipts(output).batches()
    whole = StructType([*columns.fields, StructField(BATCH, LongType())])
    there = {int(each.name.partition("=")[2]) for each in rows.glob(f"{BATCH}=*")}
    if not there or not done:
        return spark.createDataFrame([], whole)
    # Micro-batches are committed in order, so that besides the last one hardly any is left out one by one.
    shown = (f.col(BATCH) > after_batch) & (f.col(BATCH) <= done[-1])
    undone = sorted(number for number in there.difference(done) if number < done[-1])
    if undone:
        shown &= ~f.col(BATCH).isin(undone)
    return spark.read.format(format).options(**_reading_options(format)).schema(whole).load(str(rows)).where(shown)
