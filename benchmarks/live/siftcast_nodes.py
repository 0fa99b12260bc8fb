"""Our own nodes under load: one, one that keeps everything on disk and asks for tokens, or an overlay."""

from __future__ import annotations

import shutil
import socket
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Self

from benchmarks.live.brokers import Address, Attributes, Broker, Deliveries, Subscriber, Wanted
from siftcast.overlays.wire_events import encode_fields
from siftcast.runtimes.live.client.bus import parse_url
from siftcast.runtimes.live.errors import failure_error
from siftcast.runtimes.live.local_network import LocalNetwork
from siftcast.runtimes.live.node.rights import hash_token, new_token
from siftcast.runtimes.live.wire.frames import (
    VERSION,
    AcknowledgeOffers,
    Deliver,
    Failure,
    Frame,
    Hello,
    Subscribe,
    Subscribed,
    Welcome,
    decode_frame,
    encode_frame,
    publish_frame,
)
from siftcast.runtimes.live.wire.framing import HEADER_BYTES, size_in

_QUIET = "[heartbeat]\ninterval_ms = 600000\n"
"""Heartbeats would be counted as deliveries."""
_WINDOW = 1_000


class SiftcastNodes(Broker):
    """One node, or several that route by filters."""

    def __init__(self, nodes: int = 1, more: str = "") -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="siftcast-bench-"))
        self._network = LocalNetwork(self.folder, nodes, more=more + _QUIET)

    def __enter__(self) -> Self:
        self._network.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._network.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def addresses(self) -> Sequence[Address]:
        return [parse_url(url) for url in self._network.urls.values()]

    @property
    def urls(self) -> list[str]:
        """Where clients of the library connect."""
        return list(self._network.urls.values())

    @property
    def pids(self) -> Sequence[int]:
        return [process.pid for process in self._network.processes.values()]

    def subscribe(self, line: socket.socket, number: int, wanted: Wanted) -> None:
        self._hello(line)
        line.sendall(encode_frame(Subscribe(1, 1, filter_of(wanted), self._durable_name(number), _WINDOW)))
        _expect(line, Subscribed)

    def introduce(self, line: socket.socket) -> None:
        self._hello(line)

    def publication(self, number: int, attributes: Attributes) -> bytes:
        return publish_frame(number + 1, encode_fields(f"e{100_000_000 + number}", attributes))

    def settle(self) -> None:
        super().settle()
        if len(self.urls) > 1:
            self._network.await_quiet()

    def _hello(self, line: socket.socket) -> None:
        _introduce(line, self._token())

    def _token(self) -> str:
        return ""

    def _durable_name(self, number: int) -> str | None:
        return None


class DurableNode(SiftcastNodes):
    """A node that keeps what it promises on disk, and lets nobody in without a token."""

    def __init__(self) -> None:
        self._secret = new_token()
        rights = 'publish = "TRUE"\nsubscribe = "TRUE"\nsee = true\n'
        principal = f'[[principal]]\nname = "desk"\ntoken_hash = "{hash_token(self._secret)}"\n{rights}'
        super().__init__(more=f'data = "data"\n{principal}')

    @property
    def secret(self) -> str:
        """The token of the one principal."""
        return self._secret

    def publication(self, number: int, attributes: Attributes) -> bytes:
        encoded = encode_fields(f"e{100_000_000 + number}", attributes, "feed")
        return publish_frame(number + 1, encoded, durable=True)

    def subscriber(self, load: Deliveries, group: int) -> Subscriber:
        return _Acknowledging(load, group)

    def _token(self) -> str:
        return self._secret

    def _durable_name(self, number: int) -> str | None:
        return f"desk-{number}"


class _Acknowledging(Subscriber):
    """Counts deliveries and acknowledges those that came together."""

    weighs = False

    def __init__(self, load: Deliveries, group: int) -> None:
        super().__init__(load, group)
        self._rest = b""

    def data_received(self, data: bytes) -> None:
        frames, self._rest = _frames(self._rest + data)
        positions = tuple(frame.position for frame in frames if isinstance(frame, Deliver))
        if positions:
            self.transport.write(encode_frame(AcknowledgeOffers(1, positions)))
            self.count(self.delivered + len(positions))


def filter_of(wanted: Wanted) -> str:
    """What is wanted, as a filter."""
    return " AND ".join(f"{name} = '{value}'" for name, value in wanted.items())


def subscribe_on(line: socket.socket, filter: str) -> None:
    """Makes a fresh connection one that gets the events of a filter, and returns when it will."""
    _introduce(line, "")
    line.sendall(encode_frame(Subscribe(1, 1, filter)))
    _expect(line, Subscribed)


def _introduce(line: socket.socket, token: str) -> None:
    line.sendall(encode_frame(Hello(VERSION, "client", token=token)))
    _expect(line, Welcome)


def _frames(data: bytes) -> tuple[list[Frame], bytes]:
    """The whole frames in a piece of a stream, and what is left."""
    found, start = [], 0
    while len(data) >= start + HEADER_BYTES:
        stop = start + HEADER_BYTES + size_in(data[start : start + HEADER_BYTES])
        if len(data) < stop:
            break
        found.append(decode_frame(data[start + HEADER_BYTES : stop]))
        start = stop
    return found, data[start:]


def _expect(line: socket.socket, kind: type[Frame]) -> None:
    data = b""
    while True:
        more = line.recv(65_536)
        if not more:
            raise ConnectionError("the node hung up")
        frames, data = _frames(data + more)
        for frame in frames:
            if isinstance(frame, Failure):
                raise failure_error(frame.code, frame.message)
            if isinstance(frame, kind):
                return


def ready_s() -> float:
    """How long a node takes from nothing until it listens."""
    started = perf_counter()
    with SiftcastNodes():
        return perf_counter() - started
