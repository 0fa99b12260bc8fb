"""Measured latencies between servers, as a matrix in a text file: one row per server; blanks, tabs or commas between
columns.

Values are milliseconds. Measurements such as PlanetLab's are round-trip times, and a message goes one way: unless
`round_trip` is False, they are halved. The diagonal, what a server needs to reach itself, must be 0 or missing.

A value is missing where it is empty between commas, `-`, `NA`, `nan` or negative (many data sets write -1). A matrix
with missing values is refused, or, with `missing="drop"`, loses servers until none is missing: always the one with
the most missing values, the later of equals. The rest keeps its order.
"""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

from siftcast.model.errors import TopologyFileError
from siftcast.underlay.measured import MeasuredUnderlay
from siftcast.underlay.topology_files import AnyPath, read_lines

Floats = npt.NDArray[np.float64]

MISSING = ("refuse", "drop")
_MISSING_TEXTS = {"", "-", "na", "nan", "n/a", "null"}
_SEPARATOR = re.compile(r"\s*,\s*|\s+")


def read_latency_matrix(path: AnyPath, *, round_trip: bool = True, missing: str = "refuse") -> MeasuredUnderlay:
    """An underlay whose servers are the rows of a matrix, in a plain or gzipped file."""
    if missing not in MISSING:
        raise TopologyFileError(str(path), f"missing is {missing!r}", remedy=f"choose one of {', '.join(MISSING)}")
    rows: list[tuple[int, Floats]] = []
    for line, text in read_lines(path):
        values = np.array([_parse(path, line, each) for each in _SEPARATOR.split(text)])
        if rows and len(values) != len(rows[0][1]):
            raise TopologyFileError(
                str(path),
                f"{len(values)} values where the first row has {len(rows[0][1])}",
                line=line,
                remedy="the line may be cut off",
            )
        rows.append((line, values))
    columns = len(rows[0][1])
    if len(rows) != columns:
        raise TopologyFileError(
            str(path),
            f"{len(rows)} rows of {columns} values",
            line=rows[-1][0],
            remedy="a matrix has as many rows as columns; the file may be cut off",
        )
    matrix = np.stack([values for _, values in rows])
    _check_diagonal(path, matrix, rows)
    if missing == "drop":
        matrix = _without_missing(matrix)
    elif np.isnan(matrix).any():
        row, column = (int(each[0]) for each in np.nonzero(np.isnan(matrix)))
        raise TopologyFileError(
            str(path),
            f"{int(np.isnan(matrix).sum())} values are missing, the first in column {column + 1}",
            line=rows[row][0],
            remedy='complete them, or leave out servers with missing="drop"',
        )
    return MeasuredUnderlay(matrix / 2 if round_trip else matrix)


def _parse(path: AnyPath, line: int, text: str) -> float:
    if text.lower() in _MISSING_TEXTS:
        return np.nan
    try:
        value = float(text)
    except ValueError:
        value = np.inf
    if np.isinf(value):
        raise TopologyFileError(
            str(path), f"{text!r} is no latency", line=line, remedy="give milliseconds; a missing value is NA or -1"
        )
    return value if value >= 0 else np.nan


def _check_diagonal(path: AnyPath, matrix: Floats, rows: list[tuple[int, Floats]]) -> None:
    diagonal = np.nan_to_num(matrix.diagonal())
    if diagonal.any():
        row = int(np.flatnonzero(diagonal)[0])
        raise TopologyFileError(
            str(path),
            f"server {row} takes {diagonal[row]:g} ms to reach itself",
            line=rows[row][0],
            remedy="the diagonal of a matrix of latencies is 0",
        )
    np.fill_diagonal(matrix, 0.0)


def _without_missing(matrix: Floats) -> Floats:
    kept = np.arange(len(matrix))
    while (gaps := np.isnan(matrix[np.ix_(kept, kept)])).any():
        counts = gaps.sum(axis=0) + gaps.sum(axis=1)
        kept = np.delete(kept, len(counts) - 1 - int(np.argmax(counts[::-1])))
    return matrix[np.ix_(kept, kept)]
