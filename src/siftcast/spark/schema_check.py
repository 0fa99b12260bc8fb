"""Whether a table of events has the attributes that a schema declares.

An attribute that is only declared would be null in every event: a mistyped name would give figures, and all of them
wrong. So it is an error that names the nearest column, as for filters (`filter_check`), unless `strict` is off.
"""

from __future__ import annotations

from collections.abc import Iterator

from siftcast.model import Columns, DataError, Schema
from siftcast.model.columns import Demand
from siftcast.spark.errors import first_reasons


def check_declared(columns: Columns, schema: Schema, *, kinds: bool = True) -> None:
    """Raises DataError where an attribute is not a column or, with `kinds`, has values that never compare with it."""
    reasons = list(_misfits(columns, schema, kinds))
    if reasons:
        raise DataError(
            f"this schema does not fit these events:\n{first_reasons(reasons)}\n"
            "strict=False, on the command line --lenient, measures all the same."
        )


def _misfits(columns: Columns, schema: Schema, kinds: bool) -> Iterator[str]:
    for attribute in schema:
        path = tuple(attribute.name.split("."))
        missing = columns.misfit(Demand((path,), None, compared=False))
        if missing is not None:
            yield missing
            continue
        column = columns.at(path)
        if kinds and column is not None and column.shown != "void" and column.kind is not attribute.kind:
            yield f"'{attribute.name}' is {attribute.type} in the schema, but {column.shown} in the events"
