"""Algorithm 3 from measured rates: how much a peer takes on, and when it wants less again (section 2.5.1).

A peer counts the events of each of its expressions, and of the finer ones; what comes in a coarser one it estimates
from what others in its view count. It coarsens only if the estimate fits into its bandwidth. Where the rate exceeds the
bandwidth, it takes the coarse expression with most false positives one division finer, until the count fits, and lets
go the children that it covers no more. Its own subscription is never refined: what that alone costs, it costs.

    R(s) ≤ B(s) / (m + 1)         in bytes per second; a round is a second
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from siftcast.experiments.qos.thesis.overlay import Overlay
from siftcast.experiments.qos.thesis.peers import Subscriber
from siftcast.space.dz import Dz, DzSet, DzSpace
from siftcast.space.dz.cubes import Cube, covers, meet, volume
from siftcast.space.dz.expression import LENGTH_MAX


@dataclass(frozen=True, slots=True)
class Kept:
    """What was seen of bandwidths in one round."""

    within: int
    """Peers whose rate is within their bandwidth."""
    bare: int
    """Peers above it that take nothing on: their own subscription exceeds it."""
    above: int
    """Peers above it that take something on."""
    refined: int
    let_go: int
    """Children that were no longer covered."""
    uncovered: int
    """Children that are kept though they are not covered."""


class Bandwidths:
    """The bandwidth of all peers, and the events of the last round."""

    def __init__(
        self, overlay: Overlay, space: DzSpace, rng: np.random.Generator, limits: dict[int, float], event_bytes: int
    ) -> None:
        self._overlay = overlay
        self._space = space
        self._rng = rng
        self._limits = limits
        self._event_bytes = event_bytes
        self._events: list[int] = []

    def publish(self, events: Iterable[Cube]) -> None:
        """The events of a round."""
        self._events = sorted(value for value, _ in events)

    def rate(self, cubes: Iterable[Cube]) -> float:
        """Bytes per second of some disjoint expressions."""
        return self._event_bytes * sum(self._count(cube) for cube in cubes)

    def _count(self, cube: Cube) -> int:
        value, fixed = cube
        end = value + (1 << (LENGTH_MAX - fixed.bit_count()))
        return bisect_left(self._events, end) - bisect_left(self._events, value)

    def may_take(self, peer: Subscriber, cubes: Sequence[Cube]) -> bool:
        """Whether an estimate of what some expressions cost fits into the bandwidth of a peer."""
        expected = 0.0
        for cube in cubes:
            expected += self._event_bytes * (self._count(cube) if cube in peer.wants else self._estimate(peer, cube))
        return expected <= self._limits[peer.id]

    def _estimate(self, peer: Subscriber, wide: Cube) -> float:
        """Events in an expression that the peer has not: its own of it, and those that others of a view count."""
        overlay = self._overlay
        ids = np.array(list(overlay.peers))
        drawn = ids[self._rng.random(len(ids)) < overlay.chance].tolist()
        told = {cube for id in drawn for cube in overlay.peers[id].wants if covers(wide, cube)}
        told |= {cube for cube in peer.wants if covers(wide, cube)}
        taken: list[Cube] = []
        for cube in sorted(told, key=lambda each: (-volume(each[1]), each)):
            if all(meet(cube, each) is None for each in taken):
                taken.append(cube)
        return float(sum(self._count(cube) for cube in taken))

    def keep(self) -> Kept:
        """`BandwidthViolated` in every peer: wants less where too much comes."""
        refined = let_go = uncovered = within = bare = above = 0
        for peer in tuple(self._overlay.peers.values()):
            limit = self._limits[peer.id]
            while self.rate(peer.wants) > limit and (cube := self._worst(peer)) is not None:
                before = sum(len(cubes) for cubes in peer.children.values())
                exact = DzSet.of_tidy_cubes(peer.exact, exact=True)
                finer = [each.cube for each in self._space.finer(Dz.of_cube(*cube), exact)]
                if not finer or finer == [cube]:
                    break
                wanted = [each for each in peer.wants if each != cube] + self._at_most_exact(peer, finer)
                self._overlay.replace(peer, dict.fromkeys(wanted))
                refined += 1
                let_go += before - sum(len(cubes) for cubes in peer.children.values())
            if self.rate(peer.wants) <= limit:
                within += 1
            elif self._worst(peer) is None:
                bare += 1
            else:
                above += 1
            uncovered += sum(
                self._overlay.covering(peer, cube) is None for cubes in peer.children.values() for cube in cubes
            )
        return Kept(within, bare, above, refined, let_go, uncovered)

    @staticmethod
    def _at_most_exact(peer: Subscriber, finer: list[Cube]) -> list[Cube]:
        """What is finer than an exact expression is that expression."""
        return [next((each for each in peer.exact if covers(each, cube)), cube) for cube in finer]

    def _worst(self, peer: Subscriber) -> Cube | None:
        """The expression beyond the exact ones with most false positives."""
        coarse = [cube for cube in peer.wants if not any(covers(each, cube) for each in peer.exact)]
        if not coarse:
            return None
        return max(coarse, key=lambda cube: (self._false(peer, cube), cube))

    def _false(self, peer: Subscriber, cube: Cube) -> int:
        return self._count(cube) - sum(self._count(each) for each in peer.exact if covers(cube, each))
