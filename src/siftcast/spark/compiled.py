"""A table of subscriptions made into one matcher, and that matcher brought to every worker.

The table is collected, parsed and indexed once, in the driver; what travels is the saved form of the matcher, once to
each machine. A Python worker reads it once and keeps it for all tasks it is given, as long as Spark keeps the worker:
that is what makes small tasks cheap. Rejected: a broadcast join with one expression per rule (Spark would compile and
try them one by one), and building in the workers (each would parse every filter again).

Rows that are not subscriptions are set aside with the reason, never dropped: see `rejected`.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa
from pyspark import SparkFiles
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as t

from siftcast.files import Rejection
from siftcast.matching import Matcher
from siftcast.model import Columns, DataError, Schema, SiftcastError, SubscriptionError
from siftcast.model.columns import Demand, did_you_mean
from siftcast.spark.dead_letters import NOT_UTF8, dead_letter_frame, table_texts
from siftcast.spark.errors import first_reasons
from siftcast.spark.filter_check import FilterCheck, read_filter
from siftcast.spark.places import placed, placed_column, text_column
from siftcast.spark.schemas import check_frame
from siftcast.spark.session import is_connect
from siftcast.spark.workers import check_workers

if TYPE_CHECKING:
    from pyspark.core.broadcast import Broadcast

KEPT_MATCHERS = 2  # a worker keeps the matcher it uses and the previous one: streams change from one to the next
_loaded: dict[str, Matcher] = {}


@dataclass(frozen=True, slots=True)
class Shipment:
    """A matcher on its way to the workers: `load` returns it, there and in the driver.

    `attributes` are the paths that its filters name, and perhaps more: what it must be shown of an event.
    """

    key: str
    fetch: Callable[[], bytes]
    attributes: tuple[tuple[str, ...], ...] = ()

    def load(self) -> Matcher:
        """The matcher; read once by each process."""
        matcher = _loaded.pop(self.key, None)
        if matcher is None:
            matcher = Matcher.from_bytes(self.fetch())
        while len(_loaded) >= KEPT_MATCHERS:
            del _loaded[next(iter(_loaded))]
        _loaded[self.key] = matcher  # the last one is the one used last
        return matcher


@dataclass(frozen=True, slots=True)
class CompiledSubscriptions:
    """Subscriptions ready to be matched, any number of times; `rejections` are the rows that are not subscriptions.

    `demands` is what the filters of the others ask of the columns of events. `fingerprint` tells tables with other ids,
    filters or order apart, whatever engine they were compiled for.
    """

    spark: SparkSession
    shipment: Shipment
    used: int
    rejections: tuple[Rejection, ...]
    demands: frozenset[Demand]
    fingerprint: str

    @property
    def rejected(self) -> DataFrame:
        """The rows that were refused, with reasons: a table of dead letters."""
        return dead_letter_frame(self.spark, self.rejections)

    def check(self) -> None:
        """Raises DataError if any row was refused."""
        if not self.rejections:
            return
        letters = first_reasons([f"{letter.source[:200]}\n    {letter.reason}" for letter in self.rejections])
        raise DataError(
            f"{len(self.rejections):,} of {self.used + len(self.rejections):,} subscriptions cannot be used:\n"
            f"{letters}\nmatch_with_rejects() goes on with the others and gives these back in a table."
        )

    def check_events(self, events: DataFrame) -> None:
        """Raises DataError if filters ask something of events that no row of this table can answer."""
        columns = Columns.of(events)
        reasons = sorted({reason for demand in self.demands if (reason := columns.misfit(demand)) is not None})
        if reasons:
            raise DataError(
                f"these subscriptions do not fit these events:\n{first_reasons(reasons)}\n"
                "compile_subscriptions(…, events=…) sets such subscriptions aside; strict=False matches with them."
            )


def compiled_for(
    events: DataFrame,
    subscriptions: DataFrame | CompiledSubscriptions,
    *,
    strict: bool,
    id_column: str = "id",
    filter_column: str = "filter",
    schema: Schema | None = None,
    engine: str = "auto",
) -> CompiledSubscriptions:
    """Subscriptions of which each can be used with these events; raises DataError where one cannot."""
    if isinstance(subscriptions, CompiledSubscriptions):
        if strict:
            subscriptions.check_events(events)
        compiled = subscriptions
    else:
        compiled = compile_subscriptions(
            subscriptions,
            events=events if strict else None,
            id_column=id_column,
            filter_column=filter_column,
            schema=schema,
            engine=engine,
        )
    compiled.check()
    return compiled


def compile_subscriptions(
    subscriptions: DataFrame,
    *,
    events: DataFrame | None = None,
    id_column: str = "id",
    filter_column: str = "filter",
    schema: Schema | None = None,
    engine: str = "auto",
) -> CompiledSubscriptions:
    """Collects and indexes subscriptions; filters that do not fit the schema or the columns of events are refused."""
    check_subscriptions(subscriptions, id_column, filter_column)
    check_workers(subscriptions.sparkSession)
    names = subscriptions.columns
    columns = [text_column(names, name) if name == id_column else placed_column(names, name) for name in names]
    table = placed(subscriptions).select(*columns).toArrow().rename_columns(names)
    check = FilterCheck.of(schema, events)
    matcher, rejections = build_matcher(table, id_column, filter_column, schema, engine, check)
    spark = subscriptions.sparkSession
    shipment = ship(spark, matcher.to_bytes(), check.attributes)
    fingerprint = _fingerprint(table, (id_column, filter_column, "dialect"))
    return CompiledSubscriptions(
        spark, shipment, len(matcher), tuple(rejections), frozenset(check.demands), fingerprint
    )


def _fingerprint(table: pa.Table, names: Sequence[str]) -> str:
    columns = [table[name] for name in names if name in table.column_names]
    # As bytes, since texts may be none: Spark lets any bytes pass.
    content = [each.cast(pa.binary()) if pa.types.is_string(each.type) else each for each in columns]
    encoded = msgspec.msgpack.encode([each.to_pylist() for each in content], enc_hook=str)
    return hashlib.blake2b(encoded, digest_size=16).hexdigest()


def check_subscriptions(subscriptions: DataFrame, id_column: str, filter_column: str) -> None:
    """Raises DataError unless this is a table with the columns of subscriptions."""
    check_frame(subscriptions, "subscriptions")
    if subscriptions.isStreaming:
        raise DataError("subscriptions that change as a stream are for match_stream(); here they must be a table")
    names = subscriptions.columns
    for name in (id_column, filter_column):
        if name not in names:
            raise DataError(f"the subscriptions need one column '{name}'{did_you_mean(name, names)}")
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise DataError(f"two columns of the subscriptions are named '{repeated}'; rename one of them")
    kind = subscriptions.schema[id_column].dataType
    if not isinstance(kind, t.AtomicType) or isinstance(kind, t.BinaryType):
        raise DataError(f"the column '{id_column}' must hold texts or numbers as ids, not {kind.simpleString()}")


def build_matcher(
    table: pa.Table, id_column: str, filter_column: str, schema: Schema | None, engine: str, check: FilterCheck
) -> tuple[Matcher, list[Rejection]]:
    """A matcher of the rows that are subscriptions and pass the check, and the others.

    Most tables are good, so the whole is tried first; only if that fails are the rows looked at one by one.
    """
    table, readable = table_texts(table)
    ids = table[id_column]
    columns = {"id": ids, "filter": table[filter_column]}
    if "dialect" in table.column_names:
        columns["dialect"] = table["dialect"]
    plain = pa.table(columns)
    if (
        all(readable)
        and ids.null_count == 0
        and pa.types.is_string(plain["filter"].type)
        and plain["filter"].null_count == 0
    ):
        try:
            return Matcher.from_arrow(plain, engine, schema, look=check), []
        except (DataError, SubscriptionError):
            pass
    good, rejections = _sift(plain, table, readable, check)
    check.forget()
    return Matcher.from_arrow(plain.filter(pa.array(good, pa.bool_())), engine, schema, look=check), rejections


def _sift(
    plain: pa.Table, source: pa.Table, readable: Sequence[bool], check: FilterCheck
) -> tuple[list[bool], list[Rejection]]:
    """For each row whether it is a subscription, and the letters for those that are not; of one id the first counts."""
    good: list[bool] = []
    rejections: list[Rejection] = []
    taken: set[str] = set()
    texts = plain["filter"].to_pylist()
    dialects = plain["dialect"].to_pylist() if "dialect" in plain.column_names else [None] * len(texts)
    for row, (id, text, dialect) in enumerate(zip(plain["id"].to_pylist(), texts, dialects, strict=True)):
        try:
            if not readable[row]:
                raise SubscriptionError(NOT_UTF8)
            read_filter(id, text, dialect, check)
            if id in taken:
                raise SubscriptionError(f"the id '{id}' is taken by an earlier row")
        except SiftcastError as error:
            rejections.append(Rejection.of("subscriptions", error, _row_text(source, row)))
            good.append(False)
        else:
            taken.add(id)
            good.append(True)
    return good, rejections


def _row_text(table: pa.Table, row: int) -> str:
    return msgspec.json.encode(table.slice(row, 1).to_pylist()[0], enc_hook=str).decode()


# -- to the workers ----------------------------------------------------------------------------------


def ship(spark: SparkSession, saved: bytes, attributes: tuple[tuple[str, ...], ...]) -> Shipment:
    """Makes a saved matcher, whose filters name these attributes, available to every worker."""
    check_workers(spark)
    key = hashlib.blake2b(saved, digest_size=16).hexdigest()
    if is_connect(spark):
        # Spark Connect has no broadcast variables; a file of the session does the same.
        name = f"siftcast-{key}.matcher"
        with tempfile.TemporaryDirectory(prefix="siftcast-ship-") as folder:
            path = Path(folder) / name
            path.write_bytes(saved)
            spark.addArtifacts(str(path), file=True)
        return Shipment(key, _Artifact(name, saved), attributes)
    return Shipment(key, partial(_read_broadcast, spark.sparkContext.broadcast(saved)), attributes)


def _read_broadcast(broadcast: Broadcast[bytes]) -> bytes:
    return broadcast.value


class _Artifact:
    """A file of the session; the client, which has none, keeps what it sent, and that does not travel."""

    def __init__(self, name: str, sent: bytes | None = None) -> None:
        self._name = name
        self._sent = sent

    def __call__(self) -> bytes:
        if self._sent is not None:
            return self._sent
        return Path(os.path.join(SparkFiles.getRootDirectory(), self._name)).read_bytes()

    def __reduce__(self) -> tuple[type[_Artifact], tuple[str]]:
        return _Artifact, (self._name,)
