"""What becomes of a walk: the nearest of those it has visited become targets, and a far one the distant neighbour.

With `source = "probes"` the visited peers have measured how far the walker is. With `"coordinates"` they only say where
they are. Then the walker measures `targets` of them, drawn at random, moves until it fits these, predicts the delays to
the rest, measures the `targets` that are nearest by that, and takes the best of all it has measured. So a walk costs
2 k_L measurements whatever its length; what is predicted chooses whom to measure, and decides nothing.

The distant neighbour is the farthest of a few drawn at random: the farthest of all would be the same for everybody. One
that has no room for it (`DISTANT_MAX`) is followed by the next. Who loses it does not wait for the next walk, but asks
one of the random view after the other: until then its neighbourhood may be cut off from all others. And when it walks
again it takes another one from there: of neighbourhoods that have lost each other, each would go on to walk within
itself, but the random view knows peers of all.

With `heuristic = "random"` there is no walk, and targets come from the random view.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Literal

from siftcast.overlays.contract import Effect, NodeId, SendMessage
from siftcast.overlays.discovery.agreeing import Agreeing
from siftcast.overlays.discovery.links import Links
from siftcast.overlays.discovery.messages import LinkRequest, Place
from siftcast.overlays.discovery.options import DiscoveryOptions
from siftcast.overlays.discovery.questions import Candidate, Questions, Suitor
from siftcast.overlays.discovery.walking import Sight
from siftcast.overlays.discovery.whereabouts import Whereabouts
from siftcast.overlays.membership.random_view import RandomView

_FAR_AMONG = 10


class Aiming:
    """The targets of one peer, and its distant neighbour."""

    __slots__ = (
        "_agreeing",
        "_here",
        "_links",
        "_measured",
        "_node",
        "_options",
        "_questions",
        "_random",
        "_renews",
        "_sample",
        "_seen",
        "_stage",
        "_suitors",
    )

    def __init__(
        self,
        node: NodeId,
        options: DiscoveryOptions,
        *,
        links: Links,
        questions: Questions,
        agreeing: Agreeing,
        sample: RandomView,
        here: Whereabouts,
        random: Random,
    ) -> None:
        self._node = node
        self._options = options
        self._links = links
        self._questions = questions
        self._agreeing = agreeing
        self._sample = sample
        self._here = here
        self._random = random
        self._seen: Mapping[NodeId, Sight] = {}
        self._measured: dict[NodeId, float | None] = {}
        self._stage: Literal["idle", "locating", "choosing"] = "idle"
        self._suitors: list[tuple[float, NodeId]] = []  # the next one last
        self._renews = False

    def __bool__(self) -> bool:
        return self._stage != "idle"

    # -- targets -------------------------------------------------------------------------------------------

    def begin(self, seen: Mapping[NodeId, Sight], now: float) -> list[Effect]:
        """A walk is over."""
        self._seen, options = seen, self._options
        effects = self._look_far(now)
        if options.heuristic != "nearest":
            return effects
        if options.source == "probes":
            return effects + self._aim({peer: sight.delay_ms for peer, sight in seen.items()})
        self._stage, self._measured = "locating", {}
        return effects + self._measure(self._random.sample(list(seen), min(options.targets, len(seen))))

    def begin_at_random(self) -> list[Effect]:
        """Takes targets from the random view."""
        return [self._ask_for_place(peer) for peer in self._sample.sample(self._options.targets)]

    def handle_candidate(self, peer: NodeId, delay_ms: float | None) -> list[Effect]:
        """A peer that was visited is measured."""
        if peer in self._measured:
            self._measured[peer] = delay_ms if delay_ms is not None else float("inf")
        return self._go_on()

    def _measure(self, peers: list[NodeId]) -> list[Effect]:
        effects: list[Effect] = []
        for peer in peers:
            self._measured[peer] = None
            effects += self._questions.ask(peer, Candidate())
        return effects or self._go_on()

    def _go_on(self) -> list[Effect]:
        if not self or None in self._measured.values():
            return []
        known = {peer: ms for peer, ms in self._measured.items() if ms is not None and ms < float("inf")}
        if self._stage == "choosing":
            self._stage = "idle"
            return self._aim(known)
        self._stage = "choosing"
        self._here.settle_among((self._seen[peer].coordinate, delay_ms) for peer, delay_ms in known.items())
        others = sorted((self._guess_ms(peer), peer) for peer in self._seen if peer not in self._measured)
        return self._measure([peer for _, peer in others[: self._options.targets]])

    def _guess_ms(self, peer: NodeId) -> float:
        sight = self._seen[peer]
        return self._here.coordinate.delay_ms(sight.coordinate) if sight.delay_ms is None else sight.delay_ms

    def _aim(self, delays_ms: Mapping[NodeId, float | None]) -> list[Effect]:
        """Has the nearest ones find a place."""
        measured = sorted((delay_ms, peer) for peer, delay_ms in delays_ms.items() if delay_ms is not None)
        nearest = [peer for _, peer in measured[: self._options.targets]]
        return [self._ask_for_place(peer) for peer in nearest if peer not in self._links.near]

    def _ask_for_place(self, peer: NodeId) -> Effect:
        return SendMessage(Place(self._node, self._here.place), (peer,))

    # -- the distant neighbour -----------------------------------------------------------------------------

    def _look_far(self, now: float) -> list[Effect]:
        """Looks for a distant neighbour among those that a walk has just seen."""
        if not self._links.needs_distant:
            return []
        near, random = self._links.near, self._random
        seen = [peer for peer in self._seen if peer not in near]
        chosen = random.sample(seen, min(_FAR_AMONG, len(seen)))
        self._suitors = sorted((self._guess_ms(peer), peer) for peer in chosen)
        return self.court(now)

    def court(self, now: float) -> list[Effect]:
        """Asks the farthest one that was not asked yet to be the distant neighbour; later on, any that is sampled."""
        if not (self._options.has_distant and (self._links.needs_distant or self._renews)):
            return []
        if self._suitors:
            delay_ms, peer = self._suitors.pop()
            self._renews = False
            request = LinkRequest(self._here.place, delay_ms, distant=True)
            return self._agreeing.ask(peer, request, None, now)
        found = self._sample.sample(1, self._links.delays_ms)
        return self._questions.ask(found[0], Suitor()) if found and found[0] not in self._questions else []

    def renew(self, now: float) -> list[Effect]:
        """Looks for another distant neighbour, among all."""
        self._suitors, self._renews = [], True
        return self.court(now)

    def handle_suitor(self, peer: NodeId, delay_ms: float | None, now: float) -> list[Effect]:
        """One of the random view is measured."""
        if delay_ms is None:
            return []
        self._suitors.append((delay_ms, peer))
        return self.court(now)
