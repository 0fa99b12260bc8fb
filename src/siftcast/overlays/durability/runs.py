"""Sets of numbers that mostly follow each other, as runs: the numbers 3 4 5 9 are (3, 3), (9, 1).

What is open on a link may be a hundred thousand relays, and every acknowledgement names them all. As runs they are a
few pairs, however many they are, and so are the questions asked of them.

Cost: in proportion to the runs, not to the numbers; a change to a `RunSet` finds its place by bisection.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator

Runs = tuple[tuple[int, int], ...]
"""The first number of each run and how many follow each other; ascending, with gaps between them."""


def numbers_in(runs: Runs) -> Iterator[int]:
    """The numbers themselves."""
    for first, count in runs:
        yield from range(first, first + count)


def sound(runs: Runs, last: int) -> Runs:
    """Runs that somebody sent, put in order, and none of them beyond a last number; whatever they were."""
    found = RunSet()
    for first, count in sorted(runs):
        begin, end = max(first, found.next, 1), min(first + count, last + 1)
        if begin < end:
            found.extend(begin, end)
    return found.runs


def minus(a: Runs, b: Runs) -> Runs:
    """The numbers of `a` that are not in `b`."""
    left: list[tuple[int, int]] = []
    others = iter(b)
    other = next(others, None)
    for first, count in a:
        begin, end = first, first + count
        while other is not None and other[0] < end:
            if other[0] > begin:
                left.append((begin, other[0] - begin))
            begin = max(begin, other[0] + other[1])
            if other[0] + other[1] > end:
                break
            other = next(others, None)
        if begin < end:
            left.append((begin, end - begin))
    return tuple(left)


def both(a: Runs, b: Runs) -> Runs:
    """The numbers that are in `a` and in `b`."""
    return minus(a, minus(a, b))


def joined(a: Runs, b: Runs) -> Runs:
    """The numbers of either."""
    if not a or not b:
        return a or b
    found = RunSet()
    for first, count in sorted((*a, *b)):
        begin, end = max(first, found.next), first + count
        if begin < end:
            found.extend(begin, end)
    return found.runs


class RunSet:
    """A set of numbers that changes."""

    __slots__ = ("_ends", "_starts")

    def __init__(self, numbers: Iterable[int] = ()) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        for number in sorted(set(numbers)):
            self.extend(number, number + 1)

    @property
    def runs(self) -> Runs:
        """The numbers as runs."""
        return tuple([(start, end - start) for start, end in zip(self._starts, self._ends, strict=True)])

    @property
    def next(self) -> int:
        """The number after the last."""
        return self._ends[-1] if self._ends else 0

    def extend(self, begin: int, end: int) -> None:
        """Adds numbers that lie beyond all others."""
        if self._ends and self._ends[-1] == begin:
            self._ends[-1] = end
        else:
            self._starts.append(begin)
            self._ends.append(end)

    def add(self, number: int) -> None:
        """Adds a number; one that is there already changes nothing."""
        if number >= self.next:
            self.extend(number, number + 1)
            return
        place = bisect_right(self._starts, number) - 1
        if place >= 0 and number < self._ends[place]:
            return
        touches_before = place >= 0 and self._ends[place] == number
        touches_after = self._starts[place + 1] == number + 1
        if touches_before and touches_after:
            self._ends[place] = self._ends[place + 1]
            del self._starts[place + 1], self._ends[place + 1]
        elif touches_before:
            self._ends[place] += 1
        elif touches_after:
            self._starts[place + 1] = number
        else:
            self._starts.insert(place + 1, number)
            self._ends.insert(place + 1, number + 1)

    def discard(self, number: int) -> None:
        """Takes a number out, if it is there."""
        place = bisect_right(self._starts, number) - 1
        if place < 0 or number >= self._ends[place]:
            return
        start, end = self._starts[place], self._ends[place]
        if start + 1 == end:
            del self._starts[place], self._ends[place]
        elif number == start:
            self._starts[place] += 1
        elif number == end - 1:
            self._ends[place] -= 1
        else:
            self._ends[place] = number
            self._starts.insert(place + 1, number + 1)
            self._ends.insert(place + 1, end)
