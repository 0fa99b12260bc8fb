"""NATS under load: attributes are tokens of the subject, so it can ask for equality, and nothing else."""

from __future__ import annotations

import json
import shutil
import socket
from collections.abc import Mapping
from pathlib import Path

from benchmarks.live.brokers import Attributes, ServerBroker, Wanted

_CONNECT = b'CONNECT {"verbose":false,"pedantic":false,"echo":true}\r\nPING\r\n'
_SETTINGS = 'max_connections: 5000\nping_interval: "10m"\nmax_pending: 512MB\n'


class Nats(ServerBroker):
    """Debian's nats-server."""

    @staticmethod
    def missing() -> str | None:
        """Why it cannot take part."""
        return None if shutil.which("nats-server") else "nats-server is not installed"

    def command(self, folder: Path, port: int) -> tuple[list[str], Mapping[str, str]]:
        settings = folder / "nats.conf"
        settings.write_text(_SETTINGS, encoding="utf-8")
        return ["nats-server", "-a", "127.0.0.1", "-p", str(port), "-c", str(settings)], {}

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
