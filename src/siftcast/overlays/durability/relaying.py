"""Gets messages to neighbours that may be down, over a network that may lose them: all links of a node.

What is sent goes out at once, at most a window at a time; what is not acknowledged goes out again after `resend_ms`,
then after twice that and so on up to `resend_ms_max`, and at once when a neighbour was found again. To a neighbour that
is known to be lost nothing is sent. The receiver acknowledges once a write, not once a message.

Cost: a message, its acknowledgement shared by all that came in during one write; on disk one record for each relay and
neighbour, and one a write for each neighbour something was exchanged with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from siftcast.overlays.contract import Effect, Message, NodeId, SendMessage, SetTimer
from siftcast.overlays.durability.ledger import Ledger
from siftcast.overlays.durability.link import Link, Waiting
from siftcast.overlays.durability.messages import Acknowledge, ControlRelay, Greet, Relay, Release, Ticket
from siftcast.overlays.durability.order import Place
from siftcast.overlays.durability.streams import Outgoing
from siftcast.overlays.wire_messages import MessageCodec

RESEND_TIMER = "durable/resend"
_AGAIN_MAX = 64
_SOON_MS = 0.5  # a timer may fire a rounding error early


class Progress(NamedTuple):
    """What an acknowledgement says: duties and places of relays that landed or are done, and that a disk was lost."""

    landed: Sequence[tuple[int, Place]]
    done: Sequence[tuple[int, Place]]
    forgot: bool


class Relaying:
    """The links of one node. Effects it wants go to `out`, which the owner holds until all is safe."""

    def __init__(
        self,
        ledger: Ledger,
        codec: MessageCodec,
        is_released: Callable[[int], bool],
        *,
        window: int,
        resend_ms: float,
        resend_ms_max: float,
    ) -> None:
        self.links: dict[NodeId, Link] = {}
        self.out: list[Effect] = []
        self.lineage = 0
        self.life = 0
        self._ledger = ledger
        self._codec = codec
        self._is_released = is_released
        self._window = window
        self._resend_ms = resend_ms
        self._resend_ms_max = resend_ms_max
        self._timer_at = float("inf")
        self._greetings = 0

    def restore(
        self, records: Mapping[str, bytes], lineage: int, life: int, *, renumber: bool
    ) -> list[tuple[int, Place]]:
        """Takes up what an earlier life left behind; returns the duties of all relays that wait, and their places.

        With `renumber`, nobody is sure which numbers were given: relays get new ones, which a new lineage makes known.
        """
        self.lineage, self.life = lineage, life
        boxes: list[tuple[NodeId, int, bytes]] = []
        for key, data in records.items():
            room, _, rest = key.partition("/")
            if room == "link":
                self.links[int(rest)] = Link.restored(int(rest), data)
            elif room == "outbox":
                name, _, place = rest.partition("/")
                boxes.append((int(name), int(place), data))
        if renumber:
            for link in self.links.values():
                link.relays_out = Outgoing()
                self._keep(link)
            for peer, number, _ in boxes:
                self._ledger.forget(f"outbox/{peer}/{number}")
        duties = []
        for peer, number, data in sorted(boxes):
            duty, ticket, content = msgspec.msgpack.decode(data, type=tuple[int, Ticket | None, bytes])
            waiting = Waiting(self._codec.decode(content), duty, ticket)
            if renumber:
                number = self._put(peer, waiting, data)
            else:
                self.link(peer).relays_out.restore(number, waiting)
            if duty:
                duties.append((duty, (peer, number)))
        return duties

    def link(self, peer: NodeId) -> Link:
        """The link to a peer, new if it must be."""
        link = self.links.get(peer)
        if link is None:
            link = self.links[peer] = Link(peer)
        if link.epoch_out[0] < 0:
            link.epoch_out = (self.lineage, self.life, 0)
        return link

    @property
    def waiting(self) -> int:
        """How many relays were not acknowledged."""
        return sum(len(link.relays_out.waiting) for link in self.links.values())

    # -- sending ---------------------------------------------------------------------------------------

    def relay(
        self, message: Message, peers: Iterable[NodeId], duty: int = 0, ticket: Ticket | None = None
    ) -> list[Place]:
        """Puts a message into the outbox of each peer; returns the places."""
        data = msgspec.msgpack.encode((duty, ticket, self._codec.encode(message)))
        places = []
        for peer in peers:
            places.append((peer, self._put(peer, Waiting(message, duty, ticket), data)))
            self._send_unsent(self.link(peer))
        return places

    def _put(self, peer: NodeId, waiting: Waiting, data: bytes) -> int:
        link = self.link(peer)
        number = link.relays_out.add(waiting)
        self._ledger.put(f"outbox/{peer}/{number}", data)
        self._keep(link)
        return number

    def release(self, places: Iterable[Place]) -> None:
        """Tells neighbours that what was relayed to them may be queued; said again with the relay until they know."""
        numbers: dict[NodeId, list[int]] = {}
        for peer, number in places:
            numbers.setdefault(peer, []).append(number)
        for peer, listed in numbers.items():
            if not self.link(peer).lost:
                self.out.append(SendMessage(Release(self.lineage, tuple(listed)), (peer,)))

    def steer(self, message: Message, peers: Iterable[NodeId]) -> None:
        """Sends a message about routing, in order."""
        for peer in peers:
            self.note_told(peer)
            link = self.link(peer)
            link.control_out.add(message)
            self._send_unsent(link)

    def note_told(self, peer: NodeId) -> None:
        """Remembers that a peer was told about routing, and must be told anew after a crash."""
        link = self.link(peer)
        if not link.told:
            link.told = True
            self._keep(link)

    def renew(self, peer: NodeId) -> None:
        """Begins a new epoch of control messages; whoever calls it introduces this node in it."""
        link = self.link(peer)
        lineage, life, count = link.epoch_out
        link.epoch_out = (lineage, life, count + 1)
        link.control_out = type(link.control_out)()

    def _send_unsent(self, link: Link) -> None:
        if link.lost:
            return
        for number, message in link.control_out.unsent(self._window):
            self.out.append(SendMessage(ControlRelay(link.epoch_out, number, message), (link.peer,)))
        for number, waiting in link.relays_out.unsent(self._window):
            self._send_relay(link, number, waiting)

    def _send_relay(self, link: Link, number: int, waiting: Waiting) -> None:
        released = waiting.ticket is None or self._is_released(waiting.duty)
        base, watched = link.relays_out.base, waiting.duty != 0
        relay = Relay(self.lineage, base, number, waiting.content, watched, waiting.ticket, released)
        self.out.append(SendMessage(relay, (link.peer,)))

    def _keep(self, link: Link) -> None:
        key = f"link/{link.peer}"
        self._ledger.later(key, lambda: self._ledger.put(key, link.record()))

    # -- receiving -------------------------------------------------------------------------------------

    def take_relay(self, sender: NodeId, relay: Relay) -> list[Relay]:
        """Relays of a sender whose turn it is; it is told once they are safe."""
        link = self.link(sender)
        turn = link.take_relay(relay)
        if turn:
            self._keep(link)
        return turn

    def take_control(self, sender: NodeId, relay: ControlRelay) -> list[Message]:
        """The same for control messages."""
        link = self.link(sender)
        turn = link.take_control(relay)
        if turn:
            self._keep(link)
        return turn

    def acknowledge(self, peer: NodeId) -> None:
        """Tells a peer how far its messages were taken, once that is safe."""
        acknowledgement = self.link(peer).acknowledgement(self.lineage)
        self._ledger.hold_last(peer, SendMessage(acknowledgement, (peer,)))

    def settle(self, sender: NodeId, told: Acknowledge, now: float) -> Progress:
        """Takes in how far a peer is."""
        link = self.link(sender)
        if told.keeper < link.keeper:  # said before it lost its disk
            return Progress((), (), False)
        forgot = told.keeper > link.keeper >= 0
        link.keeper = told.keeper
        if told.greeted == link.greeting:
            link.greeting = None
        done: list[tuple[int, Place]] = []
        landed: list[tuple[int, Place]] = []
        progress = False
        if told.lineage == self.lineage:
            open_ = frozenset((*told.unlanded, *told.parked))
            for number, waiting in link.relays_out.settle(told.kept, open_):
                self._ledger.forget(f"outbox/{sender}/{number}")
                progress = True
                if waiting.duty:
                    done.append((waiting.duty, (sender, number)))
            known = link.relays_out.waiting
            landed = [(known[number].duty, (sender, number)) for number in told.parked if number in known]
        if told.epoch == link.epoch_out:
            progress = bool(link.control_out.settle(told.control_kept)) or progress
        if progress:
            link.patience_ms = self._resend_ms
            link.resend_at = now + link.patience_ms
            self._send_unsent(link)
        return Progress(landed, done, forgot)

    # -- patience --------------------------------------------------------------------------------------

    def lose(self, peer: NodeId) -> None:
        """A peer is out of reach: whatever is for it waits."""
        self.link(peer).lost = True

    def find(self, peer: NodeId, now: float) -> None:
        """A peer is back: it is asked how far it is, and sent what waits."""
        link = self.link(peer)
        self._greetings += 1
        link.greeting = (self.life, self._greetings)
        self.out.append(SendMessage(Greet(link.greeting), (peer,)))
        self.resume(peer, now)

    def greet_back(self, peer: NodeId, token: tuple[int, int]) -> None:
        """Answers a greeting."""
        link = self.link(peer)
        link.greeted = max(link.greeted, token)
        self.acknowledge(peer)

    def resume(self, peer: NodeId, now: float) -> None:
        """Sends what waits from its beginning."""
        link = self.link(peer)
        link.lost = False
        link.control_out.rewind()
        link.relays_out.rewind()
        link.patience_ms = self._resend_ms
        link.resend_at = now + link.patience_ms
        self._send_unsent(link)

    def resend(self, now: float) -> None:
        """The timer fired: sends once more what was not answered for long enough."""
        self._timer_at = float("inf")
        for link in self.links.values():
            if link.lost or not link.is_waiting or link.resend_at > now + _SOON_MS:
                continue
            if link.greeting:
                self.out.append(SendMessage(Greet(link.greeting), (link.peer,)))
            for number, message in link.control_out.oldest(_AGAIN_MAX):
                self.out.append(SendMessage(ControlRelay(link.epoch_out, number, message), (link.peer,)))
            for number, waiting in link.relays_out.oldest(_AGAIN_MAX):
                self._send_relay(link, number, waiting)
            link.patience_ms = min(self._resend_ms_max, 2 * link.patience_ms)
            link.resend_at = now + link.patience_ms

    def watch(self, now: float) -> list[Effect]:
        """Sets the timer for whatever waits; to be called after each stimulus."""
        soonest = float("inf")
        for link in self.links.values():
            if link.lost or not link.is_waiting:
                link.resend_at = float("inf")
                continue
            if link.resend_at == float("inf"):
                link.patience_ms = self._resend_ms
                link.resend_at = now + link.patience_ms
            soonest = min(soonest, link.resend_at)
        if soonest >= self._timer_at or soonest == float("inf"):
            return []
        self._timer_at = soonest
        return [SetTimer(RESEND_TIMER, max(0.0, soonest - now))]
