"""The neighbours of a peer of a core tree and how far they are: what the protocol asks of the overlay below it.

`Neighbourhood` is the face of such an overlay; the topology discovery overlay is one, and `Sampled` another: peer
sampling, whose neighbours are drawn at random, with the delays measured.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import ClassVar
from typing import Protocol as Interface

from siftcast.overlays.contract import (
    DelayMeasured,
    Effect,
    MeasureDelay,
    Message,
    NodeId,
    SetTimer,
    Started,
    Stimulus,
    TimerFired,
)
from siftcast.overlays.membership import Finding, Member, Membership, MembershipOptions, Neighbouring

_TIMER = "near/measure"
_REMEMBERED = 3


class Neighbourhood(Interface):
    """An overlay of neighbours with delays. As every part, it is handed what `concerns` it and returns effects."""

    news: list[Neighbouring | Finding]

    @property
    def neighbours(self) -> Mapping[NodeId, float]:
        """Neighbours and their delays in milliseconds, one way; those that are not measured yet are left out."""

    @property
    def distant(self) -> frozenset[NodeId]:
        """Those of them that hold the overlay together and are neighbours for nothing else."""

    @property
    def is_settled(self) -> bool: ...

    def members(self) -> tuple[Member, ...]: ...
    def concerns(self, stimulus: Stimulus) -> bool: ...
    def handle(self, stimulus: Stimulus, now: float) -> list[Effect]: ...
    def hear(self, sender: NodeId, now: float) -> None: ...
    def handle_stranger(self, sender: NodeId) -> list[Effect]: ...
    def handle_leaving(self, now: float) -> list[Effect]: ...


class Sampled:
    """Neighbours at random. Each is measured when it comes and then in turn, one every `measure_ms`."""

    messages: ClassVar[tuple[type[Message], ...]] = Membership.messages
    distant: frozenset[NodeId] = frozenset()
    """At random, nobody is nearer than others."""

    __slots__ = ("_delays", "_measure_ms", "_membership", "_turn", "neighbours")

    def __init__(self, node: NodeId, options: MembershipOptions, measure_ms: float) -> None:
        self._membership = Membership(node, options)
        self._measure_ms = measure_ms
        self._delays: dict[NodeId, deque[float]] = {}
        self._turn: deque[NodeId] = deque()
        self.neighbours: dict[NodeId, float] = {}

    @property
    def news(self) -> list[Neighbouring | Finding]:
        """What changed; the host takes it out."""
        return self._membership.news

    @news.setter
    def news(self, news: list[Neighbouring | Finding]) -> None:
        self._membership.news = news

    @property
    def is_settled(self) -> bool:
        """Whether there are neighbours, and all of them measured."""
        return self._membership.is_settled and all(peer in self.neighbours for peer in self._membership.neighbours)

    def members(self) -> tuple[Member, ...]:
        """Everyone the node knows."""
        return self._membership.members()

    def concerns(self, stimulus: Stimulus) -> bool:
        """Whether a stimulus is for `handle`."""
        if isinstance(stimulus, DelayMeasured) or (isinstance(stimulus, TimerFired) and stimulus.name == _TIMER):
            return True
        return self._membership.concerns(stimulus)

    def handle(self, stimulus: Stimulus, now: float) -> list[Effect]:
        """Takes in what happened to the node."""
        match stimulus:
            case DelayMeasured(peer, delay_ms):
                self._note(peer, delay_ms)
                return []
            case TimerFired(name) if name == _TIMER:
                return [SetTimer(_TIMER, self._measure_ms), *self._measure_again()]
        effects = self._follow(self._membership.handle(stimulus, now))
        if isinstance(stimulus, Started):
            effects.append(SetTimer(_TIMER, self._measure_ms))
        return effects

    def hear(self, sender: NodeId, now: float) -> None:
        """The host received a message of its own."""
        self._membership.hear(sender, now)

    def handle_stranger(self, sender: NodeId) -> list[Effect]:
        """The host received what it sends to neighbours only."""
        return self._membership.handle_stranger(sender)

    def handle_leaving(self, now: float) -> list[Effect]:
        """Says goodbye."""
        return self._follow(self._membership.handle_leaving(now))

    # -- measuring -------------------------------------------------------------------------------------------

    def _follow(self, effects: list[Effect]) -> list[Effect]:
        """Measures who is new, and forgets who is no neighbour any more."""
        active: Sequence[NodeId] = self._membership.neighbours
        for peer in [peer for peer in self._delays if peer not in active]:
            del self._delays[peer]
            self.neighbours.pop(peer, None)
            self._turn.remove(peer)
        for peer in active:
            if peer not in self._delays:
                self._delays[peer] = deque(maxlen=_REMEMBERED)
                self._turn.append(peer)
                effects.append(MeasureDelay(peer))
        return effects

    def _measure_again(self) -> list[Effect]:
        self._turn.rotate()
        due = [peer for peer in self._turn if peer not in self.neighbours]
        return [MeasureDelay(peer) for peer in dict.fromkeys((*due, *list(self._turn)[:1]))]

    def _note(self, peer: NodeId, delay_ms: float | None) -> None:
        last = self._delays.get(peer)
        if last is not None and delay_ms is not None:
            last.append(delay_ms)
            self.neighbours[peer] = sorted(last)[(len(last) - 1) // 2]
