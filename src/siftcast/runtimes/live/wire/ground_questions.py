"""What is asked and answered while the nodes of a network measure each other (`siftcast ground`).

    client                  node A                              node B, node C, …
      │ ── GroundQuestion ──▶ │ ── with introductions ──────────▶ │    a run begins: each measures all the others
      │ ◀─ how far ────────── │ ◀──────────────────── how far ─── │    and says how many it has measured so far
      │ ── … again, until all have measured all ────────────────▶ │
      │ ── report of B ─────▶ │ ────────────────────────────────▶ │
      │ ◀─ rows ───────────── │ ◀─────────────────────── rows ─── │    a page at a time: an answer fits a frame
      │ ── is over ─────────▶ │ ────────────────────────────────▶ │    results are dropped

Both travel in frames that there are for questions to all nodes (`node.inquiries`).
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from siftcast.runtimes.live.wire.node_frames import Introduction

HOSTS_MAX: Final = 2_000
ROWS_MAX: Final = 200
"""So many rows come at a time."""


class GroundQuestion(msgspec.Struct, array_like=True, frozen=True):
    """Asks nodes to measure `hosts`, or to go on with it.

    Whose `report` is asked for answers with the rows from `first` on. `introductions` are those of the node that the
    client asked; a client's own count for nothing.
    """

    run: str
    hosts: tuple[int, ...] = ()
    routes: bool = False
    report: int | None = None
    first: int = 0
    is_over: bool = False
    introductions: tuple[Introduction, ...] = ()


class GroundRow(msgspec.Struct, array_like=True, frozen=True):
    """What a node has found out about another: how far it is, or why nobody knows; and the route, where wanted."""

    host: int
    delay_ms: float | None
    why: str = ""
    status: Literal["ok", "partial", "unavailable"] | None = None
    routers: tuple[str | None, ...] = ()
    delays_ms: tuple[float | None, ...] = ()
    why_route: str = ""


class GroundAnswer(msgspec.Struct, frozen=True):
    """Who answers, how much of what was asked it has measured, and what it found, if that was asked."""

    identity: int
    address: str
    since: int
    asked: int = 0
    done: int = 0
    rows: list[GroundRow] = []


def encode_question(question: GroundQuestion) -> bytes:
    """A question as it travels."""
    return msgspec.msgpack.encode(question)


def decode_question(content: bytes) -> GroundQuestion:
    """A question that travelled; raises ValueError."""
    try:
        return msgspec.msgpack.decode(content, type=GroundQuestion)
    except msgspec.DecodeError as error:
        raise ValueError(str(error)) from None


def answer_in(answer: object) -> GroundAnswer | None:
    """The part of a node's answer that is about this; None if there is none, or it is not what it should be."""
    if not isinstance(answer, dict) or "distances" not in answer:
        return None
    try:
        return msgspec.convert(answer["distances"], GroundAnswer)
    except msgspec.ValidationError:
        return None
