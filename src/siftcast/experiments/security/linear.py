"""Linear algebra modulo a prime: the coefficients of a combination, and whether there is one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from siftcast.security.hazmat.groups import ORDER

PRIME = 2**31 - 1
"""For spans, where only a yes or no is asked for: products fit into 64 bits."""
Matrix = npt.NDArray[np.int64]


def affine_combination(vectors: Sequence[Sequence[int]], target: Sequence[int]) -> list[int] | None:
    """Coefficients whose sum is 1, with which the vectors come to the target modulo the group's order; None without."""
    count = len(vectors)
    rows = [[*(vector[place] for vector in vectors), wanted] for place, wanted in enumerate(target)]
    rows.append([1] * (count + 1))
    pivots: list[int] = []
    for column in range(count):
        done = len(pivots)
        found = next((place for place in range(done, len(rows)) if rows[place][column]), None)
        if found is None:
            continue
        rows[done], rows[found] = rows[found], rows[done]
        scale = pow(rows[done][column], -1, ORDER)
        rows[done] = [each * scale % ORDER for each in rows[done]]
        for place, row in enumerate(rows):
            if place != done and (factor := row[column]):
                rows[place] = [(one - factor * other) % ORDER for one, other in zip(row, rows[done], strict=True)]
        pivots.append(column)
    if any(row[count] for row in rows[len(pivots) :]):
        return None
    solution = [0] * count
    for place, column in enumerate(pivots):
        solution[column] = rows[place][count]
    return solution


def rank(matrix: Matrix) -> int:
    """The rank modulo PRIME."""
    left, found = matrix % PRIME, 0
    for column in range(left.shape[1]):
        below = np.nonzero(left[found:, column])[0]
        if not len(below):
            continue
        pivot = below[0] + found
        if pivot != found:
            left[[found, pivot]] = left[[pivot, found]]
        left[found] = left[found] * pow(int(left[found, column]), -1, PRIME) % PRIME
        factors = left[:, column].copy()
        factors[: found + 1] = 0  # rows above need not be cleared for a rank
        others = np.nonzero(factors)[0]
        left[others] = (left[others] - factors[others, None] * left[found][None, :]) % PRIME
        found += 1
        if found == left.shape[0]:
            break
    return found


def is_in_span(columns: Matrix, target: Matrix) -> bool:
    """Whether a combination of the columns is the target."""
    return rank(np.hstack([columns, target])) == rank(columns)
