"""Peer sampling as one part: a connected partial view, a random view, and failure detection, joined.

    Started, messages, timers, PeerLost …          news: neighbours up and down, peers suspected, found, lost
                 │                                                 ▲
                 ▼                                                 │
    Membership ──┬─ PartialView       neighbours ──────▶ whom to watch
                 ├─ RandomView        names ───────────▶ helpers of probes, spare neighbours
                 └─ FailureDetector   lost ────────────▶ views forget

The parts know nothing of each other; what one learns that another needs passes here. A host protocol owns one
`Membership`, hands it every stimulus that `concerns` it, passes on its effects, and then reads `news`. Findings about
silent peers are reported to whoever runs the node as well (`Report`, with the peer).

Two ways lead to a lost neighbour. A connection that breaks (`PeerLost`) is certain knowledge that *this* node cannot
reach the peer, whatever its fault: it is replaced at once, as in HyParView. A peer that is merely silent is probed,
suspected and given time. Both leave it among the former neighbours, which are asked again when they are found; gone is
only who has left (`PeerGone`, or its own goodbye).

Invariant: no node knows more than its views hold, whatever the size of the network. Randomness comes from one
generator, seeded with `Started.nonce`.

Cost: for each node about 1 ping and answer per `probe_ms`, 2 messages per `exchange_ms` and 7 per `shuffle_ms`: with
the defaults 4 messages a second with requests of those who lack a neighbour, in a network of any size; 8 kB of memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, ClassVar, Literal

from siftcast.overlays.contract import (
    ContactsFound,
    Effect,
    Message,
    MessageReceived,
    NodeId,
    PeerFound,
    PeerGone,
    PeerLost,
    Report,
    Started,
    Stimulus,
    TimerFired,
)
from siftcast.overlays.membership import detector, partial_view, random_view
from siftcast.overlays.membership.detector import DetectorOptions, FailureDetector, Finding
from siftcast.overlays.membership.detector_messages import DETECTOR_MESSAGES
from siftcast.overlays.membership.partial_view import Neighbouring, PartialView, PartialViewOptions
from siftcast.overlays.membership.random_view import RANDOM_MESSAGES, RandomView, RandomViewOptions
from siftcast.overlays.membership.view_messages import VIEW_MESSAGES, Disconnect, Join

MemberState = Literal["neighbour", "suspected", "lost", "spare", "sampled"]
_TIMERS = (detector.TIMERS, partial_view.TIMERS, random_view.TIMERS)
_VIEW, _RANDOM = frozenset(VIEW_MESSAGES), frozenset(RANDOM_MESSAGES)
_ALL = frozenset((*VIEW_MESSAGES, *RANDOM_MESSAGES, *DETECTOR_MESSAGES))


@dataclass(frozen=True, slots=True)
class MembershipOptions:
    """The options of the parts."""

    view: PartialViewOptions = field(default_factory=PartialViewOptions)
    sample: RandomViewOptions = field(default_factory=RandomViewOptions)
    detection: DetectorOptions = field(default_factory=DetectorOptions)


@dataclass(frozen=True, slots=True)
class Member:
    """A node as another one sees it.

    A *neighbour* answers, or is *suspected* for its silence; *lost* is a former neighbour that does not; *spare* and
    *sampled* are names in the passive and the random view. `delay_ms` is one way, None as long as it was not measured.
    """

    node: NodeId
    state: MemberState
    delay_ms: float | None = None


class Membership:
    """What one node knows of the others."""

    messages: ClassVar[tuple[type[Message], ...]] = (*VIEW_MESSAGES, *RANDOM_MESSAGES, *DETECTOR_MESSAGES)

    __slots__ = ("_detector", "_node", "_random", "_sample", "_view", "news")

    def __init__(self, node: NodeId, options: MembershipOptions) -> None:
        self.news: list[Neighbouring | Finding] = []
        """What changed; the host takes it out."""
        self._node = node
        self._random = Random(node)
        self._view = PartialView(node, options.view, self._random)
        self._sample = RandomView(node, options.sample, self._random)
        self._detector = FailureDetector(options.detection, self._find_helpers, self._view.is_neighbour)

    # -- what a host asks --------------------------------------------------------------------------------

    @property
    def neighbours(self) -> Sequence[NodeId]:
        """The active view; it changes with every call that hands something in."""
        return self._view.active

    @property
    def spare(self) -> tuple[NodeId, ...]:
        """The passive view."""
        return tuple(self._view.passive)

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
        """Whether the node has found others that agree on being neighbours, and nobody still has to answer it."""
        return self._view.is_settled and self._detector.is_settled

    def sample(self, count: int) -> list[NodeId]:
        """So many nodes, about at random from the whole network."""
        return self._sample.sample(count)

    def members(self) -> tuple[Member, ...]:
        """Everyone the node knows, each once: neighbours, lost ones, spare ones, sampled ones."""
        found: dict[NodeId, Member] = {}
        for peer in self._view.active:
            state: MemberState = "suspected" if self._detector.state(peer) == "suspected" else "neighbour"
            found[peer] = Member(peer, state, self._detector.delay_ms(peer))
        others: tuple[tuple[MemberState, Iterable[NodeId]], ...] = (
            ("lost", self._view.former),
            ("spare", self._view.passive),
            ("sampled", self._sample.names),
        )
        for state, peers in others:
            for peer in peers:
                found.setdefault(peer, Member(peer, state))
        return tuple(found.values())

    def facts(self) -> Mapping[str, Any]:
        """What else `Protocol.state` may tell: nothing."""
        return {}

    # -- what a host hands in ----------------------------------------------------------------------------

    def concerns(self, stimulus: Stimulus) -> bool:
        """Whether a stimulus is for `handle`."""
        match stimulus:
            case MessageReceived(_, message):
                return type(message) in _ALL
            case TimerFired(name):
                return name.startswith(_TIMERS)
        return isinstance(stimulus, Started | ContactsFound | PeerFound | PeerLost | PeerGone)

    def handle(self, stimulus: Stimulus, now: float) -> list[Effect]:
        """Takes in what happened to the node."""
        match stimulus:
            case MessageReceived(sender, message):
                return self.handle_message(sender, message, now)
            case TimerFired(name):
                return self._handle_timer(name, now)
            case PeerLost(peer):
                self._sample.forget(peer)
                effects = self._view.handle_lost(peer, now)
                return self._pass_on(effects + self._name_more(now), now)
            case PeerFound(peer):
                return self._pass_on(self._view.handle_found(peer, now), now)
            case PeerGone(peer):
                self._sample.forget(peer)
                return self._pass_on(self._view.handle_gone(peer, now), now)
            case ContactsFound(nodes):
                return self._pass_on(self._view.handle_contacts(nodes, now), now)
            case Started(contacts=contacts, nonce=nonce):
                self._random.seed(nonce * 31 + self._node)  # nodes differ even where a runtime draws no nonce
                effects = self._view.handle_started(contacts, now)
                effects += self._sample.handle_started(contacts)
                effects += self._detector.handle_started(self._random.random(), now)
                return effects
        return []

    def handle_message(self, sender: NodeId, message: Message, now: float) -> list[Effect]:
        """Takes in one of `messages`."""
        self._detector.hear(sender, now)
        kind = type(message)
        if kind in _VIEW:
            if kind is Join:
                self._sample.add(sender)
            elif kind is Disconnect and message.leaving:  # type: ignore[attr-defined]
                self._sample.forget(sender)
            return self._pass_on(self._view.handle_message(sender, message, now), now)
        if kind in _RANDOM:
            return self._sample.handle_message(sender, message)
        return self._pass_on(self._detector.handle_message(sender, message, now), now)

    def hear(self, sender: NodeId, now: float) -> None:
        """The host received a message of its own."""
        self._detector.hear(sender, now)

    def handle_stranger(self, sender: NodeId) -> list[Effect]:
        """The host received what it sends to neighbours only."""
        return self._view.handle_stranger(sender)

    def handle_leaving(self, now: float) -> list[Effect]:
        """Says goodbye; the host leaves when it is ready itself."""
        return self._pass_on(self._view.handle_leaving(), now)

    # -- between the parts -------------------------------------------------------------------------------

    def _handle_timer(self, name: str, now: float) -> list[Effect]:
        if name.startswith(detector.TIMERS):
            return self._pass_on(self._detector.handle_timer(name, now), now)
        if name.startswith(random_view.TIMERS):
            return self._sample.handle_timer(name)
        if len(self._view.passive) < len(self._sample):
            self._view.suggest(self._sample.sample(1))
        effects = self._view.handle_timer(name, now)
        return self._pass_on(effects + self._name_more(now), now)

    def _name_more(self, now: float) -> list[Effect]:
        """Has a partial view that ran out of spare names, as when most of them crashed at once, ask sampled ones."""
        if not self._view.is_short_of_names or not len(self._sample):
            return []
        self._view.suggest(self._sample.names)
        return self._view.refill(now)

    def _pass_on(self, effects: list[Effect], now: float) -> list[Effect]:
        """Has each part know what the others found out, until nothing is new."""
        view, probing = self._view, self._detector
        while view.news or probing.news:
            changes, view.news = view.news, []
            findings, probing.news = probing.news, []
            self.news += changes
            for change, peer in changes:
                if change == "up":
                    effects += probing.watch(peer, now)
                    self._sample.add(peer)
                else:
                    effects += probing.unwatch(peer)
            for state, peer in findings:
                if state == "stranger":
                    effects += view.handle_parted(peer, now)
                    continue
                self.news.append(Finding(state, peer))
                effects.append(Report(state, {"peer": peer}))
                if state == "lost":
                    self._sample.forget(peer)
                    effects += view.handle_lost(peer, now)
        return effects

    def _find_helpers(self, count: int, subject: NodeId) -> list[NodeId]:
        known = [peer for peer in {*self._sample.names, *self._view.active} if peer != subject]
        return self._random.sample(known, min(count, len(known)))
