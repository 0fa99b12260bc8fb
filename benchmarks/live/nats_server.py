"""NATS under load: attributes are tokens of the subject, so it can ask for equality, and nothing else."""

from __future__ import annotations

import json
import shutil
import socket
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from benchmarks.live.brokers import Address, Attributes, Broker, ServerProcess, Wanted, free_port

_CONNECT = b'CONNECT {"verbose":false,"pedantic":false,"echo":true}\r\nPING\r\n'
_SETTINGS = 'max_connections: 5000\nping_interval: "10m"\nmax_pending: 512MB\n'


class Nats(Broker):
    """Debian's nats-server."""

    name = "NATS"

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="siftcast-bench-"))

    @staticmethod
    def missing() -> str | None:
        """Why it cannot take part."""
        return None if shutil.which("nats-server") else "nats-server is not installed"

    def __enter__(self) -> Self:
        settings = self._folder / "nats.conf"
        settings.write_text(_SETTINGS, encoding="utf-8")
        port = free_port()
        command = ["nats-server", "-a", "127.0.0.1", "-p", str(port), "-c", str(settings)]
        self._server = ServerProcess(command, {}, self._folder, port)
        self._server.await_listening()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def addresses(self) -> Sequence[Address]:
        return [self._server.address]

    @property
    def pids(self) -> Sequence[int]:
        return self._server.pids

    def subscribe(self, line: socket.socket, number: int, wanted: Wanted) -> None:
        line.sendall(f"SUB {subject_of(wanted)} 1\r\n".encode().join((_CONNECT, b"PING\r\n")))
        _await_pongs(line, 2)

    def introduce(self, line: socket.socket) -> None:
        line.sendall(_CONNECT)
        _await_pongs(line, 1)

    def publication(self, number: int, attributes: Attributes) -> bytes:
        body = json.dumps(attributes).encode()
        return b"PUB %s %d\r\n%s\r\n" % (subject_of(attributes).encode(), len(body), body)


def subject_of(attributes: Attributes) -> str:
    """The subject of an event, or of all events that have these attributes."""
    return ".".join(str(attributes.get(name, "*")) for name in ("symbol", "exchange", "side"))


def _await_pongs(line: socket.socket, count: int) -> None:
    heard = b""
    while heard.count(b"PONG\r\n") < count:
        more = line.recv(65_536)
        if not more or b"-ERR" in more:
            raise ConnectionError(f"NATS refused: {more!r}")
        heard += more
