"""Questions to all nodes of a network: a wave that goes out over the connections and comes back with the answers.

        client ──Inquire──▶ A ──PeerQuestion──▶ B ──PeerQuestion──▶ C
               ◀Description─  ◀── answers B, C ──  ◀── answer C ────

A node that hears a question for the first time passes it on to all its other neighbours, and answers when all of them
have answered, are lost, or its patience has run out; one that hears it again answers at once with nothing, so a network
with cycles is no problem. Each hop has less patience than the one before, so what is known comes back although
something beyond is frozen. Whoever asked is told which nodes did not answer.

Only those who may see what others do can ask (`rights`); the node they are connected to checks that, and the others,
which know each other, trust it. What a node has to remember is bounded: OPEN_MAX questions at a time, and the last
SEEN_MAX ids.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from typing import Any, Protocol

import msgspec

from siftcast.model import Event
from siftcast.model.errors import SiftcastError
from siftcast.overlays.contract import NodeId
from siftcast.runtimes.live.errors import FrameError, Refused
from siftcast.runtimes.live.node.rights import Guard
from siftcast.runtimes.live.wire.connection import Connection
from siftcast.runtimes.live.wire.frames import Description, Failure, Frame, Inquire, Question
from siftcast.runtimes.live.wire.node_frames import PeerAnswer, PeerQuestion

Answers = list[dict[str, Any]]
PATIENCE_MS = 3_000.0
OPEN_MAX = 64
SEEN_MAX = 4_096
_PATIENCE_SHARE = 0.8


class Neighbours(Protocol):
    """The nodes that can be asked."""

    @property
    def connected(self) -> tuple[NodeId, ...]: ...

    def send_frame(self, number: NodeId, frame: Frame) -> None: ...

    def can_read(self, number: NodeId, question: Question) -> bool: ...


class _Gathering:
    """A question under way: who has yet to answer, and what to do with the answers."""

    __slots__ = ("answers", "done", "timer", "waiting")

    def __init__(self, answers: Answers, waiting: set[NodeId], done: Callable[[Answers], None]) -> None:
        self.answers = answers
        self.waiting = waiting
        self.done = done
        self.timer: asyncio.TimerHandle | None = None


class Inquiries:
    """A node's part in questions."""

    def __init__(
        self,
        node: str,
        incarnation: str,
        names: Callable[[], Collection[str]],
        neighbours: Neighbours,
        *,
        knows_all: bool,
        frame_bytes_max: int,
        answer: Callable[[Question, bytes], dict[str, Any]],
        event_of: Callable[[bytes], Event],
    ) -> None:
        self._name = node
        self._names = names
        self._neighbours = neighbours
        self._knows_all = knows_all
        self._frame_bytes_max = frame_bytes_max
        self._answer_own = answer
        self._event_of = event_of
        self._loop = asyncio.get_running_loop()
        self._prefix = f"{node}.{incarnation}"
        self._count = 0
        self._open: dict[str, _Gathering] = {}
        self._seen: dict[str, None] = {}

    def ask(self, connection: Connection, guard: Guard, frame: Inquire) -> None:
        """A client asks; raises SiftcastError if it may not, or if the question is none."""
        guard.see()
        if frame.question == "reach":
            guard.publish(self._event_of(frame.content))
        if len(self._open) >= OPEN_MAX:
            raise Refused(f"{OPEN_MAX} questions are under way already; ask again when one is answered")
        limit = self._frame_bytes_max

        def done(answers: Answers, silent: list[str]) -> None:
            if connection.closing:
                return
            try:
                guard.see()  # its rights may have changed while others were asked
                connection.send(Description(frame.request, {"answers": _fitting(answers, limit), "silent": silent}))
            except SiftcastError as error:
                connection.send(Failure(frame.request, error.code, str(error)))

        self.gather(frame.question, frame.content, done)

    def gather(self, question: Question, content: bytes, done: Callable[[Answers, list[str]], None]) -> None:
        """Asks all nodes for this one itself; `done` is given the answers, and the names of those who gave none."""
        self._count += 1

        def end(answers: Answers) -> None:
            done(answers, sorted(set(self._names()) - {answer["node"] for answer in answers}))

        self._begin(PeerQuestion(f"{self._prefix}.{self._count}", question, content, PATIENCE_MS), None, end)

    def received(self, sender: NodeId, frame: PeerQuestion | PeerAnswer) -> None:
        """Another node asks or answers."""
        if isinstance(frame, PeerAnswer):
            gathering = self._open.get(frame.id)
            if gathering is not None and sender in gathering.waiting:
                gathering.answers += [each for each in frame.answers if self._is_member(each.get("node"))]
                self._heard(frame.id, sender)
        elif frame.id in self._seen or len(self._open) >= OPEN_MAX:
            self._neighbours.send_frame(sender, PeerAnswer(frame.id, []))
        else:
            try:
                self._begin(
                    frame, sender, lambda found: self._neighbours.send_frame(sender, PeerAnswer(frame.id, found))
                )
            except SiftcastError:  # as when this node's limits are lower; whoever asked counts it as silent
                self._neighbours.send_frame(sender, PeerAnswer(frame.id, []))

    def _is_member(self, name: object) -> bool:
        """Whether an answer may be of a node of this name; where nothing is planned a node does not know all others."""
        return isinstance(name, str) and (not self._knows_all or name in self._names())

    def lost(self, number: NodeId) -> None:
        """A neighbour is gone, and will not answer."""
        for id in [id for id, gathering in self._open.items() if number in gathering.waiting]:
            self._heard(id, number)

    def stop(self) -> None:
        """Forgets all questions; nobody is told."""
        for gathering in self._open.values():
            if gathering.timer is not None:
                gathering.timer.cancel()
        self._open.clear()

    def _begin(self, frame: PeerQuestion, asker: NodeId | None, done: Callable[[Answers], None]) -> None:
        answer = self._answer(frame.question, frame.content)
        self._seen[frame.id] = None
        if len(self._seen) > SEEN_MAX:
            del self._seen[next(iter(self._seen))]
        connected = (number for number in self._neighbours.connected if number != asker)
        others = [number for number in connected if self._neighbours.can_read(number, frame.question)]
        gathering = _Gathering([answer], set(others), done)
        self._open[frame.id] = gathering
        patience_ms = frame.patience_ms if 0.0 <= frame.patience_ms <= PATIENCE_MS else PATIENCE_MS  # it may be NaN
        onward = PeerQuestion(frame.id, frame.question, frame.content, patience_ms * _PATIENCE_SHARE)
        for number in others:
            self._neighbours.send_frame(number, onward)
        if others:
            gathering.timer = self._loop.call_later(patience_ms / 1_000, self._end, frame.id)
        else:
            self._end(frame.id)

    def _answer(self, question: Question, content: bytes) -> dict[str, Any]:
        return {"node": self._name, **self._answer_own(question, content)}

    def _heard(self, id: str, number: NodeId) -> None:
        gathering = self._open[id]
        gathering.waiting.discard(number)
        if not gathering.waiting:
            self._end(id)

    def _end(self, id: str) -> None:
        gathering = self._open.pop(id)
        if gathering.timer is not None:
            gathering.timer.cancel()
        gathering.done(gathering.answers)


def _fitting(answers: Answers, bytes_max: int) -> Answers:
    """Answers with as many rows of each node as fit a frame; counts stay what they are."""
    rows = max((len(value) for answer in answers for value in answer.values() if isinstance(value, list)), default=0)
    while len(msgspec.msgpack.encode(answers)) > bytes_max - 1_024:
        if rows == 0:
            raise FrameError("the answer does not fit a frame; raise frame_bytes_max in [limits]")
        rows //= 2
        answers = [_shortened(answer, rows) for answer in answers]
    return answers


def _shortened(answer: dict[str, Any], rows: int) -> dict[str, Any]:
    return {name: value[:rows] if isinstance(value, list) else value for name, value in answer.items()}
