"""Algorithm 4, repaired: at most θ expressions that together enclose an interest.

The space is halved breadth first. A part in which the interest lies on both sides is divided, as long as there are no
more than θ parts afterwards; where it lies on one side only, the other one is left out; a part that is all interest, or
a single cell, stays. As printed the algorithm does not do so, see `experiments.qos.printed_mapping`:

    f.U < x                   its own example ends on the line x, falls through and becomes ε; ranges here are half-open
    |q| + |DZC| < θ           gives θ + 1 expressions; a division needs |q| + |DZC| + 2 ≤ θ, with the part taken out
    f.Lj, f.Uj without a j    is the dimension that is divided; "some dimension" does not enclose

With stars (section 2.6) a dimension that the interest fills is not divided: it has stars. That is why they are the
default. Where ten attributes are known and two of them asked about, plain expressions must divide the other eight, and
64 of them enclose several times what is wanted. When θ is used up, stars still help: a part keeps the levels that all
of its interest shares in *every* dimension, while a plain expression ends at the first that it does not.

An interest is a union of products: alternatives, each a set of cell ranges on every axis. With stars every alternative
begins on its own, because what asks about different attributes shares no good divisions.

Parts do not walk down level by level. Of an interest from cell a to cell b on an axis, the first level with something
on both sides is the highest bit in which a and b - 1 differ. So the cost is θ times the axes: 3 ms
for θ = 256 and five of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from typing import NamedTuple

from siftcast.model import ArgumentError
from siftcast.model.showing import shown
from siftcast.space.dz.axes import CellRanges
from siftcast.space.dz.cubes import Cube, merged, tidied
from siftcast.space.dz.interleaving import Interleaving

THETA_MAX = 65_536
_NOWHERE = 1 << 30

Product = tuple[CellRanges, ...]


def checked_theta(theta: object, most: int = THETA_MAX) -> int:
    """The number of expressions, if it is one; raises ArgumentError."""
    if not isinstance(theta, int) or isinstance(theta, bool) or not 1 <= theta <= most:
        raise ArgumentError(
            f"theta, the most expressions of a mapping, is a whole number from 1 to {most:,}, not {shown(theta)}"
        )
    return theta


def enclose(
    interleaving: Interleaving, products: Sequence[Product], theta: int, *, wildcards: bool
) -> tuple[list[Cube], bool]:
    """At most θ tidy cubes that hold all products, and whether they hold no more."""
    products = list(dict.fromkeys(products))
    if not products:
        return [], True
    roots = [[product] for product in products] if wildcards and len(products) <= theta else [products]
    finder = _Finder(interleaving, wildcards)
    found, exact = finder.find(roots, theta)
    if len(roots) > 1:
        return tidied(found, stars=wildcards), exact
    return merged(found, stars=wildcards), exact  # parts of one division have nothing in common


class _Block(NamedTuple):
    """The smallest part of an axis that holds all interest of a part of the space."""

    low: int
    """Its first cell."""
    halvings: int
    """How often it can be divided."""
    is_filled: bool
    """Whether all products fill it."""
    position: int
    """Where in an expression the next division of it would be; beyond all places if there is to be none."""
    end: int
    """Behind the last place that it fixes."""
    value: int
    """The bits that it fixes, at their places."""


class _Finder:
    """Divides until θ parts are there; `_open` holds those that may be divided, the coarsest first."""

    def __init__(self, interleaving: Interleaving, wildcards: bool) -> None:
        self._interleaving = interleaving
        self._wildcards = wildcards
        self._axes = range(len(interleaving.levels))
        self._open: list[tuple[int, int, int, int, list[Product], list[_Block]]] = []
        self._found: list[Cube] = []
        self._exact = True

    def find(self, roots: Sequence[list[Product]], theta: int) -> tuple[list[Cube], bool]:
        for number, products in enumerate(roots):
            self._take(products, [self._measure(products, axis) for axis in self._axes], number)
        parts = len(roots)
        while self._open:
            position, number, _, axis, products, blocks = heappop(self._open)
            if parts + 1 > theta:
                self._keep(blocks, position, covered=False)
                continue
            parts += 1
            for half in _halves(products, blocks[axis], axis):
                if len(products) == 1:
                    inner = blocks.copy()
                    inner[axis] = self._measure(half, axis)
                else:  # a product may have gone, which shows on every axis
                    inner = [self._measure(half, each) for each in self._axes]
                self._take(half, inner, number)
        return self._found, self._exact

    def _measure(self, products: list[Product], axis: int) -> _Block:
        ranges = products[0][axis]
        low, last = ranges[0][0], ranges[-1][1] - 1
        for product in products[1:]:
            low, last = min(low, product[axis][0][0]), max(last, product[axis][-1][1] - 1)
        halvings = (low ^ last).bit_length()
        low = low >> halvings << halvings
        is_filled = last == low + (1 << halvings) - 1
        if is_filled:
            block = ((low, last + 1),)
            is_filled = all(product[axis] == block for product in products)
        positions = self._interleaving.positions[axis]
        fixed = len(positions) - halvings
        is_divided = halvings and not (self._wildcards and is_filled)
        return _Block(
            low,
            halvings,
            is_filled,
            positions[fixed] if is_divided else _NOWHERE,
            positions[fixed - 1] + 1 if fixed else 0,
            self._interleaving.spread(axis, low),
        )

    def _take(self, products: list[Product], blocks: list[_Block], number: int) -> None:
        """Keeps a part that need not be divided, or has it wait for its turn."""
        position, value, end, is_covered, divided = _NOWHERE, 0, 0, True, -1
        for axis, block in enumerate(blocks):
            value |= block.value
            is_covered = is_covered and block.is_filled
            if block.end > end:
                end = block.end
            if block.position < position:
                position, divided = block.position, axis
        if len(products) > 1 and not is_covered:
            filled = tuple(((block.low, block.low + (1 << block.halvings)),) for block in blocks)
            is_covered = filled in products
        if divided < 0 or (is_covered and (self._wildcards or end <= position)):
            self._keep(blocks, end, covered=is_covered)
        else:
            heappush(self._open, (position, number, value, divided, products, blocks))

    def _keep(self, blocks: list[_Block], position: int, *, covered: bool) -> None:
        """The expression of a part: its first places, or with stars all levels that its interest shares."""
        self._exact = self._exact and covered
        interleaving = self._interleaving
        value = fixed = 0
        for axis, block in enumerate(blocks):
            value |= block.value
            if self._wildcards:
                fixed |= interleaving.mask(axis, interleaving.levels[axis] - block.halvings)
        if not self._wildcards:
            fixed = interleaving.prefix(position)
        self._found.append((value & fixed, fixed))


def _halves(products: Sequence[Product], block: _Block, axis: int) -> tuple[list[Product], list[Product]]:
    """What of the products lies in either half of what is divided of an axis."""
    middle = block.low + (1 << (block.halvings - 1))
    below: list[Product] = []
    above: list[Product] = []
    for product in products:
        ranges = product[axis]
        lower = tuple((start, min(end, middle)) for start, end in ranges if start < middle)
        upper = tuple((max(start, middle), end) for start, end in ranges if end > middle)
        if lower:
            below.append((*product[:axis], lower, *product[axis + 1 :]))
        if upper:
            above.append((*product[:axis], upper, *product[axis + 1 :]))
    return below, above
