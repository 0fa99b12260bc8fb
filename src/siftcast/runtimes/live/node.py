"""A running node: feeds a protocol what happens on sockets, timers and disk, and has carried out what it wants done.

      connections ──frames──▶ sessions, peers ──stimuli──▶ Protocol ──effects──▶ sessions, peers, timers, store

The protocol object is the one the simulator runs. Everything happens on one event loop, one stimulus after the other;
only the store has a thread. `now` is the monotonic clock in milliseconds: setting the machine's clock changes nothing.

An error that a request causes goes to whoever asked. An effect that fails is reported, and the others are carried out
(`carrying`). An exception inside the protocol is a defect, after which nothing in memory can be trusted: the node ends
this *life*, hangs up on everybody, and begins another from what is on disk, as after a crash; clients and neighbours
come back by themselves. Input that did this three times is set aside (`set_aside`). A node that cannot begin a life
with what is on disk stays down and says why.
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
    NOTHING,
    Effects,
    InputSetAside,
    PeerLost,
    Persisted,
    PersistFailed,
    PublishRequested,
    Refuse,
    Started,
    Stimulus,
)
from siftcast.overlays.durability import Durable
from siftcast.overlays.wire_events import WireEvent, decode_event, encode_event
from siftcast.runtimes.live import descriptors
from siftcast.runtimes.live.accepting import Acceptor, bind
from siftcast.runtimes.live.carrying import Carrier
from siftcast.runtimes.live.configuration import ConfigurationFile, check_reach, parse_address
from siftcast.runtimes.live.connection import Connection, Handler, Outbox, Watch
from siftcast.runtimes.live.damage import DamageLog
from siftcast.runtimes.live.durable_clients import Answer, DurableClients
from siftcast.runtimes.live.errors import DurabilityUnavailable, FrameError, LiveError, VersionError
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
from siftcast.runtimes.live.set_aside import STOPS_MAX, SetAside, refusals
from siftcast.runtimes.live.settling import SettledTables
from siftcast.runtimes.live.store import Reported, Store
from siftcast.runtimes.live.tls import node_tls

_HELLO_WAIT_S = 10.0
_FAREWELL_S = 1.0
_SHOWN_MAX = 2_000
_AGAIN_MIN_S, _AGAIN_MAX_S = 0.05, 30.0
_CALM_S = 60.0
"""A node that has run for so long begins again soon after a defect; one that has not waits twice as long as before."""


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
        self._damage = DamageLog(self.log)
        self._incarnation = secrets.token_hex(4)
        self._file = file
        self.access = Access(file, self.log)
        self.tls = node_tls(file)
        self._make_store = make_store
        self._random = Random(self._incarnation) if random is None else random
        self._watch = Watch(self.loop, configuration.heartbeat.interval_ms)
        rows_max = configuration.tracing.rows_max
        self._hops = Hops(rows_max, calendar_of_zero()) if rows_max else None
        self._set_aside = SetAside()
        self._acceptor: Acceptor | None = None
        self._session_count = 0
        self._connections: set[Connection] = set()
        self._stopped = False
        self._listens = False
        self._restart: asyncio.Task[None] | None = None
        self._wait_s = _AGAIN_MIN_S
        self.failed: asyncio.Future[None] = self.loop.create_future()
        """Raises once the node cannot go on; never done otherwise."""
        self.failed.add_done_callback(lambda future: future.cancelled() or future.exception())  # it may stay unasked
        self._make_life()
        recording = configuration.recording
        self._recorder = None if recording is None else Recorder(self._overlay.number, file.beside(recording.folder))

    def _make_life(self) -> None:
        """Makes all that does not outlive a defect."""
        configuration, file = self.configuration, self._file
        data = None if configuration.node.data is None else file.beside(configuration.node.data)
        self._tables = SettledTables(self.loop)
        self._store: Keeper | None = None
        if self._make_store is not None:
            self._store = self._make_store(self._report_written)
        elif data is not None:
            self._store = Store(data / "store.sqlite", self._report_written, self.log)
        self._overlay = lay_out(file, self._tables.table, durable=self._store is not None)
        self._protocol = self._overlay.protocol
        self.sessions = Sessions(self.outbox, configuration.slow_consumers, data)
        self.peers = Peers(self, self._overlay, self._random)
        self._durable = DurableClients(self, self._protocol) if isinstance(self._protocol, Durable) else None
        self._carrier = Carrier(self, self.sessions, self.peers, self._durable, self._store)
        self.inquiries = Inquiries(self, self._incarnation)
        self._begun_at = self.loop.time()
        self._down = False

    # -- life ----------------------------------------------------------------------------------------

    async def start(self, listener: socket.socket | None = None) -> None:
        """Listens, on a socket that is given or on the configured address, and calls the other nodes."""
        self.open()
        if listener is not None:
            check_reach(self._file, listener.getsockname()[0])
            sockets = [listener]
        else:
            host, port = parse_address(self.configuration.node.listen)
            try:
                sockets = await bind(host, port)
            except OSError as error:
                remedy = "choose another port as listen in [node], or 0 for one that is free"
                raise LiveError(f"cannot listen on {host}:{port}: {error.strerror or error}; {remedy}") from None
        self._acceptor = Acceptor(sockets, self.accept, None if self.tls is None else self.tls.server, self.log)
        self._listens = True
        self._warn_of_descriptors()
        self.peers.start()
        self._tables.warm_up()
        self.log.info("ready", address=self.address, scheme=self._overlay.scheme, nodes=len(self._overlay.names))

    def _warn_of_descriptors(self) -> None:
        room, wanted = descriptors.connections_max(), self.configuration.limits.connections_max
        if room is not None and room < wanted:
            self.log.warning(
                "fewer connections than connections_max", connections=room, wanted=wanted, remedy=descriptors.REMEDY
            )

    def open(self) -> None:
        """Gives the protocol what was kept; `start` does so before it listens."""
        clock_ms, nonce = time.time() * 1_000, secrets.randbits(63)
        if self._store is None:
            self.tell(Started({}, clock_ms, nonce=nonce))
            return
        kept = self._store.open()
        self.tell(Started(kept, clock_ms, bool(self._store.damaged), nonce))
        for number in self._overlay.contacts:  # so that what waits for them is known to wait for them
            self.tell(PeerLost(number))

    async def stop(self) -> None:
        """Stops listening, tells clients, hangs up, and writes what must be kept."""
        if self._stopped:
            return
        self._stopped = True
        if self._restart is not None:
            self._restart.cancel()
            await asyncio.gather(self._restart, return_exceptions=True)
        if self._acceptor is not None:
            self._acceptor.close()
        await self._end_life("the node stops")
        self._watch.stop()
        if self._recorder is not None:
            self._recorder.save()
        self.log.info("stopped", published=self.published, deliveries=self.sessions.deliveries)

    async def _end_life(self, reason: str) -> None:
        """Hangs up on everybody, and closes the store after what it was given is written."""
        self.inquiries.stop()
        await self.peers.stop()
        for connection in tuple(self._connections):
            connection.send(Failure(0, "stopping", reason))
            connection.close(reason)
        self._carrier.stop()
        await self._await_farewells()
        if self._store is not None:
            await self.loop.run_in_executor(None, self._store.close)

    def _fail(self, stimulus: Stimulus, error: Exception) -> None:
        """The protocol is not to be trusted any more: ends this life, and begins another."""
        self._down = True
        if isinstance(stimulus, Started):  # whoever starts the node says what it is
            raise error
        times = self._set_aside.note(stimulus)
        kind = type(stimulus).__name__
        self.log.error("defect", error=f"{type(error).__name__}: {error}", stimulus=kind, times=times, exc_info=error)
        if times == STOPS_MAX:
            self.log.error("input set aside", stimulus=kind, times=times, content=repr(stimulus)[:_SHOWN_MAX])
        if self._restart is None and not self._stopped:
            self._restart = self.loop.create_task(self._begin_again())

    async def _begin_again(self) -> None:
        calm = self.loop.time() - self._begun_at > _CALM_S
        self._wait_s = _AGAIN_MIN_S if calm else min(2 * self._wait_s, _AGAIN_MAX_S)
        await self._end_life("the node begins again after a defect")
        await asyncio.sleep(self._wait_s)
        try:
            self._make_life()
            self.open()
        except Exception as error:
            self.log.error("stays down", error=str(error))
            self.failed.set_exception(error)
            return
        finally:
            self._restart = None
        if self._listens:
            self.peers.start()
        self.log.warning("began again", after_s=self._wait_s)

    async def _await_farewells(self) -> None:
        """Lets what was sent go out; whoever does not read it in time is cut off."""
        until = self.loop.time() + _FAREWELL_S
        while self._connections and self.loop.time() < until:
            await asyncio.sleep(0.001)
        for connection in tuple(self._connections):
            connection.abort("this node stops")
        while self._connections:
            await asyncio.sleep(0)

    @property
    def address(self) -> str:
        """Where the node listens."""
        if self._acceptor is None:
            return self.configuration.node.listen
        host, port = self._acceptor.address
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
            on_damage=self._damage.note,
        )

    def accept(self) -> Connection:
        """The connection of someone who calls."""
        return self.connection(lambda connection: _Greeting(self, connection))

    def opened(self, connection: Connection) -> None:
        """Someone called; raises LiveError if there are too many."""
        if self._down:
            connection.abort("the node begins again")  # without words: whoever called tries again
            return
        limit, room = self.configuration.limits.connections_max, descriptors.connections_max()
        if len(self._connections) >= limit:
            said = f"the limit is {limit:,} (connections_max in [limits] of its configuration)"
            raise LiveError(f"the node has {len(self._connections):,} connections; {said}")
        if room is not None and len(self._connections) >= room:
            raise LiveError(f"the node has {room:,} connections, and no room for more; {descriptors.REMEDY}")
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
        """Takes a client in; raises Unauthorised, Refused if its name is too long, LiveError if it is one too many."""
        rights = self.access.admit(hello, connection.address)
        limits = self.access.limits_of(rights)
        limits.check_name(hello.name)
        limits.check_connections(lambda: self.sessions.count(rights.principal))
        self._session_count += 1
        serial = f"{self.configuration.node.name}.{self._incarnation}.{self._session_count}"
        connection.frame_bytes_max = self.configuration.limits.frame_bytes_max
        connection.send(self.welcome())
        name = hello.name or f"client-{self._session_count}"
        session = Session(self, connection, name, serial, Guard(rights, limits, self.log, name, connection.address))
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
        return "the node begins again after a defect; publish it again" if self._down else None

    def publish_durable(self, event: WireEvent, source: str, answer: Answer, connection: Connection) -> None:
        """Publishes an event of a client that is answered when it is safe; order is kept among those of a source."""
        self.durable_clients().publish(self._named(event, source), answer, connection)

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
        """Tells the protocol what happened and has done what it wants; returns the effects, none while it is down."""
        if self._down:
            return NOTHING
        now = self.loop.time() * 1_000
        try:
            if stimulus in self._set_aside:
                effects = self._pass_by(stimulus, now)
            else:
                effects = self._protocol.handle(stimulus, now)
        except Exception as error:
            self._fail(stimulus, error)
            return NOTHING
        if self._recorder is not None or self._hops is not None:
            self._note(stimulus, effects, now)
        self._carrier.carry_out(effects)
        return effects

    def _pass_by(self, stimulus: Stimulus, now: float) -> Effects:
        """Goes on without input that stopped the node too often."""
        reason = f"it has stopped this node {STOPS_MAX} times and was set aside; the node's log says more"
        self.log.error("input set aside", stimulus=type(stimulus).__name__, content=repr(stimulus)[:_SHOWN_MAX])
        return [*self._protocol.handle(InputSetAside(stimulus, reason), now), *refusals(stimulus, reason)]

    def _note(self, stimulus: Stimulus, effects: Effects, now: float) -> None:
        """Remembers what happened, for people; whatever goes wrong with that, the effects are carried out."""
        try:
            if self._recorder is not None:
                self._recorder.note(stimulus, effects, now)
            if self._hops is not None:
                self._hops.note(stimulus, effects, time.monotonic() * 1_000)
        except Exception as error:
            self._report_defect(error)

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
            "effects_failed": self._carrier.failed,
            "subscriptions": self.sessions.describe() + ([] if self._durable is None else self._durable.describe()),
        }


class _Greeting:
    """Whoever called, until they have said who they are."""

    name = ""

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
        told = asyncio.ensure_future(stop.wait())
        await asyncio.wait((told, node.failed), return_when=asyncio.FIRST_COMPLETED)
        told.cancel()
        if node.failed.done():
            node.failed.result()
    finally:
        await node.stop()


def run(main: Any) -> Any:
    """Runs a coroutine on the fastest loop there is here."""
    try:
        import uvloop
    except ImportError:  # Windows has none
        return asyncio.run(main)
    return uvloop.run(main)
