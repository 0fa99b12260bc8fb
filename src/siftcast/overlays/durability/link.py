"""One neighbour as a durable node sees it: two streams each way, and how patient to be.

*Relays* carry what must not be lost. The sender has each on its disk (`outbox/peer/number`), under a number that stays
the same over crashes, so the receiver knows what it has seen whoever of the two was down.

*Control* carries what routing tables are made of. It is not kept by the sender: after a crash it begins a new epoch
with an introduction that says all there is to say, which costs less than writing down every announcement.

                    relays     lineage 3   … 17 18 19          base 17: 17 was not acknowledged yet
    node 4  ───────────────────────────────────────▶  node 9
                    control    epoch (3, 2, 0)  1 2 3
            ◀───────────────────────────────────────
            Acknowledge(keeper 8, lineage 3, kept 18, unlanded (17,), epoch (3, 2, 0), control_kept 3)

A node that lost its disk has a new lineage, which is larger (it is the time of its first start). Acknowledgements show
it: then control begins a new epoch, and relays go on from `base`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from siftcast.overlays.contract import Message, NodeId
from siftcast.overlays.durability.messages import Acknowledge, ControlRelay, Epoch, Relay, Ticket
from siftcast.overlays.durability.streams import Incoming, Outgoing

NEVER: Epoch = (-1, 0, 0)


class Waiting(NamedTuple):
    """A relay in the outbox: what it carries, the duty it belongs to (0 for none), and its event's ticket."""

    content: Message
    duty: int
    ticket: Ticket | None


class LinkRecord(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What a node keeps about a neighbour, beside the outbox."""

    next: int
    lineage: int
    taken: int
    epoch: Epoch
    control_taken: int
    told: bool


@dataclass(slots=True)
class Link:
    """The state of both directions."""

    peer: NodeId
    relays_out: Outgoing[Waiting] = field(default_factory=Outgoing)
    control_out: Outgoing[Message] = field(default_factory=Outgoing)
    epoch_out: Epoch = NEVER
    told: bool = False
    """Whether this node has ever said anything about routing to the peer, and must introduce itself after a crash."""
    lineage: int = -1
    relays_in: Incoming[Relay] = field(default_factory=Incoming)
    epoch: Epoch = NEVER
    control_in: Incoming[ControlRelay] = field(default_factory=Incoming)
    keeper: int = -1
    """The peer's lineage, as it said last."""
    unlanded: dict[int, int] = field(default_factory=dict)
    """Relays of the peer that have not landed beyond this node, and the duty of each."""
    parked: dict[int, int] = field(default_factory=dict)
    """Those that have, and wait for their release."""
    orphans: list[int] = field(default_factory=list)
    """Duties owed to a disk that the peer has lost; nobody will release them."""
    greeting: tuple[int, int] | None = None
    """The token of a greeting that was not answered."""
    greeted: tuple[int, int] = (0, 0)
    """The token of the peer's last greeting."""
    lost: bool = False
    patience_ms: float = 0.0
    resend_at: float = float("inf")

    @classmethod
    def restored(cls, peer: NodeId, data: bytes) -> Link:
        """The link that `record` wrote down."""
        record = msgspec.msgpack.decode(data, type=LinkRecord)
        return cls(
            peer,
            relays_out=Outgoing(record.next),
            told=record.told,
            lineage=record.lineage,
            relays_in=Incoming(record.taken),
            epoch=record.epoch,
            control_in=Incoming(record.control_taken),
        )

    def record(self) -> bytes:
        """What must survive."""
        return msgspec.msgpack.encode(
            LinkRecord(
                self.relays_out.next,
                self.lineage,
                self.relays_in.taken,
                self.epoch,
                self.control_in.taken,
                self.told,
            )
        )

    @property
    def is_waiting(self) -> bool:
        """Whether the peer has not answered for everything."""
        return bool(self.relays_out.waiting or self.control_out.waiting or self.greeting)

    def acknowledgement(self, keeper: int) -> Acknowledge:
        """How far everything was taken in; true once what is staged is safe."""
        return Acknowledge(
            keeper,
            self.lineage,
            self.relays_in.taken,
            tuple(self.unlanded),
            tuple(self.parked),
            self.epoch,
            self.control_in.taken,
            self.greeted,
        )

    def take_relay(self, relay: Relay) -> list[Relay]:
        """Relays whose turn it is."""
        if relay.lineage < self.lineage:
            return []
        if relay.lineage > self.lineage:
            self.lineage = relay.lineage
            self.relays_in = Incoming()
            self.orphans += [*self.parked.values(), *self.unlanded.values()]
            self.unlanded.clear()
            self.parked.clear()
        self.relays_in.skip(relay.base - 1)
        return [item for _, item in self.relays_in.receive(relay.number, relay)]

    def duty_of(self, number: int) -> int:
        """The duty of a relay of the peer that is not done with; 0 if there is none."""
        return self.unlanded.get(number) or self.parked.get(number, 0)

    def note_landed(self, number: int, duty: int, *, done: bool) -> None:
        """A relay of the peer has landed, or is done with."""
        if self.duty_of(number) != duty:
            return
        self.unlanded.pop(number, None)
        self.parked.pop(number, None)
        if not done:
            self.parked[number] = duty

    def take_control(self, relay: ControlRelay) -> list[Message]:
        """Control messages whose turn it is."""
        if relay.epoch < self.epoch:
            return []
        if relay.epoch > self.epoch:
            self.epoch = relay.epoch
            self.control_in = Incoming()
        return [item.content for _, item in self.control_in.receive(relay.number, relay)]
