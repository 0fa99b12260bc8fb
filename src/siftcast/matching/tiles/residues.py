"""What the intervals of a row leave open: patterns its strings must match, and filters that must be evaluated.

A LIKE with an inner or leading wildcard is not an interval. Thousands of filters use few distinct patterns, so each
pattern is tried once for each distinct string of a batch, and a row that is a candidate only looks up the answers.
Whatever else is open (a comparison of two attributes, a bound beyond 2^53, a hull of alternatives) makes a row
*doubtful*: its filter is evaluated on the event, unless another row of the same filter has settled the matter. Sets
of keys are open as well, but live with their dimension (`sets`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from siftcast.matching.compiling import kernel
from siftcast.matching.contract import Int32Array, Int64Array
from siftcast.matching.tiles.arrays import numbers
from siftcast.matching.tiles.combining import Codes
from siftcast.matching.tiles.keys import Mask, Path
from siftcast.model.like import LikePattern

Test = tuple[Path, LikePattern]
Answers = np.ndarray[tuple[int, int], np.dtype[np.uint8]]
YES, NO, UNKNOWN = 1, 0, 2


@dataclass(frozen=True, slots=True)
class Residues:
    """For each row whether it is doubtful, and which tests it wants to succeed or fail.

    Demand i is that of row `rows[i]`, on test `tests[i]`, to come out as `wanted[i]`.
    """

    doubtful: Mask
    rows: Int32Array
    tests: Int32Array
    wanted: np.ndarray[tuple[int], np.dtype[np.uint8]]
    table: tuple[Test, ...]

    @property
    def nbytes(self) -> int:
        return self.doubtful.nbytes + self.rows.nbytes + self.tests.nbytes + self.wanted.nbytes

    def select(self, keep: Mask) -> Residues:
        """Only the rows marked in `keep`, renumbered; tests nobody demands any more are dropped."""
        numbers = (np.cumsum(keep) - 1).astype(np.int32)
        chosen = keep[self.rows]
        used, tests = np.unique(self.tests[chosen], return_inverse=True)
        return Residues(
            self.doubtful[keep],
            numbers[self.rows[chosen]],
            tests.astype(np.int32),
            self.wanted[chosen],
            tuple(self.table[test] for test in used.tolist()),
        )

    def ordered(self, order: Int32Array) -> Demands:
        """The demands by position, where `order` gives the row of each position."""
        positions = np.empty(len(order), np.int32)
        positions[order] = np.arange(len(order), dtype=np.int32)
        placed = positions[self.rows]
        by_position = np.argsort(placed, kind="stable")
        begins = np.searchsorted(placed[by_position], np.arange(len(order) + 1)).astype(np.int64)
        return Demands(self.doubtful[order], begins, self.tests[by_position], self.wanted[by_position], self.table)


@dataclass(frozen=True, slots=True)
class Demands:
    """Residues by position: those of position p are `tests[begins[p]:begins[p + 1]]`."""

    doubtful: Mask
    begins: Int64Array
    tests: Int32Array
    wanted: np.ndarray[tuple[int], np.dtype[np.uint8]]
    table: tuple[Test, ...]

    def needed(self, positions: Int32Array) -> Int32Array:
        """The tests that some of these positions demand."""
        return np.flatnonzero(_mark(positions, self.begins, self.tests, len(self.table))).astype(np.int32)

    def keep_satisfied(self, positions: Int32Array, offsets: Int64Array, answers: Answers, rows: Int32Array) -> Codes:
        """The hits whose demands are met; `answers[rows[test], event]` is how a test came out."""
        return _keep_satisfied(positions, offsets, self.begins, self.tests, self.wanted, answers, rows)


def merge_residues(parts: Sequence[Residues], starts: Sequence[int]) -> Residues:
    """The residues of several sets of rows, of which each starts at a number of its own."""
    table: dict[tuple[Path, str], int] = {}
    kept: list[Test] = []
    tests: list[Int32Array] = []
    for part in parts:
        numbers = []
        for path, pattern in part.table:
            number = table.setdefault((path, pattern.source), len(table))
            if number == len(kept):
                kept.append((path, pattern))
            numbers.append(number)
        tests.append(np.array(numbers, np.int32)[part.tests] if numbers else part.tests)
    return Residues(
        np.concatenate([part.doubtful for part in parts]),
        np.concatenate([part.rows + np.int32(start) for part, start in zip(parts, starts, strict=True)]),
        np.concatenate(tests),
        np.concatenate([part.wanted for part in parts]),
        tuple(kept),
    )


def answers_for(pattern: LikePattern, strings: Sequence[object]) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    """How a pattern comes out on each of some strings; a value that is not a string does neither."""
    matches = pattern.matches
    return np.array([matches(text) if type(text) is str else UNKNOWN for text in strings], np.uint8)


@kernel
def _mark(positions: Int32Array, begins: Int64Array, tests: Int32Array, count: int) -> Int64Array:
    needed = numbers(count, 0)
    for position in positions:
        for demand in range(begins[position], begins[position + 1]):
            needed[tests[demand]] = 1
    return needed


@kernel
def _keep_satisfied(
    positions: Int32Array,
    offsets: Int64Array,
    begins: Int64Array,
    tests: Int32Array,
    wanted: np.ndarray[tuple[int], np.dtype[np.uint8]],
    answers: Answers,
    rows: Int32Array,
) -> Codes:
    kept = np.empty(len(positions), np.int32)
    bounds = numbers(len(offsets), 0)
    filled = 0
    for event in range(len(offsets) - 1):
        for index in range(offsets[event], offsets[event + 1]):
            position = positions[index]
            satisfied = True
            for demand in range(begins[position], begins[position + 1]):
                if answers[rows[tests[demand]], event] != wanted[demand]:
                    satisfied = False
                    break
            if satisfied:
                kept[filled] = position
                filled += 1
        bounds[event + 1] = filled
    return kept[:filled], bounds
