"""What the links of a peer weigh: w = delay + β · mean link delay · (1 - similarity).

Similarity is Jaccard's, of the events that two neighbours wanted lately. Each keeps the ids whose hashes are least (a
*sketch*, which is exact up to 128 events and 9 % off beyond) and sends them with its beats. Two that have wanted
nothing yet are not unlike. In place of the mean delay of all links, which the leader announces, stands a peer's own
mean until then.

What β does: it is mostly a penalty for each hop. Neighbours on the overlay are rarely alike, so nearly every link
becomes about β mean delays longer, and ways over fewer but longer links win. Only where neighbours with like interests
happen to be near each other does a tree follow interests.

A delay is taken for what it was as long as a new measurement differs by less than a tenth, and similarities are
compared once for each time that cores are chosen: otherwise peers would change their parents for the noise of
measurements."""

from __future__ import annotations

from collections.abc import Mapping
from heapq import heappush, heapreplace, nsmallest
from zlib import crc32

from siftcast.overlays.contract import NodeId

_SKETCHED = 128
_BYTES = 4
_HELD = 0.1
_LEAST_MS = 1e-6  # a way over more links is always longer


class Sketch:
    """The events that were wanted since the last turn but one."""

    __slots__ = ("_former", "_heap", "_kept")

    def __init__(self) -> None:
        self._former: set[int] = set()
        self._kept: set[int] = set()
        self._heap: list[int] = []

    def note(self, id: str) -> None:
        """An event was wanted here."""
        number = crc32(id.encode("utf-8", "surrogatepass"))
        if number in self._kept:
            return
        if len(self._heap) < _SKETCHED:
            heappush(self._heap, -number)
        elif number < -self._heap[0]:
            self._kept.discard(-heapreplace(self._heap, -number))
        else:
            return
        self._kept.add(number)

    def turn(self) -> None:
        """What was before the last turn is lately no more."""
        self._former, self._kept, self._heap = self._kept, set(), []

    def to_bytes(self) -> bytes:
        """What neighbours are told."""
        least = nsmallest(_SKETCHED, self._kept | self._former)
        return b"".join(number.to_bytes(_BYTES, "big") for number in least)


def similarity(one: bytes, other: bytes) -> float:
    """Jaccard's, of two sketches; 1 of two that are empty."""
    mine, theirs = _numbers(one), _numbers(other)
    if len(mine) >= _SKETCHED or len(theirs) >= _SKETCHED:  # what is beyond the shorter one's end is not known of it
        end = min(max(each) for each in (mine, theirs) if len(each) >= _SKETCHED)
        mine, theirs = {each for each in mine if each <= end}, {each for each in theirs if each <= end}
    together = mine | theirs
    return len(mine & theirs) / len(together) if together else 1.0


def _numbers(sketch: bytes) -> set[int]:
    return {int.from_bytes(sketch[at : at + _BYTES], "big") for at in range(0, len(sketch), _BYTES)}


class LinkWeights:
    """What the links of one peer weigh."""

    __slots__ = ("_beta", "delays_ms", "unlike", "weights")

    def __init__(self, beta: float) -> None:
        self._beta = beta
        self.delays_ms: dict[NodeId, float] = {}
        self.unlike: dict[NodeId, float] = {}
        """1 - similarity, as it was compared last."""
        self.weights: dict[NodeId, float] = {}

    def compare(self, own: bytes, sketches: Mapping[NodeId, bytes]) -> None:
        """Takes similarities as they are now."""
        self.unlike = {peer: 1.0 - similarity(own, sketch) for peer, sketch in sketches.items()}

    def measure(self, delays_ms: Mapping[NodeId, float], mean_ms: float) -> None:
        """Takes in what the neighbourhood has measured."""
        self.delays_ms = {peer: self._held(peer, delay_ms) for peer, delay_ms in delays_ms.items()}
        if self._beta and self.delays_ms:
            mean_ms = mean_ms or sum(self.delays_ms.values()) / len(self.delays_ms)
        self.weights = {
            peer: max(delay_ms + self._beta * mean_ms * self.unlike.get(peer, 0.0), _LEAST_MS)
            for peer, delay_ms in self.delays_ms.items()
        }

    def _held(self, peer: NodeId, delay_ms: float) -> float:
        before = self.delays_ms.get(peer)
        return delay_ms if before is None or abs(delay_ms - before) > _HELD * before else before
