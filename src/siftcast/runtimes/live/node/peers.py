"""The other nodes: calling them, hearing from them, and telling the protocol who is there.

Of two nodes that must know each other the one whose name comes later calls, so a pair has one connection. It calls
again after a wait that doubles from 50 ms to 5 s, with jitter so that a whole network does not call a node that
came back at the same moment. When a connection stands, and each time it stands again, both ends tell their protocol
`PeerFound`, and the scheme tells the other what it must know; when it breaks, `PeerLost`.

What is sent to a node that is not there is gone: schemes announce themselves anew when it is back, and events of
ephemeral subscriptions are delivered at most once. The same holds for events to a node that does not keep up; if not
even what keeps the overlay going gets through, the connection is cut and made anew.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Protocol

import msgspec

from siftcast.model import DataError
from siftcast.overlays.contract import (
    DelayMeasured,
    Effects,
    Message,
    MessageReceived,
    NodeId,
    PeerFound,
    PeerLost,
    Stimulus,
)
from siftcast.overlays.wire_events import EventLimits
from siftcast.overlays.wire_messages import MessageCodec
from siftcast.runtimes.live.errors import FrameError, NetworkMismatch, UntrustedNode, VersionError
from siftcast.runtimes.live.logs import Logger
from siftcast.runtimes.live.node.layout import Overlay
from siftcast.runtimes.live.node.rivals import Rivals
from siftcast.runtimes.live.wire.addresses import parse_address
from siftcast.runtimes.live.wire.connection import Connection, Handler
from siftcast.runtimes.live.wire.frames import (
    OLDEST,
    VERSION,
    Failure,
    Frame,
    Heartbeat,
    Hello,
    PeerAnswer,
    PeerMessage,
    PeerQuestion,
    Welcome,
    encode_frame,
    spoken,
)
from siftcast.runtimes.live.wire.tls import check_certified, dial_tcp

PEER_FRAME_BYTES_MAX = 268_435_456
"""A node that comes back is told all subscriptions in one message."""
_QUEUE_FACTOR_MAX = 64
_WAIT_MIN_S, _WAIT_MAX_S = 0.05, 5.0


Tell = Callable[[Stimulus], Effects]
"""Tells the protocol what happened, and has done what it wants."""


class Line(Protocol):
    """How a node talks to whomever: its connections, and what it says about itself."""

    token: str
    tls: ssl.SSLContext | None

    def connection(self, handle: Callable[[Connection], Handler]) -> Connection: ...

    def admit(self, hello: Hello, address: str) -> Any: ...

    def welcome(self, hello: Hello) -> Welcome: ...

    def address(self) -> str: ...


class Peers:
    """A node's connections to the other nodes it must know."""

    def __init__(
        self,
        overlay: Overlay,
        line: Line,
        *,
        tell: Tell,
        log: Logger,
        random: Random,
        event_limits: EventLimits,
        queue_bytes_max: int,
        on_lost: Callable[[NodeId], None],
        on_question: Callable[[NodeId, PeerQuestion | PeerAnswer], None],
    ) -> None:
        self.sent = 0
        self.received = 0
        self.dropped = 0
        self.on_question = on_question
        self._overlay = overlay
        self._line = line
        self._tell = tell
        self._log = log
        self._random = random
        self._queue_bytes_max = queue_bytes_max
        self._on_lost = on_lost
        self._loop = asyncio.get_running_loop()
        self._codec = MessageCodec(overlay.protocol.messages, event_limits)
        self._links: dict[NodeId, Connection] = {}
        self._rivals = Rivals(self._loop, log)
        self._own_name = overlay.names[overlay.node]
        self._callers: list[asyncio.Task[None]] = []
        self._pings: dict[int, tuple[NodeId, float]] = {}
        self._ping_count = 0

    def start(self) -> None:
        """Calls everyone that this node is to call."""
        for number in self._overlay.contacts:
            if self._overlay.names[number] < self._own_name:
                self._callers.append(self._loop.create_task(self._call(number)))

    async def stop(self) -> None:
        """Calls nobody any more, and hangs up."""
        for caller in self._callers:
            caller.cancel()
        await asyncio.gather(*self._callers, return_exceptions=True)
        for connection in tuple(self._links.values()):
            connection.close("this node stops")

    @property
    def present(self) -> list[str]:
        """The names of the nodes that are connected."""
        return sorted(self._overlay.names[number] for number in self._links)

    @property
    def missing(self) -> list[str]:
        """The names of the nodes that should be connected and are not."""
        return sorted(self._overlay.names[number] for number in self._overlay.contacts if number not in self._links)

    @property
    def connected(self) -> tuple[NodeId, ...]:
        """The nodes that are connected."""
        return tuple(self._links)

    # -- sending -------------------------------------------------------------------------------------

    def send(self, message: Message, destinations: Sequence[NodeId]) -> None:
        """Sends a message to each of these nodes that is there and keeps up."""
        frame = encode_frame(PeerMessage(msgspec.Raw(self._codec.encode(message))))
        for number in destinations:
            connection = self._links.get(number)
            if connection is None or (connection.blocked and not message.control):
                self.dropped += 1
                continue
            if connection.blocked and connection.queued_bytes > _QUEUE_FACTOR_MAX * self._queue_bytes_max:
                connection.abort("does not keep up")
                continue
            connection.send_bytes(frame)
            self.sent += 1

    def cut(self, numbers: Sequence[NodeId], reason: str) -> None:
        """Breaks the connections to nodes that were not sent what they must know; they are found again and told all."""
        for number in numbers:
            connection = self._links.get(number)
            if connection is not None:
                connection.abort(reason)

    def send_frame(self, number: NodeId, frame: Frame) -> None:
        """Sends a frame that is no message of the scheme, if the node is there and keeps up."""
        connection = self._links.get(number)
        if connection is not None and not connection.blocked:
            connection.send(frame)

    def measure(self, number: NodeId) -> None:
        """Asks how far away a node is."""
        connection = self._links.get(number)
        if connection is None:
            self._loop.call_soon(self._tell, DelayMeasured(number, None))
            return
        self._ping_count += 1
        self._pings[self._ping_count] = number, self._now_ms
        connection.send(Heartbeat(self._ping_count, echo=True))

    def answered(self, ping: int, number: NodeId) -> None:
        """An echo came back."""
        asked = self._pings.pop(ping, None)
        if asked is not None and asked[0] == number:
            self._tell(DelayMeasured(number, (self._now_ms - asked[1]) / 2))

    @property
    def _now_ms(self) -> float:
        return self._loop.time() * 1_000

    # -- connections come and go ---------------------------------------------------------------------

    def name_of(self, number: NodeId) -> str:
        """What a node is called."""
        return self._overlay.names[number]

    def connection(self, call: _Call) -> Connection:
        """A connection for a call."""
        return self._line.connection(lambda _: call)

    def hello(self, number: NodeId) -> Hello:
        """What this node says first to a node that it calls."""
        overlay, token = self._overlay, self._line.token
        called, incarnation = overlay.names[number], self._rivals.incarnation
        return Hello(
            VERSION, "node", self._own_name, token, overlay.digest, incarnation, called, OLDEST["node"], overlay.node
        )

    def accept(self, connection: Connection, hello: Hello) -> None:
        """Takes a call; raises Unauthorised or NetworkMismatch if this is no node to talk to."""
        self._line.admit(hello, connection.address)
        self.check(hello)

        def take() -> None:
            connection.send(self._line.welcome(hello))
            self.joined(connection, hello.identity)

        self._rivals.weigh(connection, hello, take)

    def check(self, hello: Hello) -> None:
        """Raises NetworkMismatch unless the other node means this node of this network, and is to talk with it."""
        overlay, name, own = self._overlay, hello.name, self._own_name
        if name not in overlay.names.values() or hello.network != overlay.digest:
            raise NetworkMismatch(
                f"node '{own}' is in another network than '{name}': give both the same [overlay] table, with the same "
                "nodes"
            )
        if hello.called not in ("", own):
            raise NetworkMismatch(
                f"this is node '{own}', not '{hello.called}'; are two addresses exchanged in [[overlay.nodes]] of "
                f"'{name}'?"
            )
        if name == own:
            raise NetworkMismatch(f"two nodes say they are '{own}'; give each a name of its own")
        if overlay.names.get(hello.identity) != name:
            raise NetworkMismatch(
                f"node '{name}' says that its identity is {hello.identity}, which is not what '{own}' knows of it; do "
                "two nodes have this name, or one an id that the others do not list?"
            )
        if hello.identity not in overlay.contacts:
            raise NetworkMismatch(f"node '{own}' has no link to '{name}' in scheme '{overlay.scheme}'")

    def joined(self, connection: Connection, number: NodeId) -> None:
        """A connection stands."""
        before = self._links.pop(number, None)
        if before is not None:  # the other end has called again, so it has given up the old one
            before.abort("replaced by a newer connection")
            self._tell(PeerLost(number))
        connection.frame_bytes_max = PEER_FRAME_BYTES_MAX
        connection.handler = _PeerHandler(self, connection, number)
        self._links[number] = connection
        self._log.info("peer found", peer=self._overlay.names[number], address=connection.address)
        self._tell(PeerFound(number))

    def lost(self, connection: Connection, number: NodeId, reason: str) -> None:
        """A connection broke."""
        if self._links.get(number) is not connection:
            return
        del self._links[number]
        self._log.warning("peer lost", peer=self._overlay.names[number], reason=reason)
        for ping, (asked, _) in tuple(self._pings.items()):
            if asked == number:
                del self._pings[ping]
                self._tell(DelayMeasured(number, None))
        self._tell(PeerLost(number))
        self._on_lost(number)

    def take(self, number: NodeId, frame: PeerMessage) -> None:
        """A message of the scheme came in."""
        self.received += 1
        try:
            message = self._codec.decode(frame.message)
        except DataError as error:
            raise FrameError(str(error)) from None
        self._tell(MessageReceived(number, message))

    async def _call(self, number: NodeId) -> None:
        host, port = parse_address(self._overlay.addresses[number])
        dial = dial_tcp(host, port, self._line.tls)
        name = self._overlay.names[number]
        wait_s, told = _WAIT_MIN_S, ""
        while True:
            call = _Call(self, number, self._loop.create_future())
            try:
                await dial(call.connect)
                reason = await call.ended
            except UntrustedNode as error:
                reason = str(error)
            except OSError as error:
                reason = error.strerror or str(error)
            if call.was_answered:
                wait_s, told = _WAIT_MIN_S, ""
            elif reason != told:
                told = reason
                self._log.warning("peer not reached", peer=name, address=f"{host}:{port}", reason=reason)
            await asyncio.sleep(wait_s * (0.5 + self._random.random()))
            wait_s = min(2 * wait_s, _WAIT_MAX_S)


class _Call:
    """A call to a node: the end that called, until the other has said Welcome."""

    def __init__(self, peers: Peers, number: NodeId, ended: asyncio.Future[str]) -> None:
        self.name = peers.name_of(number)
        self.ended = ended
        self.was_answered = False
        self._peers = peers
        self._number = number
        self._connection: Connection

    def connect(self) -> Connection:
        """The connection to be made; says who is calling."""
        self._connection = self._peers.connection(self)
        self._connection.send(self._peers.hello(self._number))
        return self._connection

    def connection_opened(self) -> None:
        """The Hello is on its way already."""

    def frame_received(self, frame: Frame) -> None:
        match frame:
            case Welcome(version) if not OLDEST["node"] <= version <= VERSION:
                raise VersionError(f"the other node speaks version {version}, this one {spoken('node')}")
            case Welcome(_, name) if name != self.name:
                raise NetworkMismatch(
                    f"the node at {self._connection.address} is '{name}', not '{self.name}'; are two addresses "
                    "exchanged in [[overlay.nodes]]?"
                )
            case Welcome(identity=identity) if identity != self._number:
                raise NetworkMismatch(
                    f"node '{self.name}' says that its identity is {identity}, and the list says {self._number}; do "
                    "two nodes have this name?"
                )
            case Welcome():
                check_certified(self._connection.certificate, self._number)
                self.was_answered = True
                self._peers.joined(self._connection, self._number)
            case Failure(_, code, message):
                self._connection.close(f"{message} ({code})")
            case Heartbeat():
                pass
            case _:
                raise FrameError(f"a Welcome was expected, not {type(frame).__name__}")

    def connection_closed(self, reason: str) -> None:
        if not self.ended.done():
            self.ended.set_result(reason)

    def writing_resumed(self) -> None:
        """Nothing waits for it."""


class _PeerHandler:
    """Either end once both know each other."""

    def __init__(self, peers: Peers, connection: Connection, number: NodeId) -> None:
        self.name = peers.name_of(number)
        self._peers = peers
        self._connection = connection
        self._number = number
        self._before = connection.handler

    def connection_opened(self) -> None:
        """It was open before both knew each other."""

    def frame_received(self, frame: Frame) -> None:
        kind = type(frame)
        if kind is PeerMessage:
            self._peers.take(self._number, frame)  # type: ignore[arg-type]
        elif isinstance(frame, Heartbeat):
            if frame.echo:
                self._connection.send(Heartbeat(frame.number))
            elif frame.number:
                self._peers.answered(frame.number, self._number)
        elif isinstance(frame, PeerQuestion | PeerAnswer):
            self._peers.on_question(self._number, frame)
        elif isinstance(frame, Failure):
            self._connection.close(f"{frame.message} ({frame.code})")
        else:
            raise FrameError(f"a node does not send {kind.__name__} at this point")

    def connection_closed(self, reason: str) -> None:
        self._peers.lost(self._connection, self._number, reason)
        self._before.connection_closed(reason)

    def writing_resumed(self) -> None:
        """Nothing waits for it: what did not fit was dropped."""
