"""Random walks over the overlay, by which a peer finds its targets (thesis, section 4.4.2 and Algorithm 7).

    walker ──Walk──▶ a ──Walk──▶ b ──Walk──▶ …      up to `ttl` peers on each branch
       ◀──Visited───┘ ◀──Visited─┘                  how far each is

A peer passes a walk on to a share σ of its neighbours, drawn at random. Branches divide what is left of the targets
without loss, and there are no more of them than targets are left. As printed each branch gets the rounded part, which
loses targets; rounded up, a walk would never end.

Whether a visited peer becomes a target is for the heuristic. With DBest, DWorst and MLink the peer that is visited says
so itself, and places the walker among its neighbours at once (`chosen`). With ours, `nearest`, the walker hears of all
and turns to the nearest: a target costs an inference, and a visit but a measurement.

A walk is over when its branches have ended, or nothing was heard of it for a while (`visits` are complete).

Cost: `ttl` steps for each branch; each visited peer measures the delay to the walker and says it, or with coordinates
says where it is, and the walker measures a few.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from siftcast.overlays.contract import Effect, NodeId, SendMessage
from siftcast.overlays.discovery.links import Links
from siftcast.overlays.discovery.messages import Place, Visited, Walk
from siftcast.overlays.discovery.options import DiscoveryOptions
from siftcast.overlays.discovery.questions import Questions, Visit
from siftcast.overlays.discovery.whereabouts import Whereabouts
from siftcast.space.coordinates import Coordinate

_STEPS_MAX = 1_000
"""What a walk of a stranger may ask for."""


@dataclass(frozen=True, slots=True)
class Sight:
    """A peer that a walk has visited: how far it is, if that was measured, and where it says it is."""

    delay_ms: float | None
    coordinate: Coordinate


class Walking:
    """The walks that one peer makes, and those that visit it."""

    __slots__ = (
        "_here",
        "_last_left",
        "_links",
        "_node",
        "_number",
        "_options",
        "_questions",
        "_random",
        "_until_ms",
        "chosen",
        "seen",
        "steps",
    )  # fmt: skip

    def __init__(
        self,
        node: NodeId,
        options: DiscoveryOptions,
        *,
        links: Links,
        questions: Questions,
        here: Whereabouts,
        random: Random,
    ) -> None:
        self.chosen: list[Place] = []
        """Walkers that this peer is a target of; the host takes them out."""
        self.seen: dict[NodeId, Sight] = {}
        """Whom the own walk has visited."""
        self.steps = 0
        """How often walks of others came by."""
        self._node = node
        self._options = options
        self._links = links
        self._questions = questions
        self._here = here
        self._random = random
        self._number = 0
        self._last_left = 0
        self._until_ms: float | None = None

    @property
    def is_open(self) -> bool:
        """Whether the own walk may still visit somebody."""
        return self._until_ms is not None

    @property
    def begun(self) -> int:
        """How many own walks there were."""
        return self._number

    # -- the own walk --------------------------------------------------------------------------------------

    def begin(self, now: float) -> list[Effect]:
        """Sets out; a walk that has not ended is forgotten."""
        self._number += 1
        self.seen = {}
        effects: list[Effect] = []
        self._last_left = 0
        for peer, left in self._branches(self._options.targets):
            delay_ms = self._links.delays_ms[peer]
            walk = Walk(self._node, self._number, self._here.place, delay_ms, left, self._options.ttl)
            effects.append(SendMessage(walk, (peer,)))
            self._last_left += left
        self._until_ms = now + self._options.request_ms if effects else None
        return effects

    def handle_visited(self, sender: NodeId, message: Visited, coordinate: Coordinate, now: float) -> None:
        """A peer was visited."""
        if message.number != self._number or self._until_ms is None:
            return
        known = self.seen.get(sender)
        if known is None or message.delay_ms is not None:
            self.seen[sender] = Sight(message.delay_ms, coordinate)
        self._until_ms = now + self._options.request_ms
        self._last_left -= message.ended

    def is_over(self, now: float) -> bool:
        """Whether the own walk has just ended; said once."""
        if self._until_ms is None or (self._last_left > 0 and self._until_ms > now):
            return False
        self._until_ms = None
        return True

    # -- being visited -------------------------------------------------------------------------------------

    def handle_walk(self, walk: Walk, now: float) -> list[Effect]:
        """A walk comes by."""
        if not (0 < walk.ttl <= _STEPS_MAX and 0 < walk.left <= _STEPS_MAX):
            return []
        self.steps += 1
        options, walker = self._options, walk.walker
        if walker == self._node:
            effects, ended = self._pass_on(walk, walk.left)
            if walk.number == self._number:
                self._last_left -= ended
            return effects
        if options.heuristic != "nearest":
            known_ms = self._questions.known_ms(walker, now)
            return self._questions.ask(walker, Visit(walk)) if known_ms is None else self._decide(walk, known_ms)
        # Nothing is decided here, so the walk need not wait for a measurement.
        effects, ended = self._pass_on(walk, walk.left)
        known_ms = self._questions.known_ms(walker, now)
        if options.source == "probes" and known_ms is None:
            return [*effects, *self._questions.ask(walker, Visit(walk, ended))]
        return [*effects, self._report(walk, known_ms, ended)]

    def measured(self, visit: Visit, delay_ms: float | None) -> list[Effect]:
        """The delay to a walker is known; a walker that does not answer is gone, and so is its walk."""
        if delay_ms is None:
            return []
        if visit.ended is None:
            return self._decide(visit.walk, delay_ms)
        return [self._report(visit.walk, delay_ms, visit.ended)]

    def _decide(self, walk: Walk, delay_ms: float) -> list[Effect]:
        left = walk.left
        if self._is_near_enough(walk.walker, delay_ms, walk.way_ms):
            left -= 1
            self.chosen.append(Place(walk.walker, walk.place, delay_ms=delay_ms))
        effects, ended = self._pass_on(walk, left)
        return [*effects, self._report(walk, delay_ms, ended + walk.left - left)]

    def _is_near_enough(self, walker: NodeId, delay_ms: float, way_ms: float) -> bool:
        if walker in self._links.near:
            return False
        if self._options.heuristic == "link":
            return delay_ms < way_ms
        known = [near.delay_ms for near in self._links.near.values()]
        if not known:
            return True
        return delay_ms < (max(known) if self._options.heuristic == "worst" else min(known))

    # -- going on ------------------------------------------------------------------------------------------

    def _pass_on(self, walk: Walk, left: int) -> tuple[list[Effect], int]:
        """Sends a walk on; and how many targets are not pursued any more because it ends here."""
        if left == 0 or walk.ttl == 1:
            return [], left
        effects: list[Effect] = []
        delays_ms = self._links.delays_ms
        for peer, share in self._branches(left):
            way_ms = walk.way_ms + delays_ms[peer] - 2 * self._here.last_mile_ms
            onward = Walk(walk.walker, walk.number, walk.place, way_ms, share, walk.ttl - 1)
            effects.append(SendMessage(onward, (peer,)))
        return effects, 0 if effects else left

    def _branches(self, left: int) -> list[tuple[NodeId, int]]:
        """To whom a walk goes on, and how many targets each branch may still find."""
        others = list(self._links.delays_ms)
        if not others:
            return []
        count = min(max(1, round(self._options.selectivity * len(others))), left)
        chosen = self._random.sample(others, count)
        return [(peer, left // count + (place < left % count)) for place, peer in enumerate(chosen)]

    def _report(self, walk: Walk, delay_ms: float | None, ended: int) -> Effect:
        return SendMessage(Visited(walk.number, self._here.place, delay_ms, ended), (walk.walker,))
