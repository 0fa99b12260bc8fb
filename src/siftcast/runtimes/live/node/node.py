"""A running node: it listens, lets callers in, and lives one life after the other.

Everything happens on one event loop, one stimulus after the other; only the store has a thread. `now` is the monotonic
clock in milliseconds: setting the machine's clock changes nothing. The protocol object is the one the simulator runs.

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
from contextlib import suppress
from dataclasses import asdict, replace
from random import Random
from typing import Any

import msgspec

from siftcast.model.errors import SiftcastError
from siftcast.overlays.contract import Started, Stimulus
from siftcast.overlays.epochs import view
from siftcast.runtimes.live.errors import LEFT, LiveError
from siftcast.runtimes.live.logs import Logger, make_log
from siftcast.runtimes.live.node import descriptors
from siftcast.runtimes.live.node.accepting import Acceptor, bind
from siftcast.runtimes.live.node.address_book import AddressBook
from siftcast.runtimes.live.node.audit import Audit, Who, open_audit_file
from siftcast.runtimes.live.node.configuration import ConfigurationFile, check_reach
from siftcast.runtimes.live.node.greeting import Greeting
from siftcast.runtimes.live.node.identity import identity_of, keep_identity, kept_identity
from siftcast.runtimes.live.node.joining import Invited, ask_again, ask_to_join, invited_file, kept_invitation
from siftcast.runtimes.live.node.life import SHOWN_MAX, Lasting, Life, MakeStore, Tally
from siftcast.runtimes.live.node.line import NodeLine
from siftcast.runtimes.live.node.memory import NodeMemory
from siftcast.runtimes.live.node.reloading import Reloaded, Reloading
from siftcast.runtimes.live.node.rights import Guard
from siftcast.runtimes.live.node.session import Session
from siftcast.runtimes.live.node.set_aside import STOPS_MAX, SetAside
from siftcast.runtimes.live.node.upkeep import Upkeep
from siftcast.runtimes.live.wire.addresses import parse_address
from siftcast.runtimes.live.wire.connection import Connection, Outbox, Watch
from siftcast.runtimes.live.wire.frames import Description, Failure, Frame, Hello

NAME_SHOWN_MAX = 80
_FAREWELL_S = 1.0
_LOOK_S = 0.02
_SAY_S = 10.0
_ASK_AGAIN_S = 5.0
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
        make_store: MakeStore | None = None,
        invited: Invited | None = None,
    ) -> None:
        written, file = file, file if invited is None else invited_file(file, invited.invitation)
        configuration = file.configuration
        chosen = make_log(configuration.log.format, configuration.log.level) if log is None else log
        incarnation = secrets.token_hex(4)
        identity = identity_of(file)
        self.configuration = configuration
        self.tally = Tally()
        self._file = file
        self._loop = asyncio.get_running_loop()
        self._log: Logger = chosen.bind(node=configuration.node.name)
        self._watch = Watch(self._loop, configuration.heartbeat.interval_ms)
        self._outbox = Outbox(self._loop)
        self._audit = Audit(configuration.audit, open_audit_file(file), configuration.node.name, self._log)
        self._line = NodeLine(file, identity, self._outbox, self._watch, self._log, self._audit)
        self._upkeep = Upkeep(self._line.access, self._audit, self._log)
        self._reloading = Reloading(
            written,
            self._line,
            self._audit,
            identity=identity,
            listens_at=self._line.address,
            on_adopted=self._adopt,
            log=self._log,
        )
        self._reloads: set[asyncio.Task[None]] = set()
        data = None if configuration.node.data is None else file.beside(configuration.node.data)
        book = AddressBook(data, configuration.overlay.network, self._log, clock_ms=time.time() * 1_000)
        if book.has_left:
            problem = f"the node of this folder has left network '{configuration.overlay.network}' for good"
            raise file.error("node.data", problem, "begin with an empty folder, as another node")
        self._memory = NodeMemory(file, identity, self._log)
        self._set_aside = SetAside()
        self._acceptor: Acceptor | None = None
        self._connections: set[Connection] = set()
        self._stopped = False
        self._listens = False
        self._restart: asyncio.Task[None] | None = None
        self._wait_s = _AGAIN_MIN_S
        self._lasting = Lasting(
            file=file,
            identity=identity,
            log=self._log,
            outbox=self._outbox,
            line=self._line,
            book=book,
            invited=invited,
            memory=self._memory,
            set_aside=self._set_aside,
            tally=self.tally,
            incarnation=incarnation,
            random=Random(incarnation) if random is None else random,
            make_store=make_store,
            on_closed=self.closed,
            on_defect=self._fail,
            on_leave=self._leave,
            on_reload=self._reload_for,
        )
        self._placing: asyncio.Task[None] | None = None
        self._seeking: asyncio.Task[None] | None = None
        self.placed: asyncio.Future[None] = self._loop.create_future()
        """Done once the node has its part in the network; one that joins has not at first."""
        self.left: asyncio.Future[None] = self._loop.create_future()
        """Done once the node has left its network, and is to stop."""
        self.failed: asyncio.Future[None] = self._loop.create_future()
        """Raises once the node cannot go on; never done otherwise."""
        self.failed.add_done_callback(lambda future: future.cancelled() or future.exception())  # it may stay unasked
        self.life = Life(self._lasting)

    # -- life ----------------------------------------------------------------------------------------

    async def start(self, listener: socket.socket | None = None) -> None:
        """Listens, on a socket that is given or on the configured address, and calls the other nodes."""
        self.life.open()
        keep_identity(self._file, self._lasting.identity)
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
        self._acceptor = Acceptor(sockets, self.accept, self._line.server_tls, self._log)
        self._line.bind(*self._acceptor.address)
        self._listens = True
        self._warn_of_descriptors()
        self._upkeep.start(self._file)
        self.life.peers.start()
        self.life.tables.warm_up()
        self._log.info("listening", address=self.address, scheme=self.life.overlay.scheme)
        for remark in self.life.overlay.part.remarks:
            self._log.warning("options of the scheme", remark=remark)
        if self.life.is_ready:
            self._say_ready()
        else:
            self._placing = self._loop.create_task(self._await_place())
        if self.configuration.join is not None:
            self._seeking = self._loop.create_task(self._ask_seeds())

    async def _ask_seeds(self) -> None:
        """Asks the seeds again as long as the node is outside: the one that let it in may be down by now."""
        while not (self.life.is_ready and self.life.overlay.is_planned):
            await asyncio.sleep(_ASK_AGAIN_S)
            is_outside = not self.life.is_ready or not self.life.peers.connected
            if is_outside and (found := await ask_again(self._file, self._line, self._lasting.identity)):
                self.life.meet(found)

    async def _await_place(self) -> None:
        """Says when the node is ready, and now and then whom it asks in vain."""
        said = self._loop.time()
        while not self.life.is_ready:  # a place comes with any message
            await asyncio.sleep(_LOOK_S)
            if self._loop.time() - said >= _SAY_S:
                said = self._loop.time()
                reason = "; ".join(self.life.waits_for()) or "the network has other changes to finish first"
                self._log.warning("no place in the network yet", reason=reason)
        self._say_ready()

    def _say_ready(self) -> None:
        expected = [row for row in self.life.members() if row["state"] not in (view.LEFT, view.GONE)]
        self._log.info("ready", address=self.address, nodes=len(expected))
        own = next(row for row in expected if row["identity"] == self._lasting.identity)
        said, has = set(self.configuration.node.roles), {*own.get("roles", ())} - {view.COORDINATOR}
        if said and said != has:
            remedy = "a node keeps the roles with which it joined; let it leave, and join as another"
            self._log.warning("roles are not those configured", has=sorted(has), said=sorted(said), remedy=remedy)
        self.placed.set_result(None)

    def _warn_of_descriptors(self) -> None:
        room, wanted = descriptors.connections_max(), self.configuration.limits.connections_max
        if room is not None and room < wanted:
            self._log.warning(
                "fewer connections than connections_max", connections=room, wanted=wanted, remedy=descriptors.REMEDY
            )

    async def stop(self) -> None:
        """Stops listening, tells clients, hangs up, and writes what must be kept."""
        if self._stopped:
            return
        self._stopped = True
        self._upkeep.stop()
        for task in (self._placing, self._seeking, self._restart, *self._reloads):
            if task is not None:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
        if self._acceptor is not None:
            self._acceptor.close()
        if self.left.done():
            self._lasting.book.leave()
        await self._end_life(self._last_words() if self.left.done() else "the node stops")
        self._watch.stop()
        self._memory.save()
        await self._audit.close()
        self._log.info("stopped", published=self.tally.published, deliveries=self.life.sessions.deliveries)

    async def _end_life(self, reason: str) -> None:
        """Hangs up on everybody, and closes the store after what it was given is written."""
        await self.life.hang_up(for_good=self.left.done())
        for connection in tuple(self._connections):
            connection.send(Failure(0, "stopping", reason))
            connection.close(reason)
        self.life.carrier.stop()
        await self._await_farewells()
        await self.life.close()

    def _last_words(self) -> str:
        """That the node has left, and who has what it had."""
        durable, names = self.life.overlay.part.durable, self._lasting.book.names
        heirs = () if durable is None else durable.heirs
        named = " and ".join(f"'{names[heir]}'" for heir in heirs)
        return f"{LEFT}; its durable subscriptions are at {named} now" if heirs else LEFT

    def _leave(self, reason: str) -> None:
        """The protocol has handed over everything, or says why the node cannot be one of the network."""
        if reason and not self.failed.done():
            self._log.error("stays down", error=reason)
            self.failed.set_exception(LiveError(reason))
        elif not reason and not self.left.done():
            self._log.info(LEFT)
            self.left.set_result(None)

    def _fail(self, stimulus: Stimulus, error: Exception) -> None:
        """The protocol is not to be trusted any more: ends this life, and begins another."""
        if isinstance(stimulus, Started):  # whoever starts the node says what it is
            raise error
        times = self._set_aside.note(stimulus)
        kind = type(stimulus).__name__
        self._log.error("defect", error=f"{type(error).__name__}: {error}", stimulus=kind, times=times, exc_info=error)
        if times == STOPS_MAX:
            self._log.error("input set aside", stimulus=kind, times=times, content=repr(stimulus)[:SHOWN_MAX])
        if self._restart is None and not self._stopped:
            self._restart = self._loop.create_task(self._begin_again())

    async def _begin_again(self) -> None:
        calm = self._loop.time() - self.life.begun_at > _CALM_S
        self._wait_s = _AGAIN_MIN_S if calm else min(2 * self._wait_s, _AGAIN_MAX_S)
        await self._end_life("the node begins again after a defect")
        await asyncio.sleep(self._wait_s)
        try:
            self.life = Life(self._lasting)
            self.life.open()
        except Exception as error:
            self._log.error("stays down", error=str(error))
            self.failed.set_exception(error)
            return
        finally:
            self._restart = None
        if self._listens:
            self.life.peers.start()
        self._log.warning("began again", after_s=self._wait_s)

    async def _await_farewells(self) -> None:
        """Lets what was sent go out; whoever does not read it in time is cut off."""
        until = self._loop.time() + _FAREWELL_S
        while self._connections and self._loop.time() < until:
            await asyncio.sleep(0.001)
        for connection in tuple(self._connections):
            connection.abort("this node stops")
        while self._connections:
            await asyncio.sleep(0)

    @property
    def address(self) -> str:
        """Where the node listens."""
        return self._line.address()

    @property
    def url(self) -> str:
        """What clients call."""
        return f"{'siftcast' if self._line.tls is None else 'siftcasts'}://{self.address}"

    def describe(self) -> dict[str, Any]:
        """Facts about the node, for people."""
        return self.life.describe()

    # -- another configuration -----------------------------------------------------------------------

    async def reload(self) -> Reloaded:
        """Reads the configuration again; raises SiftcastError, and then nothing has changed."""
        return await self._reloading.reload()

    def _adopt(self, file: ConfigurationFile) -> None:
        """From now on the node runs by a file that was read again; its network stays what it is."""
        spec = file.configuration
        changed = {"limits": spec.limits, "principal": spec.principal, "tls": spec.tls, "audit": spec.audit}
        self.configuration = msgspec.structs.replace(self.configuration, **changed)
        self._file = msgspec.structs.replace(file, configuration=self.configuration)
        self._lasting = replace(self._lasting, file=self._file)
        self.life.sessions.filter_limits = spec.filter_limits
        self._upkeep.adopt(self._file)

    def _reload_for(self, connection: Connection, request: int) -> None:
        """A client wants the configuration read again; it is answered, if it is still let in then."""

        async def answer() -> None:
            try:
                found = await self.reload()
            except SiftcastError as error:
                frame: Frame = Failure(request, error.code, str(error))
            else:
                frame = Description(request, asdict(found))
            if not connection.closing:
                connection.send(frame)

        task = self._loop.create_task(answer())
        self._reloads.add(task)
        task.add_done_callback(self._reloads.discard)

    # -- callers (`greeting.Door`) -------------------------------------------------------------------

    def accept(self) -> Connection:
        """The connection of someone who calls."""
        return self._line.connection(lambda connection: Greeting(self, connection))

    def opened(self, connection: Connection) -> None:
        """Someone called; raises LiveError if there are too many."""
        if self.life.down:
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
        self._line.access.left(connection)

    def admit_peer(self, connection: Connection, hello: Hello) -> None:
        """Takes another node in; raises Unauthorised or NetworkMismatch."""
        self.life.peers.accept(connection, hello)

    def invite(self, connection: Connection, hello: Hello) -> None:
        """Answers a node that wants to join; raises Unauthorised, Refused or NetworkMismatch."""
        self.life.peers.invite(connection, hello)

    def admit(self, connection: Connection, hello: Hello) -> None:
        """Takes a client in; raises Unauthorised, Refused if its name is too long, LiveError if it is one too many."""
        access, sessions = self._line.access, self.life.sessions
        self._audit.check()
        credential = self._line.admit(hello, connection)
        rights, limits = credential.rights, credential.limits
        try:
            limits.check_name(hello.name)
            limits.check_connections(lambda: sessions.count(rights.principal))
        except SiftcastError as error:
            who = Who(rights.principal, hello.name[:NAME_SHOWN_MAX], connection.address)
            self._audit.note(who, "login", error.code, reason=str(error))
            raise
        self.tally.sessions += 1
        serial = f"{self.configuration.node.name}.{self._lasting.incarnation}.{self.tally.sessions}"
        connection.frame_bytes_max = self.configuration.limits.frame_bytes_max
        welcome = self._line.welcome(hello, access.expires_in_ms(credential))
        connection.send(welcome)
        connection.version = welcome.version
        name = hello.name or f"client-{self.tally.sessions}"
        guard = Guard(rights, limits, self._log, Who(rights.principal, name, connection.address), self._audit)
        guard.note("login", role=hello.role)
        connection.handler = Session(sessions, self.life, connection, name, serial, guard)
        known = {"principal": rights.principal} if rights.principal else {}
        self._log.info("client joined", client=name, address=connection.address, **known)


async def serve(
    file: ConfigurationFile,
    stop: asyncio.Event,
    *,
    reload: asyncio.Event | None = None,
    listener: socket.socket | None = None,
    ready: Callable[[Node], None] | None = None,
    log: Logger | None = None,
) -> bool:
    """Runs a node until it is told to stop, or has left its network; says whether it has.

    It reads its configuration again when `reload` is set, once for however many times that happens meanwhile.
    """
    told = asyncio.ensure_future(stop.wait())
    invited = kept_invitation(file)
    if file.configuration.join is not None:
        asking = asyncio.ensure_future(ask_to_be_invited(file, log))
        await asyncio.wait((told, asking), return_when=asyncio.FIRST_COMPLETED)
        if not asking.done():
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
            return False
        invited = asking.result()
    node = Node(file, log=log, invited=invited)
    again = asyncio.ensure_future(_reload_each_time(node, reload or asyncio.Event()))
    try:
        await node.start(listener)
        ended = (told, node.failed, node.left)
        await asyncio.wait((*ended, node.placed), return_when=asyncio.FIRST_COMPLETED)
        if ready is not None and node.placed.done():
            ready(node)
        await asyncio.wait(ended, return_when=asyncio.FIRST_COMPLETED)
        if node.failed.done():
            node.failed.result()
        return node.left.done()
    finally:
        told.cancel()
        again.cancel()
        await node.stop()


async def _reload_each_time(node: Node, reload: asyncio.Event) -> None:
    while True:
        await reload.wait()
        reload.clear()
        with suppress(SiftcastError):  # the log says what is wrong
            await node.reload()


async def ask_to_be_invited(file: ConfigurationFile, log: Logger | None = None) -> Invited:
    """Asks the seeds that a configuration names; raises LiveError."""
    spec, loop = file.configuration, asyncio.get_running_loop()
    chosen = make_log(spec.log.format, spec.log.level) if log is None else log
    watch = Watch(loop, spec.heartbeat.interval_ms)
    bound = chosen.bind(node=spec.node.name)
    identity = kept_identity(file)
    audit = Audit(None, None, spec.node.name, bound)  # nobody is let in over this line
    line = NodeLine(file, 0 if identity is None else identity, Outbox(loop), watch, bound, audit)
    try:
        return await ask_to_join(file, line, -1 if identity is None else identity, bound)
    finally:
        watch.stop()


def run(main: Any) -> Any:
    """Runs a coroutine on the fastest loop there is here."""
    try:
        import uvloop
    except ImportError:  # Windows has none
        return asyncio.run(main)
    return uvloop.run(main)
