"""The topology discovery overlay as one part: peers are neighbours if nobody else lies on the way between them.

    Started, messages, measurements, timers …        news: neighbours up and down, peers suspected, found, lost
                 │                                                 ▲
                 ▼                                                 │
    Discovery ───┬─ Neighbourhood     neighbours ────────────────▶ whom to watch
                 ├─ RandomView        names ─────────────────────▶ whom to ask for a place, distant neighbours
                 └─ FailureDetector   lost, strangers ───────────▶ links forget

A peer enters through a contact, which finds its place; then it walks, and its targets find a place for it as well. At
the end of a walk it asks one of the farther peers to be its *distant* neighbour, because peers that have few and near
neighbours fall apart into groups. Every `walk_ms` it measures its neighbours, and now and then it walks again, so that
the overlay follows a network that changes.

It has the face of `membership.Membership`, so that a host takes either. Whoever is without near neighbours asks for a
place again, urgently. Coordinates (Vivaldi) are learned from what is measured anyway.

Invariant: no peer knows more than its links and its random view. Randomness is one generator, seeded with
`Started.nonce`. Thesis: section 4.4, Algorithm 7.

Cost: at most `targets` + 1 inferences for each peer that joins or walks, and one more each time that it has to ask for
a place again; about `ttl` measurements for each walk and one for each neighbour and `walk_ms`; beside that what
`Membership` costs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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
from siftcast.overlays.discovery.messages import DISCOVERY_MESSAGES, Part
from siftcast.overlays.discovery.neighbourhood import Neighbourhood
from siftcast.overlays.discovery.options import DiscoveryOptions
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

    __slots__ = ("_detector", "_ground", "_links", "_node", "_options", "_random", "_sample", "news")

    def __init__(self, node: NodeId, options: DiscoveryOptions) -> None:
        self.news: list[Neighbouring | Finding] = []
        """What changed; the host takes it out."""
        self._node = node
        self._options = options
        self._random = Random(node)
        self._sample = RandomView(node, options.sample, self._random)
        self._ground = Neighbourhood(node, options, self._sample, self._random)
        self._links = self._ground.links
        self._detector = FailureDetector(options.detection, self._find_helpers, self._is_neighbour)

    # -- what a host asks --------------------------------------------------------------------------------

    @property
    def neighbours(self) -> Mapping[NodeId, float]:
        """All neighbours, near and distant, and how far they are; it changes with every call."""
        return self._links.delays_ms

    @property
    def distant(self) -> frozenset[NodeId]:
        """The neighbours that are there against partitions alone."""
        return self._links.distant_only

    @property
    def coordinate(self) -> Coordinate:
        """Where the node is, as far as measurements have shown."""
        return self._ground.here.coordinate

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
        return self._ground.is_settled and self._detector.is_settled

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
        return self._ground.facts()

    # -- what a host hands in ----------------------------------------------------------------------------

    def concerns(self, stimulus: Stimulus) -> bool:
        """Whether a stimulus is for `handle`."""
        match stimulus:
            case MessageReceived(_, message):
                return type(message) in _KINDS
            case TimerFired(name):
                return name.startswith(_ALL_TIMERS)
            case DelayMeasured(peer):
                return peer in self._ground.questions
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
                effects = self._ground.handle_delay(peer, delay_ms, now)
            case RouteInferred():
                effects = self._ground.handle_route(stimulus, now)
            case PeerLost(peer):
                effects = self._ground.lose(peer, now)
            case PeerFound(peer):
                effects = self._ground.find(peer, now)
            case PeerGone(peer):
                effects = self._ground.forget(peer, now)
            case ContactsFound(nodes):
                self._ground.add_contacts(nodes)
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
            effects = self._ground.handle_message(sender, message, now)
        elif kind in _RANDOM:
            effects = self._sample.handle_message(sender, message)
        else:
            effects = self._detector.handle_message(sender, message, now)
        return self._pass_on(effects, now)

    def hear(self, sender: NodeId, now: float) -> None:
        """The host received a message of its own."""
        self._detector.hear(sender, now)

    def handle_stranger(self, sender: NodeId) -> list[Effect]:
        """The host received what it sends to neighbours only."""
        return [] if self._is_neighbour(sender) else [SendMessage(Part(self._links.names(sender)), (sender,))]

    def handle_leaving(self, now: float) -> list[Effect]:
        """Says goodbye; the host leaves when it is ready itself."""
        return self._ground.leave() + self._tell_detector(now)

    # -- between the parts -------------------------------------------------------------------------------

    def _start(self, contacts: Iterable[NodeId], nonce: int, now: float) -> list[Effect]:
        random, options = self._random, self._options
        random.seed(nonce * 31 + self._node)  # nodes differ even where a runtime draws no nonce
        return [
            SetTimer(_WALK, random.random() * options.walk_ms),
            SetTimer(_TICK, (0.5 + random.random()) * options.request_ms / 2),
            *self._sample.handle_started(self._ground.start(contacts)),
            *self._detector.handle_started(random.random(), now),
        ]

    def _handle_timer(self, name: str, now: float) -> list[Effect]:
        if name.startswith(detector.TIMERS):
            return self._detector.handle_timer(name, now)
        if name == _TICK:
            return [SetTimer(_TICK, self._options.request_ms / 2), *self._ground.tick(now)]
        if name == _WALK:
            return [SetTimer(_WALK, self._options.walk_ms), *self._ground.look_after(now)]
        effects = self._sample.handle_timer(name)
        peers = [peer for effect in effects if isinstance(effect, SendMessage) for peer in effect.destinations]
        for peer in peers:
            effects += self._ground.exchange(peer, now)
        return effects

    def _pass_on(self, effects: list[Effect], now: float) -> list[Effect]:
        """Has each part know what the others found out, until nothing is new."""
        while True:
            effects += self._tell_detector(now)
            effects += self._take_findings(now)
            effects += self._ground.settle(now)
            if not (self._links.news or self._detector.news):
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
        return effects

    def _take_findings(self, now: float) -> list[Effect]:
        """What the detector has found out about neighbours."""
        effects: list[Effect] = []
        findings, self._detector.news = self._detector.news, []
        for state, peer in findings:
            if state == "stranger":
                effects += self._ground.drop(peer)
                continue
            self.news.append(Finding(state, peer))
            effects.append(Report(state, {"peer": peer}))
            if state == "lost":
                effects += self._ground.lose(peer, now)
        return effects

    def _is_neighbour(self, peer: NodeId) -> bool:
        return peer in self._links or peer in self._ground.agreeing

    def _find_helpers(self, count: int, peer: NodeId) -> list[NodeId]:
        """Helpers of a probe: any that are sampled, and if they are too few, neighbours."""
        found = self._sample.sample(count, (peer,))
        others = [each for each in self._links.delays_ms if each != peer and each not in found]
        return found + others[: count - len(found)]


_KINDS = frozenset(Discovery.messages)
