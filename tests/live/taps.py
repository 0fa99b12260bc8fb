"""A line between two ends that keeps a copy of all that goes over it."""

import asyncio
from types import TracebackType
from typing import Self


class Tap:
    """Listens on a port of its own and passes everything on; entered with `async with`."""

    def __init__(self, host: str, port: int) -> None:
        self.heard = bytearray()
        self._target = host, port
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server

    @property
    def address(self) -> str:
        host, port = self._server.sockets[0].getsockname()[:2]
        return f"{host}:{port}"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection(*self._target)
        for source, sink in ((reader, back), (there, writer)):
            self._tasks.add(asyncio.create_task(self._carry(source, sink)))

    async def _carry(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        try:
            while data := await source.read(65_536):
                self.heard += data
                sink.write(data)
                await sink.drain()
        finally:
            sink.close()
