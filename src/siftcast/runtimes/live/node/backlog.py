"""What becomes of events for a client that does not read them: they are dropped, spilled, or end its connection.

    drop         events are dropped until the queue has emptied; then the client is told how many (`Dropped`)
    disconnect   the client is told why, and disconnected
    spill        events go to a file up to `spill_bytes_max`, and come from there, in order, before newer ones; what
                 does not fit is dropped
In all cases a slow client costs the node its queue and no more, and other clients nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from siftcast.runtimes.live.errors import SlowConsumer
from siftcast.runtimes.live.logs import Logger
from siftcast.runtimes.live.node.configuration import SlowConsumerSpec
from siftcast.runtimes.live.storage.spill import Spill
from siftcast.runtimes.live.wire.connection import Connection
from siftcast.runtimes.live.wire.frames import Dropped


class Backlog:
    """The deliveries that wait for one client beyond its queue; `on_room` is called when there is none any more."""

    def __init__(
        self,
        slow: SlowConsumerSpec,
        spill_folder: Path | None,
        connection: Connection,
        client: str,
        log: Logger,
        *,
        on_dropped: Callable[[], None],
        on_room: Callable[[], None],
    ) -> None:
        self.dropped = 0
        self._slow = slow
        self._spill_folder = spill_folder
        self._connection = connection
        self._client = client
        self._log = log
        self._on_dropped = on_dropped
        self._on_room = on_room
        self._untold = 0
        self._spill: Spill | None = None

    @property
    def is_spilled(self) -> bool:
        """Whether something waits on disk."""
        return self._spill is not None and len(self._spill) > 0

    def add(self, frame: bytes) -> None:
        """Deals with a delivery for which there is no room."""
        policy = self._slow.policy
        if policy == "disconnect":
            if not self._connection.closing:
                limit = self._slow.queue_bytes_max
                self._warn("slow consumer disconnected")
                self._connection.fail(SlowConsumer(f"more than {limit:,} bytes wait to be read; read faster"))
            return
        if policy == "spill" and self._put(frame):
            return
        if not self._untold:
            self._warn("slow consumer", policy=policy)
        self._untold += 1
        self.dropped += 1
        self._on_dropped()

    def _warn(self, what: str, **facts: str) -> None:
        self._log.warning(what, client=self._client, address=self._connection.address, **facts)

    def _put(self, frame: bytes) -> bool:
        if self._spill is None:
            folder = self._spill_folder
            assert folder is not None, "the configuration names a folder where the policy is to spill"
            try:
                self._spill = Spill(folder, self._slow.spill_bytes_max)
            except OSError:  # as without room for a file; the next delivery tries again
                return False
        kept = self._spill.put(frame)
        self._connection.hold(len(self._spill) > 0)
        return kept

    def resume(self) -> None:
        """There is room in the queue again: what waits goes first."""
        if self._connection.closing:
            return
        if self._spill is not None and len(self._spill):
            self._connection.send_bytes(self._spill.take(self._slow.queue_bytes_max))
            self._connection.hold(len(self._spill) > 0)
            if len(self._spill):
                asyncio.get_running_loop().call_soon(self._go_on)
                return
        if self._untold:
            self._connection.send(Dropped(self._untold))
            self._untold = 0
        self._on_room()

    def _go_on(self) -> None:
        """Takes more from the file, unless what was taken last still fills the queue: then it is resumed later."""
        if not self._connection.is_full:
            self.resume()

    def close(self) -> None:
        """Gives the room back."""
        if self._spill is not None:
            self._spill.close()
