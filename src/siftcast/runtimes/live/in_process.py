"""A bus without a network, for users' tests: the real client and a real node, joined in memory.

    async with siftcast.testing.in_process() as bus:
        async with bus.subscribe("price < 95") as stream:
            await bus.publish({"price": 88})
            assert (await anext(stream))["price"] == 88

Handlers run when they are given a turn; `await bus.settled()` waits until they have dealt with all that was published:

        got = []
        bus.on("price < 95")(got.append)
        await bus.publish({"price": 88})
        await bus.settled()
        assert len(got) == 1

What a test sees is what production does: the same frames, limits, matcher and errors. There is no socket, no port and
no file, and everything is gone when the block ends; durable subscriptions are kept until then. `connect` gives further
buses at the same node.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Any

from siftcast.runtimes.live.client.bus import Bus, in_handler
from siftcast.runtimes.live.client.calling import check_caller
from siftcast.runtimes.live.errors import ConnectionLost, LiveError
from siftcast.runtimes.live.logs import make_log
from siftcast.runtimes.live.node.configuration import parse_configuration
from siftcast.runtimes.live.node.node import Node
from siftcast.runtimes.live.storage.memory_store import MemoryStore
from siftcast.runtimes.live.wire.connection import Connection

_QUIET_TURNS = 20
"""What is under way moves on in each turn of the loop; after so many without any change nothing is."""
_LOOK_S = 0.001


def in_process(configuration: str = "", *, token: str | None = None) -> InProcessBus:
    """A bus at a node of its own; `configuration` is that of the node, as TOML, and `token` says who the bus is."""
    return InProcessBus(configuration, token=token)


class InProcessBus(Bus):
    """A bus and its node; `connect` gives others at the same node."""

    def __init__(self, configuration: str = "", *, token: str | None = None) -> None:
        check_caller(token, "test", 10.0)
        super().__init__(self._join, "in process", token=token, name="test", timeout_s=10.0)
        self._file = parse_configuration(configuration)
        self._node: Node | None = None
        self._others: list[Bus] = []
        self._transports: list[MemoryTransport] = []

    def connect(self, name: str = "", *, token: str | None = None) -> Bus:
        """Another bus at the same node, to be entered with `async with`."""
        check_caller(token, name, 10.0)
        bus = Bus(self._join, "in process", token=token, name=name, timeout_s=10.0)
        self._others.append(bus)
        return bus

    async def settled(self) -> None:
        """Waits until all that was published is dealt with by the handlers (`on`) of all buses at this node.

        What handlers publish is waited for as well. An event that a durable subscription refuses comes again, and is
        waited for until it is a dead letter. Raises what a handler of an ephemeral subscription raised. Streams are
        not waited for: who reads them knows what was read.
        """
        if in_handler.get():
            raise LiveError("a handler cannot wait until all handlers have run: it would wait for itself")
        quiet = 0
        before: object = None
        while quiet < _QUIET_TURNS:
            await asyncio.sleep(0 if quiet or before is None else _LOOK_S)
            for bus in (self, *self._others):
                for task in bus._tasks:
                    if task.done() and not task.cancelled():
                        task.result()
            now = self._progress()
            quiet = quiet + 1 if now == before and not self._is_at_work() else 0
            before = now

    def _progress(self) -> object:
        """What changes when anything goes on."""
        if self._node is None:
            raise ConnectionLost("the bus is not open; use it inside `async with`")
        handled = [bus._handled for bus in (self, *self._others)]
        return self._node.tally.published, self._node.life.sessions.deliveries, handled

    def _is_at_work(self) -> bool:
        """Whether events are under way, or handlers have some before them."""
        buses = (self, *self._others)
        if any(transport.holds_something for transport in self._transports):
            return True
        handled = [inbox for bus in buses for inbox in bus._handled_inboxes]
        if any(bus._handling for bus in buses) or any(inbox.events for inbox in handled):
            return True
        names = {inbox.durable for inbox in handled}
        assert self._node is not None
        rows = self._node.describe()["subscriptions"] if names - {None} else ()
        return any(row["waiting"] for row in rows if row.get("durable") in names)

    async def __aenter__(self) -> InProcessBus:
        kept: dict[str, bytes] = {}
        without_disk = self._file.configuration.node.data is None
        in_memory = (lambda report: MemoryStore(report, kept)) if without_disk else None
        self._node = Node(self._file, log=make_log(level="error"), make_store=in_memory)
        self._node.life.open()
        await super().__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await super().__aexit__(kind, error, trace)
        finally:
            if self._node is not None:
                await self._node.stop()

    async def _join(self, make: Callable[[], Connection]) -> None:
        if self._node is None:
            raise ConnectionRefusedError("the node of this bus does not run")
        here, there = make(), self._node.accept()
        loop = asyncio.get_running_loop()
        near, far = MemoryTransport(loop, here), MemoryTransport(loop, there)
        near.peer, far.peer = far, near
        self._transports = [each for each in self._transports if not each.is_closing()] + [near, far]
        there.connection_made(far)
        here.connection_made(near)


class MemoryTransport(asyncio.Transport):
    """One end of a connection in memory: what is written arrives at the other end in a later turn of the loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, protocol: Connection) -> None:
        super().__init__({"peername": ("in process", 0)})
        self.peer: MemoryTransport
        self._loop = loop
        self._protocol = protocol
        self._arrived: list[bytes] = []
        self._high = 65_536
        self._paused = False
        self._is_closed = False

    @property
    def holds_something(self) -> bool:
        """Whether bytes wait here to be read."""
        return bool(self._arrived) and not self._is_closed

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self._high = self._high if high is None else high

    def get_write_buffer_size(self) -> int:
        """What the other end has not read yet."""
        return sum(map(len, self.peer._arrived))

    def write(self, data: Any) -> None:
        if self._is_closed:
            return
        self.peer._arrived.append(bytes(data))
        self._loop.call_soon(self.peer._read)
        if self.get_write_buffer_size() > self._high:
            self._protocol.pause_writing()

    def _read(self) -> None:
        if self._paused or self._is_closed or not self._arrived:
            return
        data = b"".join(self._arrived)
        self._arrived.clear()
        self._protocol.data_received(data)
        if self.peer._protocol.is_full:
            self.peer._protocol.resume_writing()

    def pause_reading(self) -> None:
        self._paused = True

    def resume_reading(self) -> None:
        self._paused = False
        self._loop.call_soon(self._read)

    def is_closing(self) -> bool:
        return self._is_closed

    def close(self) -> None:
        """Closes both ends; what was written before is still read."""
        if not self._is_closed:
            self._loop.call_soon(self.peer._lose)
            self._loop.call_soon(self._lose)

    def abort(self) -> None:
        self.close()

    def _lose(self) -> None:
        if not self._is_closed:
            self._paused = False
            self._read()
            self._is_closed = True
            self._protocol.connection_lost(None)
