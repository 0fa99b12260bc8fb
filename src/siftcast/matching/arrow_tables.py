"""Tables as users have them: Arrow's own, and those of any library that hands them over as Arrow.

pandas, polars, DuckDB and others give their tables through Arrow's stream interface (`__arrow_c_stream__`), mostly
without a copy, so a frame can be matched directly. NaN in a pandas frame is null, as pandas means it.
"""

from __future__ import annotations

import pyarrow as pa

from siftcast.model import DataError
from siftcast.model.showing import shown

_STREAM = "__arrow_c_stream__"


def as_table(given: object, what: str) -> pa.Table:
    """A table from whatever holds one; raises DataError."""
    if isinstance(given, pa.Table):
        return given
    if isinstance(given, pa.RecordBatch):
        return pa.Table.from_batches([given])
    if hasattr(given, _STREAM) and not isinstance(given, pa.ChunkedArray) and not isinstance(given, type):
        try:
            return pa.table(given)
        except Exception as error:  # whatever the library of the frame raises about a column without one type
            raise DataError(f"the {what} cannot be made an Arrow table: {shown(str(error))[1:-1]}") from None
    remedy = "pa.Table.from_pylist(rows) makes one of dicts, pa.table(columns) of columns"
    raise DataError(f"the {what} are a table (Arrow, pandas, polars), not {shown(given)}; {remedy}")
