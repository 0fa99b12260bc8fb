"""The other nodes: being connected to them, and telling the protocol who is there.

Two kinds of connections, which differ in who wants them:

    links      to nodes that the protocol watches: contacts of the overlay from the start, others from `Watch` to
               `Unwatch`. They are made again when they break. When one stands, and each time it stands again, the
               protocol is told `PeerFound`; when it breaks, or could not be made, `PeerLost`.
    guests     to all others: made because something was sent or is measured, or because the other node wants it. The
               protocol hears of them by their messages alone. One that is not used ends (`guests`).

Of two nodes of a list that watch each other the one whose name comes later calls; elsewhere whoever wants to
(`calling` says what happens when both do). A node that says Farewell is gone (`PeerGone`).

What is sent to a watched node that is lost is dropped: schemes announce themselves again when it is back, and events of
ephemeral subscriptions are delivered at most once. What is sent to any other node that was introduced waits until it is
called. Events to a node that does not keep up are dropped; if not even what keeps the overlay going gets through, the
connection is cut and made again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from random import Random

import msgspec

from siftcast.model import DataError
from siftcast.overlays.contract import (
    ContactsFound,
    DelayMeasured,
    Effects,
    Message,
    MessageReceived,
    NodeId,
    PeerFound,
    PeerGone,
    PeerLost,
    Stimulus,
)
from siftcast.overlays.wire_events import EventLimits
from siftcast.overlays.wire_messages import MessageCodec
from siftcast.runtimes.live.errors import FrameError, NetworkMismatch
from siftcast.runtimes.live.logs import Logger
from siftcast.runtimes.live.node.address_book import AddressBook
from siftcast.runtimes.live.node.ages import Ages
from siftcast.runtimes.live.node.calling import Calls, Line
from siftcast.runtimes.live.node.coordinates import Coordinates
from siftcast.runtimes.live.node.echoes import Echoes
from siftcast.runtimes.live.node.guests import Guests, Waiting
from siftcast.runtimes.live.node.layout import Overlay
from siftcast.runtimes.live.node.measuring import Measuring
from siftcast.runtimes.live.node.meeting import Meeting
from siftcast.runtimes.live.node.peer_handlers import GuestHandler, PeerHandler
from siftcast.runtimes.live.node.probe_budget import ProbeBudget
from siftcast.runtimes.live.node.reception import Reception
from siftcast.runtimes.live.node.rivals import Rivals
from siftcast.runtimes.live.node.soundings import Soundings
from siftcast.runtimes.live.wire.connection import Connection
from siftcast.runtimes.live.wire.frames import BOUNDS, Frame, Heartbeat, Hello, Question, encode_frame
from siftcast.runtimes.live.wire.node_frames import (
    AgesWanted,
    Farewell,
    Forgotten,
    Introduction,
    PeerAnswer,
    PeerMessage,
    PeerQuestion,
    peer_message_frame,
)

PEER_FRAME_BYTES_MAX = 268_435_456
"""A node that comes back is told all subscriptions in one message."""
_ROUND_S = 5.0
_QUEUE_FACTOR_MAX = 64

Tell = Callable[[Stimulus], Effects]
"""Tells the protocol what happened, and has done what it wants."""


class Peers:
    """A node's connections to other nodes."""

    def __init__(
        self,
        overlay: Overlay,
        book: AddressBook,
        line: Line,
        *,
        tell: Tell,
        log: Logger,
        random: Random,
        budget: ProbeBudget,
        event_limits: EventLimits,
        queue_bytes_max: int,
        on_lost: Callable[[NodeId], None],
        on_question: Callable[[NodeId, PeerQuestion | PeerAnswer], None],
        measures_again: Callable[[], bool] = lambda: False,
    ) -> None:
        """`measures_again` says whether also nodes that nothing is sent to are to be measured more than once."""
        self.sent = 0
        self.received = 0
        self.dropped = 0
        self.on_question = on_question
        self._node = overlay.node
        self._book = book
        self._tell = tell
        self._log = log
        self._queue_bytes_max = queue_bytes_max
        self._on_lost = on_lost
        self._loop = asyncio.get_running_loop()
        kinds = overlay.protocol.messages
        self._codec = MessageCodec(kinds, event_limits)
        self._older: MessageCodec | None = None
        """How those are written that have grown since version 3, for nodes that speak it."""
        if any(kind.grown for kind in kinds):
            self._older = MessageCodec(kinds, event_limits, for_older=True)
        self._introducing = {kind for kind in kinds if kind.introduces is not Message.introduces}
        self._links: dict[NodeId, Connection] = {}
        self._guests = Guests(self._loop)
        self._waiting = Waiting(self._loop, self._count_dropped)
        self._watched = set(overlay.contacts)
        self._lost = {number for number in overlay.contacts if book.is_listed(number)}
        """Watched nodes of which the protocol knows that they are not there."""
        self._rivals = Rivals(self._loop, log)
        self._meeting = Meeting(
            overlay, book, token=lambda: line.token, incarnation=self._rivals.incarnation, address=line.advertised
        )
        own = self._meeting.name
        self._called_by = {each for each in overlay.contacts if book.is_listed(each) and book.name(each) > own}
        """Those of the list that call this node."""
        self._calls = Calls(
            book,
            line,
            hello=self._meeting.hello,
            wanted=self._wants,
            on_welcome=lambda *answer: self._reception.welcomed(*answer),
            on_failed=self._not_reached,
            on_successor=self._succeeded,
            log=log,
            scheme=overlay.scheme,
            random=random,
        )
        self._reception = Reception(
            overlay.node,
            line,
            rivals=self._rivals,
            meeting=self._meeting,
            calls=self._calls,
            is_connected=lambda number: number in self._links or number in self._guests,
            on_joined=self._joined,
        )
        self.echoes = Echoes()
        self.coordinates = Coordinates(random)
        self.measuring = Measuring(
            self._loop,
            budget,
            self.echoes,
            connection_of=self._connection_of,
            can_call=lambda number: number in self._book and number not in self._lost,
            call=self._call,
        )
        self.ages = Ages(self._node, self.echoes.least_ms.get, self._want_ages, random)
        self._round: asyncio.TimerHandle | None = None
        self._soundings = Soundings(self._loop, random, lambda number: self._calls.call(number, now=True))
        self._measures_all = overlay.is_planned
        self._measures_again = measures_again
        self._is_started = False

    def start(self) -> None:
        """Calls everyone that this node is to call."""
        self._is_started = True
        for number in (*self._watched, *self._waiting, *self.measuring):
            if self._wants(number):
                self._calls.call(number)

    async def stop(self, *, for_good: bool = False) -> None:
        """Calls nobody any more, and hangs up; `for_good` says farewell."""
        self._is_started = False
        if self._round is not None:
            self._round.cancel()
        self.measuring.stop()
        self.ages.stop()
        await self._calls.stop()
        for connection in (*self._links.values(), *self._guests.values()):
            if for_good:
                connection.send(Farewell())
            connection.close("this node stops")
        self._book.save()

    @property
    def present(self) -> list[str]:
        """The names of the nodes that are connected."""
        return sorted(map(self._book.name, self.connected))

    @property
    def missing(self) -> list[str]:
        """The names of the nodes that are watched and not connected."""
        return sorted(self._book.name(number) for number in self._watched if number not in self._links)

    @property
    def connected(self) -> tuple[NodeId, ...]:
        """The nodes that are connected."""
        return (*self._links, *self._guests)

    @property
    def watched(self) -> frozenset[NodeId]:
        """The nodes that are watched."""
        return frozenset(self._watched)

    @property
    def unreached(self) -> frozenset[NodeId]:
        """The nodes that this one wants to reach, and does not."""
        return frozenset((self._lost | self._calls.failed).difference(self._links, self._guests))

    # -- sending -------------------------------------------------------------------------------------

    def send(self, message: Message, destinations: Sequence[NodeId]) -> None:
        """Sends a message to each of these nodes that is there and keeps up, or can be called."""
        frame, older = self._frame(message, self._codec), self._older
        for number in destinations:
            connection = self._links.get(number)
            if connection is None and (connection := self._reached(number, message, frame)) is None:
                continue
            if connection.blocked:
                if not message.control:
                    self.dropped += 1
                    continue
                if connection.queued_bytes > _QUEUE_FACTOR_MAX * self._queue_bytes_max:
                    connection.abort("does not keep up")
                    continue
            if older is not None and connection.version < BOUNDS:
                connection.send_bytes(self._frame(message, older))
            else:
                connection.send_bytes(frame)
            self.sent += 1

    def _frame(self, message: Message, codec: MessageCodec) -> bytes:
        """A message, with those whom it introduces and the age of its event."""
        encoded = codec.encode(message)
        found: tuple[Introduction, ...] = ()
        if type(message) in self._introducing:
            found = self._meeting.introduce(message.introduces)
        age = self.ages.stamp(message) if self.ages.is_wanted else None
        if found or age is not None:
            return encode_frame(PeerMessage(msgspec.Raw(encoded), found, age))
        return peer_message_frame(encoded)

    def _reached(self, number: NodeId, message: Message, frame: bytes) -> Connection | None:
        """The connection to a node that is not watched; without one the frame waits, if the node can be called."""
        if number in self._guests:
            self._guests.use(number)
            return self._guests[number]
        if number in self._lost or number not in self._book:
            self.dropped += 1
            return None
        self._waiting.put(number, partial(self._frame, message, self._codec) if self.ages.is_wanted else frame)
        self._call(number)
        return None

    def _count_dropped(self, count: int) -> None:
        self.dropped += count

    def cut(self, numbers: Sequence[NodeId], reason: str) -> None:
        """Breaks the connections to nodes that were not sent what they must know; they are found again and told all."""
        for number in numbers:
            connection = self._links.get(number) or self._guests.get(number)
            if connection is not None:
                connection.abort(reason)

    def send_frame(self, number: NodeId, frame: Frame) -> None:
        """Sends a frame that is no message of the scheme, if the node is there and keeps up."""
        connection = self._links.get(number) or self._guests.get(number)
        if connection is not None and not connection.blocked:
            connection.send(frame)

    def can_read(self, number: NodeId, question: Question) -> bool:
        """Whether a node knows a question; one of version 3 would take it for damage."""
        connection = self._links.get(number) or self._guests.get(number)
        return question != "distances" or (connection is not None and connection.version >= BOUNDS)

    def measure(self, number: NodeId) -> None:
        """Asks how far away a node is, for the protocol."""

        def heard(delay_ms: float | None) -> None:
            self._tell(DelayMeasured(number, delay_ms))

        self.measuring.ask(number, heard, "protocol")

    def _connection_of(self, number: NodeId) -> Connection | None:
        """The connection to a node that is there, which is used now."""
        self._guests.use(number)
        return self._links.get(number) or self._guests.get(number)

    def echoed(self, number: NodeId, frame: Heartbeat) -> None:
        """A heartbeat came back from a node."""
        delay_ms = self.echoes.answered(frame.number, number)
        if delay_ms is not None and frame.coordinate is not None:
            self.coordinates.learn(number, frame.coordinate, delay_ms)

    # -- watching ------------------------------------------------------------------------------------

    def watch(self, number: NodeId) -> None:
        """Stays connected to a node, and tells the protocol whether it is there."""
        if number in self._watched or number == self._node:
            return
        self._watched.add(number)
        connection = self._guests.remove(number)
        if connection is None:
            self._call(number)
            return
        self._links[number] = connection
        connection.handler = PeerHandler(self, connection, number, connection.handler)
        self._loop.call_soon(self._tell_found, number, connection)

    def _tell_found(self, number: NodeId, connection: Connection) -> None:
        if self._links.get(number) is connection:
            self._tell(PeerFound(number))

    def unwatch(self, number: NodeId) -> None:
        """Tells the protocol nothing more of a node; the connection to it ends when nobody uses it."""
        self._watched.discard(number)
        self._lost.discard(number)
        connection = self._links.pop(number, None)
        if connection is not None:
            self._receive_guest(connection, number)

    def forget(self, number: NodeId) -> None:
        """A node is gone for good: it is not called any more, and nothing waits for it."""
        self.unwatch(number)
        self._waiting.drop(number)
        connection = self._guests.remove(number)
        if connection is not None:
            connection.close("gone for good")
            self._on_lost(number)
        self._book.forget(number)
        self._forget_measured(number)

    def _forget_measured(self, number: NodeId) -> None:
        self._lose_measured(number)
        self.echoes.forget(number)
        self.coordinates.forget(number)

    def seek(self, number: NodeId, done: Callable[[bool], None]) -> None:
        """Finds out whether a node is there, by a call if it is not connected; `done` hears that."""
        if number in self.connected or number not in self._book:
            done(number in self.connected)
        else:
            self._soundings.seek(number, done)

    def _call(self, number: NodeId) -> None:
        if self._is_started and self._wants(number):
            self._calls.call(number)

    def _wants(self, number: NodeId) -> bool:
        """Whether a node is to be called."""
        if not self._is_started or number in self._links or number in self._guests:
            return False
        if number in self._watched and number not in self._called_by:
            return True
        return number in self._waiting or number in self.measuring or number in self._soundings

    def _not_reached(self, number: NodeId) -> None:
        """A call came to nothing."""
        if number in self._calls.failed:  # and not because both called at once
            self._soundings.failed(number)
        if number in self._watched and number not in self._lost and self._wants(number):
            self._lost.add(number)
            self._waiting.drop(number)
            self._tell(PeerLost(number))

    def _succeeded(self, number: NodeId, successor: NodeId) -> bool:
        """A node has begun again as another one, which may know nobody; says whether that is an affair of this one.

        The former one does not come back: it kept nothing, and somebody else answers where it was.
        """
        if self._measures_all or successor == self._node or successor in self._book.gone:
            return False
        self._log.info("peer is another node now", peer=self._book.name(number), identity=successor)
        self._book.succeed(number, successor)
        self.unwatch(number)
        self._waiting.drop(number)
        self._forget_measured(number)
        self._tell(ContactsFound((successor,)))
        self._tell(PeerGone(number))
        return True

    # -- connections come and go ---------------------------------------------------------------------

    def accept(self, connection: Connection, hello: Hello) -> None:
        """Takes a call; raises Unauthorised or NetworkMismatch if this is no node to talk to."""
        self._reception.accept(connection, hello)

    def invite(self, connection: Connection, hello: Hello) -> None:
        """Answers a node that wants to join; raises Unauthorised, Refused or NetworkMismatch."""
        for number in self.connected:
            if number != hello.identity and self._book.name(number) == hello.name:
                raise NetworkMismatch(f"there is a node '{hello.name}' already; give each node a name of its own")
        self._reception.invite(connection, hello)

    def _joined(self, connection: Connection, number: NodeId) -> None:
        """A connection stands."""
        before = self._links.pop(number, None)
        if before is not None:  # the other end has called again, so it has given up the old one
            before.abort("replaced by a newer connection")
            self._tell(PeerLost(number))
        guest = self._guests.remove(number)
        if guest is not None:
            guest.abort("replaced by a newer connection")
        connection.frame_bytes_max = PEER_FRAME_BYTES_MAX
        for frame in self._waiting.take(number):
            connection.send_bytes(frame)
            self.sent += 1
        if gone := self._book.gone:
            connection.send(Forgotten(gone))
        if connection.version >= BOUNDS and (wanted := self.ages.said_to_newcomer()) is not None:
            connection.send(wanted)
        self.echoes.joined(number, connection)
        self.measuring.joined(number, connection)
        self.ages.joined(number)
        self._lost.discard(number)
        self._soundings.joined(number)
        self._book.save()  # whoever crashes now must know whom to call
        if self._round is None:
            self._round = self._loop.call_later(_ROUND_S, self._go_round)
        if number not in self._watched:
            self._receive_guest(connection, number)
            return
        connection.handler = PeerHandler(self, connection, number, connection.handler)
        self._links[number] = connection
        self._log.info("peer found", peer=self._book.name(number), address=connection.address)
        self._tell(PeerFound(number))

    def _receive_guest(self, connection: Connection, number: NodeId) -> None:
        connection.handler = GuestHandler(self, connection, number, connection.handler)
        self._guests.receive(number, connection)

    def lost(self, connection: Connection, number: NodeId, reason: str) -> None:
        """A connection broke."""
        self._rivals.forget(connection)
        if self._guests.get(number) is connection:
            self._guests.remove(number)
            self._lose_measured(number)
            self._on_lost(number)
            self._call(number)
        if self._links.get(number) is not connection:
            return
        del self._links[number]
        self._lost.add(number)
        self._log.warning("peer lost", peer=self._book.name(number), reason=reason)
        self._lose_measured(number)
        self._tell(PeerLost(number))
        self._on_lost(number)
        if self._wants(number):
            self._calls.call(number, later=True)

    def _lose_measured(self, number: NodeId) -> None:
        self.echoes.lost(number)
        self.measuring.lost(number)

    def gone(self, number: NodeId) -> None:
        """A node said that it has left for good."""
        self._log.info("peer gone", peer=self._book.name(number))
        self.forget(number)
        self._tell(PeerGone(number))

    def declare_gone(self, numbers: Iterable[NodeId]) -> None:
        """Somebody has declared nodes gone: they are turned away, here and by all others that hear of it."""
        fresh = self._book.declare_gone(number for number in numbers if number != self._node)
        for number in fresh:
            if number in self._book or number in self.connected:
                self.forget(number)
                self._tell(PeerGone(number))
        for number in self.connected if fresh else ():
            self.send_frame(number, Forgotten(fresh))

    def ages_wanted(self, frame: AgesWanted) -> None:
        """Somebody wants to know how old events are."""
        self.ages.heard(frame)

    def _want_ages(self, frame: AgesWanted) -> None:
        for connection in (*self._links.values(), *self._guests.values()):
            if connection.version >= BOUNDS and not connection.blocked:
                connection.send(frame)

    def name_of(self, number: NodeId) -> str:
        """What a node is called."""
        return self._book.name(number)

    def used(self, number: NodeId) -> None:
        """Something came from a guest, or goes to it."""
        self._guests.use(number)

    def unneeded(self, number: NodeId) -> None:
        """The other end has no use for a connection."""
        self._guests.end_unneeded(number)

    def _go_round(self) -> None:
        """Looks which connections are used, how far away the others are, and keeps what was learned of them."""
        self._round = self._loop.call_later(_ROUND_S, self._go_round)
        self._guests.say_unneeded()
        if self._measures_all:
            near = (self._node, *self.connected, *self._lost)
            far = [each for each in self._book.names if each not in near]
            unmeasured = [each for each in far if each not in self.echoes.delays_ms]
            self._soundings.measure_one(unmeasured or (far if self._measures_again() else ()))
        used = self._guests.items() if self.ages.is_wanted or self._measures_again() else ()
        for number, connection in (*self._links.items(), *used):
            if not connection.blocked:
                self.echoes.look(number, connection)
        self._book.save()

    def take(self, number: NodeId, frame: PeerMessage) -> None:
        """A message of the scheme came in."""
        self.received += 1
        try:
            message = self._codec.decode(frame.message)
        except DataError as error:
            raise FrameError(str(error)) from None
        if frame.introductions:
            for entry in frame.introductions:
                if entry.identity != self._node:
                    self._book.learn(entry)
        if self.ages.is_wanted:
            self.ages.came(number, message, frame.age)
        self._tell(MessageReceived(number, message))
