"""Workloads whose subscriptions are conjunctions of ranges: W1, W2, W3 and their skewed variants.

    W1   5 attributes, all constrained; the density is the share of the subscriptions that match an event
    W2   20 attributes, of which a subscription constrains 3 to 5, chosen with Zipf weights
    W3   stock quotes: one of 5,000 symbols (Zipf, for subscriptions and events alike) and two ranges

A range's width is drawn between half and one and a half times what the density asks for. Values are integers below a
million. In the skewed variants values are lognormal or Zipf, ranges lie around a value drawn in the same way with a
width in proportion to it, and the factor is fitted by bisection so that the density is what was asked for.

Bounds are kept by column; a free attribute has the smallest and the largest integer as its bounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmarks.exactness import Rows, id_of

Array = NDArray[Any]
TOP = 1_000_000
FREE_LOW, FREE_HIGH = -(2**31), 2**31 - 1
Values = Literal["lognormal", "zipf"]


@dataclass(frozen=True, slots=True)
class BoxWorkload:
    """Subscriptions and events: `lows[j][i]` and `highs[j][i]` bound attribute j of subscription i."""

    name: str
    attributes: tuple[str, ...]
    lows: Array
    highs: Array
    events: Array  # one row an event, one column an attribute
    symbols: bool = False  # the first attribute is a string, given here by its number
    decimals: bool = False  # values are shown to the matcher as floats with two decimals

    def __len__(self) -> int:
        return int(self.lows.shape[1])

    def matching_rows(self, event: Array) -> Rows:
        """The brute force: the rows that match an event, ascending."""
        inside = (self.lows <= event[:, None]) & (event[:, None] <= self.highs)
        return np.flatnonzero(inside.all(axis=0))

    def subscription_table(self, start: int = 0, stop: int | None = None) -> pa.Table:
        """Rows as columns of bounds, for `Matcher.from_arrow`."""
        stop = len(self) if stop is None else stop
        columns: dict[str, Any] = {"id": id_column(start, stop)}
        for number, name in enumerate(self.attributes):
            low, high = self.lows[number, start:stop], self.highs[number, start:stop]
            if self.symbols and number == 0:
                columns[name] = symbol_column(low)
                continue
            columns[f"{name}.min"] = pa.array(self._shown(low), mask=low == FREE_LOW)
            columns[f"{name}.max"] = pa.array(self._shown(high), mask=high == FREE_HIGH)
        return pa.table(columns)

    def filter_text(self, row: int) -> str:
        """One subscription as text."""
        terms = []
        for number, name in enumerate(self.attributes):
            low, high = self._shown(self.lows[number, row]).item(), self._shown(self.highs[number, row]).item()
            if self.symbols and number == 0:
                terms.append(f"{name} = '{symbol_name(low)}'")
            elif self.lows[number, row] != FREE_LOW:
                terms.append(f"{name} BETWEEN {low} AND {high}")
        return " AND ".join(terms)

    def filter_table(self, start: int = 0, stop: int | None = None) -> pa.Table:
        """Rows as texts, for `Matcher.from_arrow`."""
        stop = len(self) if stop is None else stop
        return pa.table(
            {
                "id": id_column(start, stop),
                "filter": pa.array([self.filter_text(row) for row in range(start, stop)], pa.string()),
            }
        )

    def event_table(self, count: int | None = None) -> pa.Table:
        """The first events as an Arrow table."""
        events = self.events[:count]
        return pa.table(
            {
                name: symbol_column(events[:, number])
                if self.symbols and number == 0
                else pa.array(self._shown(events[:, number]))
                for number, name in enumerate(self.attributes)
            }
        )

    def event_dicts(self, count: int) -> list[dict[str, object]]:
        """The first events as Python dicts."""
        rows: list[dict[str, object]] = self.event_table(count).to_pylist()
        return rows

    def _shown(self, values: Array) -> Array:
        return values / 100 if self.decimals and not self.symbols else values.astype(np.int64)


def symbol_name(number: int) -> str:
    return f"SYM{number}"


def symbol_column(numbers: Array) -> pa.Array:
    return pa.array([symbol_name(number) for number in numbers.tolist()], pa.string())


def id_column(start: int, stop: int) -> pa.Array:
    return pa.array([id_of(row) for row in range(start, stop)], pa.string())


def names(count: int) -> tuple[str, ...]:
    return tuple(f"a{number}" for number in range(count))


# -- the workloads -----------------------------------------------------------------------------------


def make_w1(rng: np.random.Generator, density: float, *, count: int = 10_000, events: int = 1000) -> BoxWorkload:
    """Ranges on every attribute, uniform values."""
    attributes = 5
    side = rng.uniform(0.5, 1.5, (attributes, count)) * density ** (1 / attributes)
    lows, highs = _place(rng, side)
    drawn = rng.integers(0, TOP, (events, attributes), dtype=np.int32)
    return BoxWorkload(f"W1 {density:.4g}", names(attributes), lows, highs, drawn)


def make_w2(
    rng: np.random.Generator,
    density: float,
    *,
    count: int = 1_000_000,
    attributes: int = 20,
    events: int = 1000,
    constrained: tuple[int, int] = (3, 5),
) -> BoxWorkload:
    """Ranges on a few attributes chosen with Zipf weights, uniform values."""
    widths, chosen = _choose_attributes(rng, count, attributes, constrained)
    side = rng.uniform(0.5, 1.5, (attributes, count)) * density ** (1 / widths)
    lows, highs = _place(rng, side)
    lows[~chosen], highs[~chosen] = FREE_LOW, FREE_HIGH
    drawn = rng.integers(0, TOP, (events, attributes), dtype=np.int32)
    return BoxWorkload(f"W2 {density:.4g}", names(attributes), lows, highs, drawn)


def make_w3(
    rng: np.random.Generator, *, count: int = 1_000_000, symbols: int = 5_000, events: int = 1000
) -> BoxWorkload:
    """Stock quotes: a symbol, a range of prices and a range of volumes, each range three tenths of all values."""
    weights = zipf_weights(symbols)
    symbol = rng.choice(symbols, count, p=weights).astype(np.int32)
    lows, highs = _place(rng, np.full((2, count), 0.3))
    drawn = rng.integers(0, TOP, (events, 3), dtype=np.int32)
    drawn[:, 0] = rng.choice(symbols, events, p=weights)
    return BoxWorkload(
        "W3",
        ("symbol", "price", "volume"),
        np.concatenate([symbol[None], lows]),
        np.concatenate([symbol[None], highs]),
        drawn,
        symbols=True,
    )


def make_skewed(
    rng: np.random.Generator,
    density: float,
    *,
    values: Values,
    count: int,
    attributes: int,
    constrained: tuple[int, int],
    events: int = 1000,
) -> BoxWorkload:
    """W1 or W2 with skewed values: where events are dense, subscriptions are dense and narrow too."""
    draw = _DRAW[values]
    drawn = draw(rng, (events, attributes))
    centres = draw(rng, (attributes, count))
    spread = rng.uniform(0.5, 1.5, (attributes, count))
    _, chosen = _choose_attributes(rng, count, attributes, constrained)

    def boxes(factor: float, rows: slice) -> tuple[Array, Array]:
        half = centres[:, rows] * spread[:, rows] * factor
        low = np.clip(centres[:, rows] - half, 0, TOP * 100).astype(np.int32)
        high = np.clip(centres[:, rows] + half, 0, TOP * 100).astype(np.int32)
        low[~chosen[:, rows]], high[~chosen[:, rows]] = FREE_LOW, FREE_HIGH
        return low, high

    def share(factor: float) -> float:
        low, high = boxes(factor, slice(0, 10_000))
        sample = drawn[: min(events, 200)]
        return float(np.mean([((low <= e[:, None]) & (e[:, None] <= high)).all(axis=0).mean() for e in sample]))

    lows, highs = boxes(_fit(share, density), slice(None))
    name = f"{'W1' if constrained[0] == attributes else 'W2'} {values} {density:.4g}"
    return BoxWorkload(name, names(attributes), lows, highs, drawn, decimals=values == "lognormal")


# -- their parts -------------------------------------------------------------------------------------


def zipf_weights(count: int) -> Array:
    """Shares in proportion to 1/rank."""
    weights: Array = 1 / np.arange(1, count + 1)
    weights /= weights.sum()
    return weights


def _place(rng: np.random.Generator, side: Array) -> tuple[Array, Array]:
    """Ranges of relative widths at uniform places."""
    side = side.clip(0, 1)
    start = rng.random(side.shape) * (1 - side)
    return (start * TOP).astype(np.int32), ((start + side) * TOP).astype(np.int32)


def _choose_attributes(
    rng: np.random.Generator, count: int, attributes: int, constrained: tuple[int, int]
) -> tuple[Array, Array]:
    """How many attributes each row constrains, and which; the smallest of exponential variables divided by weights
    are a weighted sample without replacement."""
    widths = rng.integers(constrained[0], constrained[1] + 1, count)
    chosen = np.zeros((attributes, count), bool)
    block = 100_000
    for start in range(0, count, block):
        part = widths[start : start + block]
        keys = rng.exponential(size=(len(part), attributes)) * np.arange(1, attributes + 1)
        limit = np.take_along_axis(np.sort(keys, axis=1), part[:, None] - 1, axis=1)
        chosen[:, start : start + block] = (keys <= limit).T
    return widths, chosen


def _fit(share: Callable[[float], float], density: float) -> float:
    """The factor at which a growing share reaches a density, by bisection on its logarithm."""
    low, high = 1e-4, 1e2
    for _ in range(20):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if share(middle) < density else (low, middle)
    return math.sqrt(low * high)


_DRAW: dict[str, Callable[[np.random.Generator, tuple[int, int]], Array]] = {
    "lognormal": lambda rng, shape: np.clip(rng.lognormal(9, 1, shape), 1, TOP * 100).astype(np.int32),
    "zipf": lambda rng, shape: (rng.choice(1000, shape, p=zipf_weights(1000)) + 1).astype(np.int32),
}
