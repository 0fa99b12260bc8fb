"""The topology discovery overlay as one part: peers are neighbours if nobody else lies on the way between them.

    Started, messages, measurements, timers …        news: neighbours up and down, peers suspected, found, lost
                 │                                                 ▲
                 ▼                                                 │
    Discovery ───┬─ Placing           where a newcomer belongs ──▶ placed
                 ├─ Walking           targets of a peer ─────────▶ whom to ask for a place
                 ├─ Agreeing, Links   who is a neighbour ────────▶ whom to watch
                 ├─ RandomView        contacts, distant peers
                 └─ FailureDetector   lost, strangers ───────────▶ links forget

A peer enters through a contact, which finds its place; then it walks, and its targets find a place for it as well. At
the end of a walk it asks one of the farther peers to be its *distant* neighbour: without such links, 28 % of all pairs
are cut off from each other where peers have log₂ N neighbours. Every `walk_ms` it measures its neighbours, and now and
then it walks again, so that the overlay follows a network that changes.

It has the face of `membership.Membership`, so that a host takes either. Whoever is without near neighbours asks for a
place again, urgently. Coordinates (Vivaldi) are learned from what is measured anyway.

Invariant: no peer knows more than its links and its random view. Randomness is one generator, seeded with
`Started.nonce`. Thesis: section 4.4, Algorithm 7.

Cost: at most `targets` + 1 inferences for each peer that joins or walks, and one more each time that it has to ask for
a place again; about `ttl` measurements for each walk and one for each neighbour and `walk_ms`; beside that what
`Membership` costs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from random import Random
from typing import Any, ClassVar

from siftcast.overlays.contract import (
    ContactsFound,
    DelayMeasured,
    Effect,
    Message,
    MessageReceived,
    NodeId,
    PeerFound,
    PeerGone,
    PeerLost,
    Report,
    RouteInferred,
    SendMessage,
    SetTimer,
    Started,
    Stimulus,
    TimerFired,
)
from siftcast.overlays.discovery.agreeing import Agreeing
from siftcast.overlays.discovery.aiming import Aiming
from siftcast.overlays.discovery.entering import Entering
from siftcast.overlays.discovery.forest import Forest
from siftcast.overlays.discovery.links import Links
from siftcast.overlays.discovery.messages import (
    DISCOVERY_MESSAGES,
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
from siftcast.overlays.membership import detector, random_view
from siftcast.overlays.membership.detector import FailureDetector, Finding
from siftcast.overlays.membership.detector_messages import DETECTOR_MESSAGES
from siftcast.overlays.membership.membership import Member, MemberState
from siftcast.overlays.membership.partial_view import Neighbouring
from siftcast.overlays.membership.random_view import RANDOM_MESSAGES, RandomView
from siftcast.space.coordinates import Coordinate

TIMERS = "discovery/"
_WALK, _TICK = "discovery/walk", "discovery/tick"
_ALL_TIMERS = (TIMERS, random_view.TIMERS, detector.TIMERS)
_OWN, _RANDOM = frozenset(DISCOVERY_MESSAGES), frozenset(RANDOM_MESSAGES)


class Discovery:
    """What one peer knows of the ground, and who its neighbours are there."""

    messages: ClassVar[tuple[type[Message], ...]] = (*DISCOVERY_MESSAGES, *RANDOM_MESSAGES, *DETECTOR_MESSAGES)

    __slots__ = (
        "_agreeing",
        "_aiming",
        "_detector",
        "_entering",
        "_fewest",
        "_forest",
        "_here",
        "_links",
        "_node",
        "_options",
        "_placing",
        "_questions",
        "_random",
        "_sample",
        "_walking",
        "_wants_walk",
        "news",
    )

    def __init__(self, node: NodeId, options: DiscoveryOptions) -> None:
        self.news: list[Neighbouring | Finding] = []
        """What changed; the host takes it out."""
        self._node = node
        self._options = options
        self._random = random = Random(node)
        self._here = here = Whereabouts(random)
        has_trees = options.heuristic == "landmarks"
        self._links = links = Links(node, 0 if has_trees else options.degree)
        self._questions = questions = Questions()
        self._sample = sample = RandomView(node, options.sample, random)
        self._placing = Placing(node, options, links, questions)
        self._agreeing = agreeing = Agreeing(links, questions, here, options.request_ms)
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
        self._detector = FailureDetector(options.detection, self._find_helpers, self._is_neighbour)
        self._wants_walk = True
        self._fewest = min(options.targets, options.sample.size)  # names that a walk at random waits for, at first

    # -- what a host asks --------------------------------------------------------------------------------

    @property
    def neighbours(self) -> Mapping[NodeId, float]:
        """All neighbours, near and distant, and how far they are; it changes with every call."""
        return self._links.delays_ms

    @property
    def distant(self) -> frozenset[NodeId]:
        """The neighbours that are there against partitions alone."""
        return frozenset(peer for peer in self._links.far if peer not in self._links.near)

    @property
    def spare(self) -> tuple[NodeId, ...]:
        """No names are kept aside; the random view has them."""
        return ()

    @property
    def sampled(self) -> tuple[NodeId, ...]:
        """The random view."""
        return self._sample.names

    @property
    def health(self) -> int:
        """0 if nothing hints at this node itself being slow."""
        return self._detector.health.score

    @property
    def is_settled(self) -> bool:
        """Whether the node has its place, no walk is out, and nobody still has to answer it."""
        waits = self._placing or self._agreeing or self._questions or self._walking.is_open or self._aiming
        waits = waits or (self._forest is not None and not self._forest.is_settled)
        return not waits and self._entering.is_settled and self._detector.is_settled

    @property
    def coordinate(self) -> Coordinate:
        """Where the node is, as far as measurements have shown."""
        return self._here.coordinate

    def delay_ms(self, peer: NodeId) -> float | None:
        """How far a neighbour is."""
        return self._links.delays_ms.get(peer)

    def sample(self, count: int) -> list[NodeId]:
        """So many nodes, about at random from the whole network."""
        return self._sample.sample(count)

    def members(self) -> tuple[Member, ...]:
        """Everyone the node knows, each once: neighbours, lost ones, sampled ones."""
        found: dict[NodeId, Member] = {}
        for peer, delay_ms in self._links.delays_ms.items():
            state: MemberState = "suspected" if self._detector.state(peer) == "suspected" else "neighbour"
            found[peer] = Member(peer, state, delay_ms)
        for peer, former in self._links.former.items():
            found.setdefault(peer, Member(peer, "lost", former.delay_ms))
        for peer in self._sample.names:
            found.setdefault(peer, Member(peer, "sampled"))
        return tuple(found.values())

    def facts(self) -> Mapping[str, Any]:
        """What discovery has cost and found, for `Protocol.state`."""
        trees = None if self._forest is None else self._forest.trees
        found: dict[str, Any] = {
            "distant": tuple(sorted(self.distant)),
            "routes": sum(near.route is not None for near in self._links.near.values()),
            "inferences": self._placing.inferences + (0 if trees is None else trees.inferences),
            "measurements": self._questions.measured,
            "placings": self._placing.steps + (0 if trees is None else trees.steps),
            "walks": self._walking.begun,
            "steps": self._walking.steps,
            "rejoins": self._entering.rejoins + (0 if trees is None else trees.rejoins),
            "coordinate": self._here.place,
        }
        if self._forest is not None:
            found |= {
                "size": self._forest.size,
                "landmarks": self._forest.landmarks,
                "parents": self._forest.trees.parents(),
            }
        return found

    # -- what a host hands in ----------------------------------------------------------------------------

    def concerns(self, stimulus: Stimulus) -> bool:
        """Whether a stimulus is for `handle`."""
        match stimulus:
            case MessageReceived(_, message):
                return type(message) in _KINDS
            case TimerFired(name):
                return name.startswith(_ALL_TIMERS)
            case DelayMeasured(peer):
                return peer in self._questions
        kinds = Started | ContactsFound | PeerFound | PeerLost | PeerGone | RouteInferred
        return isinstance(stimulus, kinds)

    def handle(self, stimulus: Stimulus, now: float) -> list[Effect]:
        """Takes in what happened to the node."""
        match stimulus:
            case MessageReceived(sender, message):
                return self.handle_message(sender, message, now)
            case TimerFired(name):
                effects = self._handle_timer(name, now)
            case DelayMeasured(peer, delay_ms):
                effects = []
                for reason in self._questions.answer(peer, delay_ms, now):
                    effects += self._answer(peer, reason, delay_ms, now)
            case RouteInferred():
                self._here.learn(stimulus)
                effects = self._placing.handle_route(stimulus, now)
                if self._forest is not None:
                    effects += self._forest.handle_route(stimulus)
            case PeerLost(peer):
                effects = self._lose(peer, now)
            case PeerFound(peer):
                effects = self._find(peer, now)
            case PeerGone(peer):
                self._entering.forget(peer)
                effects = self._lose(peer, now) + self._links.forget(peer)
            case ContactsFound(nodes):
                self._entering.add(nodes)
                effects = []
            case Started(contacts=contacts, nonce=nonce):
                effects = self._start(contacts, nonce, now)
            case _:
                return []
        return self._pass_on(effects, now)

    def handle_message(self, sender: NodeId, message: Message, now: float) -> list[Effect]:
        """Takes in one of `messages`."""
        self._detector.hear(sender, now)
        kind = type(message)
        if kind in _OWN:
            return self._pass_on(_HANDLERS[kind](self, sender, message, now), now)
        if kind in _RANDOM:
            return self._pass_on(self._sample.handle_message(sender, message), now)
        return self._pass_on(self._detector.handle_message(sender, message, now), now)

    def hear(self, sender: NodeId, now: float) -> None:
        """The host received a message of its own."""
        self._detector.hear(sender, now)

    def handle_stranger(self, sender: NodeId) -> list[Effect]:
        """The host received what it sends to neighbours only."""
        return [] if self._is_neighbour(sender) else [SendMessage(Part(self._links.names(sender)), (sender,))]

    def handle_leaving(self, now: float) -> list[Effect]:
        """Says goodbye; the host leaves when it is ready itself."""
        self._entering.give_up()
        effects = self._links.leave()
        return effects + self._tell_detector(now)

    # -- coming and going --------------------------------------------------------------------------------

    def _start(self, contacts: Iterable[NodeId], nonce: int, now: float) -> list[Effect]:
        random, options = self._random, self._options
        random.seed(nonce * 31 + self._node)  # nodes differ even where a runtime draws no nonce
        return [
            SetTimer(_WALK, random.random() * options.walk_ms),
            SetTimer(_TICK, (0.5 + random.random()) * options.request_ms / 2),
            *self._sample.handle_started(self._entering.start(contacts)),
            *self._detector.handle_started(random.random(), now),
        ]

    def _lose(self, peer: NodeId, now: float) -> list[Effect]:
        """A peer cannot be reached."""
        self._sample.forget(peer)
        self._agreeing.forget(peer)
        effects = self._links.lose(peer)
        return effects if self._forest is None else effects + self._forest.lose(peer, now)

    def _find(self, peer: NodeId, now: float) -> list[Effect]:
        """A peer can be reached: one that was a neighbour is asked to be one again."""
        former = self._links.former.get(peer)
        if former is None or peer in self._agreeing:
            self._entering.found(peer)
            return []
        self._sample.add(peer)
        back = None if former.route is None else reverse(former.route)
        request = LinkRequest(self._here.place, former.delay_ms, back, urgent=True)
        return self._agreeing.ask(peer, request, former.route, now)

    def _offer(self, placed: Placed, now: float) -> list[Effect]:
        """A newcomer has its place here, if there is room."""
        request, newcomer = placed.request, placed.request.newcomer
        place = self._here.place
        is_known = newcomer in self._links.near
        if not (is_known or request.urgent or self._links.has_room(placed.delay_ms)):
            if not request.entering:
                return []
            return [SendMessage(LinkAnswer(place, False, self._links.names(newcomer)), (newcomer,))]
        offer = LinkRequest(
            place,
            placed.delay_ms,
            None if placed.route is None else reverse(placed.route),
            placed.adopted,
            urgent=request.urgent,
            entering=request.entering,
        )
        return self._agreeing.ask(newcomer, offer, placed.route, now)

    def _on_place(self, sender: NodeId, message: Place, now: float) -> list[Effect]:
        self._sample.add(message.newcomer)
        if message.delay_ms is not None and not is_delay(message.delay_ms):
            return []
        return self._placing.begin(message, now)

    def _on_request(self, sender: NodeId, message: LinkRequest, now: float) -> list[Effect]:
        if message.entering:
            self._entering.enter(sender)
        self._here.locate(message.place, message.delay_ms)
        return self._agreeing.handle_request(sender, message)

    def _on_answer(self, sender: NodeId, message: LinkAnswer, now: float) -> list[Effect]:
        effects, request = self._agreeing.handle_answer(sender, message)
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
            return self._lose(sender, now) + self._links.forget(sender)
        return self._links.drop(sender)

    def _on_tree(self, sender: NodeId, message: DiscoveryMessage, now: float) -> list[Effect]:
        return [] if self._forest is None else self._forest.handle_message(sender, message, now)

    # -- walks -------------------------------------------------------------------------------------------

    def _walk(self, now: float) -> list[Effect]:
        """Looks for targets, if it is time."""
        if not (self._wants_walk and self._entering.has_entered and self._links.near):
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
        self._here.locate(message.place, message.delay_ms)
        self._walking.handle_visited(sender, message, coordinate_of(message.place), now)
        return []

    # -- measuring -----------------------------------------------------------------------------------------

    def _answer(self, peer: NodeId, reason: Reason, delay_ms: float | None, now: float) -> list[Effect]:
        """A measurement was made for some reason."""
        match reason:
            case Visit(walk):
                self._here.locate(walk.place, delay_ms)
                return self._walking.measured(reason, delay_ms)
            case Placement():
                return self._placing.handle_delay(peer, delay_ms, now)
            case Errand(asker):
                return [SendMessage(DistanceAnswer(peer, delay_ms), (asker,))]
            case Adoption():
                return self._agreeing.adopt(peer, reason, delay_ms, now)
            case Suitor():
                return self._aiming.handle_suitor(peer, delay_ms, now)
            case Candidate():
                return self._aiming.handle_candidate(peer, delay_ms)
            case Edge():
                return [] if self._forest is None else self._forest.handle_edge(peer, delay_ms, now)
            case Upkeep():
                if delay_ms is not None:
                    self._links.measured(peer, delay_ms)
        return []

    def _on_distance_request(self, sender: NodeId, message: DistanceRequest, now: float) -> list[Effect]:
        subject = message.subject
        if subject == self._node:
            return []
        known_ms = self._questions.known_ms(subject, now)
        if known_ms is None and subject in self._links:
            known_ms = self._links.delays_ms[subject]
        if known_ms is not None:
            return [SendMessage(DistanceAnswer(subject, known_ms), (sender,))]
        return self._questions.ask(subject, Errand(sender))

    def _on_distance_answer(self, sender: NodeId, message: DistanceAnswer, now: float) -> list[Effect]:
        delay_ms = message.delay_ms if is_delay(message.delay_ms) else None
        return self._placing.handle_distance(sender, message.subject, delay_ms, now)

    def _on_standing(self, sender: NodeId, message: Standing, now: float) -> list[Effect]:
        self._here.locate(message.place, self._links.delays_ms.get(sender))
        return []

    # -- time passes ---------------------------------------------------------------------------------------

    def _handle_timer(self, name: str, now: float) -> list[Effect]:
        if name.startswith(detector.TIMERS):
            return self._detector.handle_timer(name, now)
        if name.startswith(random_view.TIMERS):
            return self._exchange(name, now)
        options = self._options
        if name == _TICK:
            self._agreeing.expire(now)
            self._entering.expire(now)
            again = SetTimer(_TICK, options.request_ms / 2)
            effects = [again, *self._placing.expire(now), *self._aiming.court(now)]
            return effects if self._forest is None else effects + self._forest.tick(now)
        effects = [SetTimer(_WALK, options.walk_ms), *self._links.tidy()]
        if self._forest is not None:
            effects += self._forest.tidy()
        neighbours = tuple(self._links.delays_ms)
        for peer in neighbours:
            effects += self._questions.ask(peer, Upkeep())
        if neighbours:
            effects.append(SendMessage(Standing(self._here.place), neighbours))
        if self._random.random() < options.walking_share:
            self._wants_walk, self._fewest = True, 0
            effects += self._aiming.renew(now)
        return effects

    def _exchange(self, name: str, now: float) -> list[Effect]:
        """The random view exchanges names, and where there are landmarks, the census goes to the same peer."""
        effects = self._sample.handle_timer(name)
        if self._forest is None or not self._entering.has_entered:
            return effects
        peers = [peer for effect in effects if isinstance(effect, SendMessage) for peer in effect.destinations]
        for peer in peers:
            effects += self._forest.exchange(peer, now)
        return effects

    # -- between the parts ---------------------------------------------------------------------------------

    def _pass_on(self, effects: list[Effect], now: float) -> list[Effect]:
        """Has each part know what the others found out, until nothing is new."""
        while True:
            effects += self._tell_detector(now)
            effects += self._take_findings(now)
            placed, self._placing.placed = self._placing.placed, []
            for each in placed:
                effects += self._offer(each, now)
            chosen, self._walking.chosen = self._walking.chosen, []
            for request in chosen:
                effects += self._placing.begin(request, now)
            if self._walking.is_over(now):
                effects += self._aiming.begin(self._walking.seen, now)
            effects += self._entering.seek(self._here.place, now)
            effects += self._walk(now)
            if not (self._placing.placed or self._walking.chosen or self._links.news or self._detector.news):
                return effects

    def _tell_detector(self, now: float) -> list[Effect]:
        """Neighbours that came and went."""
        effects: list[Effect] = []
        changes, self._links.news = self._links.news, []
        self.news += changes
        for change, peer in changes:
            if change == "up":
                effects += self._detector.watch(peer, now)
                self._sample.add(peer)
            else:
                effects += self._detector.unwatch(peer)
        if changes and not self._links.near:
            self._wants_walk = True
        return effects

    def _take_findings(self, now: float) -> list[Effect]:
        """What the detector has found out about neighbours."""
        effects: list[Effect] = []
        findings, self._detector.news = self._detector.news, []
        for state, peer in findings:
            if state == "stranger":
                effects += self._links.drop(peer)
                self._entering.deny(peer)
                continue
            self.news.append(Finding(state, peer))
            effects.append(Report(state, {"peer": peer}))
            if state == "lost":
                effects += self._lose(peer, now)
        return effects

    def _is_neighbour(self, peer: NodeId) -> bool:
        return peer in self._links or peer in self._agreeing

    def _find_helpers(self, count: int, peer: NodeId) -> list[NodeId]:
        """Helpers of a probe: any that are sampled, and if they are too few, neighbours."""
        found = self._sample.sample(count, (peer,))
        others = [each for each in self._links.delays_ms if each != peer and each not in found]
        return found + others[: count - len(found)]


_KINDS = frozenset(Discovery.messages)
_HANDLERS: dict[type[Message], Callable[[Discovery, NodeId, Any, float], list[Effect]]] = {
    Place: Discovery._on_place,
    LinkRequest: Discovery._on_request,
    LinkAnswer: Discovery._on_answer,
    Part: Discovery._on_part,
    Walk: Discovery._on_walk,
    Visited: Discovery._on_visited,
    DistanceRequest: Discovery._on_distance_request,
    DistanceAnswer: Discovery._on_distance_answer,
    Standing: Discovery._on_standing,
    Census: Discovery._on_tree,
    **dict.fromkeys(TREE_MESSAGES, Discovery._on_tree),
}
