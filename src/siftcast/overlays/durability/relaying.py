"""Gets messages to neighbours that may be down, over a network that may lose them: all links of a node.

What is sent goes out at once, at most a window at a time; what is not acknowledged goes out again after `resend_ms`,
then after twice that and so on up to `resend_ms_max`, and at once when a link opens. To a neighbour that is known to be
lost nothing is sent, and nothing but a greeting to one that has not answered it (`link`).

Invariant: whatever waits is sent or will be, as long as its neighbour answers. An acknowledgement that shows more to be
kept makes room in the window, whether or not anything was done with; so what is parked beyond a neighbour never keeps
others from being sent.

Cost: a message, its acknowledgement shared by all that came in during one write; on disk one record for each relay and
neighbour, and one a write for each neighbour something was exchanged with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

import msgspec

from siftcast.overlays.contract import Effect, Message, NodeId, SendMessage, SetTimer
from siftcast.overlays.durability.event_log import DECODED_BYTES
from siftcast.overlays.durability.ledger import Ledger
from siftcast.overlays.durability.link import Link, Waiting
from siftcast.overlays.durability.messages import (
    NEVER,
    UNKNOWN,
    Acknowledge,
    ControlRelay,
    Greet,
    Lineage,
    Relay,
    Release,
    Ticket,
    is_behind,
)
from siftcast.overlays.durability.order import Place
from siftcast.overlays.durability.runs import joined, minus, numbers_in, sound
from siftcast.overlays.durability.streams import Outgoing
from siftcast.overlays.wire_messages import MessageCodec

RESEND_TIMER = "durable/resend"
_AGAIN_MAX = 64
_RELEASES_MAX = 4_096
_GREET_AGAIN = 4
"""After waits that have grown so much, the link is opened again: maybe the peer takes it to be closed."""
_SOON_MS = 0.5  # a timer may fire a rounding error early


class Progress(NamedTuple):
    """What an acknowledgement says: duties and places of relays that landed, and of those that are done."""

    landed: Sequence[tuple[int, Place]]
    done: Sequence[tuple[int, Place]]


NO_PROGRESS = Progress((), ())


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
        self.lineage: Lineage = UNKNOWN
        self._life = 0
        self._nonce = 0
        self._ledger = ledger
        self._codec = codec
        self._is_released = is_released
        self._window = window
        self._resend_ms = resend_ms
        self._resend_ms_max = resend_ms_max
        self._timer_at = float("inf")
        self._greetings = 0

    def restore(self, records: Mapping[str, bytes], lineage: Lineage, life: int, nonce: int) -> list[tuple[int, Place]]:
        """Takes up what an earlier life left behind; returns the duties of all relays that wait, and their places."""
        self.lineage, self._life, self._nonce = lineage, life, nonce
        boxes: list[tuple[NodeId, int, bytes]] = []
        for key, data in records.items():
            room, _, rest = key.partition("/")
            if room == "link":
                peer = int(rest)
                self.links[peer] = Link.restored(peer, data)
            elif room == "outbox":
                name, _, place = rest.partition("/")
                boxes.append((int(name), int(place), data))
        duties = []
        for peer, number, data in sorted(boxes):
            duty, ticket, content = msgspec.msgpack.decode(data, type=tuple[int, Ticket | None, bytes])
            waiting = Waiting(self._codec.decode(content), duty, ticket, _weight(data))
            self.link(peer).weigh(waiting, 1)
            self.link(peer).relays_out.restore(number, waiting)
            if duty:
                duties.append((duty, (peer, number)))
        return duties

    def link(self, peer: NodeId) -> Link:
        """The link to a peer, new if it must be."""
        link = self.links.get(peer)
        if link is None:
            link = self.links[peer] = Link(peer)
        if link.stream_out == UNKNOWN:
            link.stream_out = (1, self._nonce)
        if link.chapter_out == NEVER:
            link.chapter_out = (self.lineage[0], self._life, 0, self._nonce)
        return link

    @property
    def waiting(self) -> int:
        """How many relays were not acknowledged."""
        return sum(len(link.relays_out.waiting) for link in self.links.values())

    def all_waiting(self) -> Iterator[tuple[NodeId, Message]]:
        """What was not acknowledged, relays and messages about routing, with whom it is for."""
        for peer, link in self.links.items():
            yield from ((peer, waiting.content) for waiting in link.relays_out.waiting.values())
            yield from ((peer, message) for message in link.control_out.waiting.values())

    @property
    def kept_bytes(self) -> int:
        """What relays that wait take in memory, about."""
        return sum(link.outbox_bytes for link in self.links.values())

    def passing_bytes(self, peer: NodeId) -> int:
        """What relays that only this node keeps take in memory, about; without those for a peer."""
        return sum(link.passing_bytes for other, link in self.links.items() if other != peer)

    # -- sending ---------------------------------------------------------------------------------------

    def relay(
        self, message: Message, peers: Iterable[NodeId], duty: int = 0, ticket: Ticket | None = None
    ) -> list[Place]:
        """Puts a message into the outbox of each peer; returns the places."""
        data = self._encoded(Waiting(message, duty, ticket))
        places = []
        for peer in peers:
            places.append((peer, self._put(peer, Waiting(message, duty, ticket, _weight(data)), data)))
            self._send_unsent(self.link(peer))
        return places

    def _encoded(self, waiting: Waiting) -> bytes:
        return msgspec.msgpack.encode((waiting.duty, waiting.ticket, self._codec.encode(waiting.content)))

    def _put(self, peer: NodeId, waiting: Waiting, data: bytes) -> int:
        link = self.link(peer)
        number = link.relays_out.add(waiting)
        link.weigh(waiting, 1)
        self._ledger.put(self._box(peer, number), data)
        self._keep(link)
        return number

    def _box(self, peer: NodeId, number: int) -> str:
        return f"outbox/{peer}/{number}"

    def release(self, places: Iterable[Place]) -> None:
        """Tells neighbours that what was relayed to them may be queued; said again until they have answered for it."""
        numbers: dict[NodeId, list[int]] = {}
        for peer, number in places:
            numbers.setdefault(peer, []).append(number)
        for peer, listed in numbers.items():
            link = self.link(peer)
            link.releases.update(dict.fromkeys(listed))
            if link.is_open:
                self.out.append(SendMessage(Release(link.stream_out, tuple(listed)), (peer,)))

    def steer(self, message: Message, peers: Iterable[NodeId]) -> None:
        """Sends a message about routing, in order."""
        for peer in peers:
            self.note_told(peer)
            link = self.link(peer)
            link.control_out.add(message)
            self._send_unsent(link)

    def note_told(self, peer: NodeId) -> None:
        """Remembers that a peer was told about routing, and must be told again after a crash."""
        link = self.link(peer)
        if not link.told:
            link.told = True
            self._keep(link)

    def begin_chapter(self, peer: NodeId) -> None:
        """Begins a new chapter of control messages; whoever calls it introduces this node in it."""
        link = self.link(peer)
        link.chapter_out = (self.lineage[0], self._life, link.chapter_out[2] + 1, self._nonce)
        link.control_out = Outgoing()

    def begin_stream(self, peer: NodeId, seen: Lineage = UNKNOWN) -> dict[Place, Place]:
        """Gives relays that wait for a peer new numbers in a new stream; where each of them was, and is.

        Because the peer has lost what it took, or has seen numbers that this node does not know it gave.
        """
        link = self.link(peer)
        before, link.relays_out = link.relays_out.waiting, Outgoing()
        link.stream_out = (max(link.stream_out[0], seen[0]) + 1, self._nonce)
        link.releases.clear()
        link.landed = ()
        link.outbox_bytes = link.passing_bytes = 0
        for number in before:
            self._ledger.forget(self._box(peer, number))
        moved = {(peer, number): (peer, self._put(peer, each, self._encoded(each))) for number, each in before.items()}
        self._keep(link)
        self._send_unsent(link)
        return moved

    def _send_unsent(self, link: Link) -> None:
        if link.lost:
            return
        if not link.is_open:
            if link.greeting is None:
                self.greet(link.peer)
            return
        for number, message in link.control_out.unsent(self._window):
            self.out.append(SendMessage(ControlRelay(link.chapter_out, number, message), (link.peer,)))
        for number, waiting in link.relays_out.unsent(self._window):
            self._send_relay(link, number, waiting)

    def _send_relay(self, link: Link, number: int, waiting: Waiting) -> None:
        released = waiting.ticket is None or self._is_released(waiting.duty)
        base, watched = link.relays_out.base, waiting.duty != 0
        ticket, stream = waiting.ticket, link.stream_out
        relay = Relay(stream, base, number, waiting.content, watched, ticket, released, link.session)
        self.out.append(SendMessage(relay, (link.peer,)))

    def _send_releases(self, link: Link) -> None:
        if link.releases:
            numbers = tuple(islice(link.releases, _RELEASES_MAX))
            self.out.append(SendMessage(Release(link.stream_out, numbers), (link.peer,)))

    def _keep(self, link: Link) -> None:
        key = f"link/{link.peer}"
        self._ledger.later(key, lambda: self._ledger.put(key, link.record()))

    def end(self, peer: NodeId) -> tuple[list[tuple[Place, Waiting]], list[int]]:
        """A peer is gone: forgets the link; what waited for it, and the duties that were owed to it."""
        link = self.links.pop(peer, None)
        if link is None:
            return [], []
        for number in link.relays_out.waiting:
            self._ledger.forget(self._box(peer, number))
        # The record of the link may still be on its way to the disk, and must not come back.
        self._ledger.later(f"link/{peer}", lambda: self._ledger.forget(f"link/{peer}"))
        return [((peer, number), each) for number, each in link.relays_out.waiting.items()], [
            *link.duties.values(),
            *link.orphans,
        ]

    # -- receiving -------------------------------------------------------------------------------------

    def take_stream(self, sender: NodeId, stream: Lineage) -> None:
        """A sender goes on in a new stream."""
        link = self.link(sender)
        link.take_stream(stream)
        self._keep(link)

    def take_relay(self, sender: NodeId, relay: Relay) -> list[Relay]:
        """Relays of a sender whose turn it is; it is answered once they are safe."""
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
        self._ledger.hold_last(peer, lambda: SendMessage(self.link(peer).acknowledgement(self.lineage), (peer,)))

    def settle(self, sender: NodeId, told: Acknowledge, now: float) -> Progress:
        """Takes in how far a peer is."""
        link = self.link(sender)
        opened = link.greeting is not None and told.greeted == link.greeting
        if opened:
            self._open(link, now)
        done: list[tuple[int, Place]] = []
        landed: list[tuple[int, Place]] = []
        progress = False
        if told.stream == link.stream_out:
            kept = link.relays_out.kept
            parked, unlanded = sound(told.parked, told.kept), sound(told.unlanded, told.kept)
            for number, waiting in link.relays_out.settle(told.kept, joined(unlanded, parked)):
                self._ledger.forget(self._box(sender, number))
                link.releases.pop(number, None)
                link.weigh(waiting, -1)
                progress = True
                if waiting.duty:
                    done.append((waiting.duty, (sender, number)))
            if link.relays_out.kept > kept:
                progress = True
                self._keep(link)  # in the same write as what is done with, so that no number is missing behind it
            known = link.relays_out.waiting
            fresh = tuple(numbers_in(minus(parked, link.landed)))
            link.landed = parked
            landed = [(known[number].duty, (sender, number)) for number in fresh if number in known]
            if forgotten := tuple(number for number in fresh if number not in known)[:_RELEASES_MAX]:
                # It was released and done with, and then the peer went back to an older disk.
                self.out.append(SendMessage(Release(link.stream_out, forgotten), (sender,)))
        if told.chapter == link.chapter_out:
            progress = bool(link.control_out.settle(told.control_kept, ())) or progress
        if opened or progress:
            link.patience_ms = self._resend_ms
            link.resend_at = now + link.patience_ms
            link.moved_at = now
            self._send_unsent(link)
        return Progress(landed, done)

    # -- links open and close --------------------------------------------------------------------------

    def is_behind(self, known: Lineage) -> bool:
        """Whether a peer has seen a later lineage of this node than this one."""
        return is_behind(self.lineage, known)

    def note_keeper(self, sender: NodeId, keeper: Lineage) -> bool | None:
        """Takes note of a peer's lineage: whether it has lost something since, None if this one is not its latest."""
        link = self.link(sender)
        if keeper == link.keeper:
            return False
        if is_behind(keeper, link.keeper):
            return None
        lost = link.keeper != UNKNOWN
        link.keeper = keeper
        self._keep(link)
        return lost

    def take_new_lineage(self, counter: int) -> None:
        """This node has lost a part of its past: all links begin again, under a lineage that nobody has seen."""
        self.lineage = (counter, self._nonce)
        for link in self.links.values():
            link.chapter_out = (counter, self._life, 0, self._nonce)
            link.control_out = Outgoing()
            link.is_open, link.greeting = False, None

    def lose(self, peer: NodeId) -> None:
        """A peer is out of reach: whatever is for it waits."""
        link = self.link(peer)
        link.lost, link.is_open, link.greeting, link.moved_at = True, False, None, None

    def greet(self, peer: NodeId) -> None:
        """Asks a peer what it has seen of this node; the link opens when it has answered."""
        link = self.link(peer)
        self._greetings += 1
        link.lost, link.is_open = False, False
        link.greeting = (self._nonce, self._greetings)
        self.out.append(SendMessage(link.greet(self.lineage), (peer,)))

    def greet_back(self, peer: NodeId, greet: Greet) -> None:
        """Answers a greeting."""
        self.link(peer).take_session(greet.token)
        self.acknowledge(peer)

    def _open(self, link: Link, now: float) -> None:
        assert link.greeting is not None
        link.session, link.greeting, link.is_open = link.greeting, None, True
        link.control_out.rewind()
        link.relays_out.rewind()
        self._send_releases(link)

    # -- patience --------------------------------------------------------------------------------------

    def resend(self, now: float) -> None:
        """The timer fired: sends once more what was not answered for long enough."""
        self._timer_at = float("inf")
        for link in self.links.values():
            if link.lost or not link.is_waiting or link.resend_at > now + _SOON_MS:
                continue
            if link.greeting:
                self.out.append(SendMessage(link.greet(self.lineage), (link.peer,)))
            elif not link.is_open or link.patience_ms > _GREET_AGAIN * self._resend_ms:
                self.greet(link.peer)
            else:
                for number, message in link.control_out.overdue(_AGAIN_MAX):
                    self.out.append(SendMessage(ControlRelay(link.chapter_out, number, message), (link.peer,)))
                for number, waiting in link.relays_out.overdue(_AGAIN_MAX):
                    self._send_relay(link, number, waiting)
                self._send_releases(link)
            link.patience_ms = min(self._resend_ms_max, 2 * link.patience_ms)
            link.resend_at = now + link.patience_ms

    def watch(self, now: float) -> list[Effect]:
        """Sets the timer for whatever waits; to be called after each stimulus."""
        soonest = float("inf")
        for link in self.links.values():
            if link.lost or not link.is_waiting:
                link.resend_at = float("inf")
                link.moved_at = None
                continue
            if link.moved_at is None or not link.depends_on_peer:
                link.moved_at = now
            if link.resend_at == float("inf"):
                link.patience_ms = self._resend_ms
                link.resend_at = now + link.patience_ms
            soonest = min(soonest, link.resend_at)
        if soonest >= self._timer_at or soonest == float("inf"):
            return []
        self._timer_at = soonest
        return [SetTimer(RESEND_TIMER, max(0.0, soonest - now))]


def _weight(data: bytes) -> int:
    """What a relay takes in memory, about: its message is decoded, which takes its bytes once more."""
    return 2 * len(data) + DECODED_BYTES
