"""A line that takes its time: what connects to it reaches another address, and every byte arrives so much later.

    node ──▶ 127.0.0.1:7020 ──(80 ms)──▶ 127.0.0.1:7007

With it a network on one machine behaves as one between cities: whoever knows the other node by the address of the line
has it that far away. Bytes keep their order, both ways take as long, and as much as is sent may be under way, up to
`_HELD_MAX` pieces: a line has a delay and no bandwidth of its own.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from types import TracebackType
from typing import Self

_PIECE_BYTES = 65_536
_HELD_MAX = 1_024


class SlowLine:
    """Passes connections on to an address, `delay_ms` later each way; entered with `async with`.

    `delay_ms` may be set while it runs, and holds for what is sent from then on.
    """

    def __init__(self, host: str, port: int, delay_ms: float, *, listen: tuple[str, int] = ("127.0.0.1", 0)) -> None:
        self.delay_ms = delay_ms
        self.connections = 0
        """How many stand."""
        self._target = host, port
        self._listen = listen
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, *self._listen)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server is not None:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def port(self) -> int:
        """Where it listens."""
        if self._server is None:
            raise RuntimeError("a slow line is entered with 'async with' before it has a port")
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(self._join(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        ends = [writer]
        try:
            far_reader, far_writer = await asyncio.open_connection(*self._target)
            ends.append(far_writer)
            ways = [asyncio.ensure_future(self._carry(*way)) for way in ((reader, far_writer), (far_reader, writer))]
            try:
                await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for way in ways:
                    way.cancel()
                await asyncio.gather(*ways, return_exceptions=True)
        except OSError:
            pass  # nobody is there; the caller finds its connection closed, as on any line
        finally:
            self.connections -= 1
            for end in ends:
                end.close()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One way: pieces are read as they come, and written when their time has come."""
        loop = asyncio.get_running_loop()
        held: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(_HELD_MAX)

        async def deliver() -> None:
            while True:
                due, piece = await held.get()
                if (wait := due - loop.time()) > 0:
                    await asyncio.sleep(wait)
                if not piece:
                    return
                writer.write(piece)
                await writer.drain()

        delivering = asyncio.ensure_future(deliver())
        try:
            with suppress(ConnectionError):
                while piece := await reader.read(_PIECE_BYTES):
                    await held.put((loop.time() + self.delay_ms / 1_000, piece))
                    if delivering.done():
                        break
            await held.put((loop.time() + self.delay_ms / 1_000, b""))
            with suppress(ConnectionError):
                await delivering
        finally:
            delivering.cancel()
            await asyncio.gather(delivering, return_exceptions=True)
