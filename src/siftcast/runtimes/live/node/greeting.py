"""Whoever called, until they have said who they are."""

from __future__ import annotations

import asyncio
from typing import Protocol

from siftcast.runtimes.live.errors import FrameError, VersionError
from siftcast.runtimes.live.wire.connection import Connection
from siftcast.runtimes.live.wire.frames import OLDEST, VERSION, Frame, Hello, spoken

_HELLO_WAIT_S = 10.0


class Door(Protocol):
    """Who lets callers in."""

    def opened(self, connection: Connection) -> None: ...

    def admit(self, connection: Connection, hello: Hello) -> None: ...

    def admit_peer(self, connection: Connection, hello: Hello) -> None: ...

    def invite(self, connection: Connection, hello: Hello) -> None: ...

    def closed(self, connection: Connection) -> None: ...


class Greeting:
    """Waits for a Hello."""

    name = ""

    def __init__(self, door: Door, connection: Connection) -> None:
        self._door = door
        self._connection = connection
        self._patience = asyncio.get_running_loop().call_later(_HELLO_WAIT_S, self._give_up)

    def connection_opened(self) -> None:
        self._door.opened(self._connection)

    def _give_up(self) -> None:
        self._connection.fail(FrameError(f"no Hello came within {_HELLO_WAIT_S:g} s"))

    def frame_received(self, frame: Frame) -> None:
        self._patience.cancel()
        match frame:
            case Hello(version, role, oldest=oldest) if version < OLDEST[role] or (oldest or version) > VERSION:
                raise VersionError(f"this node speaks version {spoken(role)}, not {version}")
            case Hello(_, "node"):
                self._door.admit_peer(self._connection, frame)
            case Hello(_, "joiner"):
                self._door.invite(self._connection, frame)
            case Hello():
                self._door.admit(self._connection, frame)
            case _:
                raise FrameError(f"the first frame is a Hello, not {type(frame).__name__}")

    def connection_closed(self, reason: str) -> None:
        self._patience.cancel()
        self._door.closed(self._connection)

    def writing_resumed(self) -> None:
        """Nothing waits for it."""
