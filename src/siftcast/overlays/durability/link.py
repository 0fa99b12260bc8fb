"""One neighbour as a durable node sees it: two streams each way, who has seen what, and how patient to be.

*Relays* carry what must not be lost. The sender has each on its disk (`outbox/peer/number`), under a number that stays
the same over crashes, so the receiver knows what it has seen whoever of the two was down.

*Control* carries what routing tables are made of. It is not kept by the sender: after a crash it begins a new chapter
with an introduction that says all there is to say, which costs less than writing down every announcement.

                    relays     stream (1, a7)   … 17 18 19      base 17: 17 was not acknowledged yet
    node 4  ───────────────────────────────────────▶  node 9
                    control    chapter (3, 2, 0, c5)  1 2 3
            ◀───────────────────────────────────────
            Acknowledge(keeper (8, e1), known (3, b2), stream (1, a7), kept 18, unlanded 17, …)

A link is *closed* until a greeting was answered. In it both ends say what they have seen of the other, so that one that
lost its disk, or got an older one back, finds out before it sends anything under a number that was used before:

    closed ──something to send, or found──▶ greeting ──answered──▶ open
       ◀───────────── the peer is lost, or this node lost a part of its past ─────────────

A receiver that lost what it had taken says so by a new lineage (`keeper`); then the relays that wait for it get new
numbers in a new stream, and control begins a new chapter.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from siftcast.overlays.contract import Message, NodeId
from siftcast.overlays.durability.messages import (
    NEVER,
    UNKNOWN,
    Acknowledge,
    Chapter,
    ControlRelay,
    Greet,
    Lineage,
    Relay,
    Ticket,
    is_behind,
)
from siftcast.overlays.durability.runs import Runs, RunSet
from siftcast.overlays.durability.streams import Incoming, Outgoing


class Waiting(NamedTuple):
    """A relay in the outbox: what it carries, the duty it belongs to (0 for none), and its event's ticket.

    `weight` is what it takes in memory, about.
    """

    content: Message
    duty: int
    ticket: Ticket | None
    weight: int = 0


class LinkRecord(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What a node keeps about a neighbour, beside the outbox."""

    stream_out: Lineage
    next: int
    kept: int
    keeper: Lineage
    stream_in: Lineage
    taken: int
    chapter: Chapter
    control_taken: int
    told: bool


@dataclass(slots=True)
class Link:
    """The state of both directions."""

    peer: NodeId
    stream_out: Lineage = UNKNOWN
    relays_out: Outgoing[Waiting] = field(default_factory=Outgoing)
    outbox_bytes: int = 0
    """What the relays that wait take in memory, about."""
    passing_bytes: int = 0
    """The same for events of which no other node keeps a copy until they have landed."""
    releases: dict[int, None] = field(default_factory=dict)
    """Relays that are released, as far as the peer has not answered for it."""
    landed: Runs = ()
    """Relays of which the peer has said that they landed, and nothing later."""
    chapter_out: Chapter = NEVER
    control_out: Outgoing[Message] = field(default_factory=Outgoing)
    told: bool = False
    """Whether this node has ever said anything about routing to the peer, and must introduce itself after a crash."""
    keeper: Lineage = UNKNOWN
    """The peer's lineage, as it said last."""
    stream_in: Lineage = UNKNOWN
    relays_in: Incoming[Relay] = field(default_factory=Incoming)
    chapter_in: Chapter = NEVER
    control_in: Incoming[ControlRelay] = field(default_factory=Incoming)
    unlanded: RunSet = field(default_factory=RunSet)
    """Relays of the peer that have not landed beyond this node."""
    parked: RunSet = field(default_factory=RunSet)
    """Those that have, and wait for their release."""
    duties: dict[int, int] = field(default_factory=dict)
    """The duty of each of both."""
    orphans: list[int] = field(default_factory=list)
    """Duties of a stream that the peer has given up; nobody will release them."""
    is_open: bool = False
    greeting: tuple[int, int] | None = None
    """The token of a greeting that was not answered."""
    session: tuple[int, int] = (0, 0)
    """The token of the greeting that opened the link."""
    greeted: tuple[int, int] = (0, 0)
    """The token of the peer's last greeting."""
    lost: bool = False
    patience_ms: float = 0.0
    resend_at: float = float("inf")
    moved_at: float | None = None
    """When something that waits for the peer last went on; None while nothing does, or the peer is lost."""

    @classmethod
    def restored(cls, peer: NodeId, data: bytes) -> Link:
        """The link that `record` wrote down."""
        record = msgspec.msgpack.decode(data, type=LinkRecord)
        return cls(
            peer,
            stream_out=record.stream_out,
            relays_out=Outgoing(record.next, record.kept),
            told=record.told,
            keeper=record.keeper,
            stream_in=record.stream_in,
            relays_in=Incoming(record.taken),
            chapter_in=record.chapter,
            control_in=Incoming(record.control_taken),
        )

    def record(self) -> bytes:
        """What must survive."""
        return msgspec.msgpack.encode(
            LinkRecord(
                self.stream_out,
                self.relays_out.next,
                self.relays_out.kept,
                self.keeper,
                self.stream_in,
                self.relays_in.taken,
                self.chapter_in,
                self.control_in.taken,
                self.told,
            )
        )

    @property
    def is_waiting(self) -> bool:
        """Whether the peer has not answered for everything."""
        return bool(self.relays_out.waiting or self.control_out.waiting or self.greeting)

    @property
    def depends_on_peer(self) -> bool:
        """Whether something waits that nobody but the peer keeps from going on."""
        return bool(self.greeting or self.control_out.waiting or self.relays_out.unkept or self.releases)

    # -- what is said ------------------------------------------------------------------------------------

    def greet(self, keeper: Lineage) -> Greet:
        """The greeting that is not answered yet."""
        assert self.greeting is not None
        return Greet(
            self.greeting,
            keeper,
            self.keeper,
            self.stream_out,
            self.relays_out.kept,
            self.chapter_out,
            self.control_out.kept,
        )

    def acknowledgement(self, keeper: Lineage) -> Acknowledge:
        """How far everything was taken in; true once what is staged is safe."""
        return Acknowledge(
            keeper,
            self.keeper,
            self.stream_in,
            self.relays_in.taken,
            self.unlanded.runs,
            self.parked.runs,
            self.chapter_in,
            self.control_in.taken,
            self.greeted,
        )

    # -- who has seen what -------------------------------------------------------------------------------

    def lacks_what_was_taken(self, greet: Greet) -> bool:
        """Whether the peer remembers that this node took more than this node knows of."""
        control = self.control_in.taken if greet.chapter == self.chapter_in else 0
        newest = greet.chapter >= self.chapter_in
        return self._lacks(greet.stream, greet.kept) or (newest and greet.control_kept > control)

    def lacks_beginning(self, relay: Relay) -> bool:
        """Whether a relay goes on with a stream of which this node took something and has forgotten it."""
        return self._lacks(relay.stream, relay.base - 1)

    def _lacks(self, stream: Lineage, kept: int) -> bool:
        if stream == self.stream_in:
            return kept > self.relays_in.taken
        return stream[0] > self.stream_in[0] and kept > 0

    def lacks_what_was_sent(self, told: Acknowledge) -> bool:
        """Whether the peer has more from this node than this node knows to have sent."""
        if is_behind(self.stream_out, told.stream) or told.chapter > self.chapter_out:
            return True
        beyond = told.stream == self.stream_out and told.kept >= self.relays_out.next
        return beyond or (told.chapter == self.chapter_out and told.control_kept >= self.control_out.next)

    # -- what comes in -----------------------------------------------------------------------------------

    def take_session(self, token: tuple[int, int]) -> None:
        """The peer opens the link; what it sent early in another session will be sent again."""
        if token != self.greeted:
            self.greeted = token
            self.relays_in = Incoming(self.relays_in.taken)

    def take_stream(self, stream: Lineage) -> None:
        """Goes on with a later stream of the peer, if this is one; nobody will release what came in the former."""
        if stream[0] > self.stream_in[0]:
            self.stream_in = stream
            self.relays_in = Incoming()
            self.orphans += self.duties.values()
            self.unlanded, self.parked, self.duties = RunSet(), RunSet(), {}

    def weigh(self, waiting: Waiting, sign: int) -> None:
        """Counts a relay that waits, or with -1 one that waits no longer."""
        self.outbox_bytes += sign * waiting.weight
        if not waiting.duty and waiting.content.event_id is not None:
            self.passing_bytes += sign * waiting.weight

    def take_relay(self, relay: Relay) -> list[Relay]:
        """Relays whose turn it is."""
        if not self._is_current(relay):
            return []
        return [item for _, item in self.relays_in.receive(relay.number, relay)]

    def put_off(self, relay: Relay) -> None:
        """Has a relay wait although it may be its turn; it is not answered for."""
        if self._is_current(relay):
            self.relays_in.put_off(relay.number, relay)

    def _is_current(self, relay: Relay) -> bool:
        """Whether a relay is of this session and stream, which may begin with it."""
        if relay.session != self.greeted:
            return False
        self.take_stream(relay.stream)
        if relay.stream != self.stream_in:
            return False
        self.relays_in.skip(relay.base - 1)
        return True

    def take_orphans(self) -> list[int]:
        """The duties of a stream that the peer has given up, to be released."""
        orphans, self.orphans = self.orphans, []
        return orphans

    def owe(self, number: int, duty: int) -> None:
        """A relay of the peer is a duty of this node until it has landed and is released."""
        self.duties[number] = duty
        self.unlanded.add(number)

    def duty_of(self, number: int) -> int:
        """The duty of a relay of the peer that is not done with; 0 if there is none."""
        return self.duties.get(number, 0)

    def note_landed(self, number: int, duty: int, *, done: bool) -> None:
        """A relay of the peer has landed, or is done with."""
        if self.duty_of(number) != duty:
            return
        self.unlanded.discard(number)
        if done:
            self.parked.discard(number)
            del self.duties[number]
        else:
            self.parked.add(number)

    def take_control(self, relay: ControlRelay) -> list[Message]:
        """Control messages whose turn it is."""
        if relay.chapter < self.chapter_in:
            return []
        if relay.chapter > self.chapter_in:
            self.chapter_in = relay.chapter
            self.control_in = Incoming()
        return [item.content for _, item in self.control_in.receive(relay.number, relay)]
