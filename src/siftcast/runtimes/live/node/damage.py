"""Frames that were altered on the way, in a node's log.

Each is a warning with the name and the address of whoever sent it. Those who have not said who they are may call as
often as they like and send anything, so of theirs only the 1st, 2nd, 4th, 8th … is logged, with the count.
"""

from __future__ import annotations

from siftcast.runtimes.live.errors import DamagedFrame
from siftcast.runtimes.live.logs import Logger
from siftcast.runtimes.live.wire.connection import Connection


class DamageLog:
    """Logs damaged frames of all connections of a node."""

    def __init__(self, log: Logger) -> None:
        self.frames = 0
        """How many were damaged, in all."""
        self._nameless = 0
        self._log = log

    def note(self, connection: Connection, error: DamagedFrame) -> None:
        """A connection brought a damaged frame, and is about to be closed."""
        self.frames += 1
        name, count = connection.handler.name, {}
        if not name:
            self._nameless += 1
            if self._nameless & (self._nameless - 1):
                return
            name, count = "unknown", {"frames": self._nameless}
        self._log.warning("damaged frame", peer=name, address=connection.address, reason=str(error), **count)
