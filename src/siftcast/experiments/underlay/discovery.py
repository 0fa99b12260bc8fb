"""The topology discovery overlay: peers are neighbours if nobody else lies on the way between them (section 4.4).

A newcomer asks any peer, which infers the route to it and compares that with the routes to its neighbours:

    case 1    a neighbour is before the newcomer           the neighbour goes on with the rest of the route
    case 2    the newcomer is before some neighbours       it takes their place, and they become its own
    case 3    neither                                      it becomes a neighbour

Then it walks over the overlay at random, and each peer that it visits and that finds it near enough does the same. The
repaired rules, each with its printed one as an option:

- Case 2 adopts *all* neighbours that lie beyond the newcomer. As printed it adopts one, and others stay beside a peer
  that lies before them (`adopts_all`).
- A peer at the router of the one that is asked is before everybody there. It is a neighbour and adopts nobody, or it
  would become the only one (`same_router_adopts`).
- The targets that a walk has left are dealt out without loss, to no more branches than there are targets left. As
  printed each branch gets the rounded part, so that targets get lost.

Everything here happens at once, and messages are counted.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

import numpy as np

from siftcast.experiments.underlay.routes import beyond, is_before, reverse
from siftcast.experiments.underlay.world import Route, World

_TRIES = 5


class Heuristic(Enum):
    """Which peers that a walk visits become targets."""

    WORST = "DWorst: nearer than the farthest neighbour"
    BEST = "DBest: nearer than the nearest neighbour"
    LINK = "MLink: nearer than the way of the walk"
    RANDOM = "TarRand: any peers"
    NEAREST = "the nearest of those visited"


@dataclass(frozen=True, slots=True)
class Options:
    """How an overlay is built."""

    heuristic: Heuristic = Heuristic.BEST
    degree: int | None = None
    """The most neighbours, beside the distant one; None is no limit."""
    targets: int = 10
    ttl: int = 100
    selectivity: float = 0.1
    places: bool = True
    """Whether newcomers are placed by routes; not so for DOnly."""
    distant: bool = True
    """Whether each peer keeps a link to a distant one, against partitions."""
    adopts_all: bool = True
    same_router_adopts: bool = False
    rounds_down: bool = False
    """Whether branches of a walk get the rounded part of the targets that are left, as printed."""
    merges_anonymous: bool = False


class Discovery:
    """An overlay, as it grows."""

    def __init__(self, world: World, options: Options, rng: np.random.Generator) -> None:
        self.world = world
        self.options = options
        self.near: list[dict[int, Route]] = [{} for _ in range(world.peers)]
        """The neighbours of each peer, and the routes to them."""
        self.distant: list[set[int]] = [set() for _ in range(world.peers)]
        self.present: dict[int, None] = {}
        self.inferences = 0
        self.joins = 0
        """Messages by which newcomers are handed on and connected."""
        self.steps = 0
        """Messages of walks."""
        self.rejoins = 0
        self._rng = rng

    # -- coming and going --------------------------------------------------------------------------------------

    def build(self) -> Discovery:
        """All peers join, in random order."""
        for peer in self._rng.permutation(self.world.peers).tolist():
            self.join(peer)
        return self

    def join(self, peer: int) -> None:
        """A peer comes through any other."""
        others = list(self.present)
        self.present[peer] = None
        if not others:
            return
        contact = others[int(self._rng.integers(len(others)))]
        self._place(contact, peer, self._infer(contact, peer))
        if self.options.distant:
            self._link_far(peer, others)
        self.walk(peer)

    def leave(self, peer: int) -> None:
        """A peer is gone; those left without neighbours join again, and those without a distant one find another."""
        del self.present[peer]
        near, distant = [*self.near[peer]], sorted(self.distant[peer])
        for other in near:
            del self.near[other][peer]
        for other in distant:
            self.distant[other].discard(peer)
        self.near[peer].clear()
        self.distant[peer].clear()
        if len(self.present) < 2:
            return
        for other in distant:
            if not self.distant[other]:
                self._link_far(other, [each for each in self.present if each != other])
        for other in near:
            self._rejoin(other)

    def _rejoin(self, peer: int) -> None:
        """A degree limit may send a peer away again at once, so it tries some others."""
        others = [each for each in self.present if each != peer]
        for contact in self._rng.permutation(others).tolist()[:_TRIES]:
            if self.near[peer]:
                return
            self.rejoins += 1
            self._place(contact, peer, self._infer(contact, peer))

    def _link_far(self, peer: int, others: list[int]) -> None:
        sample = self._rng.choice(others, min(10, len(others)), replace=False).tolist()
        far = max(sample, key=lambda other: self.world.delays_ms[peer, other])
        self.distant[peer].add(far)
        self.distant[far].add(peer)

    # -- walks -------------------------------------------------------------------------------------------------

    def walk(self, peer: int) -> None:
        """Finds targets for a peer that has joined."""
        heuristic, wanted = self.options.heuristic, self.options.targets
        if heuristic is Heuristic.RANDOM:
            others = [other for other in self.present if other != peer]
            for target in self._rng.choice(others, min(wanted, len(others)), replace=False).tolist():
                self._take(target, peer)
        elif heuristic is Heuristic.NEAREST:
            visited = dict.fromkeys(self._visits(peer, wanted))
            delays = self.world.delays_ms[peer]
            for target in sorted(visited, key=lambda other: delays[other])[:wanted]:
                self._take(target, peer)
        else:
            for _ in self._visits(peer, wanted):
                pass

    def _visits(self, peer: int, wanted: int) -> Iterable[int]:
        """The peers that a walk comes to, one after the other; those that find the walker near enough take it."""
        selects = self.options.heuristic is not Heuristic.NEAREST
        delays = self.world.delays_ms
        queue: deque[tuple[int, float, int, int]] = deque()
        for other, left in self._branches(peer, wanted):
            queue.append((other, float(delays[peer, other]), left, self.options.ttl))
        while queue:
            at, way_ms, left, ttl = queue.popleft()
            self.steps += 1
            ttl -= 1
            if at != peer and at in self.present:
                yield at
                if selects and peer not in self.near[at] and self._is_near_enough(at, peer, way_ms):
                    left -= 1
                    self._take(at, peer)
            if left > 0 and ttl > 0:
                for other, part in self._branches(at, left):
                    on_ms = way_ms + float(delays[at, other]) - 2 * float(self.world.last_miles_ms[at])
                    queue.append((other, on_ms, part, ttl))

    def _branches(self, peer: int, left: int) -> list[tuple[int, int]]:
        """To whom a walk goes on, and how many targets each branch may still find."""
        others = [*self.near[peer], *self.distant[peer]]
        if not others:
            return []
        share = max(1, round(self.options.selectivity * len(others)))
        count = share if self.options.rounds_down else min(share, left)
        if count == 1:  # nearly always, and ten times as fast
            chosen = [others[int(self._rng.random() * len(others))]]
        else:
            chosen = self._rng.choice(others, count, replace=False).tolist()
        if self.options.rounds_down:
            return [(other, left // count) for other in chosen if left // count]
        return [(other, left // count + (place < left % count)) for place, other in enumerate(chosen)]

    def _is_near_enough(self, at: int, peer: int, way_ms: float) -> bool:
        delay = self.world.delays_ms[at, peer]
        if self.options.heuristic is Heuristic.LINK:
            return bool(delay < way_ms)
        known = [self.world.delays_ms[at, other] for other in self.near[at]]
        if not known:
            return True
        return bool(delay < (max(known) if self.options.heuristic is Heuristic.WORST else min(known)))

    def _take(self, at: int, peer: int) -> None:
        if peer in self.near[at]:
            return
        if self.options.places:
            self._place(at, peer, self._infer(at, peer))
        else:
            self.joins += 1
            self._link(at, peer, self.world.route(at, peer))

    # -- places ------------------------------------------------------------------------------------------------

    def _infer(self, source: int, target: int) -> Route:
        self.inferences += 1
        return self.world.traced(source, target)

    def _place(self, at: int, peer: int, route: Route) -> None:
        """Cases 1 to 3, from one peer to the next."""
        merged, seen = self.options.merges_anonymous, {at}
        while True:
            self.joins += 1
            best: tuple[int, Route] | None = None
            for other, known in self.near[at].items():
                if other in seen or other == peer or (best is not None and len(known) <= len(best[1])):
                    continue
                if is_before(known, route, merged=merged):
                    best = other, known
            if best is None:
                break
            at, route = best[0], beyond(best[1], route)
            seen.add(at)
        if peer not in self.near[at]:
            self._link(at, peer, route)

    def _link(self, at: int, peer: int, route: Route) -> None:
        adopted = self._lying_beyond(at, peer, route) if self.options.places else []
        self._join_up(at, peer, route)
        for other, known in adopted:
            self._part(at, other)
            if other not in self.near[peer]:
                self.joins += 1
                self._join_up(peer, other, beyond(route, known))
        for each in (at, peer, *(other for other, _ in adopted)):
            self._keep_degree(each)

    def _lying_beyond(self, at: int, peer: int, route: Route) -> list[tuple[int, Route]]:
        if len(route) == 1 and not self.options.same_router_adopts:
            return []
        merged = self.options.merges_anonymous
        found = [
            (other, known)
            for other, known in self.near[at].items()
            if other != peer and is_before(route, known, merged=merged)
        ]
        return found if self.options.adopts_all else found[:1]

    def _join_up(self, one: int, other: int, route: Route) -> None:
        self.near[one][other] = route
        self.near[other][one] = reverse(route)

    def _part(self, one: int, other: int) -> None:
        del self.near[one][other]
        del self.near[other][one]

    def _keep_degree(self, peer: int) -> None:
        limit = self.options.degree
        while limit is not None and len(self.near[peer]) > limit:
            delays = self.world.delays_ms[peer]
            self._part(peer, max(self.near[peer], key=lambda other: delays[other]))

    # -- what came out -----------------------------------------------------------------------------------------

    def links(self) -> set[tuple[int, int]]:
        """All links between peers, each once."""
        found = {(min(one, other), max(one, other)) for one, each in enumerate(self.near) for other in each}
        return found | {(min(one, other), max(one, other)) for one, each in enumerate(self.distant) for other in each}
