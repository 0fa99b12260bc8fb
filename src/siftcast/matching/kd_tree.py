"""The k-d tree matcher of lookup reuse (section 1.1, Table 1): subscriptions are points, an event a corner.

A box over d axes is a point in 2d dimensions, one for each end of its ranges (see `end_points`), and an event
matches those points that it dominates: the half-open range from -inf up to the query. The tree is Bentley's: every
node holds one point and splits its subtree at that point, in one dimension after the other down the levels.

    dimension 0: low of x           (4, ·)            query (3, ·): every low on the right is 4 or more,
                                   ╱      ╲           so the right subtree is out, and the node itself
    dimension 1: -high of x    (2,-9)    (6,-7)
                               ╱    ╲        ╲        the left subtree must always be searched

Pruning looks at one number, that of the splitting plane. Bounding boxes of subtrees would prune more, but they
are another structure than the one the paper measured.

The three forms differ in how many points are asked for: the search stops at the last one and keeps its stack, so
that it can go on where a point found turns out, on verification, to belong to no match. It turns left first, to
the boxes that begin low and end high: `exists` ends the sooner the denser the matches are.

Invariants. Within a subtree, points on the left are at most, points on the right at least, the node's own in its
dimension; ties may lie on both sides, which lets any set of points be halved. The nodes are the rows of the table,
in preorder after a rebuild, so that a search reads memory mostly forwards; row 0 is the root. Removed points stay
as planes and are not reported. The tree is rebuilt once points inserted since the last time exceed a quarter of
all, or dead ones a half: balance by weight, at amortised O(log² n) per change.

Cost: O(n^(1 - 1/2d) + matches) nodes in theory, far from all of them in practice while ranges are narrow. Each node
costs one comparison and, if its plane does not exclude it, one per dimension until one fails. Rejected: pure Python
(60 times slower); buckets of points in the leaves (faster, but no longer the published tree, and insertion needs
splits); rebuilding only unbalanced subtrees (scapegoat trees), which costs more code than the time it saves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from siftcast.matching.compiling import kernel
from siftcast.matching.contract import Attributes
from siftcast.matching.end_points import BoolArray, EndPoints, FloatArray, Rows
from siftcast.matching.simple_engine import SimpleEngine
from siftcast.matching.warming import Warming
from siftcast.model import Filter

_INSERTED_MIN = 64  # so few insertions never unbalance a tree enough to rebuild it
_LEFT, _RIGHT, _DIMENSION = 0, 1, 2
_NONE = -1

Nodes = np.ndarray[Any, np.dtype[np.int32]]  # a row for each node: left child, right child, dimension


class KdTree(SimpleEngine):
    """A tree over the rows of the table of end points."""

    name = "kd_tree"

    def __init__(self) -> None:
        self._points = EndPoints()
        self._nodes: Nodes = np.empty((0, 3), np.int32)
        self._built = 0  # nodes of the last rebuild
        self._size = 0  # nodes now: the rows below are in the tree
        self._depth = 0
        self.comparisons = 0
        self.visits = 0  # nodes visited

    def add(self, slot: int, filter_: Filter) -> None:
        _KERNELS.wait()
        self._points.add(slot, filter_)

    def remove(self, slot: int) -> None:
        self._points.remove(slot)

    def find(self, event: Attributes, limit: int | None = None) -> Sequence[int]:
        if limit is not None and limit < 1:
            return []
        self._absorb()
        return self._points.matching(self._search(self._points.query(event), limit), event, limit)

    @property
    def filters(self) -> Mapping[int, Filter]:
        return self._points.filters

    def settle(self) -> None:
        self._points.absorb()
        if self._points.dead or self._built < self._points.rows:
            self._rebuild()

    def stats(self) -> dict[str, object]:
        """Sizes, and the operations since the start."""
        return {
            "rows": self._points.rows - self._points.dead,
            "rows_held": self._points.rows,
            "axes": self._points.axes,
            "depth": self._depth,
            "operations": self.comparisons,
            "comparisons": self.comparisons,
            "visits": self.visits,
            "verifications": self._points.verifications,
        }

    # -- the tree --------------------------------------------------------------------------------------

    def _absorb(self) -> None:
        points = self._points
        points.absorb()
        if points.rows - self._built > max(_INSERTED_MIN, self._built // 4) or points.dead * 2 > points.rows:
            self._rebuild()
        elif self._size < points.rows:
            self._insert()

    def _rebuild(self) -> None:
        points = self._points
        order = points.live_rows()
        preorder = np.empty_like(order)
        self._nodes = np.empty((len(order), 3), np.int32)
        self._depth = build(points.ends, order, preorder, self._nodes)
        points.keep(preorder)
        self._built = self._size = points.rows

    def _insert(self) -> None:
        rows = self._points.rows
        if rows > len(self._nodes):
            grown: Nodes = np.empty((rows + max(rows // 4, _INSERTED_MIN), 3), np.int32)
            grown[: self._size] = self._nodes[: self._size]
            self._nodes = grown
        self._depth = max(self._depth, insert(self._points.ends, self._nodes, self._size, rows))
        self._size = rows

    def _search(self, query: FloatArray, limit: int | None) -> Iterator[Rows]:
        """The dominated live rows in batches: all at once, or `limit` and then ever more, as they are asked for."""
        if self._size == 0:
            return
        ends, alive, nodes = self._points.ends, self._points.alive, self._nodes
        stack: Rows = np.zeros(self._depth + 2, np.int64)  # begins with the root, row 0
        height, want = 1, self._size if limit is None else limit
        while height:
            found: Rows = np.empty(min(want, self._size), np.int64)
            height, count, visits, comparisons = search(ends, alive, nodes, query, stack, height, found)
            self.visits += visits
            self.comparisons += comparisons
            yield found[:count]
            want *= 2


def _run_every_kernel() -> None:
    tiny = KdTree()
    for slot in range(2):
        tiny._points.add(slot, Filter.parse("x > 0"))
        tiny._absorb()  # the second is inserted
        tiny._rebuild()
    list(tiny._search(tiny._points.query({"x": 1.0}), None))


_KERNELS = Warming(_run_every_kernel)


@kernel
def search(
    ends: FloatArray, alive: BoolArray, nodes: Nodes, query: FloatArray, stack: Rows, height: int, found: Rows
) -> tuple[int, int, int, int]:
    """Goes on with the subtrees on the stack until `found` is full: (height of stack, found, visits, comparisons)."""
    width = ends.shape[1]
    count = visits = comparisons = 0
    while height > 0 and count < len(found):
        height -= 1
        node = stack[height]
        while node != _NONE and count < len(found):
            visits += 1
            comparisons += 1
            dimension = nodes[node, _DIMENSION]
            if ends[node, dimension] <= query[dimension]:
                if nodes[node, _RIGHT] != _NONE:
                    stack[height] = nodes[node, _RIGHT]
                    height += 1
                if alive[node]:
                    column = 0
                    while column < width and ends[node, column] <= query[column]:
                        column += 1
                    comparisons += min(column + 1, width)
                    if column == width:
                        found[count] = node
                        count += 1
            node = nodes[node, _LEFT]
        if node != _NONE:
            stack[height] = node
            height += 1
    return height, count, visits, comparisons


@kernel
def build(ends: FloatArray, order: Rows, preorder: Rows, nodes: Nodes) -> int:
    """Halves the rows in `order` again and again; writes the tree and which row each node holds; gives the depth."""
    width = ends.shape[1]
    depth_max = 0
    # A task is a stretch of `order` to make a subtree of: begin, end, parent, side, first dimension to try, depth.
    tasks = np.empty((128, 6), np.int64)
    tasks[0] = np.array([0, len(order), _NONE, _LEFT, 0, 1])
    height = 1 if len(order) else 0
    node = 0
    while height > 0:
        height -= 1
        begin, end, parent, side, dimension, depth = tasks[height]
        rows = order[begin:end]
        for _ in range(width):  # a dimension in which all points agree splits nothing
            varies = False
            for row in rows:
                if ends[row, dimension] != ends[rows[0], dimension]:
                    varies = True
                    break
            if varies:
                break
            dimension = (dimension + 1) % width
        keys = np.empty(len(rows))
        for index in range(len(rows)):
            keys[index] = ends[rows[index], dimension]
        rows[:] = rows[np.argsort(keys)]
        middle = begin + (end - begin) // 2
        preorder[node] = order[middle]
        nodes[node, _LEFT] = nodes[node, _RIGHT] = _NONE
        nodes[node, _DIMENSION] = dimension
        if parent != _NONE:
            nodes[parent, side] = node
        depth_max = max(depth_max, depth)
        following = (dimension + 1) % width
        if middle + 1 < end:
            tasks[height] = np.array([middle + 1, end, node, _RIGHT, following, depth + 1])
            height += 1
        if begin < middle:
            tasks[height] = np.array([begin, middle, node, _LEFT, following, depth + 1])
            height += 1
        node += 1
    return depth_max


@kernel
def insert(ends: FloatArray, nodes: Nodes, begin: int, end: int) -> int:
    """Hangs the rows from `begin` to `end` into the tree as leaves; gives the depth of the deepest."""
    width = ends.shape[1]
    depth_max = 0
    for row in range(begin, end):
        nodes[row, _LEFT] = nodes[row, _RIGHT] = _NONE
        nodes[row, _DIMENSION] = 0
        depth = 0
        node = 0 if row > 0 else _NONE
        while node != _NONE:
            dimension = nodes[node, _DIMENSION]
            if ends[row, dimension] == ends[node, dimension]:
                side = (row >> (depth % 32)) & 1  # ties go either way, or equal points would form a chain
            else:
                side = _RIGHT if ends[row, dimension] > ends[node, dimension] else _LEFT
            depth += 1
            parent, node = node, nodes[node, side]
            if node == _NONE:
                nodes[parent, side] = row
                nodes[row, _DIMENSION] = (dimension + 1) % width
        depth_max = max(depth_max, depth + 1)
    return depth_max
