"""Errands: probes that a node makes for others whose own did not get through; the helpers' side of an indirect probe.

    A ──ProbeRequest(p)──▶ h ──Ping, errand──▶ p
      ◀──ProbeAnswer(p)──    ◀─────Ack──────     or, after `answer_ms`, a ProbeAnswer that says that nothing came

A negative answer is worth as much as a positive one: it tells A that its helper can be reached, so that the fault is
not A's own, and it is an independent witness against p.

Invariant: every request is answered once. Cost: a few words for each errand, for `answer_ms` at most.
"""

from __future__ import annotations

from typing import NamedTuple

from siftcast.overlays.contract import CancelTimer, Effect, NodeId, SendMessage, SetTimer
from siftcast.overlays.membership.detector_messages import Ack, Ping, ProbeAnswer, ProbeRequest

TIMERS = "detect/errand/"


class _Errand(NamedTuple):
    sender: NodeId
    number: int
    subject: NodeId


class Errands:
    """The errands of one node, by the number of its ping."""

    __slots__ = ("_answer_ms", "_errands")

    def __init__(self, answer_ms: float) -> None:
        self._answer_ms = answer_ms
        self._errands: dict[int, _Errand] = {}

    def begin(self, number: int, sender: NodeId, request: ProbeRequest) -> list[Effect]:
        """Pings the subject of a request."""
        self._errands[number] = _Errand(sender, request.number, request.subject)
        ping = SendMessage(Ping(number, request.accused, errand=True), (request.subject,))
        return [ping, SetTimer(f"{TIMERS}{number}", self._answer_ms)]

    def handle_ack(self, sender: NodeId, ack: Ack) -> list[Effect]:
        """Passes an answer on to whoever asked; nothing, if it is the answer to no errand."""
        errand = self._errands.get(ack.number)
        if errand is None or errand.subject != sender:
            return []
        del self._errands[ack.number]
        answer = ProbeAnswer(errand.number, sender, ack.incarnation)
        return [CancelTimer(f"{TIMERS}{ack.number}"), SendMessage(answer, (errand.sender,))]

    def handle_timer(self, name: str) -> list[Effect]:
        """Says that nothing came."""
        errand = self._errands.pop(int(name[len(TIMERS) :]), None)
        if errand is None:
            return []
        return [SendMessage(ProbeAnswer(errand.number, errand.subject, None), (errand.sender,))]
