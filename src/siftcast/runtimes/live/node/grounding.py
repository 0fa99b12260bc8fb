"""A node's part when a network measures itself for `siftcast ground`: it measures the nodes it is asked to, and tells.

A run has the name that whoever asks has drawn for it. It begins with the first question and goes on while it is asked
about: after `LEASE_S` without a question whoever wanted it has gone, and nothing more is measured. The questions go to
all nodes as a wave (`inquiries`), so what is asked must be answered at once; what is measured takes as long as the
budget of probes wants it to.

Each node begins with another one, the one after itself, so that not all call the first at once; `OPEN_MAX` are measured
at a time. A node can only measure whom it can call, so the node that the client asks introduces all to all: what the
others answer says where they are, and is passed on with the next question. From a client no introduction is taken.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import msgspec

from siftcast.overlays.contract import NodeId
from siftcast.runtimes.live.errors import Refused
from siftcast.runtimes.live.node.address_book import AddressBook
from siftcast.runtimes.live.node.measuring import Measuring
from siftcast.runtimes.live.node.routes import Routes
from siftcast.runtimes.live.node.traceroute import Route
from siftcast.runtimes.live.wire.ground_questions import (
    HOSTS_MAX,
    ROWS_MAX,
    GroundAnswer,
    GroundQuestion,
    GroundRow,
    answer_in,
    decode_question,
    encode_question,
)
from siftcast.runtimes.live.wire.node_frames import Introduction

LEASE_S: Final = 15.0
OPEN_MAX: Final = 8
RUNS_MAX: Final = 4
_RUN_LENGTH_MAX: Final = 64
_DIGITS: Final = 4


class _Run:
    """One run at this node."""

    __slots__ = ("asked", "lease", "left", "open", "routes", "rows")

    def __init__(self, hosts: Sequence[NodeId], routes: bool) -> None:
        self.asked = len(hosts)
        self.left = deque(hosts)
        self.open = 0
        self.routes = routes
        self.rows: list[GroundRow] = []
        self.lease: asyncio.TimerHandle | None = None


class Grounding:
    """All runs of a node; `address` says where others can call it."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        own: NodeId,
        name: str,
        *,
        address: Callable[[], str],
        book: AddressBook,
        measuring: Measuring,
        routes: Routes,
    ) -> None:
        self._loop = loop
        self._own = own
        self._name = name
        self._address = address
        self._book = book
        self._measuring = measuring
        self._routes = routes
        self._runs: dict[str, _Run] = {}

    # -- questions -----------------------------------------------------------------------------------

    def prepare(self, content: bytes) -> bytes:
        """A client's question as it is passed on; raises Refused if it is none."""
        question = self._read(content)
        found: tuple[Introduction, ...] = ()
        if question.report is None and not question.is_over:
            found = (*self._book.introduce(host for host in question.hosts if host != self._own), *self._introduced())
        return encode_question(msgspec.structs.replace(question, introductions=found))

    def answer(self, content: bytes) -> dict[str, Any]:
        """What this node has to say; raises Refused."""
        question = self._read(content)
        for entry in question.introductions:
            if entry.identity != self._own:
                self._book.learn(entry)
        if question.is_over:
            self._end(question.run)
        elif question.run not in self._runs and self._own in question.hosts:
            self._begin(question)
        run = self._runs.get(question.run)
        known = GroundAnswer(self._own, self._address(), self._book.since)
        if run is not None:
            self._extend(question.run, run)
            rows = run.rows[question.first :][:ROWS_MAX] if question.report == self._own else []
            known = msgspec.structs.replace(known, asked=run.asked, done=len(run.rows), rows=rows)
        return {"distances": msgspec.to_builtins(known)}

    def learn(self, answers: Iterable[dict[str, Any]]) -> None:
        """What nodes answer says where they are."""
        for each in answers:
            answer = answer_in(each)
            if answer is not None and answer.identity != self._own and answer.address:
                self._book.learn(Introduction(answer.identity, str(each.get("node")), answer.address, answer.since))

    def stop(self) -> None:
        """Measures nothing any more."""
        for name in tuple(self._runs):
            self._end(name)

    def _read(self, content: bytes) -> GroundQuestion:
        try:
            question = decode_question(content)
        except ValueError as error:
            raise Refused(f"this is no question about the ground: {error}") from None
        if len(question.hosts) > HOSTS_MAX:
            raise Refused(f"at most {HOSTS_MAX:,} nodes are measured in one run, not {len(question.hosts):,}")
        if not 0 < len(question.run) <= _RUN_LENGTH_MAX or question.first < 0:
            raise Refused("this is no question about the ground: its run has no name, or its first row is none")
        return question

    def _introduced(self) -> tuple[Introduction, ...]:
        address = self._address()
        return (Introduction(self._own, self._name, address, self._book.since),) if address else ()

    # -- measuring -----------------------------------------------------------------------------------

    def _begin(self, question: GroundQuestion) -> None:
        if len(self._runs) >= RUNS_MAX:
            return  # it is asked again, and others end
        at = question.hosts.index(self._own)
        others = dict.fromkeys((*question.hosts[at + 1 :], *question.hosts[:at]))
        others.pop(self._own, None)
        self._runs[question.run] = _Run(tuple(others), question.routes)
        self._go_on(question.run)

    def _extend(self, name: str, run: _Run) -> None:
        """Somebody still wants to know."""
        if run.lease is not None:
            run.lease.cancel()
        run.lease = self._loop.call_later(LEASE_S, self._end, name)

    def _end(self, name: str) -> None:
        run = self._runs.pop(name, None)
        if run is not None and run.lease is not None:
            run.lease.cancel()

    def _go_on(self, name: str) -> None:
        run = self._runs.get(name)
        while run is not None and run.left and run.open < OPEN_MAX:
            run.open += 1
            self._measure(name, run, run.left.popleft())

    def _measure(self, name: str, run: _Run, host: NodeId) -> None:
        def heard(delay_ms: float | None) -> None:
            why = ""
            if delay_ms is None:
                why = "does not answer" if host in self._book else "is not known there"
            row = GroundRow(host, None if delay_ms is None else round(delay_ms, _DIGITS), why)
            if run.routes and name in self._runs:
                self._routes.ask(host, lambda route: self._note(name, run, with_route(row, route)), "people")
            else:
                self._note(name, run, row)

        self._measuring.ask(host, heard, "people")

    def _note(self, name: str, run: _Run, row: GroundRow) -> None:
        run.open -= 1
        run.rows.append(row)
        self._go_on(name)


def with_route(row: GroundRow, route: Route) -> GroundRow:
    """What was found out about a host, with the route to it."""
    delays_ms = tuple(None if each is None else round(each, _DIGITS) for each in route.delays_ms)
    return msgspec.structs.replace(
        row, status=route.status, routers=route.routers, delays_ms=delays_ms, why_route=route.reason
    )
