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
  printed each branch gets the rounded part, so that targets get lost; rounded up, walks find too many and hardly end
  (`rounding`).

Where routes cannot be had, the triangle of delays says who is on the way (`Placing.TRIANGLE`, `routes.is_between`).
What peers decide by are the delays they have measured, which may differ from the true ones.

Everything here happens at once, and messages are counted.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

import numpy as np

from siftcast.experiments.underlay.routes import Merging, beyond, is_before, is_between, reverse
from siftcast.experiments.underlay.world import Floats, Matrix, Route, World

_TRIES = 5
_STEPS_MAX = 5_000
"""After so many steps a walk is stopped; only those whose targets are rounded up come so far."""


class Heuristic(Enum):
    """Which peers that a walk visits become targets."""

    WORST = "DWorst: nearer than the farthest neighbour"
    BEST = "DBest: nearer than the nearest neighbour"
    LINK = "MLink: nearer than the way of the walk"
    RANDOM = "TarRand: any peers"
    NEAREST = "the nearest of those visited"


class Placing(Enum):
    """By what newcomers are placed."""

    ROUTES = "inferred routes"
    TRIANGLE = "the triangle of delays"
    NOT = "not at all, as DOnly"


class Rounding(Enum):
    """How the targets of a walk are dealt out to its branches."""

    EXACT = "without loss"
    DOWN = "each the rounded part, as printed"
    UP = "each the part rounded up"


@dataclass(frozen=True, slots=True)
class Options:
    """How an overlay is built."""

    heuristic: Heuristic = Heuristic.BEST
    degree: int | None = None
    """The most neighbours, beside the distant one; None is no limit."""
    targets: int = 10
    ttl: int = 100
    selectivity: float = 0.1
    placing: Placing = Placing.ROUTES
    slack: float = 0.1
    """How much longer than direct the way over a peer may be that counts as on the way, by the triangle of delays."""
    distant: bool = True
    """Whether each peer keeps a link to a distant one, against partitions."""
    adopts_all: bool = True
    same_router_adopts: bool = False
    rounding: Rounding = Rounding.EXACT
    merging: Merging = Merging.NOT


class Discovery:
    """An overlay, as it grows."""

    def __init__(
        self,
        world: World | Matrix,
        options: Options,
        rng: np.random.Generator,
        *,
        measured_ms: Floats | None = None,
    ) -> None:
        self.world = world
        self.options = options
        self.measured_ms = world.delays_ms if measured_ms is None else measured_ms
        """The delays that peers decide by."""
        self.near: list[dict[int, Route]] = [{} for _ in range(world.peers)]
        """The neighbours of each peer, and the routes to them; empty ones where nobody is placed by routes."""
        self.distant: list[set[int]] = [set() for _ in range(world.peers)]
        self.present: dict[int, None] = {}
        self.inferred = [0] * world.peers
        """Routes inferred to each peer, as it joins and walks."""
        self.walks = [0] * world.peers
        self.rejoined = [0] * world.peers
        self.probed: set[tuple[int, int]] = set()
        """Pairs of peers whose delay was measured."""
        self.joins = 0
        """Messages by which newcomers are handed on and connected."""
        self.steps = 0
        """Messages of walks."""
        self.endless = 0
        """Walks that had to be stopped."""
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
        self._bring(contact, peer)
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
            self.rejoined[peer] += 1
            self._bring(contact, peer)

    def _link_far(self, peer: int, others: list[int]) -> None:
        sample = self._rng.choice(others, min(10, len(others)), replace=False).tolist()
        far = max(sample, key=lambda other: self.measured_ms[peer, other])
        self.distant[peer].add(far)
        self.distant[far].add(peer)

    # -- walks -------------------------------------------------------------------------------------------------

    def walk(self, peer: int) -> None:
        """Finds targets for a peer that has joined."""
        heuristic, wanted = self.options.heuristic, self.options.targets
        self.walks[peer] += 1
        if heuristic is Heuristic.RANDOM:
            others = [other for other in self.present if other != peer]
            for target in self._rng.choice(others, min(wanted, len(others)), replace=False).tolist():
                self._take(target, peer)
        elif heuristic is Heuristic.NEAREST:
            visited = dict.fromkeys(self._visits(peer, wanted))
            delays = self.measured_ms[peer]
            for target in sorted(visited, key=lambda other: delays[other])[:wanted]:
                self._take(target, peer)
        else:
            for _ in self._visits(peer, wanted):
                pass

    def _visits(self, peer: int, wanted: int) -> Iterable[int]:
        """The peers that a walk comes to, one after the other; those that find the walker near enough take it."""
        selects = self.options.heuristic is not Heuristic.NEAREST
        delays, before = self.measured_ms, self.steps
        queue: deque[tuple[int, float, int, int]] = deque()
        for other, left in self._branches(peer, wanted):
            queue.append((other, float(delays[peer, other]), left, self.options.ttl))
        while queue:
            at, way_ms, left, ttl = queue.popleft()
            self.steps += 1
            if self.steps - before > _STEPS_MAX:
                self.endless += 1
                return
            ttl -= 1
            if at != peer and at in self.present:
                self.probed.add((at, peer))
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
        rounding = self.options.rounding
        count = min(share, left) if rounding is Rounding.EXACT else share
        if count == 1:  # nearly always, and ten times as fast
            chosen = [others[int(self._rng.random() * len(others))]]
        else:
            chosen = self._rng.choice(others, count, replace=False).tolist()
        if rounding is not Rounding.EXACT:
            part = left // count if rounding is Rounding.DOWN else -(-left // count)
            return [(other, part) for other in chosen if part]
        return [(other, left // count + (place < left % count)) for place, other in enumerate(chosen)]

    def _is_near_enough(self, at: int, peer: int, way_ms: float) -> bool:
        delay = self.measured_ms[at, peer]
        if self.options.heuristic is Heuristic.LINK:
            return bool(delay < way_ms)
        known = [self.measured_ms[at, other] for other in self.near[at]]
        if not known:
            return True
        return bool(delay < (max(known) if self.options.heuristic is Heuristic.WORST else min(known)))

    def _take(self, at: int, peer: int) -> None:
        if peer not in self.near[at]:
            self._bring(at, peer)

    # -- places ------------------------------------------------------------------------------------------------

    def _bring(self, at: int, peer: int) -> None:
        """A peer is connected to another, or to whoever lies between the two."""
        self.probed.add((at, peer))
        match self.options.placing:
            case Placing.ROUTES:
                self._place(at, peer, self._infer(at, peer))
            case Placing.TRIANGLE:
                self._place(at, peer, ())
            case Placing.NOT:
                self.joins += 1
                self._link(at, peer, ())

    def _infer(self, source: int, target: int) -> Route:
        assert isinstance(self.world, World), "there are no routes in a matrix of delays"
        self.inferred[target] += 1
        return self.world.traced(source, target)

    def _place(self, at: int, peer: int, route: Route) -> None:
        """Cases 1 to 3, from one peer to the next; nobody is asked twice, so that a circle ends."""
        seen = {at}
        while True:
            self.joins += 1
            best: tuple[float, int, Route] | None = None
            for other, known in self.near[at].items():
                if other in seen or other == peer:
                    continue
                depth = float(len(known)) or float(self.measured_ms[at, other])
                if (best is None or depth > best[0]) and self._lies_before(at, other, known, peer, route):
                    best = depth, other, known
            if best is None:
                break
            at, route = best[1], beyond(best[2], route)
            seen.add(at)
        if peer not in self.near[at]:
            self._link(at, peer, route)

    def _lies_before(self, at: int, near: int, known: Route, far: int, route: Route) -> bool:
        """Whether one peer is on the way from here to another."""
        if self.options.placing is Placing.TRIANGLE:
            self.probed.add((near, far))
            return is_between(self.measured_ms, at, near, far, self.options.slack)
        return is_before(known, route, self.options.merging)

    def _link(self, at: int, peer: int, route: Route) -> None:
        adopted = self._lying_beyond(at, peer, route)
        self._join_up(at, peer, route)
        for other, known in adopted:
            self._part(at, other)
            if other not in self.near[peer]:
                self.joins += 1
                self._join_up(peer, other, beyond(route, known))
        for each in (at, peer, *(other for other, _ in adopted)):
            self._keep_degree(each)

    def _lying_beyond(self, at: int, peer: int, route: Route) -> list[tuple[int, Route]]:
        """Case 2: the neighbours that a newcomer takes over."""
        if self.options.placing is Placing.NOT or (len(route) == 1 and not self.options.same_router_adopts):
            return []
        found = [
            (other, known)
            for other, known in self.near[at].items()
            if other != peer and self._lies_before(at, peer, route, other, known)
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
            delays = self.measured_ms[peer]
            self._part(peer, max(self.near[peer], key=lambda other: delays[other]))

    # -- what came out -----------------------------------------------------------------------------------------

    @property
    def inferences(self) -> int:
        """All routes inferred."""
        return sum(self.inferred)

    @property
    def rejoins(self) -> int:
        """How often peers have joined again."""
        return sum(self.rejoined)

    def greedy_peers(self) -> int:
        """Peers for which more was inferred than k_L routes for each walk, one to join and one for each time again."""
        limit = self.options.targets
        return sum(
            inferred > limit * walks + 1 + again
            for inferred, walks, again in zip(self.inferred, self.walks, self.rejoined, strict=True)
        )

    def links(self, *, distant: bool = True) -> set[tuple[int, int]]:
        """All links between peers, each once; those to distant peers too, unless they are not wanted."""
        kept = (self.near, self.distant) if distant else (self.near,)
        return {
            (min(one, other), max(one, other)) for each in kept for one, known in enumerate(each) for other in known
        }
