"""Control messages that arrive although links lose some: `Refreshing` wraps a node of any scheme.

Schemes send once what routing tables are made of, and rely on its arrival. One lost announcement leaves a hole in the
tables of all servers behind it, which nothing would ever fill. So whatever carries no event goes in a numbered stream
for each peer, is answered, and is sent again until it is; the receiver hands it to its scheme once and in order.
Schemes know nothing of it.

    scheme ──Announce──▶ ┌ Refreshing ┐ ──Numbered(stream, 7, Announce)──▶ ┌ Refreshing ┐ ──Announce──▶ scheme
                         └────────────┘ ◀───Heard(stream, taken 5, 7)───── └────────────┘
                                                  6 is sent again after `refresh_ms`, and then 6 and 7 are handed over

Events go as they are, at most once: what is wanted is that tables are right again, and not that links lose nothing. So
does what its sender repeats by itself (`Message.repeated`).

A stream joins two lives (`Started.nonce`). Answers tell the life of who answers; if it is another one than before, the
peer has forgotten what it had heard, and what was not answered goes to it once more in a stream of its own, under new
numbers. Streams of a peer's former lives that come late are ignored. To a peer that is lost nothing is sent, and what
is for it waits; when it is found again that goes first, and then the scheme introduces itself, as on any `PeerFound`.
What is for a peer that is gone is dropped. A scheme that wants to `Leave` does so once all peers that can be reached
have answered, so that what it hands over arrives.

Patience begins with `refresh_ms`, or twice the shortest time in which the peer has answered, if that is longer, and
doubles while nothing is answered.

Invariants: one life hands over to its scheme what another sent it once, in order, and all of it if neither ends. When
everything was answered, or its peer is lost, nothing more is sent, and a timer that still runs is the last.

Rejected: a digest of tables that neighbours exchange now and then, which must know what a table is in each scheme, and
either ticks for ever or must be numbered and answered itself. To drop what was not answered when a peer is found
again, because it introduces itself: not everything that schemes say is part of an introduction.

Cost: an answer for each control message; for each peer the messages that were not answered, `WINDOW` of them under way
at a time, and all that were meant for a peer while it is lost.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from siftcast.model import Event
from siftcast.overlays.contract import (
    Effect,
    Effects,
    Leave,
    Message,
    MessageReceived,
    NodeId,
    PeerFound,
    PeerGone,
    PeerLost,
    Protocol,
    SendMessage,
    SetTimer,
    Started,
    Stimulus,
    TimerFired,
)
from siftcast.overlays.durability.streams import Incoming, Outgoing

Stream = tuple[int, int]
"""The sender's life, and how many lives of the receiver it has met before."""
WINDOW = 256
"""How many messages to a peer may be unanswered at a time; a receiver keeps more than that out of order."""
_LIVES_REMEMBERED = 8
_TIMER = "refresh/"


class Numbered(Message, frozen=True, gc=False):
    """A control message in its place among those of a stream; numbers begin with 1."""

    stream: Stream
    number: int
    content: Message

    @property
    def introduces(self) -> tuple[NodeId, ...]:
        return self.content.introduces


class Heard(Message, frozen=True, gc=False):
    """The sender, in this `life` of its, has `number` of a stream, and all up to `taken`."""

    stream: Stream
    taken: int
    number: int
    life: int


@dataclass(slots=True)
class _Peer:
    """Both directions between this node and another."""

    epoch: int = 0
    out: Outgoing[Message] = field(default_factory=Outgoing)
    life: int | None = None
    """The peer's, as it answered last."""
    lost: bool = False
    patience_ms: float = 0.0
    watched: int = 0
    """The last number that had been sent when the timer was set; 0 without a timer."""
    watched_ms: float = 0.0
    """When it was."""
    progress: bool = False
    """Whether something was answered since."""
    asked: tuple[int, float] | None = None
    """A number that is being timed, and when it was first sent."""
    answer_ms: float = 0.0
    """The shortest time in which one was answered; 0 if none was."""
    stream: Stream | None = None
    taken: Incoming[Message] = field(default_factory=Incoming)
    former: list[int] = field(default_factory=list)
    """Earlier lives of the peer, the latest last."""


class Refreshing(Protocol):
    """One node; `inner` is its part in a scheme. What is not answered is sent again, ever later up to the bound."""

    def __init__(self, inner: Protocol, *, refresh_ms: float = 200.0, refresh_ms_max: float = 5_000.0) -> None:
        if not 0 < refresh_ms < float("inf"):
            raise ValueError(f"refresh_ms is a time in milliseconds, longer than 0: {refresh_ms!r}")
        self.messages = (*inner.messages, Numbered, Heard)  # type: ignore[misc]
        self._inner = inner
        self._refresh_ms = refresh_ms
        self._refresh_ms_max = max(refresh_ms, refresh_ms_max)
        self._life: int | None = None
        self._leaving = False
        self._peers: dict[NodeId, _Peer] = {}

    def handle(self, stimulus: Stimulus, now: float) -> Effects:
        effects = self._finish(stimulus, now) if self._leaving else self._handle(stimulus, now)
        if not self._leaving:
            return effects
        rest = [effect for effect in effects if type(effect) is not Leave]
        return [*rest, Leave()] if self._has_answers else rest

    def _finish(self, stimulus: Stimulus, now: float) -> Effects:
        """Sees to what the scheme said last; the scheme itself hears nothing more."""
        match stimulus:
            case MessageReceived(sender, Heard() as heard):
                return self._settle(sender, heard, now)
            case TimerFired(name) if name.startswith(_TIMER):
                return self._wake(int(name[len(_TIMER) :]), now)
            case PeerLost(node):
                self._peer(node).lost = True
            case PeerFound(node):
                return self._find(node, now)
            case PeerGone(node):
                self._peers.pop(node, None)
        return []

    @property
    def _has_answers(self) -> bool:
        """Whether all peers that can be reached have answered everything."""
        return not any(peer.out.waiting for peer in self._peers.values() if not peer.lost)

    def _handle(self, stimulus: Stimulus, now: float) -> Effects:
        match stimulus:
            case MessageReceived(sender, Numbered() as numbered):
                return self._take(sender, numbered, now)
            case MessageReceived(sender, Heard() as heard):
                return self._settle(sender, heard, now)
            case TimerFired(name) if name.startswith(_TIMER):
                return self._wake(int(name[len(_TIMER) :]), now)
            case Started():
                self._life = stimulus.nonce
                waiting = [effect for node, peer in self._peers.items() for effect in self._send(node, peer, now)]
                return [*waiting, *self._carry_out(self._inner.handle(stimulus, now), now)]
            case PeerLost(node):
                self._peer(node).lost = True
            case PeerGone(node):
                self._peers.pop(node, None)
            case PeerFound(node):
                again = self._find(node, now)
                return [*again, *self._carry_out(self._inner.handle(stimulus, now), now)]
        return self._carry_out(self._inner.handle(stimulus, now), now)

    def _peer(self, node: NodeId) -> _Peer:
        peer = self._peers.get(node)
        if peer is None:
            peer = self._peers[node] = _Peer(patience_ms=self._refresh_ms)
        return peer

    def _find(self, node: NodeId, now: float) -> Effects:
        """Sends what a peer that was lost has not answered, and what waited for it."""
        peer = self._peer(node)
        peer.lost = False
        peer.out.rewind()
        self._begin_waiting(peer)
        return self._send(node, peer, now)

    def _begin_stream(self, peer: _Peer) -> None:
        """Gives what was not answered new numbers, for a new life of the peer."""
        waiting = list(peer.out.waiting.values())
        peer.epoch += 1
        peer.out = Outgoing()
        for message in waiting:
            peer.out.add(message)
        self._begin_waiting(peer)

    def _begin_waiting(self, peer: _Peer) -> None:
        peer.patience_ms, peer.watched, peer.asked = self._shortest(peer), 0, None

    def _shortest(self, peer: _Peer) -> float:
        """How long to wait for a first answer."""
        return min(max(self._refresh_ms, 2 * peer.answer_ms), self._refresh_ms_max)

    # -- sending -----------------------------------------------------------------------------------------

    def _carry_out(self, effects: Effects, now: float) -> Effects:
        """Effects of the scheme, with its control messages numbered."""
        self._leaving = self._leaving or any(type(effect) is Leave for effect in effects)
        if not any(_must_arrive(effect) for effect in effects):
            return effects
        done: list[Effect] = []
        for effect in effects:
            if isinstance(effect, SendMessage) and _must_arrive(effect):
                for node in effect.destinations:
                    done += self._tell(node, effect.message, now)
            else:
                done.append(effect)
        return done

    def _tell(self, node: NodeId, message: Message, now: float) -> list[Effect]:
        peer = self._peer(node)
        peer.out.add(message)
        return self._send(node, peer, now)

    def _send(self, node: NodeId, peer: _Peer, now: float) -> list[Effect]:
        """What may go out now, and a timer for it; nothing before the node has heard which life this is."""
        if self._life is None or peer.lost:
            return []
        items = peer.out.unsent(WINDOW)
        if items and peer.asked is None:
            peer.asked = items[-1][0], now
        return [*self._numbered(node, peer, items), *self._watch(node, peer, now)]

    def _numbered(self, node: NodeId, peer: _Peer, items: list[tuple[int, Message]]) -> list[Effect]:
        assert self._life is not None
        stream = (self._life, peer.epoch)
        return [SendMessage(Numbered(stream, number, message), (node,)) for number, message in items]

    def _watch(self, node: NodeId, peer: _Peer, now: float) -> list[Effect]:
        """Sets a timer for what was sent, unless there is one; what is sent at the same time shares it."""
        if not peer.out.waiting or (peer.watched and peer.watched_ms < now):
            return []
        is_set = peer.watched > 0
        peer.watched, peer.watched_ms = min(peer.out.next - 1, peer.out.base - 1 + WINDOW), now
        if is_set:
            return []
        peer.progress = False
        return [SetTimer(f"{_TIMER}{node}", peer.patience_ms)]

    def _wake(self, node: NodeId, now: float) -> Effects:
        """Sends once more what has not been answered since the timer was set; twice as patient if nothing was."""
        peer = self._peer(node)
        watched, peer.watched = peer.watched, 0
        if peer.lost or not peer.out.waiting:
            peer.patience_ms = self._shortest(peer)
            return []
        overdue = [(number, message) for number, message in peer.out.overdue(WINDOW) if number <= watched]
        patience_ms = self._shortest(peer) if peer.progress else 2 * peer.patience_ms
        peer.patience_ms = min(patience_ms, self._refresh_ms_max)
        return [*self._numbered(node, peer, overdue), *self._watch(node, peer, now)]

    def _settle(self, node: NodeId, heard: Heard, now: float) -> Effects:
        peer = self._peer(node)
        if heard.stream != (self._life, peer.epoch):
            return []
        known, peer.life = peer.life, heard.life
        if known is not None and known != heard.life:
            self._begin_stream(peer)
            return self._send(node, peer, now)
        if peer.asked is not None and (heard.number == peer.asked[0] or heard.taken >= peer.asked[0]):
            # Counted from the first sending, this is never too short, so that the shortest is near the truth.
            took_ms = now - peer.asked[1]
            peer.answer_ms, peer.asked = min(peer.answer_ms or took_ms, took_ms), None
        before = len(peer.out.waiting)
        peer.out.settle(heard.taken, ())
        peer.out.waiting.pop(heard.number, None)
        peer.progress = peer.progress or len(peer.out.waiting) < before
        return self._send(node, peer, now)

    # -- receiving ---------------------------------------------------------------------------------------

    def _take(self, node: NodeId, numbered: Numbered, now: float) -> Effects:
        """Hands over what is complete, and says how far that is."""
        peer = self._peer(node)
        if self._life is None or not self._follow(peer, numbered.stream):
            return []
        turn = peer.taken.receive(numbered.number, numbered.content)
        heard = Heard(numbered.stream, peer.taken.taken, numbered.number, self._life)
        effects: list[Effect] = [SendMessage(heard, (node,))]
        for _, message in turn:
            effects += self._carry_out(self._inner.handle(MessageReceived(node, message), now), now)
        return effects

    def _follow(self, peer: _Peer, stream: Stream) -> bool:
        """Whether a stream is the peer's latest, as far as one can tell; a new one begins with number 1."""
        if peer.stream == stream:
            return True
        if peer.stream is not None and peer.stream[0] == stream[0]:
            if stream[1] < peer.stream[1]:
                return False
        elif stream[0] in peer.former:
            return False
        elif peer.stream is not None:
            peer.former = [*peer.former, peer.stream[0]][-_LIVES_REMEMBERED:]
        peer.stream, peer.taken = stream, Incoming()
        return True

    # -- facts -------------------------------------------------------------------------------------------

    @property
    def is_settled(self) -> bool:
        return self._inner.is_settled and self._has_answers

    @property
    def can_leave(self) -> bool:
        return self._inner.can_leave

    def way_of(self, event: Event) -> str | None:
        return self._inner.way_of(event)

    def state(self) -> Mapping[str, Any]:
        """The scheme's facts, and how many control messages were not answered."""
        return {**self._inner.state(), "control_waiting": sum(len(peer.out.waiting) for peer in self._peers.values())}


def _must_arrive(effect: Effect) -> bool:
    """Whether an effect sends something that nobody else would send again."""
    return type(effect) is SendMessage and effect.message.event_id is None and not effect.message.repeated
