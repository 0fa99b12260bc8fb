"""A running node: feeds a protocol what happens on sockets, timers and disk, and carries out what it wants done.

      connections ──frames──▶ sessions, peers ──stimuli──▶ Protocol ──effects──▶ sessions, peers, timers, store

The protocol object is the one the simulator runs. Everything happens on one event loop, one stimulus after the other;
only the store has a thread. `now` is the monotonic clock in milliseconds: setting the machine's clock changes nothing.

An error that a request causes goes to whoever asked. An error inside the protocol is a defect: it is logged with its
traceback, the connection that brought it is closed, and the node goes on serving the others.
"""

from __future__ import annotations

import asyncio
import secrets
import socket
import time
from collections.abc import Callable
from random import Random
from typing import Any

from siftcast.model import Event, Filter
from siftcast.overlays.contract import (
    Accept,
    CancelTimer,
    DeadLetter,
    Deliver,
    Effect,
    Effects,
    Expire,
    InferRoute,
    MeasureDelay,
    Offer,
    Persist,
    PersistAll,
    Persisted,
    PersistFailed,
    PublishRequested,
    Refuse,
    RouteInferred,
    SendMessage,
    SetTimer,
    Spent,
    Started,
    Stimulus,
    TimerFired,
)
from siftcast.overlays.durability import Durable
from siftcast.overlays.wire_events import WireEvent, decode_event, encode_event
from siftcast.runtimes.live.configuration import ConfigurationFile, check_reach, parse_address
from siftcast.runtimes.live.connection import Connection, Handler, Outbox, Watch
from siftcast.runtimes.live.durable_clients import Answer, DurableClients
from siftcast.runtimes.live.errors import DurabilityUnavailable, FrameError, LiveError, StoreError, VersionError
from siftcast.runtimes.live.frames import HELLO_BYTES_MAX, VERSION, Failure, Frame, Hello, Welcome
from siftcast.runtimes.live.hops import Hops, calendar_of_zero
from siftcast.runtimes.live.inquiries import Inquiries
from siftcast.runtimes.live.layout import lay_out
from siftcast.runtimes.live.logs import Logger, make_log
from siftcast.runtimes.live.memory_store import Keeper
from siftcast.runtimes.live.peers import Peers
from siftcast.runtimes.live.reach import judge
from siftcast.runtimes.live.recording import Recorder
from siftcast.runtimes.live.rights import Access, Guard
from siftcast.runtimes.live.sessions import Session, Sessions
from siftcast.runtimes.live.settling import SettledTables
from siftcast.runtimes.live.store import Reported, Store
from siftcast.runtimes.live.tls import HANDSHAKE_WAIT_S, node_tls

_BACKLOG = 1_024
_HELLO_WAIT_S = 10.0
_FAREWELL_S = 1.0
_NO_STORE = "the scheme must keep something; name a folder as data in [node]"


class Node:
    """One node. Make it inside a running loop, `start` it, and `stop` it."""

    def __init__(
        self,
        file: ConfigurationFile,
        *,
        log: Logger | None = None,
        random: Random | None = None,
        make_store: Callable[[Callable[[Reported], None]], Keeper] | None = None,
    ) -> None:
        configuration = file.configuration
        self.configuration = configuration
        self.loop = asyncio.get_running_loop()
        self.log: Logger = (make_log(configuration.log) if log is None else log).bind(node=configuration.node.name)
        self.event_limits = configuration.event_limits
        self.filter_limits = configuration.filter_limits
        self.queue_bytes_max = configuration.slow_consumers.queue_bytes_max
        self.outbox = Outbox(self.loop)
        self.published = 0
        self._incarnation = secrets.token_hex(4)
        self._file = file
        self.access = Access(file, self.log)
        self.tls = node_tls(file)
        data = None if configuration.node.data is None else file.beside(configuration.node.data)
        self._tables = SettledTables(self.loop)
        self._store: Keeper | None = None
        if make_store is not None:
            self._store = make_store(self._report_written)
        elif data is not None:
            self._store = Store(data / "store.sqlite", self._report_written, self.log)
        self._overlay = lay_out(file, self._tables.table, durable=self._store is not None)
        self._protocol = self._overlay.protocol
        self._watch = Watch(self.loop, configuration.heartbeat.interval_ms)
        self.sessions = Sessions(self.outbox, configuration.slow_consumers, data)
        self.peers = Peers(self, self._overlay, Random(self._incarnation) if random is None else random)
        self._durable = DurableClients(self, self._protocol) if isinstance(self._protocol, Durable) else None
        recording = configuration.recording
        self._recorder = None if recording is None else Recorder(self._overlay.number, file.beside(recording.folder))
        rows_max = configuration.tracing.rows_max
        self._hops = Hops(rows_max, calendar_of_zero()) if rows_max else None
        self.inquiries = Inquiries(self, self._incarnation)
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._server: asyncio.Server | None = None
        self._session_count = 0
        self._connections: set[Connection] = set()
        self._stopped = False

    # -- life ----------------------------------------------------------------------------------------

    async def start(self, listener: socket.socket | None = None) -> None:
        """Listens, on a socket that is given or on the configured address, and calls the other nodes."""
        self.open()
        options: dict[str, Any] = {"backlog": _BACKLOG}
        if self.tls is not None:
            options |= {"ssl": self.tls.server, "ssl_handshake_timeout": HANDSHAKE_WAIT_S}
        if listener is not None:
            check_reach(self._file, listener.getsockname()[0])
            self._server = await self.loop.create_server(self.accept, sock=listener, **options)
        else:
            host, port = parse_address(self.configuration.node.listen)
            try:
                self._server = await self.loop.create_server(self.accept, host, port, **options)
            except OSError as error:
                remedy = "choose another port as listen in [node], or 0 for one that is free"
                raise LiveError(f"cannot listen on {host}:{port}: {error.strerror or error}; {remedy}") from None
        self.peers.start()
        self._tables.warm_up()
        self.log.info("ready", address=self.address, scheme=self._overlay.scheme, nodes=len(self._overlay.names))

    def open(self) -> None:
        """Gives the protocol what was kept; `start` does so before it listens."""
        clock_ms = time.time() * 1_000
        if self._store is None:
            self.tell(Started({}, clock_ms))
            return
        kept = self._store.open()
        self.tell(Started(kept, clock_ms, bool(self._store.damaged)))

    async def stop(self) -> None:
        """Stops listening, tells clients, hangs up, and writes what must be kept."""
        if self._stopped:
            return
        self._stopped = True
        if self._server is not None:
            self._server.close()
        self.inquiries.stop()
        await self.peers.stop()
        for connection in tuple(self._connections):
            connection.send(Failure(0, "stopping", "the node stops"))
            connection.close("this node stops")
        for timer in self._timers.values():
            timer.cancel()
        await self._await_farewells()
        self._watch.stop()
        if self._store is not None:
            await self.loop.run_in_executor(None, self._store.close)
        if self._recorder is not None:
            self._recorder.save()
        self.log.info("stopped", published=self.published, deliveries=self.sessions.deliveries)

    async def _await_farewells(self) -> None:
        """Lets what was sent go out; whoever does not read it in time is cut off."""
        until = self.loop.time() + _FAREWELL_S
        while self._connections and self.loop.time() < until:
            await asyncio.sleep(0.001)
        for connection in tuple(self._connections):
            connection.abort("this node stops")
        await asyncio.sleep(0)

    @property
    def address(self) -> str:
        """Where the node listens."""
        if self._server is None:
            return self.configuration.node.listen
        host, port = self._server.sockets[0].getsockname()[:2]
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    @property
    def url(self) -> str:
        """What clients call."""
        return f"{'siftcast' if self.tls is None else 'siftcasts'}://{self.address}"

    @property
    def names(self) -> tuple[str, ...]:
        """All nodes of the network, by their numbers."""
        return self._overlay.names

    @property
    def now_ms(self) -> float:
        """The monotonic clock."""
        return self.loop.time() * 1_000

    # -- connections ---------------------------------------------------------------------------------

    def connection(self, handle: Callable[[Connection], Handler]) -> Connection:
        """A connection of this node, to whomever."""
        return Connection(
            self.outbox,
            handle,
            frame_bytes_max=HELLO_BYTES_MAX,
            queue_bytes_max=self.queue_bytes_max,
            watch=self._watch,
            on_defect=self._report_defect,
        )

    def accept(self) -> Connection:
        """The connection of someone who calls."""
        return self.connection(lambda connection: _Greeting(self, connection))

    def opened(self, connection: Connection) -> None:
        """Someone called; raises LiveError if there are too many."""
        limit = self.configuration.limits.connections_max
        if len(self._connections) >= limit:
            raise LiveError(f"the node has {limit:,} connections, which is its limit")
        self._connections.add(connection)

    def closed(self, connection: Connection) -> None:
        """Someone who called is gone."""
        self._connections.discard(connection)

    def welcome(self) -> Welcome:
        """What this node answers to a Hello."""
        limits, name = self.configuration.limits, self.configuration.node.name
        interval_ms = self.configuration.heartbeat.interval_ms
        return Welcome(VERSION, name, interval_ms, limits.frame_bytes_max, limits.event_bytes_max)

    def admit(self, connection: Connection, hello: Hello) -> None:
        """Takes a client in; raises Unauthorised."""
        rights = self.access.admit(hello, connection.address)
        self._session_count += 1
        serial = f"{self.configuration.node.name}.{self._incarnation}.{self._session_count}"
        connection.frame_bytes_max = self.configuration.limits.frame_bytes_max
        connection.send(self.welcome())
        name = hello.name or f"client-{self._session_count}"
        session = Session(self, connection, name, serial, Guard(rights, self.log, name, connection.address))
        connection.handler = session
        who = {"principal": rights.principal} if rights.principal else {}
        self.log.info("client joined", client=session.name, address=connection.address, **who)

    def _report_defect(self, error: BaseException) -> None:
        self.log.error("defect", error=str(error), exc_info=error)

    # -- stimuli and effects -------------------------------------------------------------------------

    def publish(self, event: WireEvent) -> str | None:
        """Publishes an event of a client; says why not, if it is refused."""
        event = self._named(event)
        for effect in self.tell(PublishRequested(event)):
            if type(effect) is Refuse and effect.request == event.id:
                return effect.reason
        return None

    def publish_durable(self, event: WireEvent, source: str, answer: Answer) -> None:
        """Publishes an event of a client that is answered when it is safe; order is kept among those of a source."""
        self.durable_clients().publish(self._named(event, source), answer)

    def durable_clients(self) -> DurableClients:
        """Who was promised something; raises DurabilityUnavailable if this node keeps nothing."""
        if self._durable is None:
            raise DurabilityUnavailable("this node keeps nothing on disk; name a folder as data in its [node] table")
        return self._durable

    def _named(self, event: WireEvent, source: str = "") -> WireEvent:
        """The event with an id, and with a source if one is given; as it is, if it has them."""
        self.published += 1
        if event.id and (event.source or not source):
            return event
        id = event.id or f"{self.configuration.node.name}.{self._incarnation}.e{self.published}"
        return decode_event(
            encode_event(Event(event.attributes, id, event.source or source, event.time, event.payload))
        )

    def tell(self, stimulus: Stimulus) -> Effects:
        """Tells the protocol what happened, and does what it wants done; returns the effects."""
        now = self.loop.time() * 1_000
        effects = self._protocol.handle(stimulus, now)
        if self._recorder is not None:
            self._recorder.note(stimulus, effects, now)
        if self._hops is not None:
            self._hops.note(stimulus, effects, time.monotonic() * 1_000)
        for effect in effects:
            kind = type(effect)
            if kind is Deliver:
                self.sessions.deliver(effect.event, effect.subscriptions)  # type: ignore[attr-defined]
            elif kind is SendMessage:
                self.peers.send(effect.message, effect.destinations)  # type: ignore[attr-defined]
            elif (kind is Accept or kind is Offer) and self._durable is not None:
                if kind is Accept:
                    self._durable.answer(effect.request, None)  # type: ignore[attr-defined]
                else:
                    self._durable.offer(effect)  # type: ignore[arg-type]
            elif kind is not Spent:
                self._carry_out_rare(effect)
        return effects

    def _carry_out_rare(self, effect: Effect) -> None:
        match effect:
            case SetTimer(name, after_ms):
                self._cancel(name)
                self._timers[name] = self.loop.call_later(after_ms / 1_000, self._fire, name)
            case CancelTimer(name):
                self._cancel(name)
            case Persist(key, data):
                if self._store is None:
                    raise StoreError(_NO_STORE)
                self._store.write(key, ((key, data),))
            case PersistAll(key, changes):
                if self._store is None:
                    raise StoreError(_NO_STORE)
                self._store.write(key, changes)
            case MeasureDelay(peer):
                self.peers.measure(peer)
            case InferRoute(peer):  # sockets do not tell their way
                self.loop.call_soon(self.tell, RouteInferred(peer, ()))
            case Refuse(request, reason):
                if self._durable is None or not self._durable.answer(request, reason):
                    self.log.info("refused", request=request, reason=reason)
            case DeadLetter() if self._durable is not None:
                self._durable.bury(effect)
            case Expire() if self._durable is not None:
                self._durable.expire(effect)
            case _:
                raise LiveError(f"the protocol wants {effect!r}, which a node cannot do")

    def _cancel(self, name: str) -> None:
        timer = self._timers.pop(name, None)
        if timer is not None:
            timer.cancel()

    def _fire(self, name: str) -> None:
        del self._timers[name]
        self.tell(TimerFired(name))

    def _report_written(self, written: Reported) -> None:
        """Called by the store's thread."""
        self.loop.call_soon_threadsafe(self._tell_written, written)

    def _tell_written(self, written: Reported) -> None:
        for key, failure in written:
            self.tell(Persisted(key) if failure is None else PersistFailed(key, failure))

    def event_of(self, encoded: bytes) -> Event:
        """An event that somebody asks about; raises EventError."""
        return decode_event(encoded, self.event_limits)

    def answer_reach(self, content: bytes) -> dict[str, Any]:
        """Which subscriptions here an event would reach, and why others not."""
        durable = [] if self._durable is None else self._durable.listed()
        return judge(self.event_of(content), self.sessions.listed() + durable)

    def answer_trace(self, content: bytes) -> dict[str, Any]:
        """What this node remembers of an event, which is named by its id."""
        event = content.decode("utf-8", "replace")
        return {"rows": [] if self._hops is None else self._hops.of(event, self.names, self._filter_of)}

    def _filter_of(self, id: str) -> Filter | None:
        found = self.sessions.filter_of(id)
        return found if found is not None or self._durable is None else self._durable.filter_of(id)

    def describe(self) -> dict[str, Any]:
        """Facts about the node, for people."""
        return {
            "node": self.configuration.node.name,
            "address": self.address,
            "scheme": self._overlay.scheme,
            "peers": self.peers.present,
            "missing": self.peers.missing,
            "clients": len(self.sessions.open),
            "published": self.published,
            "sent": self.peers.sent,
            "received": self.peers.received,
            "deliveries": self.sessions.deliveries,
            "dropped": self.sessions.dropped + self.peers.dropped,
            "cpu_s": time.process_time(),
            "state": dict(self._protocol.state()),
            "subscriptions": self.sessions.describe() + ([] if self._durable is None else self._durable.describe()),
        }


class _Greeting:
    """Whoever called, until they have said who they are."""

    def __init__(self, node: Node, connection: Connection) -> None:
        self._node = node
        self._connection = connection
        self._patience = node.loop.call_later(_HELLO_WAIT_S, self._give_up)

    def connection_opened(self) -> None:
        self._node.opened(self._connection)

    def _give_up(self) -> None:
        self._connection.fail(FrameError(f"no Hello came within {_HELLO_WAIT_S:g} s"))

    def frame_received(self, frame: Frame) -> None:
        self._patience.cancel()
        match frame:
            case Hello(version) if version != VERSION:
                raise VersionError(f"this node speaks version {VERSION}, not {version}")
            case Hello(_, "node"):
                self._node.peers.accept(self._connection, frame)
            case Hello():
                self._node.admit(self._connection, frame)
            case _:
                raise FrameError(f"the first frame is a Hello, not {type(frame).__name__}")

    def connection_closed(self, reason: str) -> None:
        self._patience.cancel()
        self._node.closed(self._connection)

    def writing_resumed(self) -> None:
        """Nothing waits for it."""


async def serve(
    file: ConfigurationFile,
    stop: asyncio.Event,
    *,
    listener: socket.socket | None = None,
    ready: Callable[[Node], None] | None = None,
    log: Logger | None = None,
) -> None:
    """Runs a node until it is told to stop."""
    node = Node(file, log=log)
    try:
        await node.start(listener)
        if ready is not None:
            ready(node)
        await stop.wait()
    finally:
        await node.stop()


def run(main: Any) -> Any:
    """Runs a coroutine on the fastest loop there is here."""
    try:
        import uvloop
    except ImportError:  # Windows has none
        return asyncio.run(main)
    return uvloop.run(main)
