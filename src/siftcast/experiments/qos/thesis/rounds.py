"""The rounds: every subscriber looks after what it lacks, and then it is seen who gets what, and how late.

    converged   each of its expressions has a parent that covers it, or all publishers of it
    notified    converged, and the events of all publishers that are relevant come within its bound

Both are counted with all there is to know, not as peers see it: a peer that has not heard of a publisher takes itself
for supplied.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from siftcast.experiments.qos.thesis.overlay import Overlay
from siftcast.experiments.qos.thesis.peers import Subscriber, volume_of
from siftcast.experiments.qos.thesis.rules import Acceptance
from siftcast.space.dz import Dz, DzSpace
from siftcast.space.dz.cubes import Cube, minus_all

MayTake = Callable[[Subscriber, tuple[Cube, ...]], bool]
"""Whether the bandwidth of a peer allows it to want some expressions instead of those it has."""


def may_take_all(_peer: Subscriber, _cubes: tuple[Cube, ...]) -> bool:
    """Bandwidth is no limit."""
    return True


def may_take_share(share: float) -> MayTake:
    """A peer takes on so much of the whole space at most: of all events, where they are uniform."""

    def may_take(peer: Subscriber, cubes: tuple[Cube, ...]) -> bool:
        return volume_of(cubes) - volume_of(peer.exact) <= share

    return may_take


@dataclass(frozen=True, slots=True)
class Standing:
    """How many there are, have converged and are notified."""

    peers: int
    converged: int
    notified: int


class Rounds:
    """Runs an overlay round by round."""

    def __init__(
        self, overlay: Overlay, space: DzSpace, rng: np.random.Generator, *, may_take: MayTake = may_take_all
    ) -> None:
        self.overlay = overlay
        self._space = space
        self._rng = rng
        self._may_take = may_take

    def allow(self, may_take: MayTake) -> None:
        """Sets what bandwidths allow from now on."""
        self._may_take = may_take

    def run(self) -> Standing:
        """One round."""
        overlay = self.overlay
        overlay.round += 1
        ids = np.array(list(overlay.peers))
        for id in self._rng.permutation(ids).tolist():
            self._manage(overlay.peers[id])
        self.look()
        return self.standing()

    # -- connectionManagement ----------------------------------------------------------------------------------

    def _manage(self, peer: Subscriber) -> None:
        overlay, rules = self.overlay, self.overlay.rules
        unknown = {number for cube in peer.wants for number in overlay.relevant(cube)} - peer.publishers
        if unknown:
            met = self._rng.random(len(unknown)) < overlay.chance
            peer.publishers |= {number for number, is_met in zip(sorted(unknown), met, strict=True) if is_met}
        for cube in tuple(peer.wants):
            want = peer.wants.get(cube)
            if want is None:
                continue
            known = [number for number in overlay.relevant(cube) if number in peer.publishers]
            if want.parent is not None:
                self._check_parent(peer, cube, known)
                if want.parent is not None:
                    continue
            has_all = bool(known) and all(number in want.direct for number in known)
            want.lacking = 0 if has_all else want.lacking + 1
            parent = overlay.best_parent(peer, cube, strictly=has_all)
            if parent is not None:
                overlay.connect(peer, parent, cube)
            elif not has_all:
                for number in known:
                    if number not in want.direct:
                        overlay.connect_to_publisher(peer, number, cube)
            if want.lacking > rules.timeout and want.parent is None:
                want.lacking = 0
                self._coarsen(peer, cube)

    def _check_parent(self, peer: Subscriber, cube: Cube, known: list[int]) -> None:
        """Leaves a parent through whom events come too late, and publishers whose events a parent brings."""
        overlay, want = self.overlay, peer.wants[cube]
        if want.since >= overlay.round - 1 or want.parent is None:
            return  # nothing has come through it yet
        delays = peer.delays.get(cube, {})
        parent = overlay.peers[want.parent]
        late = any(delay > peer.bound for delay in delays.values())
        blamed = parent.bound == peer.bound or overlay.rules.acceptance is not Acceptance.BOUNDS
        if late and blamed and overlay.rules.leaves_when_late:
            overlay.disconnect(peer, cube)
            return
        through = parent.delays.get(want.through, {}) if want.through is not None else {}
        for number in known:
            if number in want.direct:
                if number in through:
                    overlay.leave_publisher(peer, number, cube)
            elif number not in delays:
                overlay.connect_to_publisher(peer, number, cube)

    def _coarsen(self, peer: Subscriber, cube: Cube) -> None:
        """Algorithm 3, lines 1 to 3: one division less, if that is allowed."""
        wide = self._space.coarser(Dz.of_cube(*cube)).cube
        cubes = (*minus_all(peer.wants, [wide]), wide)  # with stars, expressions may overlap in part
        if wide != cube and self._may_take(peer, cubes):
            self.overlay.replace(peer, cubes)

    # -- who gets what -----------------------------------------------------------------------------------------

    def look(self) -> None:
        """Follows events from publishers down, and new publishers up (Algorithm 2, lines 2 to 4)."""
        overlay = self.overlay
        found: dict[tuple[int, Cube], dict[int, float] | None] = {}
        for peer in overlay.peers.values():
            for cube in peer.wants:
                self._follow(peer.id, cube, found)
        for peer in overlay.peers.values():
            worst = 0.0
            peer.delays = {cube: found[peer.id, cube] or {} for cube in peer.wants}
            for cube, delays in peer.delays.items():
                for number in overlay.relevant(cube):
                    worst = max(worst, delays.get(number, float("inf")))
            peer.experienced = worst
        for peer in tuple(overlay.peers.values()):
            for cube, want in tuple(peer.wants.items()):
                if want.parent is not None and want.direct:
                    self._tell_top(peer, cube)

    def _follow(self, id: int, cube: Cube, found: dict[tuple[int, Cube], dict[int, float] | None]) -> None:
        """Delays of one want and of all those above it; None while it is looked at, so circles supply nothing."""
        overlay = self.overlay
        path: list[tuple[int, Cube]] = []
        at: tuple[int, Cube] | None = (id, cube)
        while at is not None and at not in found:
            found[at] = None
            path.append(at)
            want = overlay.peers[at[0]].wants[at[1]]
            at = None if want.parent is None or want.through is None else (want.parent, want.through)
        above = {} if at is None else found[at] or {}
        sender = None if at is None else at[0]
        for node in reversed(path):
            want = overlay.peers[node[0]].wants[node[1]]
            step = 0.0 if sender is None else overlay.delay(sender, node[0])
            here = {number: above[number] + step for number in overlay.relevant(node[1]) if number in above}
            for number in want.direct:
                direct = overlay.delay(-1 - number, node[0])
                here[number] = min(direct, here.get(number, direct))
            found[node] = above = here
            sender = node[0]

    def _tell_top(self, peer: Subscriber, cube: Cube) -> None:
        """The topmost peer hears of a publisher by its events, and connects to it."""
        overlay = self.overlay
        numbers = tuple(peer.wants[cube].direct)
        at, through, seen = peer, cube, set[int]()
        while at.id not in seen:
            seen.add(at.id)
            want = at.wants[through]
            if want.parent is None or want.through is None:
                break
            at, through = overlay.peers[want.parent], want.through
        want = at.wants[through]
        if at is peer or want.parent is not None:
            return
        for number in numbers:
            at.publishers.add(number)
            if number not in want.direct:
                overlay.connect_to_publisher(at, number, through)

    def standing(self) -> Standing:
        """How far the overlay is."""
        overlay = self.overlay
        converged = notified = 0
        for peer in overlay.peers.values():
            has_all = all(
                want.parent is not None or all(number in want.direct for number in overlay.relevant(cube))
                for cube, want in peer.wants.items()
            )
            converged += has_all
            notified += peer.experienced <= peer.bound
        return Standing(len(overlay.peers), converged, notified)
