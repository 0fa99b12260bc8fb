"""Takes calls on listening sockets, and goes on whatever happens to one of them.

The loops' own servers are not used: with uvloop, one that finds no descriptor for a caller closes itself, and the node
runs on without anybody being able to reach it. Here a call that cannot be taken waits in the system's queue, where it
costs nothing, and is taken when somebody else has hung up.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from ssl import SSLContext

from siftcast.runtimes.live.logs import Logger
from siftcast.runtimes.live.node.descriptors import REMEDY
from siftcast.runtimes.live.wire.connection import Connection
from siftcast.runtimes.live.wire.tls import HANDSHAKE_WAIT_S

_BACKLOG = 1_024
_PAUSE_S = 0.1


async def bind(host: str, port: int) -> list[socket.socket]:
    """Sockets at all addresses of a host; raises OSError."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    sockets: list[socket.socket] = []
    try:
        for family, kind, protocol, _, address in dict.fromkeys(found):
            listener = socket.socket(family, kind, protocol)
            sockets.append(listener)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            listener.bind(address)
    except OSError:
        for listener in sockets:
            listener.close()
        raise
    return sockets


class Acceptor:
    """Takes calls until it is closed; each becomes a connection of `make`."""

    def __init__(
        self,
        sockets: Sequence[socket.socket],
        make: Callable[[], Connection],
        tls: Callable[[], SSLContext | None],
        log: Logger,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._sockets = sockets
        self._make = make
        self._tls = tls
        self._log = log
        self._shortages = 0
        self.address: tuple[str, int] = sockets[0].getsockname()[:2]
        for listener in sockets:
            listener.listen(_BACKLOG)
            listener.setblocking(False)
        self._tasks = {self._loop.create_task(self._accept(listener)) for listener in sockets}

    def close(self) -> None:
        """Takes no more calls."""
        for task in self._tasks:
            task.cancel()
        for listener in self._sockets:
            listener.close()

    async def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                line, _ = await self._loop.sock_accept(listener)
            except ConnectionError:  # the caller has hung up already
                continue
            except OSError as error:
                self._say_short(error)
                await asyncio.sleep(_PAUSE_S)
                continue
            task = self._loop.create_task(self._take(line))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _take(self, line: socket.socket) -> None:
        tls = self._tls()  # another, once a new certificate was read
        options = {} if tls is None else {"ssl": tls, "ssl_handshake_timeout": HANDSHAKE_WAIT_S}
        try:
            with suppress(OSError):  # it is gone already, or is none of TCP
                line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await self._loop.connect_accepted_socket(self._make, line, **options)  # type: ignore[arg-type]
        except (OSError, TimeoutError):  # as when it does not speak TLS; whoever called finds out
            line.close()
        except BaseException:
            line.close()
            raise

    def _say_short(self, error: OSError) -> None:
        self._shortages += 1
        if self._shortages & (self._shortages - 1) == 0:  # the 1st, 2nd, 4th, 8th … time
            reason = error.strerror or str(error)
            self._log.error("calls wait", reason=reason, times=self._shortages, remedy=REMEDY)
