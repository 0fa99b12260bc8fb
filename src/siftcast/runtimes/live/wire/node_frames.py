"""What nodes say to each other, and to one that wants to join them.

    joiner                         seed                          node
      │ ── Hello(joiner) ──────────▶ │                             │
      │ ◀────────── Invitation ───── │                             │   and hangs up; then, as a node:
      │ ── Hello(node) ────────────▶ │ ◀─────────── Hello(node) ── │
      │ ◀────────────── Welcome ──── │ ── Welcome ───────────────▶ │
      │ ◀─────────── PeerMessage ──▶ │ ◀──────────── PeerMessage ─▶│   introducing whom it names
      │ ── Unneeded ───────────────▶ │                             │   a connection that nobody watches ends
      │ ── Farewell ───────────────▶ │                             │   it has left for good
      │                              │ ── Forgotten ─────────────▶ │   who will not come back, and is turned away
      │                              │ ── AgesWanted ────────────▶ │   somebody has a bound on delay (`node.ages`)

A `PeerMessage` without introductions and age is put together from parts (`peer_message_frame`), because events travel
in it. One of version 3 reads what it knows of it and leaves out the age; `AgesWanted` is sent to version 4 only.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from siftcast.runtimes.live.wire.frame import Frame, Question
from siftcast.runtimes.live.wire.framing import framed

# An array of two: the kind, and the message.
_PEER_MESSAGE: Final = bytes((0x92, 17))


class Introduction(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """Who a node is, what people call it and where it can be called.

    `since` counts up from one start of that node to the next, so that of two addresses the newer one is known.
    """

    identity: int
    name: str
    address: str
    since: int = 0


class Age(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """How old the event in a message was when it was sent, and how long of that it had been at the sender.

    `sent_ms` is when, by the sender's monotonic clock, which is nobody else's: it tells how long messages waited on the
    way (`waits`). The hop that took it longest so far led from `slow_from` to `slow_to`; 0 ms, if this is its first.
    """

    age_ms: float
    stayed_ms: float
    sent_ms: float
    slow_ms: float = 0.0
    slow_from: int = 0
    slow_to: int = 0


class PeerMessage(Frame, frozen=True, gc=False, tag=17):
    """A message of the scheme, as `overlays.wire_messages` has it, and the nodes that it introduces.

    While somebody wants to know, it says how old the event in it is.
    """

    message: msgspec.Raw
    introductions: tuple[Introduction, ...] = ()
    age: Age | None = None


class PeerQuestion(Frame, frozen=True, gc=False, tag=31):
    """A node passes a question on; it wants the answers of all nodes beyond within `patience_ms`."""

    id: str
    question: Question
    content: bytes
    patience_ms: float


class PeerAnswer(Frame, frozen=True, gc=False, tag=32):
    """What a node and those beyond it answer."""

    id: str
    answers: list[dict[str, Any]]


class Invitation(Frame, frozen=True, gc=False, tag=33):
    """What a node must know to be one of a network: what all its nodes agree on, and who tells it."""

    version: int
    network: str
    digest: str
    scheme: str
    options: dict[str, Any]
    schema: str | None
    durable: bool
    identity: int
    name: str
    heartbeat_ms: float


class Farewell(Frame, frozen=True, gc=False, tag=34):
    """The node has left the network for good."""


class Forgotten(Frame, frozen=True, gc=False, tag=37):
    """These nodes were declared gone, in a network without a plan; whoever did not know it passes it on."""

    identities: tuple[int, ...]


class AgesWanted(Frame, frozen=True, gc=False, tag=39):
    """For so long, messages are to say how old the events in them are; whoever did not know it passes it on.

    `origin` has drawn its number for this, and counts what it says.
    """

    origin: int
    number: int
    for_ms: float


class Unneeded(Frame, frozen=True, gc=False, tag=35):
    """The node has had no use for this connection for a while; the other end closes it, if it has none either."""


def peer_message_frame(message: bytes) -> bytes:
    """A `PeerMessage` that introduces nobody, put together from parts."""
    return framed(b"".join((_PEER_MESSAGE, message)))
