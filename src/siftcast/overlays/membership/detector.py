"""Failure detection: who of the watched peers is silent, and whether that is their fault. SWIM, with Lifeguard.

Whoever was heard of lately needs no probe. Every `probe_ms` the one that has been silent longest is probed:

    A ──Ping──▶ p          nothing for `answer_ms`
    A ──ProbeRequest(p)──▶ h₁ … h_k ──Ping──▶ p
      ◀──ProbeAnswer(p, reached or not)──┘
    nobody reached it: p is *suspected*; found again if it answers a later ping, lost if it does not in time

How long a suspect is given is in `suspicion`: helpers that did not reach it either shorten that time. A suspect is
pinged on, also through helpers, and learns that it is accused; it answers with a higher incarnation, which refutes what
was said about the earlier one, whichever way the answer comes. Late messages that a peer sent before it fell silent
prove nothing, so they do not acquit.

A node that is itself slow accuses nobody lightly (`health`): patience grows when its own timers are late, when its
helpers are silent as well, and when others accuse it; and time during which it did not run counts for nobody's silence.

An answer also says whether its sender takes the other for a neighbour: one that does not is reported as a *stranger*,
so that both ends agree although messages were lost when they met or parted. A peer that is newly watched is pinged at
once for that.

It reports found, suspected, lost and strangers. It never says gone: silence is no farewell.

Invariants: at most one probe at a time; nobody is lost without having been suspected first; state for watched peers and
for the probes it makes for others, nothing else.

Paper: Das, Gupta, Motivala, "SWIM: scalable weakly-consistent infection-style process group membership protocol", DSN
2002, sections 3.1, 4.2; Lifeguard. Deviations: SWIM probes all members and infects all with its verdicts. Here a node
watches its neighbours only and no node knows everyone, so a verdict concerns only those who watch; each asks for
itself, and helpers are the independent witnesses. The silent longest is probed instead of a random one, which bounds
the time to detection (SWIM's section 4.3 does so by shuffled rounds).

Cost: at most a ping and an answer for each node and `probe_ms`, whatever the size of the network; none between nodes
that talk anyway. A failed probe, 2 + 4k messages.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from siftcast.overlays.contract import CancelTimer, Effect, Message, NodeId, SendMessage, SetTimer
from siftcast.overlays.membership.detector_messages import Ack, Ping, ProbeAnswer, ProbeRequest
from siftcast.overlays.membership.errands import Errands
from siftcast.overlays.membership.health import Health
from siftcast.overlays.membership.suspicion import Suspicion

TIMERS = "detect/"
_TICK = "detect/tick"
_PROBE = "detect/probe"
_LOST = "detect/lost/"

State = Literal["found", "suspected", "lost", "stranger"]
Helpers = Callable[[int, NodeId], Sequence[NodeId]]
"""So many nodes at random that may help to probe a node."""
IsNeighbour = Callable[[NodeId], bool]
"""Whether a node is a neighbour, or was asked to be one."""


@dataclass(frozen=True, slots=True)
class DetectorOptions:
    """How often silence is probed, how long an answer may take, who helps, and how long a suspect is given."""

    probe_ms: float = 1_000.0
    answer_ms: float = 300.0
    helpers: int = 3
    suspicion_ms_min: float = 2_000.0
    suspicion_ms_max: float = 12_000.0

    def __post_init__(self) -> None:
        if not 0 < 3 * self.answer_ms <= self.probe_ms < float("inf"):
            raise ValueError(f"a probe takes three times {self.answer_ms} ms, which do not fit into {self.probe_ms} ms")
        if self.helpers < 0:
            raise ValueError(f"a number of helpers is at least 0, not {self.helpers}")
        if not 0 < self.suspicion_ms_min <= self.suspicion_ms_max < float("inf"):
            raise ValueError("suspicion_ms_min is longer than 0, and suspicion_ms_max at least that long")


class Finding(NamedTuple):
    """What the detector has to say about a peer."""

    state: State
    peer: NodeId


@dataclass(slots=True)
class _Watched:
    """What is known about a peer."""

    heard_ms: float
    delay_ms: float | None = None
    incarnation: int = 0
    suspicion: Suspicion | None = None
    is_mutual: bool = False
    """Whether the peer has said that it watches this node, too."""
    greeted: tuple[int, float] = (0, 0.0)
    """The ping that asks it, and when it was sent."""


@dataclass(slots=True)
class _Probe:
    """The probe that is being made."""

    number: int
    peer: NodeId
    sent_ms: float
    helpers: tuple[NodeId, ...] = ()
    missed_by: set[NodeId] = field(default_factory=set)
    is_indirect: bool = False


class FailureDetector:
    """The failure detector of one node. A host says whom to watch and whom it heard, and reads `news` afterwards."""

    __slots__ = (
        "_errands",
        "_helpers",
        "_incarnation",
        "_is_neighbour",
        "_number",
        "_options",
        "_probe",
        "_tick_ms",
        "_watched",
        "health",
        "news",
    )  # fmt: skip

    def __init__(self, options: DetectorOptions, helpers: Helpers, is_neighbour: IsNeighbour) -> None:
        self.health = Health()
        self.news: list[Finding] = []
        """What was found out; the host takes it out."""
        self._options = options
        self._helpers = helpers
        self._is_neighbour = is_neighbour
        self._incarnation = 0
        self._number = 0
        self._probe: _Probe | None = None
        self._errands = Errands(options.answer_ms)
        self._watched: dict[NodeId, _Watched] = {}
        self._tick_ms = 0.0

    # -- what the host says and asks ---------------------------------------------------------------------

    def watch(self, peer: NodeId, now: float) -> list[Effect]:
        """Begins to mind whether a peer is silent; its first answer says how far it is, and whether it agrees."""
        if peer in self._watched:
            return []
        self._watched[peer] = _Watched(now)
        return [self._greet(peer, now)]

    def unwatch(self, peer: NodeId) -> list[Effect]:
        """No longer minds whether a peer is silent."""
        watched = self._watched.pop(peer, None)
        if self._probe is not None and self._probe.peer == peer:
            self._probe = None
        return [CancelTimer(f"{_LOST}{peer}")] if watched is not None and watched.suspicion is not None else []

    def hear(self, peer: NodeId, now: float) -> None:
        """A message of whatever kind came from a peer."""
        watched = self._watched.get(peer)
        if watched is not None:
            watched.heard_ms = now

    @property
    def is_settled(self) -> bool:
        """Whether all who are watched have said that they watch this node, too."""
        return all(watched.is_mutual for watched in self._watched.values())

    def state(self, peer: NodeId) -> State | None:
        """What is thought of a peer; None if it is not watched."""
        watched = self._watched.get(peer)
        if watched is None:
            return None
        return "found" if watched.suspicion is None else "suspected"

    def delay_ms(self, peer: NodeId) -> float | None:
        """Half the time in which a peer answered last."""
        watched = self._watched.get(peer)
        return None if watched is None else watched.delay_ms

    # -- what happens to the node ------------------------------------------------------------------------

    def handle_started(self, phase: float, now: float) -> list[Effect]:
        """Begins to probe, after a share of the period, so that nodes do not all probe at once."""
        after_ms = phase * self._options.probe_ms
        self._tick_ms = now + after_ms
        return [SetTimer(_TICK, after_ms)]

    def handle_message(self, sender: NodeId, message: Message, now: float) -> list[Effect]:
        """Takes in one of `DETECTOR_MESSAGES`."""
        match message:
            case Ping(number, accused):
                if accused >= self._incarnation:
                    self._incarnation = accused + 1
                    self.health.worsen()
                mutual = message.errand or self._is_neighbour(sender)
                return [SendMessage(Ack(number, self._incarnation, mutual), (sender,))]
            case Ack():
                return self._on_ack(sender, message, now)
            case ProbeRequest():
                self._number += 1
                return self._errands.begin(self._number, sender, message)
            case ProbeAnswer():
                return self._on_probe_answer(sender, message, now)
        raise TypeError(f"{type(message).__name__} is no message of a failure detector")

    def handle_timer(self, name: str, now: float) -> list[Effect]:
        """Takes in a timer whose name begins with `TIMERS`."""
        if name == _TICK:
            return self._tick(now)
        if name == _PROBE:
            return self._despair(now)
        if name.startswith(_LOST):
            return self._lose(int(name[len(_LOST) :]), now)
        return self._errands.handle_timer(name)

    # -- probing -----------------------------------------------------------------------------------------

    def _tick(self, now: float) -> list[Effect]:
        options = self._options
        effects: list[Effect] = [SetTimer(_TICK, options.probe_ms)]
        if now - self._tick_ms > options.probe_ms / 2:
            # This node did not run, or ran late: what it did not hear meanwhile is nobody's silence.
            self.health.worsen()
            for watched in self._watched.values():
                watched.heard_ms = now
            self._probe = None
        self._tick_ms = now + options.probe_ms
        longest: NodeId | None = None
        since_ms = now - options.probe_ms
        for peer, watched in self._watched.items():
            if watched.suspicion is not None:
                effects += self._accuse(peer, watched.suspicion.incarnation)
            elif watched.heard_ms <= since_ms:
                since_ms, longest = watched.heard_ms, peer
            elif not watched.is_mutual:
                effects.append(self._greet(peer, now))
        if longest is not None and self._probe is None:
            self._number += 1
            self._probe = _Probe(self._number, longest, now)
            effects.append(SendMessage(Ping(self._number), (longest,)))
            effects.append(SetTimer(_PROBE, self.health.patient(options.answer_ms)))
        return effects

    def _greet(self, peer: NodeId, now: float) -> Effect:
        self._number += 1
        self._watched[peer].greeted = self._number, now
        return SendMessage(Ping(self._number), (peer,))

    def _on_ack(self, sender: NodeId, ack: Ack, now: float) -> list[Effect]:
        number, incarnation = ack.number, ack.incarnation
        effects = self._errands.handle_ack(sender, ack)
        watched = self._watched.get(sender)
        if watched is None:
            return effects
        if not effects:  # an errand's answer says nothing about being neighbours
            watched.is_mutual = ack.mutual
            if not ack.mutual:
                self.news.append(Finding("stranger", sender))
        if watched.greeted[0] == number:
            watched.delay_ms = (now - watched.greeted[1]) / 2
        probe = self._probe
        if probe is not None and probe.number == number:
            watched.delay_ms = (now - probe.sent_ms) / 2
            if not probe.is_indirect:
                self.health.improve()
            self._probe = None
        if watched.suspicion is not None and number <= watched.suspicion.probes_before:
            return effects  # it was sent before the peer fell silent
        return effects + self._acquit(sender, watched, incarnation, now)

    def _despair(self, now: float) -> list[Effect]:
        """No answer: others are asked to try; and when they had their time as well, the peer is suspected."""
        probe = self._probe
        watched = self._watched.get(probe.peer) if probe is not None else None
        if probe is None or watched is None:
            return []
        if watched.heard_ms > probe.sent_ms:
            self._probe = None  # the answer was lost, but something else came
            return []
        if not probe.is_indirect:
            probe.is_indirect = True
            probe.helpers = tuple(self._helpers(self._options.helpers, probe.peer))
            if probe.helpers:
                request = ProbeRequest(probe.number, probe.peer)
                wait = SetTimer(_PROBE, self.health.patient(2 * self._options.answer_ms))
                return [SendMessage(request, probe.helpers), wait]
        self._probe = None
        # Helpers that say nothing at all hint at this node's own link.
        self.health.worsen(len(probe.helpers) - len(probe.missed_by) if probe.helpers else 1)
        return self._suspect(probe, watched, now)

    def _on_probe_answer(self, sender: NodeId, message: ProbeAnswer, now: float) -> list[Effect]:
        watched = self._watched.get(message.subject)
        if watched is None:
            return []
        probe, suspicion = self._probe, watched.suspicion
        if message.incarnation is not None:
            if suspicion is not None:
                if message.incarnation > suspicion.incarnation or message.number > suspicion.probes_before:
                    return self._acquit(message.subject, watched, message.incarnation, now)
                return []
            watched.heard_ms = now
            if probe is not None and probe.number == message.number:
                self._probe = None
        elif suspicion is not None:
            if suspicion.confirm(sender, watched.incarnation):
                return [SetTimer(f"{_LOST}{message.subject}", max(0.0, suspicion.deadline_ms - now))]
        elif probe is not None and probe.number == message.number and sender in probe.helpers:
            probe.missed_by.add(sender)
        return []

    # -- suspicion ---------------------------------------------------------------------------------------

    def _suspect(self, probe: _Probe, watched: _Watched, now: float) -> list[Effect]:
        options, patient = self._options, self.health.patient
        suspicion = Suspicion(
            watched.incarnation,
            begun_ms=now,
            min_ms=patient(options.suspicion_ms_min),
            max_ms=patient(options.suspicion_ms_max),
            expected=len(probe.helpers),
            probes_before=self._number,
        )
        for helper in probe.missed_by:
            suspicion.confirm(helper, watched.incarnation)
        watched.suspicion = suspicion
        self.news.append(Finding("suspected", probe.peer))
        wait = SetTimer(f"{_LOST}{probe.peer}", suspicion.deadline_ms - now)
        return [*self._accuse(probe.peer, suspicion.incarnation), wait]

    def _accuse(self, peer: NodeId, incarnation: int) -> list[Effect]:
        """Has a suspect know that it is one, directly and through others: it may hear these and not this node."""
        self._number += 1
        effects: list[Effect] = [SendMessage(Ping(self._number, incarnation), (peer,))]
        helpers = self._helpers(self._options.helpers, peer)
        if helpers:
            effects.append(SendMessage(ProbeRequest(self._number, peer, incarnation), helpers))
        return effects

    def _acquit(self, peer: NodeId, watched: _Watched, incarnation: int, now: float) -> list[Effect]:
        watched.heard_ms = now
        watched.incarnation = max(watched.incarnation, incarnation)
        if watched.suspicion is None:
            return []
        watched.suspicion = None
        self.news.append(Finding("found", peer))
        return [CancelTimer(f"{_LOST}{peer}")]

    def _lose(self, peer: NodeId, now: float) -> list[Effect]:
        watched = self._watched.get(peer)
        if watched is None or watched.suspicion is None:
            return []
        if now - watched.suspicion.deadline_ms > self._options.probe_ms / 2:
            # This node did not run when it should have decided; the answer may lie in what it has not read yet.
            self.health.worsen()
            watched.suspicion = Suspicion(
                watched.suspicion.incarnation,
                begun_ms=now,
                min_ms=self._options.probe_ms,
                max_ms=self._options.probe_ms,
                expected=0,
                probes_before=watched.suspicion.probes_before,
            )
            return [SetTimer(f"{_LOST}{peer}", self._options.probe_ms)]
        del self._watched[peer]
        self.news.append(Finding("lost", peer))
        return []
