"""How one peer finds its neighbours on the ground: the parts of the overlay, joined.

    Place ─────────────▶ Placing ─── placed ──▶ an offer ─▶ Agreeing ─▶ Links
    Walk, Visited ─────▶ Walking ─── chosen ──▶ Placing       ▲
                            └─ seen ─▶ Aiming ────────────────┘ whom to ask for a place, and the distant neighbour
    Census, Tree… ─────▶ Forest ──── edges ───▶ Agreeing        where there are landmarks
    without a place ───▶ Entering

The parts know nothing of each other, but that they share the links, the questions that are open and where the peer is;
what one finds out that another needs passes here (`settle`). Who is watched, and who is silent, is its owner's affair.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from random import Random
from typing import Any

from siftcast.overlays.contract import Effect, Message, NodeId, RouteInferred, SendMessage
from siftcast.overlays.discovery.agreeing import Agreeing
from siftcast.overlays.discovery.aiming import Aiming
from siftcast.overlays.discovery.entering import Entering
from siftcast.overlays.discovery.forest import Forest
from siftcast.overlays.discovery.links import Links
from siftcast.overlays.discovery.messages import (
    TREE_MESSAGES,
    Census,
    DiscoveryMessage,
    DistanceAnswer,
    DistanceRequest,
    LinkAnswer,
    LinkRequest,
    Part,
    Place,
    Standing,
    Visited,
    Walk,
    coordinate_of,
    is_delay,
)
from siftcast.overlays.discovery.options import DiscoveryOptions
from siftcast.overlays.discovery.placing import Placed, Placing
from siftcast.overlays.discovery.questions import (
    Adoption,
    Candidate,
    Edge,
    Errand,
    Placement,
    Questions,
    Reason,
    Suitor,
    Upkeep,
    Visit,
)
from siftcast.overlays.discovery.routes import reverse
from siftcast.overlays.discovery.walking import Walking
from siftcast.overlays.discovery.whereabouts import Whereabouts
from siftcast.overlays.membership.random_view import RandomView


class Neighbourhood:
    """The neighbours of one peer, and how it comes to them."""

    __slots__ = (
        "_aiming",
        "_entering",
        "_fewest",
        "_forest",
        "_node",
        "_options",
        "_placing",
        "_random",
        "_sample",
        "_walking",
        "_wants_walk",
        "agreeing",
        "here",
        "links",
        "questions",
    )

    def __init__(self, node: NodeId, options: DiscoveryOptions, sample: RandomView, random: Random) -> None:
        has_trees = options.heuristic == "landmarks"
        self.here = here = Whereabouts(random)
        self.links = links = Links(node, 0 if has_trees else options.degree)
        self.questions = questions = Questions()
        self.agreeing = agreeing = Agreeing(links, questions, here, options.request_ms)
        self._node = node
        self._options = options
        self._sample = sample
        self._random = random
        self._placing = Placing(node, options, links, questions)
        self._walking = Walking(node, options, links=links, questions=questions, here=here, random=random)
        self._aiming = Aiming(
            node,
            options,
            links=links,
            questions=questions,
            agreeing=agreeing,
            sample=sample,
            here=here,
            random=random,
        )
        self._forest = (
            Forest(node, options, links=links, questions=questions, agreeing=agreeing, here=here) if has_trees else None
        )
        self._entering = Entering(node, links, sample, options.request_ms)
        self._wants_walk = True
        self._fewest = min(options.targets, options.sample.size)  # names that a walk at random waits for, at first

    @property
    def is_settled(self) -> bool:
        """Whether the peer has its place, no walk is out, and nobody still has to answer it."""
        if self._placing or self.agreeing or self.questions or self._walking.is_open or self._aiming:
            return False
        return self._entering.is_settled and (self._forest is None or self._forest.is_settled)

    def facts(self) -> Mapping[str, Any]:
        """What discovery has cost and found, for `Protocol.state`."""
        trees = None if self._forest is None else self._forest.trees
        found: dict[str, Any] = {
            "distant": tuple(sorted(self.links.distant_only)),
            "routes": sum(near.route is not None for near in self.links.near.values()),
            "inferences": self._placing.inferences + (0 if trees is None else trees.inferences),
            "measurements": self.questions.measured,
            "placings": self._placing.steps + (0 if trees is None else trees.steps),
            "walks": self._walking.begun,
            "steps": self._walking.steps,
            "rejoins": self._entering.rejoins + (0 if trees is None else trees.rejoins),
            "coordinate": self.here.place,
        }
        if self._forest is not None:
            found |= {
                "size": self._forest.size,
                "landmarks": self._forest.landmarks,
                "parents": tuple(sorted(self._forest.trees.parents().items())),
            }
        return found

    # -- coming and going ----------------------------------------------------------------------------------

    def start(self, contacts: Iterable[NodeId]) -> tuple[NodeId, ...]:
        """Begins with the contacts."""
        return self._entering.start(contacts)

    def add_contacts(self, contacts: Iterable[NodeId]) -> None:
        """There are further contacts."""
        self._entering.add(contacts)

    def leave(self) -> list[Effect]:
        """Says goodbye to all neighbours."""
        self._entering.give_up()
        return self.links.leave()

    def lose(self, peer: NodeId, now: float) -> list[Effect]:
        """A peer cannot be reached."""
        self._sample.forget(peer)
        self.agreeing.forget(peer)
        effects = self.links.lose(peer)
        return effects if self._forest is None else effects + self._forest.lose(peer, now)

    def forget(self, peer: NodeId, now: float) -> list[Effect]:
        """A peer does not come back."""
        self._entering.forget(peer)
        return self.lose(peer, now) + self.links.forget(peer)

    def drop(self, peer: NodeId) -> list[Effect]:
        """A neighbour says that it is none."""
        self._entering.deny(peer)
        return self.links.drop(peer)

    def find(self, peer: NodeId, now: float) -> list[Effect]:
        """A peer can be reached: one that was a neighbour is asked to be one again."""
        former = self.links.former.get(peer)
        if former is None or peer in self.agreeing:
            self._entering.found(peer)
            return []
        self._sample.add(peer)
        back = None if former.route is None else reverse(former.route)
        request = LinkRequest(self.here.place, former.delay_ms, back, urgent=True)
        return self.agreeing.ask(peer, request, former.route, now)

    def _offer(self, placed: Placed, now: float) -> list[Effect]:
        """A newcomer has its place here, if there is room."""
        request, newcomer = placed.request, placed.request.newcomer
        place = self.here.place
        is_known = newcomer in self.links.near
        if not (is_known or request.urgent or self.links.has_room(placed.delay_ms)):
            if not request.entering:
                return []
            return [SendMessage(LinkAnswer(place, False, self.links.names(newcomer)), (newcomer,))]
        offer = LinkRequest(
            place,
            placed.delay_ms,
            None if placed.route is None else reverse(placed.route),
            placed.adopted,
            urgent=request.urgent,
            entering=request.entering,
        )
        return self.agreeing.ask(newcomer, offer, placed.route, now)

    # -- what others say -----------------------------------------------------------------------------------

    def handle_message(self, sender: NodeId, message: Message, now: float) -> list[Effect]:
        """Takes in one of `DISCOVERY_MESSAGES`."""
        return _HANDLERS[type(message)](self, sender, message, now)

    def _on_place(self, sender: NodeId, message: Place, now: float) -> list[Effect]:
        self._sample.add(message.newcomer)
        if message.delay_ms is not None and not is_delay(message.delay_ms):
            return []
        return self._placing.begin(message, now)

    def _on_request(self, sender: NodeId, message: LinkRequest, now: float) -> list[Effect]:
        if message.entering:
            self._entering.enter(sender)
        self.here.locate(message.place, message.delay_ms)
        return self.agreeing.handle_request(sender, message)

    def _on_answer(self, sender: NodeId, message: LinkAnswer, now: float) -> list[Effect]:
        effects, request = self.agreeing.handle_answer(sender, message)
        for name in message.peers:
            self._sample.add(name)
        if request is None:
            if not message.accepted:
                self._entering.refused()
        elif request.distant and not message.accepted:
            effects += self._aiming.court(now)
        return effects

    def _on_part(self, sender: NodeId, message: Part, now: float) -> list[Effect]:
        for name in message.peers:
            self._sample.add(name)
        if message.leaving:
            return self.forget(sender, now)
        return self.links.drop(sender)

    def _on_tree(self, sender: NodeId, message: DiscoveryMessage, now: float) -> list[Effect]:
        return [] if self._forest is None else self._forest.handle_message(sender, message, now)

    # -- walks -----------------------------------------------------------------------------------------

    def _walk(self, now: float) -> list[Effect]:
        """Looks for targets, if it is time."""
        if not (self._wants_walk and self._entering.has_entered and self.links.near):
            return []
        if self._options.heuristic == "random" and len(self._sample) < self._fewest:
            return []  # a young random view holds a name or two
        self._wants_walk, self._fewest = False, 0
        if self._options.heuristic == "landmarks":
            return []
        if self._options.heuristic == "random":
            return self._aiming.begin_at_random()
        return self._walking.begin(now)

    def _on_walk(self, sender: NodeId, message: Walk, now: float) -> list[Effect]:
        return self._walking.handle_walk(message, now)

    def _on_visited(self, sender: NodeId, message: Visited, now: float) -> list[Effect]:
        if message.delay_ms is not None and not is_delay(message.delay_ms):
            return []
        self.here.locate(message.place, message.delay_ms)
        self._walking.handle_visited(sender, message, coordinate_of(message.place), now)
        return []

    # -- measuring -----------------------------------------------------------------------------------------

    def handle_delay(self, peer: NodeId, delay_ms: float | None, now: float) -> list[Effect]:
        """A delay was measured, or cannot be."""
        effects: list[Effect] = []
        for reason in self.questions.answer(peer, delay_ms, now):
            effects += self._answer(peer, reason, delay_ms, now)
        return effects

    def handle_route(self, inferred: RouteInferred, now: float) -> list[Effect]:
        """A route was inferred, or cannot be."""
        self.here.learn(inferred)
        effects = self._placing.handle_route(inferred, now)
        return effects if self._forest is None else effects + self._forest.handle_route(inferred)

    def _answer(self, peer: NodeId, reason: Reason, delay_ms: float | None, now: float) -> list[Effect]:
        """A measurement was made for some reason."""
        match reason:
            case Visit(walk):
                self.here.locate(walk.place, delay_ms)
                return self._walking.measured(reason, delay_ms)
            case Placement():
                return self._placing.handle_delay(peer, delay_ms, now)
            case Errand(asker):
                return [SendMessage(DistanceAnswer(peer, delay_ms), (asker,))]
            case Adoption():
                return self.agreeing.adopt(peer, reason, delay_ms, now)
            case Suitor():
                return self._aiming.handle_suitor(peer, delay_ms, now)
            case Candidate():
                return self._aiming.handle_candidate(peer, delay_ms)
            case Edge():
                return [] if self._forest is None else self._forest.handle_edge(peer, delay_ms, now)
            case Upkeep():
                if delay_ms is not None:
                    self.links.measured(peer, delay_ms)
        return []

    def _on_distance_request(self, sender: NodeId, message: DistanceRequest, now: float) -> list[Effect]:
        subject = message.subject
        if subject == self._node:
            return []
        known_ms = self.questions.known_ms(subject, now)
        if known_ms is None and subject in self.links:
            known_ms = self.links.delays_ms[subject]
        if known_ms is not None:
            return [SendMessage(DistanceAnswer(subject, known_ms), (sender,))]
        return self.questions.ask(subject, Errand(sender))

    def _on_distance_answer(self, sender: NodeId, message: DistanceAnswer, now: float) -> list[Effect]:
        delay_ms = message.delay_ms if is_delay(message.delay_ms) else None
        return self._placing.handle_distance(sender, message.subject, delay_ms, now)

    def _on_standing(self, sender: NodeId, message: Standing, now: float) -> list[Effect]:
        self.here.locate(message.place, self.links.delays_ms.get(sender))
        return []

    # -- time passes ---------------------------------------------------------------------------------------

    def tick(self, now: float) -> list[Effect]:
        """Who has not answered in time is not waited for."""
        self.agreeing.expire(now)
        self._entering.expire(now)
        effects = [*self._placing.expire(now), *self._aiming.court(now)]
        return effects if self._forest is None else effects + self._forest.tick(now)

    def look_after(self, now: float) -> list[Effect]:
        """Measures the neighbours, tells them where this peer is, and now and then has it walk again."""
        effects = self.links.tidy()
        if self._forest is not None:
            effects += self._forest.tidy()
        neighbours = tuple(self.links.delays_ms)
        for peer in neighbours:
            effects += self.questions.ask(peer, Upkeep())
        if neighbours:
            effects.append(SendMessage(Standing(self.here.place), neighbours))
        if self._random.random() < self._options.walking_share:
            self._wants_walk, self._fewest = True, 0
            effects += self._aiming.renew(now)
        return effects

    def exchange(self, peer: NodeId, now: float) -> list[Effect]:
        """Names are exchanged with a peer; where there are landmarks, the census goes along."""
        if self._forest is None or not self._entering.has_entered:
            return []
        return self._forest.exchange(peer, now)

    def settle(self, now: float) -> list[Effect]:
        """Has each part know what the others found out, until nothing is new."""
        effects: list[Effect] = []
        while True:
            placed, self._placing.placed = self._placing.placed, []
            for each in placed:
                effects += self._offer(each, now)
            chosen, self._walking.chosen = self._walking.chosen, []
            for request in chosen:
                effects += self._placing.begin(request, now)
            if self._walking.is_over(now):
                effects += self._aiming.begin(self._walking.seen, now)
            self._wants_walk |= not self.links.near
            effects += self._entering.seek(self.here.place, now)
            effects += self._walk(now)
            if not (self._placing.placed or self._walking.chosen):
                return effects


_HANDLERS: dict[type[Message], Callable[[Neighbourhood, NodeId, Any, float], list[Effect]]] = {
    Place: Neighbourhood._on_place,
    LinkRequest: Neighbourhood._on_request,
    LinkAnswer: Neighbourhood._on_answer,
    Part: Neighbourhood._on_part,
    Walk: Neighbourhood._on_walk,
    Visited: Neighbourhood._on_visited,
    DistanceRequest: Neighbourhood._on_distance_request,
    DistanceAnswer: Neighbourhood._on_distance_answer,
    Standing: Neighbourhood._on_standing,
    Census: Neighbourhood._on_tree,
    **dict.fromkeys(TREE_MESSAGES, Neighbourhood._on_tree),
}
