"""Subscriptions of several kinds in one column.

An application's subscribers do not all write the same filter: most name one stock, a few exclude one. A
mixture is a list of kinds, each with its share and a recipe that writes n filters at once. Kinds are drawn
per row and the rows put back in order, so that every slice of the table has the same mixture.

Cost: O(rows), plus one Arrow `take` to restore the order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from siftcast.workloads.content_values import Floats, Integers
from siftcast.workloads.filter_text import Text
from siftcast.workloads.hot_spots import draw_ranks


@dataclass(frozen=True, slots=True)
class FilterKind:
    """One way of writing a filter, its share among all, and the recipe for n of them."""

    share: float
    write: Callable[[int, np.random.Generator], Text]


def mix_filters(count: int, kinds: Sequence[FilterKind], rng: np.random.Generator) -> Text:
    """Write `count` filters of the given kinds in random order."""
    drawn = draw_ranks(count, np.array([kind.share for kind in kinds]), rng)
    counts = np.bincount(drawn, minlength=len(kinds))
    written = [kind.write(int(rows), rng) for kind, rows in zip(kinds, counts, strict=True)]
    return _restore_order(written, drawn)


def _restore_order(parts: Sequence[Text], kinds: npt.NDArray[Any]) -> Text:
    order = np.argsort(kinds, kind="stable")
    place = np.empty(kinds.size, dtype=np.int64)
    place[order] = np.arange(kinds.size)
    return pa.concat_arrays(parts).take(pa.array(place))


def draw_distinct(rows: int, width: int, *, weights: Floats, rng: np.random.Generator) -> Integers:
    """Pick `width` different indices per row, the first by weight: the members of an IN list.

    The others follow at random strides that together stay short of a full round, which makes them distinct
    without a search. An exact weighted draw without replacement would cost a sort per row.
    """
    size = weights.size
    first = draw_ranks(rows, weights, rng)[:, None]
    strides = rng.integers(1, max(1, size // width - 1), size=(rows, width - 1), endpoint=True, dtype=np.int64)
    return np.cumsum(np.concatenate((first, strides), axis=1), axis=1) % size
