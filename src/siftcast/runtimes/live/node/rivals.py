"""Two processes that say they are the same node: noticed in words, and the one that is connected is kept.

If the newer connection simply replaced the older one, the two would replace each other for ever. But a node that was
started again is a new process with a known name, too, and its old connection may look alive for a while after a power
failure. So before a newcomer is turned away the older process must show that it lives: it is asked for an echo, and if
nothing comes from it within ECHO_WAIT_S, the newcomer takes its place. One that is turned away calls again.

Processes are told apart by a random `incarnation` in their Hello; one without any (another implementation) replaces the
older connection as a process that calls twice does.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from dataclasses import dataclass

from siftcast.runtimes.live.errors import FrameError, NetworkMismatch
from siftcast.runtimes.live.logs import Logger
from siftcast.runtimes.live.wire.connection import Connection
from siftcast.runtimes.live.wire.frames import Frame, Heartbeat, Hello

ECHO_WAIT_S = 1.0
_LOOKS = 20


class Rivals:
    """Which processes are behind the names of nodes that called."""

    def __init__(self, loop: asyncio.AbstractEventLoop, log: Logger) -> None:
        self.incarnation = secrets.token_hex(8)
        """This process."""
        self._loop = loop
        self._log = log
        self._known: dict[str, tuple[Connection, str]] = {}
        self._reported: dict[str, str] = {}

    def weigh(self, connection: Connection, hello: Hello, take: Callable[[], None]) -> None:
        """Has a caller taken in, at once or, if another process of its name is connected, when that one is gone."""
        older, incarnation = self._known.get(hello.name, (None, ""))
        if older is None or older.closing or "" in (incarnation, hello.incarnation) or incarnation == hello.incarnation:
            self._known[hello.name] = connection, hello.incarnation
            take()
            return
        connection.handler = Newcomer(connection, hello.name)
        older.send(Heartbeat(echo=True))
        self._look(_Doubt(connection, hello, take, older, older.reads), _LOOKS)

    def _look(self, doubt: _Doubt, looks: int) -> None:
        """Decides, if it is clear by now."""
        connection, older = doubt.connection, doubt.older
        if connection.closing:
            return
        if self._known[doubt.hello.name][0] is not older:  # a third one came meanwhile
            self.weigh(connection, doubt.hello, doubt.take)
        elif older.closing or looks == 0:
            self._known[doubt.hello.name] = connection, doubt.hello.incarnation
            doubt.take()
        elif older.reads == doubt.reads:
            self._loop.call_later(ECHO_WAIT_S / _LOOKS, self._look, doubt, looks - 1)
        else:
            self._turn_away(doubt)

    def _turn_away(self, doubt: _Doubt) -> None:
        name, kept, other = doubt.hello.name, doubt.older.address, doubt.connection.address
        if self._reported.get(name) != doubt.hello.incarnation:
            self._reported[name] = doubt.hello.incarnation
            self._log.warning("two nodes with one name", peer=name, kept=kept, turned_away=other)
        doubt.connection.fail(
            NetworkMismatch(
                f"two nodes say they are '{name}': one at {kept}, which is kept, and one at {other}; give each a name "
                "of its own"
            )
        )


@dataclass(frozen=True, slots=True)
class _Doubt:
    """A caller, and the connection of another process that has its name, from which so much had come."""

    connection: Connection
    hello: Hello
    take: Callable[[], None]
    older: Connection
    reads: int


class Newcomer:
    """A caller while it is found out whether the process that was there before lives."""

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
