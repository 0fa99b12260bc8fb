"""Time TileIndex beside a NumPy scan on three workloads: `python benchmarks/tile_index.py [w1] [w2] [w3]`.

W1: every row has a range on each of 5 dimensions; density is the share of rows that match an event.
W2: a million rows constrain 3 to 5 of 20 dimensions, chosen with Zipf weights.
W3: a million rows want one of 5,000 Zipf-distributed symbols and two ranges; events follow the same law.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from siftcast.matching.tiles import TileIndex

SCALE = 1_000_000
Array = NDArray[Any]


@dataclass(frozen=True)
class Workload:
    name: str
    rows: int
    dims: int
    row: Array
    dim: Array
    low: Array
    high: Array
    events: Array


def ranges(rng: np.random.Generator, side: Array) -> tuple[Array, Array]:
    """Ranges of the given relative widths at uniform places."""
    side = side.clip(0, 1)
    start = rng.random(side.shape) * (1 - side)
    return (start * SCALE).astype(np.int64), ((start + side) * SCALE).astype(np.int64)


def make_w1(density: float, rows: int = 10_000, dims: int = 5) -> Workload:
    rng = np.random.default_rng(11)
    side = rng.uniform(0.5, 1.5, rows * dims) * density ** (1 / dims)
    low, high = ranges(rng, side)
    row, dim = np.repeat(np.arange(rows), dims), np.tile(np.arange(dims), rows)
    events = rng.integers(0, SCALE, (1000, dims))
    return Workload(f"W1 {density:5.1%}", rows, dims, row, dim, low, high, events)


def make_w2(density: float, rows: int = 1_000_000, dims: int = 20) -> Workload:
    rng = np.random.default_rng(12)
    count = rng.integers(3, 6, rows)
    # The smallest of exponential variables divided by weights are a weighted sample without replacement.
    draw = rng.exponential(size=(rows, dims)) * np.arange(1, dims + 1)
    dim = np.argsort(draw, axis=1)[np.arange(dims) < count[:, None]]
    width = np.repeat(density ** (1 / count), count)
    low, high = ranges(rng, rng.uniform(0.5, 1.5, len(dim)) * width)
    events = rng.integers(0, SCALE, (1000, dims))
    row = np.repeat(np.arange(rows), count)
    return Workload(f"W2 {density:5.1%}", rows, dims, row, dim, low, high, events)


def make_w3(rows: int = 1_000_000, symbols: int = 5_000) -> Workload:
    rng = np.random.default_rng(13)
    share = 1 / np.arange(1, symbols + 1)
    share /= share.sum()
    symbol = rng.choice(symbols, rows, p=share)
    low, high = ranges(rng, np.full((2, rows), 0.3))
    row, dim = np.tile(np.arange(rows), 3), np.repeat(np.arange(3), rows)
    events = rng.integers(0, SCALE, (1000, 3))
    events[:, 0] = rng.choice(symbols, 1000, p=share)
    lows, highs = np.concatenate([symbol, *low]), np.concatenate([symbol, *high])
    return Workload("W3      ", rows, 3, row, dim, lows, highs, events)


def best_us(call: Callable[[], object], events: int, repeat: int = 9) -> float:
    """Median time of a call, in microseconds an event."""
    call()
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return float(np.median(times)) / events * 1e6


def make_scan(work: Workload, events: int) -> Callable[[], list[Array]]:
    """The plain way: per event, compare whole columns. Rows without a dimension have an unbounded range."""
    low = np.full((work.dims, work.rows), np.iinfo(np.int64).min)
    high = np.full((work.dims, work.rows), np.iinfo(np.int64).max)
    low[work.dim, work.row], high[work.dim, work.row] = work.low, work.high

    def scan() -> list[Array]:
        found = []
        for keys in work.events[:events]:
            keep = (low[0] <= keys[0]) & (keys[0] <= high[0])
            for dim in range(1, work.dims):
                keep &= (low[dim] <= keys[dim]) & (keys[dim] <= high[dim])
            found.append(np.flatnonzero(keep))
        return found

    return scan


def report(work: Workload) -> None:
    start = time.perf_counter()
    index = TileIndex.build(rows=work.rows, dims=work.dims, row=work.row, dim=work.dim, low=work.low, high=work.high)
    build_s = time.perf_counter() - start
    scanned = 100 if work.rows < 100_000 else 3
    scan = make_scan(work, scanned)
    positions, offsets = index.match(work.events)
    for number, rows in enumerate(scan()):
        found = index.order[positions[offsets[number] : offsets[number + 1]]]
        assert np.array_equal(np.sort(found), rows)
    batch = best_us(lambda: index.match(work.events), len(work.events))
    numpy_scan = best_us(scan, scanned, repeat=3)
    one = best_us(lambda: [index.match_one(keys) for keys in work.events], len(work.events))
    exists = best_us(lambda: [index.exists(keys) for keys in work.events], len(work.events))
    hits = len(positions) / len(work.events)
    print(
        f"{work.name}  {batch:9.3f} {numpy_scan:10.1f} {numpy_scan / batch:7.0f}x {hits:9.1f} {one:9.2f}"
        f" {exists:8.2f} {build_s:8.2f} {index.nbytes / work.rows:8.0f}",
        flush=True,
    )


def main() -> None:
    chosen = sys.argv[1:] or ["w1", "w2", "w3"]
    print("          match us/event  scan us   ratio      hits match_one   exists  build s  bytes/row")
    if "w1" in chosen:
        for density in (0.001, 0.01, 0.05, 0.1, 0.2):
            report(make_w1(density))
    if "w2" in chosen:
        for density in (0.001, 0.01):
            report(make_w2(density))
    if "w3" in chosen:
        report(make_w3())


if __name__ == "__main__":
    main()
