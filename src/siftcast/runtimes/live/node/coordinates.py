"""Where a node is in a space of delays, beside the others: its own coordinate, and those that others have said.

Whoever sends a heartbeat back says with it where it is (`Heartbeat.coordinate`). So each measurement is also a step of
Vivaldi (`space.coordinates`), and no message is sent for it. What is taken for the delay is the median of the last few,
because one late heartbeat would move the node far away.

What others say is not believed blindly: a coordinate that is none, or so far away that no network is that large, is
left out, and a step that leads nowhere is not made. A liar can still say that it is near or far; then predictions about
the liar are wrong, and those about others a little.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from siftcast.overlays.contract import NodeId
from siftcast.space.coordinates import Coordinate

Said = tuple[float, float, float, float]
_FARTHEST_MS = 1e5
_DIGITS = 4


class Coordinates:
    """Those that one node knows."""

    def __init__(self, random: Random) -> None:
        self.own = Coordinate()
        self._others: dict[NodeId, Coordinate] = {}
        self._random = random

    @property
    def others(self) -> Mapping[NodeId, Coordinate]:
        """Where other nodes were when they were measured last."""
        return self._others

    def said(self) -> Said:
        """What this node says of itself."""
        return saying(self.own)

    def learn(self, node: NodeId, said: Said, delay_ms: float) -> None:
        """Another node was measured, and says where it is."""
        other = Coordinate(*said)
        if not other.is_sound or not self.own.delay_ms(other) <= _FARTHEST_MS:
            return
        self._others[node] = other
        moved = self.own.moved(other, delay_ms, self._random)
        if moved.is_sound and moved.delay_ms(Coordinate()) <= _FARTHEST_MS:
            self.own = moved

    def predicted_ms(self, node: NodeId) -> float | None:
        """How far another node should be; None if nobody knows where it is."""
        other = self._others.get(node)
        return None if other is None else self.own.delay_ms(other)

    def forget(self, node: NodeId) -> None:
        """A node is gone for good."""
        self._others.pop(node, None)


def saying(coordinate: Coordinate) -> Said:
    """A coordinate as it is said to others."""
    numbers = coordinate.x_ms, coordinate.y_ms, coordinate.height_ms, coordinate.error
    x, y, height, error = (round(number, _DIGITS) for number in numbers)
    return x, y, height, error
