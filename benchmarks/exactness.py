"""No number counts unless the answer is right: every contender's answers are compared, in the run that times it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Rows = NDArray[Any]


class WrongResult(Exception):
    """A contender answered something else than the brute force."""


def check_rows(who: str, found: Sequence[Rows], expected: Sequence[Rows]) -> None:
    """Raises WrongResult unless every event has exactly the expected rows, in any order and each once."""
    if len(found) != len(expected):
        raise WrongResult(f"{who}: answers for {len(found)} events, not for {len(expected)}")
    for number, (ours, right) in enumerate(zip(found, expected, strict=True)):
        if not np.array_equal(np.sort(ours), right):
            extra, missing = np.setdiff1d(ours, right), np.setdiff1d(right, ours)
            raise WrongResult(
                f"{who}: event {number} has {len(ours)} matches, {len(right)} are right; "
                f"too many: {extra[:5].tolist()}, missing: {missing[:5].tolist()}"
            )


def check_equal(who: str, found: object, expected: object) -> None:
    """Raises WrongResult unless both are equal."""
    if found != expected:
        raise WrongResult(f"{who}: {str(found)[:200]} instead of {str(expected)[:200]}")


def id_of(row: int) -> str:
    """The subscription id of a row of a workload."""
    return f"s{row}"


def rows_of_ids(ids: Sequence[str]) -> Rows:
    """The rows of subscription ids."""
    return np.array([int(id[1:]) for id in ids], np.int64)


def rows_of_batch(result: pa.ChunkedArray, events: int) -> list[Rows]:
    """The rows of the first events of what `Matcher.match_batch` returned."""
    return [rows_of_ids(ids) for ids in result.slice(0, events).to_pylist()]
