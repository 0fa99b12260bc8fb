"""A core tree while peers come and go (sections 4.5.3 and 4.6.3.3): local repair, and a new tree now and then.

Who comes takes the neighbour in the discovery overlay through which its core is nearest. Who loses its parent does the
same, but not through those below it; its own subtree stays with it. The cores of the last choice stay cores; a lost one
is replaced by nobody until the next choice. Every so many events the leader chooses cores again and all peers find
theirs (Algorithm 8, repaired); messages are counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import inf
from typing import Any, cast

import numpy as np

from siftcast.experiments.underlay.core_discovery import discover
from siftcast.experiments.underlay.discovery import Discovery, Options
from siftcast.experiments.underlay.interests import Interests
from siftcast.experiments.underlay.world import World
from siftcast.space.core_scores import potentials, select

Found = dict[str, Any]
CORES = 8


class ChangingTree:
    """The parent of each peer that is present; the first core has none."""

    def __init__(self, overlay: Discovery, interests: Interests) -> None:
        self._overlay = overlay
        self._interests = interests
        self.parents: dict[int, int | None] = {}
        self.messages = 0
        self.rebuild()

    # -- the whole tree ----------------------------------------------------------------------------------------

    def rebuild(self) -> None:
        """Cores are chosen by SPotent, and everybody finds its own."""
        overlay, present = self._overlay, self._overlay.present
        near = {peer: self._near(peer) for peer in present}
        scores = potentials(near, near, overlay.world.peers)
        scores[[peer for peer in range(overlay.world.peers) if peer not in present]] = -inf
        cores = select(scores, CORES)
        found = discover(near, near, cores)
        # Votes go up a spanning tree and the choice comes down it.
        self.messages += found.messages + found.joins + 2 * (len(present) - 1)
        self.parents = {cores[0]: None}
        for core in cores[1:]:
            self._hang(core, found.parents[cores[0]])
        for peer in present:
            self._hang(peer, found.parents[found.relays.get(peer, cores[0])])

    def _hang(self, peer: int, ways: dict[int, int]) -> None:
        """Takes a peer in with all that are on its way up and not in the tree yet; alone, if there is no way."""
        at = peer
        while at not in self.parents:
            above = ways.get(at)
            self.parents[at] = above
            if above is None:
                return
            at = above

    def _leads_to(self, peer: int, target: int) -> bool:
        at: int | None = peer
        while at is not None and at != target:
            at = self.parents[at]
        return at == target

    def _near(self, peer: int) -> dict[int, float]:
        delays = self._overlay.measured_ms[peer]
        return {other: float(delays[other]) for other in (*self._overlay.near[peer], *self._overlay.distant[peer])}

    # -- repair ------------------------------------------------------------------------------------------------

    def leave(self, peer: int) -> None:
        """A peer is gone from the overlay and from the tree."""
        orphans = [other for other, above in self.parents.items() if above == peer]
        del self.parents[peer]
        for other in orphans:
            self.parents[other] = None
        self._overlay.leave(peer)
        for other in orphans:
            self._adopt(other)

    def join(self, peer: int) -> None:
        """A peer comes into the overlay and into the tree."""
        self._overlay.join(peer)
        self.parents[peer] = None
        self._adopt(peer)

    def _adopt(self, peer: int) -> None:
        """Finds a parent for the top of a piece; if only those below it know others, one of these becomes the top."""
        heights = self._heights()
        piece = {other for other in self.parents if self._leads_to(other, peer)}
        best: tuple[float, int, int] | None = None
        for inner in (peer, *sorted(piece - {peer})):
            known = self._near(inner)
            self.messages += 2 * len(known) + 1
            for other, delay in known.items():
                if other in self.parents and other not in piece:
                    key = heights[other] + delay, inner, other
                    best = key if best is None or key < best else best
            if best is not None:
                break
        if best is None:
            return
        _, at, above = best
        while at != peer:  # the way from the new top to the old one is turned around
            before = self.parents[at]
            self.parents[at] = above
            above = at
            assert before is not None
            at = before
        self.parents[peer] = above

    def _heights(self) -> dict[int, float]:
        """How far each peer is from the top of its piece of the tree."""
        delays = self._overlay.measured_ms
        found: dict[int, float] = {}
        for path in self._paths_up(found):
            for peer in path:
                above = self.parents[peer]
                found[peer] = 0.0 if above is None else found[above] + float(delays[peer, above])
        return found

    def _paths_up(self, known: Mapping[int, object]) -> Iterator[list[int]]:
        """For each peer that is not known yet, those on its way up that are not, the highest first."""
        for peer in self.parents:
            path, at = list[int](), cast("int | None", peer)
            while at is not None and at not in known:
                path.append(at)
                at = self.parents[at]
            if path:
                yield path[::-1]

    # -- events ------------------------------------------------------------------------------------------------

    def cost(self, first: int, last: int) -> tuple[float, int, int]:
        """The path delays of all deliveries of some events, how many these are, and how many had no way."""
        delays, interests = self._overlay.measured_ms, self._interests
        depth: dict[int, int] = {}
        for path in self._paths_up(depth):
            for peer in path:
                up = self.parents[peer]
                depth[peer] = 0 if up is None else depth[up] + 1
        total, deliveries, lost = 0.0, 0, 0
        here = np.array(sorted(self.parents))
        for row in range(first, last):
            publisher = int(here[int(interests.publishers[row]) % len(here)])
            for target in np.flatnonzero(interests.matches[row]).tolist():
                if target == publisher or target not in self.parents:
                    continue
                way = 0.0
                one, other = publisher, target
                while one != other:
                    if depth[one] < depth[other]:
                        one, other = other, one
                    above = self.parents[one]
                    if above is None:
                        break
                    way += float(delays[one, above])
                    one = above
                deliveries += 1
                if one == other:
                    total += way
                else:
                    lost += 1
        return total, deliveries, lost


def measure_changing(ground: str, peers: int, share: float, events: int, rebuild: int, seed: int) -> Found:
    """U10: after every 100 events a share of the peers is replaced; after every `rebuild` the tree is rebuilt."""
    step = 100
    replaced = max(1, round(share * peers)) if share else 0
    spare = replaced * (events // step)
    world = World.draw(ground, peers + spare, seed)
    rng = np.random.default_rng([seed, 10])
    overlay = Discovery(world, Options(degree=round(np.log2(peers)) * 2), rng)
    for peer in range(peers):
        overlay.join(peer)
    interests = Interests("WL2", peers + spare, events, seed)
    tree = ChangingTree(overlay, interests)
    costs: list[float] = []
    control: list[int] = []
    fresh, lost, deliveries = peers, 0, 0
    for number in range(events // step):
        before = tree.messages + overlay.joins + overlay.steps
        if number and number * step % rebuild == 0:
            tree.rebuild()
        if replaced and number:
            here = list(overlay.present)
            for peer in rng.choice(here, replaced, replace=False).tolist():
                tree.leave(peer)
            for peer in range(fresh, fresh + replaced):
                tree.join(peer)
            fresh += replaced
        total, delivered, broken = tree.cost(number * step, (number + 1) * step)
        costs.append(total / max(1, delivered - broken))
        control.append(tree.messages + overlay.joins + overlay.steps - before)
        lost += broken
        deliveries += delivered
    return {"costs": costs, "control": control, "lost": lost, "deliveries": deliveries, "rebuild_step": rebuild // step}
