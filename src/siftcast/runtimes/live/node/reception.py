"""Two nodes become connected: a call is taken or answered, and when both call at once one connection is kept.

`rivals` says which of two connections is in the way of the other, `calling` what holds when both call at once.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from siftcast.overlays.contract import NodeId
from siftcast.runtimes.live.node.calling import Calls, Line
from siftcast.runtimes.live.node.meeting import Meeting
from siftcast.runtimes.live.node.rivals import Newcomer, Rivals, turn_away
from siftcast.runtimes.live.wire.connection import Connection
from siftcast.runtimes.live.wire.frames import Hello, Welcome


class Reception:
    """Says who is connected, once for each connection that is kept (`on_joined`)."""

    def __init__(
        self,
        node: NodeId,
        line: Line,
        *,
        rivals: Rivals,
        meeting: Meeting,
        calls: Calls,
        is_connected: Callable[[NodeId], bool],
        on_joined: Callable[[Connection, NodeId], None],
    ) -> None:
        self._node = node
        self._line = line
        self._rivals = rivals
        self._meeting = meeting
        self._calls = calls
        self._is_connected = is_connected
        self._on_joined = on_joined

    def accept(self, connection: Connection, hello: Hello) -> None:
        """Takes a call; raises Unauthorised or NetworkMismatch if this is no node to talk to."""
        self._line.admit(hello, connection)
        self._meeting.check(hello)
        self._weigh(connection, hello)

    def invite(self, connection: Connection, hello: Hello) -> None:
        """Answers a node that wants to join; raises Unauthorised, Refused or NetworkMismatch."""
        self._line.admit(hello, connection)
        connection.send(self._meeting.invitation(hello, self._line.welcome(hello).heartbeat_ms))
        connection.close("invited")

    def welcomed(self, connection: Connection, number: NodeId, welcome: Welcome) -> None:
        """A call was answered."""
        if self._is_connected(number):  # it has called meanwhile, and was taken in
            connection.close("connected already")
            return
        self._rivals.note_called(connection, welcome.name, number, welcome.incarnation)
        self._meeting.rename(number, welcome.name)
        self._on_joined(connection, number)

    def _weigh(self, connection: Connection, hello: Hello) -> None:
        self._rivals.weigh(connection, hello, lambda: self._take(connection, hello))

    def _take(self, connection: Connection, hello: Hello) -> None:
        own = self._calls.unanswered(hello.identity)
        if own is not None and self._node > hello.identity:
            if not isinstance(connection.handler, Newcomer):
                connection.handler = Newcomer(connection, hello.name)
            own.outcome.add_done_callback(lambda _: self._settle(connection, hello))
            return
        if own is not None:
            own.give_up()
        self._calls.drop_unheard(hello.identity)
        self._meeting.note(hello)
        welcome = msgspec.structs.replace(self._line.welcome(hello), incarnation=self._rivals.incarnation)
        connection.send(welcome)
        connection.version = welcome.version
        self._on_joined(connection, hello.identity)

    def _settle(self, connection: Connection, hello: Hello) -> None:
        """This node has called at the same time, and knows by now what came of it."""
        if connection.closing:
            return
        if self._is_connected(hello.identity):
            turn_away(connection)
        else:
            self._weigh(connection, hello)
