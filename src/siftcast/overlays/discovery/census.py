"""How many peers there are, and which of them are landmarks: one sketch that peers gossip tells both.

Every peer has a number between 0 and 1 that follows from its identity. All gossip whose numbers are the smallest, so
that after a few exchanges everybody holds the same `KEPT` peers. If the largest of these numbers is r, there are about
(KEPT - 1) / r peers (a KMV sketch, 18 % off with 32); if fewer are known, these are all.

A landmark is a peer whose number is below k / N, as in the thesis (section 4.4.1), where peers estimate N by one
gossip and are told the landmarks by another. Here both follow from the sketch, and so does who takes the place of a
lost landmark: as N shrinks, the next number falls below the limit. There is always one, that of the smallest number.

A peer that runs counts beats, one for each exchange. Whoever has not been heard to beat for `_STALE` own beats is
dropped, and does not come back with beats that are known. One that starts again learns of its earlier beats from
others, and goes on from there.

Cost: 32 peers and their beats, 400 bytes, beside each exchange of the random view, where landmarks are wanted.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from random import Random

from siftcast.overlays.contract import NodeId
from siftcast.overlays.discovery.messages import Beat

KEPT = 32
_STALE = 12


@lru_cache(maxsize=4_096)
def number_of(node: NodeId) -> float:
    """A peer's number."""
    return Random(f"census {node}").random()


@dataclass(slots=True)
class _Heard:
    """A peer's last beat, and how many own beats there had been when it was heard."""

    beat: int
    at: int


class Census:
    """The sketch of one peer."""

    __slots__ = ("_beat", "_dropped", "_heard", "_node", "_ticks")

    def __init__(self, node: NodeId) -> None:
        self._node = node
        self._beat = self._ticks = 0
        self._heard = {node: _Heard(0, 0)}
        self._dropped: dict[NodeId, int] = {}

    @property
    def size(self) -> float:
        """About how many peers there are."""
        if len(self._heard) < KEPT:
            return float(len(self._heard))
        return (KEPT - 1) / max(map(number_of, self._heard))

    def landmarks(self, wanted: int) -> tuple[NodeId, ...]:
        """Who the landmarks are if so many are wanted, as far as this peer knows."""
        limit = wanted / max(1.0, self.size)
        ranked = sorted(self._heard, key=number_of)
        return tuple(node for place, node in enumerate(ranked) if number_of(node) < limit or place == 0)

    def tell(self) -> tuple[Beat, ...]:
        """One beat later: what others are told."""
        self._beat += 1
        self._ticks += 1
        self._heard[self._node] = _Heard(self._beat, self._ticks)
        for node, heard in tuple(self._heard.items()):
            if self._ticks - heard.at > _STALE:
                self.drop(node)
        self._trim()
        return self.said

    @property
    def said(self) -> tuple[Beat, ...]:
        """What others are told."""
        return tuple((node, heard.beat) for node, heard in self._heard.items())

    def hear(self, beats: tuple[Beat, ...]) -> None:
        """Takes in what another peer says; only the smallest numbers are kept."""
        for node, beat in beats:
            if node == self._node:
                self._beat = max(self._beat, beat)
                continue
            known = self._heard.get(node)
            if beat > (self._dropped.get(node, -1) if known is None else known.beat):
                self._heard[node] = _Heard(beat, self._ticks)
        self._trim()

    def drop(self, node: NodeId) -> None:
        """A peer is not there any more."""
        heard = self._heard.pop(node, None)
        if heard is None:
            return
        self._dropped[node] = heard.beat
        if len(self._dropped) > KEPT:
            del self._dropped[next(iter(self._dropped))]

    def _trim(self) -> None:
        while len(self._heard) > KEPT:
            del self._heard[max(self._heard, key=number_of)]
