"""The dz-expression of every event as a column: a key for `GROUP BY` that can be cut shorter to be coarser.

    events ──▶ the attributes of the space, in Arrow batches ──▶ cells, an integer for each axis ──▶ "0110…"

Rates of cells are what coarsening and refining subscriptions go by (thesis, 2.5.1), and prefixes of the same column
give them for every coarser division at once. Texts rather than numbers, because a prefix of a text is one in SQL, too.

Each distinct value is put into its cell by `DzAxis.cell`, as single events are. Numbers, of which most are distinct, go
through arrays instead: whole ones on a grid of whole numbers, and floating ones where there is no grid.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as fn
from pyspark.sql import types as t

from siftcast.model import Columns, DataError, EventError, Schema
from siftcast.model.schema import checked_schema
from siftcast.model.showing import shown
from siftcast.model.values import Kind, lookup
from siftcast.space.dz import DzSpace
from siftcast.space.dz.axes import LEVELS_MAX, DzAxis, GridAxis
from siftcast.space.dz.dense_axes import NumberAxis
from siftcast.spark.attributes import attribute_columns
from siftcast.spark.matching import arrow_function, once
from siftcast.spark.places import placed
from siftcast.spark.schema_check import check_declared
from siftcast.spark.schemas import check_columns, check_frame
from siftcast.spark.workers import check_workers

COLUMN = "dz"
_NO_PLACE = -1

Cells = npt.NDArray[np.int64]


def dz(
    events: DataFrame,
    schema: Schema,
    *,
    attributes: Iterable[str] = (),
    length: int | None = None,
    elsewhere: bool = True,
    strict: bool = True,
) -> DataFrame:
    """The columns of the events and `dz`, the first `length` places of the dz-expression of each; all by default.

    Attributes are those of `DzSpace.of(schema, attributes, elsewhere=elsewhere)`. An event without a place (a value off
    the schema's grid, or elsewhere where there is no such place) has a null. Raises DataError, unless `strict` is off,
    if the events lack an attribute or have it of another type.
    """
    check_frame(events, "events")
    check_columns(events.columns, COLUMN)
    space = DzSpace.of(checked_schema(schema), attributes, elsewhere=elsewhere)
    shown_places = space.length if length is None else length
    if not isinstance(shown_places, int) or isinstance(shown_places, bool) or not 0 <= shown_places <= space.length:
        raise DataError(f"length must be a whole number from 0 to {space.length}, not {shown(length)}")
    if strict:
        check_declared(Columns.of(events), Schema([axis.attribute for axis in space.axes]))
    check_workers(events.sparkSession)
    chosen = attribute_columns(events.schema, [axis.path for axis in space.axes])
    names = list(chosen)

    def run(arguments: Iterator[tuple[pa.Array, ...]]) -> Iterator[pa.Array]:
        for each in arguments:
            columns = [each] if isinstance(each, pa.Array) else list(each)  # one comes alone
            yield expressions(space, dict(zip(names, columns, strict=True)), shown_places)

    found = once(arrow_function(run, t.StringType())(*chosen.values()), fn.lit(None).cast("string"))
    return placed(events).select("*", found.alias(COLUMN)).toDF(*events.columns, COLUMN)


# -- in the workers ----------------------------------------------------------------------------------


def expressions(space: DzSpace, columns: dict[str, pa.Array], length: int) -> pa.Array:
    """The first places of the expression of each row, as texts; null where it has none."""
    cells = [_cells(axis, _column(columns, axis)) for axis in space.axes]
    has_place = np.logical_and.reduce([found != _NO_PLACE for found in cells])
    made = _texts(cells, space.places[:length])
    return made if has_place.all() else pc.if_else(pa.array(has_place), made, pa.scalar(None, pa.string()))


def _column(columns: dict[str, pa.Array], axis: DzAxis) -> pa.Array:
    """The values of an attribute, be it a column or a field of one."""
    name = axis.attribute.name
    if name in columns:
        return columns[name]
    rows = len(next(iter(columns.values())))
    outer = columns.get(axis.path[0])
    if outer is None:
        return pa.nulls(rows)
    values = [lookup({axis.path[0]: value}, name, axis.path) for value in outer.to_pylist()]
    return pa.array([None if isinstance(value, list | dict) else value for value in values])


def _cells(axis: DzAxis, column: pa.Array) -> Cells:
    """The cell of each value; `_NO_PLACE` where there is none."""
    if pa.types.is_nested(column.type) or pa.types.is_null(column.type):
        return np.full(len(column), _cell(axis, None), np.int64)
    if pa.types.is_integer(column.type) and isinstance(axis, GridAxis) and _is_plain(axis):
        return _cells_of_integers(axis, column)
    if pa.types.is_floating(column.type) and isinstance(axis, NumberAxis):
        return axis.cells_of_numbers(column.cast(pa.float64()).fill_null(np.nan).to_numpy(zero_copy_only=False))
    coded = column.dictionary_encode()
    try:
        distinct = [_cell(axis, value) for value in _values(axis, coded.dictionary)]
    except UnicodeDecodeError:
        raise DataError(
            f"'{axis.attribute.name}' holds texts that are not UTF-8; repair the column with Spark's make_valid_utf8()"
        ) from None
    by_code = np.array([*distinct, _cell(axis, None)], np.int64)
    found: Cells = by_code[coded.indices.fill_null(len(distinct)).to_numpy(zero_copy_only=False)]
    return found


def _cell(axis: DzAxis, value: object) -> int:
    try:
        found = axis.cell(value)
    except EventError:
        return _NO_PLACE
    return _NO_PLACE if found is None else found


def _values(axis: DzAxis, distinct: pa.Array) -> list[object]:
    """The values of a column as events hold them; of moments that Python cannot hold, None."""
    kind = distinct.type
    if not (pa.types.is_timestamp(kind) or pa.types.is_date(kind)):
        return list(distinct.to_pylist())
    if axis.attribute.kind is not Kind.TIMESTAMP:
        return [None] * len(distinct)
    moments: list[object] = []
    for each in distinct:
        try:
            moments.append(each.as_py())
        except (OverflowError, ValueError):
            moments.append(None)
    return moments


def _is_plain(axis: GridAxis) -> bool:
    """Whether the grid is one of whole numbers, and its cells can be counted by arrays."""
    scale = axis.attribute.scale
    return scale.step == 1 and scale.origin.denominator == 1 and axis.inner + axis.count.bit_length() <= LEVELS_MAX


def _cells_of_integers(axis: GridAxis, column: pa.Array) -> Cells:
    first = int(axis.attribute.scale.origin)
    last = first + axis.count - 1
    if not -(2**63) <= first <= last < 2**63:
        return np.array([_cell(axis, value) for value in column.to_pylist()], np.int64)
    numbers = column.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    inside = (numbers >= first) & (numbers <= last) & ~column.is_null().to_numpy(zero_copy_only=False)
    index = np.where(inside, numbers, first) - first
    return np.where(inside, (index << axis.inner) // axis.count, _cell(axis, None))


def _texts(cells: Sequence[Cells], places: Sequence[tuple[int, int]]) -> pa.Array:
    """The bits at these places, each the shift of a cell of an axis, as texts of one length."""
    rows = len(cells[0])
    if not places:
        return pa.array(["ε"] * rows, pa.string())
    letters = np.empty((rows, len(places)), np.uint8)
    for place, (axis, shift) in enumerate(places):
        letters[:, place] = ((cells[axis] >> shift) & 1) + ord("0")
    offsets = np.arange(rows + 1, dtype=np.int32) * len(places)
    return pa.StringArray.from_buffers(rows, pa.py_buffer(offsets), pa.py_buffer(letters))
