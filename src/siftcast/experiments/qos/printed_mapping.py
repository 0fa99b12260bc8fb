"""Algorithm 4 of the thesis as it is printed, so that tests can show what of it fails, and that the repair does not.

Subscriptions and parts of the space are closed boxes of numbers, one side for each dimension, divided in the middle.
What is printed is kept, also where it fails:

- A subscription that ends on the middle line (`f.U = x`) is on neither side of it: lines 11, 14 and 16 all say no, and
  line 19 keeps the part undivided. The thesis's own example, Pressure = [25, 50] of [0, 100], ends there at once: {ε}.
- A division is allowed while `|q| + |DZC| < θ`, although it adds two parts to the queue: θ + 1 expressions.
- Lines 11, 14 and 16 say `f.Lj` and `f.Uj` where `j` was bound by line 9 and is free now. Read as the dimension that is
  divided (`Reading.DIVIDED`), the expressions enclose. Read as "some dimension" (`Reading.SOME`), they do not.
- Line 11 compares the part with x (`sub.Lj < x`), which is always true. Its comment says that the subscription occupies
  both sides, and so it is read.
- Nothing ends the division of a subscription that is a point. `depth_max` is ours.

`mapping` returns texts, because nothing here is computed with.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from enum import Enum

DEPTH_MAX = 64

Side = tuple[float, float]
Sides = tuple[Side, ...]


class Reading(Enum):
    """What the free `j` of lines 11, 14 and 16 stands for."""

    DIVIDED = "the dimension that is divided"
    SOME = "some dimension"


def mapping(
    subscription: Sequence[Side],
    space: Sequence[Side],
    theta: int,
    *,
    reading: Reading = Reading.DIVIDED,
    depth_max: int = DEPTH_MAX,
) -> list[str]:
    """The dz-expressions of a subscription, in the order in which they are found, siblings merged."""
    dimensions = range(len(space))
    found: list[str] = []
    queue: deque[tuple[str, Sides]] = deque([("", tuple(space))])
    while queue:
        dz, sides = queue.popleft()
        divided = len(dz) % len(space)
        low, high = sides[divided]
        middle = (low + high) / 2
        asked = [divided] if reading is Reading.DIVIDED else list(dimensions)
        below = (*sides[:divided], (low, middle), *sides[divided + 1 :])
        above = (*sides[:divided], (middle, high), *sides[divided + 1 :])
        if len(dz) == depth_max or all(
            subscription[j][0] <= sides[j][0] and subscription[j][1] >= sides[j][1] for j in dimensions
        ):
            found.append(dz)
        elif any(subscription[j][0] < middle < subscription[j][1] for j in asked) and len(queue) + len(found) < theta:
            queue += [(dz + "0", below), (dz + "1", above)]
        elif any(subscription[j][0] < middle and subscription[j][1] < middle for j in asked):
            queue.append((dz + "0", below))
        elif any(subscription[j][0] > middle and subscription[j][1] > middle for j in asked):
            queue.append((dz + "1", above))
        else:
            found.append(dz)
    return merged(found)


def merged(found: Sequence[str]) -> list[str]:
    """Line 20: two siblings are their parent."""
    left = list(dict.fromkeys(found))
    while True:
        pair = next((dz for dz in left if dz.endswith("0") and dz[:-1] + "1" in left), None)
        if pair is None:
            return left
        left[left.index(pair)] = pair[:-1]
        left.remove(pair[:-1] + "1")


def encloses(found: Sequence[str], point: Sequence[float], space: Sequence[Side]) -> bool:
    """Whether a point lies in a part of the space that one of the expressions names, its borders included."""
    return any(_holds(dz, point, space) for dz in found)


def _holds(dz: str, point: Sequence[float], space: Sequence[Side]) -> bool:
    sides = list(space)
    for level, bit in enumerate(dz):
        low, high = sides[level % len(space)]
        middle = (low + high) / 2
        sides[level % len(space)] = (low, middle) if bit == "0" else (middle, high)
    return all(low <= place <= high for place, (low, high) in zip(point, sides, strict=True))
