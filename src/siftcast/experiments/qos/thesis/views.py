"""The partial views of the peers, drawn from an index of who wants what.

Peer sampling gives each peer a uniform sample of all others each round, of which it keeps those that cover one of its
expressions (Algorithm 1, lines 1 to 7). Only these are ever used, so only these are drawn: each peer whose expression
covers is in the sample with the same chance. The index finds them by the prefixes of an expression, and by comparing
where there are stars.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from siftcast.space.dz.cubes import Cube, covers, is_plain
from siftcast.space.dz.expression import LENGTH_MAX


class Holders:
    """Who wants an expression; removed in one step."""

    __slots__ = ("_place", "peers")

    def __init__(self) -> None:
        self.peers: list[int] = []
        self._place: dict[int, int] = {}

    def add(self, peer: int) -> None:
        """Adds a peer, once."""
        if peer not in self._place:
            self._place[peer] = len(self.peers)
            self.peers.append(peer)

    def discard(self, peer: int) -> None:
        """Takes a peer out, if it is there."""
        place = self._place.pop(peer, None)
        if place is not None:
            last = self.peers.pop()
            if last != peer:
                self.peers[place] = last
                self._place[last] = place


class CoverIndex:
    """Who wants which expression."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._holders: dict[Cube, Holders] = {}
        self._starred = 0

    def add(self, peer: int, cube: Cube) -> None:
        """A peer wants an expression."""
        holders = self._holders.get(cube)
        if holders is None:
            self._holders[cube] = holders = Holders()
            self._starred += not is_plain(cube[1])
        holders.add(peer)

    def discard(self, peer: int, cube: Cube) -> None:
        """It does so no more."""
        holders = self._holders[cube]
        holders.discard(peer)
        if not holders.peers:
            del self._holders[cube]
            self._starred -= not is_plain(cube[1])

    def sample(self, cube: Cube, chance: float) -> Iterator[tuple[int, Cube]]:
        """Peers that cover an expression and are in a view, with the expression that covers it."""
        for wide, holders in self._covering(cube):
            peers = holders.peers
            for place in self._drawn(len(peers), chance):
                yield peers[place], wide

    def _drawn(self, count: int, chance: float) -> list[int]:
        if count == 1:
            return [0] if self._rng.random() < chance else []
        number = int(self._rng.binomial(count, chance))
        return self._rng.choice(count, number, replace=False).tolist() if number else []

    def _covering(self, cube: Cube) -> Iterator[tuple[Cube, Holders]]:
        if self._starred:
            yield from [(wide, holders) for wide, holders in self._holders.items() if covers(wide, cube)]
            return
        for wide in prefixes(cube):
            found = self._holders.get(wide)
            if found is not None:
                yield wide, found


def prefixes(cube: Cube) -> Iterator[Cube]:
    """What covers a plain expression: its prefixes, the whole space first, itself last."""
    value, fixed = cube
    yield 0, 0
    mask, place = 0, 1 << (LENGTH_MAX - 1)
    while fixed & place:
        mask |= place
        yield value & mask, mask
        place >>= 1
