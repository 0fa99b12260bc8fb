"""Calling other nodes, and again until they answer.

A node is called while somebody wants it (`wanted`): it is watched, or something waits to be sent to it. Between two
calls there is a wait that doubles from 50 ms to 5 s, with jitter so that a whole network does not call a node that came
back at the same moment. The address is looked up for each call, because it may have changed meanwhile.

Either of two nodes may call, so both may at once. Then the call of the one with the larger identity is kept:

    the smaller one     takes the call, and gives up its own
    the larger one      lets the call wait until its own was answered, and then turns it away; if its own came to
                        nothing, say because it knows an old address, it takes the call

A call that was not put through yet when the other's is taken is dropped. Otherwise the other, which might hear it
before the answer to its own, would give up the connection that is in use here, with all that was sent over it.

A node that has no data folder is another one each time it starts. Where a node is called that is in no list, and one of
the same name answers with another identity, that one is told of (`on_successor`), unless a plan says who is a member.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from random import Random
from typing import Any, Protocol

from siftcast.overlays.contract import NodeId
from siftcast.runtimes.live.errors import FrameError, LiveError, NetworkMismatch, VersionError
from siftcast.runtimes.live.logs import Logger
from siftcast.runtimes.live.node.address_book import AddressBook
from siftcast.runtimes.live.node.layout import check_version
from siftcast.runtimes.live.node.rivals import CALLED_AT_ONCE
from siftcast.runtimes.live.wire.addresses import is_loopback, parse_address
from siftcast.runtimes.live.wire.connection import Connection, Handler
from siftcast.runtimes.live.wire.frames import OLDEST, VERSION, Failure, Frame, Heartbeat, Hello, Welcome, spoken
from siftcast.runtimes.live.wire.tls import Dial, check_certified, dial_tcp

_WAIT_MIN_S, _WAIT_MAX_S = 0.05, 5.0


class Line(Protocol):
    """How a node talks to whomever: its connections, and what it says about itself."""

    @property
    def token(self) -> str: ...

    @property
    def tls(self) -> ssl.SSLContext | None: ...

    def connection(self, handle: Callable[[Connection], Handler]) -> Connection: ...

    def admit(self, hello: Hello, connection: Connection) -> Any: ...

    def welcome(self, hello: Hello) -> Welcome: ...

    def address(self) -> str: ...

    def advertised(self) -> str: ...


def dial_node(line: Line, address: str) -> Dial:
    """How to call a node; raises LiveError if this node must not, and ValueError if it is no address."""
    host, port = parse_address(address)
    if line.token and line.tls is None and not is_loopback(host):
        raise LiveError(f"this node's token would travel to {host} readable; name a certificate and its key in [tls]")
    return dial_tcp(host, port, line.tls)


class Calls:
    """The calls of a node."""

    def __init__(
        self,
        book: AddressBook,
        line: Line,
        *,
        hello: Callable[[NodeId], Hello],
        wanted: Callable[[NodeId], bool],
        on_welcome: Callable[[Connection, NodeId, Welcome], None],
        on_failed: Callable[[NodeId], None],
        on_successor: Callable[[NodeId, NodeId], bool],
        log: Logger,
        scheme: str,
        random: Random,
    ) -> None:
        self.book = book
        self.scheme = scheme
        self.hello = hello
        self.on_welcome = on_welcome
        self._line = line
        self._wanted = wanted
        self._on_failed = on_failed
        self.on_successor = on_successor
        self._log = log
        self._random = random
        self._loop = asyncio.get_running_loop()
        self._tasks: dict[NodeId, asyncio.Task[None]] = {}
        self._open: dict[NodeId, Call] = {}
        self.failed: set[NodeId] = set()
        """Those that are called again, because the latest call came to nothing."""

    def call(self, number: NodeId, *, later: bool = False, now: bool = False) -> None:
        """Calls a node until it answers or nobody wants it any more; `later` after the shortest wait.

        With `now` it is not waited for the time of the next call, if it was called in vain before.
        """
        if now and number in self._tasks and number not in self._open:
            self._tasks.pop(number).cancel()
        if number not in self._tasks:
            self._tasks[number] = self._loop.create_task(self._call(number, later))

    def unanswered(self, number: NodeId) -> Call | None:
        """The call to a node that has heard this node's Hello and has not answered yet."""
        call = self._open.get(number)
        return call if call is not None and call.is_heard and not call.outcome.done() else None

    def drop_unheard(self, number: NodeId) -> None:
        """Gives up a call of which the other node knows nothing, because that one's call is taken."""
        call = self._open.get(number)
        if call is not None and not call.is_heard:
            self._tasks[number].cancel()

    async def stop(self) -> None:
        """Calls nobody any more."""
        tasks = tuple(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def connection(self, call: Call) -> Connection:
        """A connection for a call."""
        return self._line.connection(lambda _: call)

    async def _call(self, number: NodeId, later: bool) -> None:
        wait_s, told = _WAIT_MIN_S, ""
        try:
            if later:
                await self._pause(wait_s)
                wait_s *= 2
            while self._wanted(number):
                reason = await self._try(number)
                if not reason:
                    self.failed.discard(number)
                    wait_s, told = _WAIT_MIN_S, ""
                    continue
                if reason not in (told, CALLED_AT_ONCE) and self._wanted(number):
                    told, address = reason, self.book.address(number)
                    self._log.warning("peer not reached", peer=self.book.name(number), address=address, reason=reason)
                if reason != CALLED_AT_ONCE:
                    self.failed.add(number)
                self._on_failed(number)
                if self._wanted(number):
                    await self._pause(wait_s)
                    wait_s = min(2 * wait_s, _WAIT_MAX_S)
        finally:
            if self._tasks.get(number) is asyncio.current_task():
                self.failed.discard(number)
                del self._tasks[number]

    async def _pause(self, wait_s: float) -> None:
        await asyncio.sleep(wait_s * (0.5 + self._random.random()))

    async def _try(self, number: NodeId) -> str:
        """Calls once; says why it came to nothing, or nothing."""
        address = self.book.address(number)
        if not address:
            return "nobody has said where it can be called"
        call = self._open[number] = Call(self, number, self._loop.create_future())
        try:
            await dial_node(self._line, address)(call.connect)
            return await call.outcome
        except (LiveError, ValueError) as error:  # a host may be no name that could be looked up
            return str(error)
        except OSError as error:
            return error.strerror or str(error)
        except asyncio.CancelledError:
            call.give_up()
            raise
        finally:
            if self._open.get(number) is call:
                del self._open[number]


class Call:
    """A call to a node: the end that called, until the other has said Welcome."""

    def __init__(self, calls: Calls, number: NodeId, outcome: asyncio.Future[str]) -> None:
        self.name = calls.book.name(number)
        self.outcome = outcome
        """Empty once the connection stands, or why it does not."""
        self.is_heard = False
        self._calls = calls
        self._number = number
        self._connection: Connection | None = None

    def connect(self) -> Connection:
        """The connection to be made; says who is calling."""
        self._connection = self._calls.connection(self)
        self._connection.send(self._calls.hello(self._number))
        return self._connection

    def give_up(self) -> None:
        """Hangs up, because the other node has called, too, or nobody wants it any more."""
        if self._connection is not None:
            self._connection.close(CALLED_AT_ONCE)
        self._end(CALLED_AT_ONCE)

    def connection_opened(self) -> None:
        self.is_heard = True

    def frame_received(self, frame: Frame) -> None:
        assert self._connection is not None
        match frame:
            case Welcome():
                if self._is_succeeded(frame) and self._calls.on_successor(self._number, frame.identity):
                    self._connection.close("it has begun again as another node")
                    return
                self._check(frame)
                check_certified(self._connection.certificate, self._number)
                self._connection.version = frame.version
                self._calls.on_welcome(self._connection, self._number, frame)
                self._end("")
            case Failure(_, code, message):
                if code == CALLED_AT_ONCE:
                    self._end(code)
                self._connection.close(f"{message} ({code})")
            case Heartbeat():
                pass
            case _:
                raise FrameError(f"a Welcome was expected, not {type(frame).__name__}")

    def _is_succeeded(self, welcome: Welcome) -> bool:
        """Whether a node has begun again as another one, which it does without a data folder."""
        is_another = welcome.name == self.name and welcome.identity != self._number
        return is_another and not self._calls.book.is_listed(self._number)

    def _check(self, welcome: Welcome) -> None:
        assert self._connection is not None
        if not OLDEST["node"] <= welcome.version <= VERSION:
            raise VersionError(f"the other node speaks version {welcome.version}, this one {spoken('node')}")
        check_version(self._calls.scheme, welcome.version, f"node '{welcome.name}'")
        is_listed = self._calls.book.is_listed(self._number)
        if welcome.name != self.name and (is_listed or welcome.identity != self._number):
            raise NetworkMismatch(
                f"the node at {self._connection.address} is '{welcome.name}', not '{self.name}'; "
                + ("are two addresses exchanged in [[overlay.nodes]]?" if is_listed else "it was there before")
            )
        if welcome.identity != self._number:
            raise NetworkMismatch(
                f"node '{self.name}' says that its identity is {welcome.identity}, and "
                f"{'the list says' if is_listed else 'it was'} {self._number}; do two nodes have this name?"
            )

    def _end(self, outcome: str) -> None:
        if not self.outcome.done():
            self.outcome.set_result(outcome)

    def connection_closed(self, reason: str) -> None:
        self._end(reason or "closed")

    def writing_resumed(self) -> None:
        """Nothing waits for it."""
