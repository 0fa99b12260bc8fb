"""A bus without a network, for users' tests: the real client and a real node, joined in memory.

    async with siftcast.testing.in_process() as bus:
        async with bus.subscribe("price < 95") as stream:
            await bus.publish({"price": 88})
            assert (await anext(stream))["price"] == 88

What a test sees is what production does: the same frames, limits, matcher and errors. There is no socket, no port and
no file, and everything is gone when the block ends; durable subscriptions are kept until then. `connect` gives further
buses at the same node.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Any

from siftcast.runtimes.live.client import Bus
from siftcast.runtimes.live.configuration import LogSpec, parse_configuration
from siftcast.runtimes.live.connection import Connection
from siftcast.runtimes.live.logs import make_log
from siftcast.runtimes.live.memory_store import MemoryStore
from siftcast.runtimes.live.node import Node


def in_process(configuration: str = "", *, token: str | None = None) -> InProcessBus:
    """A bus at a node of its own; `configuration` is that of the node, as TOML, and `token` says who the bus is."""
    return InProcessBus(configuration, token=token)


class InProcessBus(Bus):
    """A bus and its node; `connect` gives others at the same node."""

    def __init__(self, configuration: str = "", *, token: str | None = None) -> None:
        super().__init__(self._join, "in process", token=token, name="test", timeout_s=10.0)
        self._file = parse_configuration(configuration)
        self._node: Node | None = None

    def connect(self, name: str = "", *, token: str | None = None) -> Bus:
        """Another bus at the same node, to be entered with `async with`."""
        return Bus(self._join, "in process", token=token, name=name, timeout_s=10.0)

    async def __aenter__(self) -> InProcessBus:
        kept: dict[str, bytes] = {}
        without_disk = self._file.configuration.node.data is None
        in_memory = (lambda report: MemoryStore(report, kept)) if without_disk else None
        self._node = Node(self._file, log=make_log(LogSpec(level="error")), make_store=in_memory)
        self._node.open()
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
