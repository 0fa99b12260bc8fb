"""RabbitMQ under load: attributes are headers, a subscription is a queue bound to its headers exchange.

Queues live as long as their connections, nothing is written to disk, and nobody acknowledges: its fastest way.
"""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pamqp import commands, frame, header
from pamqp.body import ContentBody
from pamqp.header import ProtocolHeader

from benchmarks.live.brokers import Attributes, ServerBroker, Wanted, free_port

_SERVER = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
_EXCHANGE = "amq.headers"
_PLAIN = "\0guest\0guest"


class RabbitMQ(ServerBroker):
    """Debian's rabbitmq-server."""

    @staticmethod
    def missing() -> str | None:
        """Why it cannot take part."""
        return None if _SERVER.exists() else "rabbitmq-server is not installed"

    def command(self, folder: Path, port: int) -> tuple[list[str], Mapping[str, str]]:
        (folder / "plugins").write_text("[].", encoding="utf-8")
        return [str(_SERVER)], {
            "HOME": str(folder),
            "RABBITMQ_NODENAME": f"siftcast{port}@localhost",
            "RABBITMQ_NODE_PORT": str(port),
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_DIST_PORT": str(free_port()),
            "RABBITMQ_MNESIA_BASE": f"{folder}/data",
            "RABBITMQ_LOG_BASE": f"{folder}/log",
            "RABBITMQ_CONFIG_FILE": f"{folder}/rabbitmq",
            "RABBITMQ_ENABLED_PLUGINS_FILE": f"{folder}/plugins",
        }

    def subscribe(self, line: socket.socket, number: int, wanted: Wanted) -> None:
        self.introduce(line)
        queue, arguments = f"desk-{number:06}", {"x-match": "all", **wanted}
        _ask(line, commands.Queue.Declare(queue=queue, exclusive=True, auto_delete=True))
        _ask(line, commands.Queue.Bind(queue=queue, exchange=_EXCHANGE, arguments=arguments))
        _ask(line, commands.Basic.Consume(queue=queue, consumer_tag="desk", no_ack=True))

    def introduce(self, line: socket.socket) -> None:
        line.sendall(ProtocolHeader().marshal())
        _hear(line)
        _ask(line, commands.Connection.StartOk({}, "PLAIN", _PLAIN, "en_US"), channel=0)
        line.sendall(frame.marshal(commands.Connection.TuneOk(2047, 131_072, 0), 0))
        _ask(line, commands.Connection.Open("/"), channel=0)
        _ask(line, commands.Channel.Open())

    def publication(self, number: int, attributes: Attributes) -> bytes:
        body = json.dumps(attributes).encode()
        headers: dict[str, Any] = {name: attributes[name] for name in ("symbol", "exchange", "side")}
        properties = commands.Basic.Properties(headers=headers)
        parts = (
            commands.Basic.Publish(exchange=_EXCHANGE),
            header.ContentHeader(body_size=len(body), properties=properties),
            ContentBody(body),
        )
        return b"".join(frame.marshal(part, 1) for part in parts)


def _ask(line: socket.socket, command: Any, channel: int = 1) -> None:
    """Sends a command and takes its answer."""
    line.sendall(frame.marshal(command, channel))
    _hear(line)


def _hear(line: socket.socket) -> None:
    """Takes one frame; raises if it says that the connection or channel is closed."""
    kind, channel, size = struct.unpack(">BHI", _exactly(line, 7))
    rest = _exactly(line, size + 1)
    _, _, heard = frame.unmarshal(struct.pack(">BHI", kind, channel, size) + rest)
    if isinstance(heard, commands.Connection.Close | commands.Channel.Close):
        raise ConnectionError(f"RabbitMQ refused: {heard.reply_text}")


def _exactly(line: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = line.recv(size - len(data))
        if not more:
            raise ConnectionError("RabbitMQ hung up")
        data += more
    return data
