"""Two processes that say they are the same node, and two connections to one: noticed, and one of them is kept.

If the newer connection simply replaced the older one, two processes of one name would replace each other for ever. But
a node that was started again is a new process with a known name, too, and its old connection may look alive for a while
after a power failure. So before a newcomer is turned away the older connection must show that it lives: it is asked for
an echo, and if nothing comes from it within ECHO_WAIT_S, the newcomer takes its place. One that is turned away calls
again. Processes are known by their names and by their identities: neither may be in use twice.

Processes are told apart by a random `incarnation` in their Hello; one without any (another implementation) replaces the
older connection as a process that calls twice does. A process that calls although this node has called *it*, and has
been welcomed, may not have noticed yet, or may have lost that connection: there, too, the older one must show that it
lives, and then the newcomer is turned away in peace.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from dataclasses import dataclass

from siftcast.runtimes.live.errors import FrameError, NetworkMismatch
from siftcast.runtimes.live.logs import Logger
from siftcast.runtimes.live.wire.connection import Connection
from siftcast.runtimes.live.wire.frames import Failure, Frame, Heartbeat, Hello

ECHO_WAIT_S = 1.0
CALLED_AT_ONCE = "called-at-once"
"""The code of the failure with which the second of two connections to one node ends."""
_LOOKS = 20


@dataclass(frozen=True, slots=True)
class _Known:
    """A connection, the process at its other end, and whether this node made it."""

    connection: Connection
    incarnation: str
    name: str
    is_called: bool


class Rivals:
    """Which processes are behind the names and identities of nodes that are connected."""

    def __init__(self, loop: asyncio.AbstractEventLoop, log: Logger) -> None:
        self.incarnation = secrets.token_hex(8)
        """This process."""
        self._loop = loop
        self._log = log
        self._known: dict[str | int, _Known] = {}
        self._reported: dict[str, str] = {}

    def note_called(self, connection: Connection, name: str, identity: int, incarnation: str) -> None:
        """This node has called another, and is welcome."""
        self._known[name] = self._known[identity] = _Known(connection, incarnation, name, True)

    def forget(self, connection: Connection) -> None:
        """A connection is gone."""
        for key in [key for key, known in self._known.items() if known.connection is connection]:
            del self._known[key]

    def weigh(self, connection: Connection, hello: Hello, take: Callable[[], None]) -> None:
        """Has a caller taken in, at once or, if another connection stands in its way, when that one is gone."""
        older = self._rival(hello)
        if older is None:
            known = _Known(connection, hello.incarnation, hello.name, False)
            self._known[hello.name] = self._known[hello.identity] = known
            take()
            return
        connection.handler = Newcomer(connection, hello.name)
        older.connection.send(Heartbeat(echo=True))
        self._look(_Doubt(connection, hello, take, older, older.connection.reads), _LOOKS)

    def _rival(self, hello: Hello) -> _Known | None:
        """The connection that stands in the way of a caller."""
        for key in (hello.identity, hello.name):
            older = self._known.get(key)
            if older is None or older.connection.closing or "" in (older.incarnation, hello.incarnation):
                continue
            if older.incarnation != hello.incarnation or older.is_called:
                return older
        return None

    def _look(self, doubt: _Doubt, looks: int) -> None:
        """Decides, if it is clear by now."""
        connection, older = doubt.connection, doubt.older.connection
        if connection.closing:
            return
        if self._rival(doubt.hello) is not doubt.older:  # it is gone, or a third one came meanwhile
            self.weigh(connection, doubt.hello, doubt.take)
        elif looks == 0:
            older.abort("replaced by a newer connection")
            self.weigh(connection, doubt.hello, doubt.take)
        elif older.reads == doubt.reads:
            self._loop.call_later(ECHO_WAIT_S / _LOOKS, self._look, doubt, looks - 1)
        elif doubt.older.incarnation == doubt.hello.incarnation:
            turn_away(connection)
        else:
            self._turn_away(doubt)

    def _turn_away(self, doubt: _Doubt) -> None:
        name, kept, other = doubt.hello.name, doubt.older.connection.address, doubt.connection.address
        if self._reported.get(name) != doubt.hello.incarnation:
            self._reported[name] = doubt.hello.incarnation
            self._log.warning("two nodes with one name", peer=name, kept=kept, turned_away=other)
        if doubt.older.name != name:
            doubt.connection.fail(
                NetworkMismatch(
                    f"two nodes say they have the identity {doubt.hello.identity}: '{doubt.older.name}' at {kept}, "
                    f"which is kept, and '{name}' at {other}; give each a data folder of its own"
                )
            )
            return
        doubt.connection.fail(
            NetworkMismatch(
                f"two nodes say they are '{name}': one at {kept}, which is kept, and one at {other}; give each a name "
                "of its own"
            )
        )


def turn_away(connection: Connection) -> None:
    """Ends the second of two connections to one node."""
    connection.send(Failure(0, CALLED_AT_ONCE, "both nodes called, and the other connection is kept"))
    connection.close("both nodes called, and the other connection is kept")


@dataclass(frozen=True, slots=True)
class _Doubt:
    """A caller, and the connection in its way, from which so much had come."""

    connection: Connection
    hello: Hello
    take: Callable[[], None]
    older: _Known
    reads: int


class Newcomer:
    """A caller while it is found out whether there is room for it."""

    def __init__(self, connection: Connection, name: str) -> None:
        self.name = name
        self._before = connection.handler

    def connection_opened(self) -> None:
        """It was open before."""

    def frame_received(self, frame: Frame) -> None:
        if not isinstance(frame, Heartbeat):
            raise FrameError(f"a node does not send {type(frame).__name__} before it is welcome")

    def connection_closed(self, reason: str) -> None:
        self._before.connection_closed(reason)

    def writing_resumed(self) -> None:
        """Nothing waits for it."""
