"""What a broker under load must do: run as a process of its own, and speak its protocol over plain sockets.

The load (`load`) is the same for all. A broker adds how a subscriber introduces itself, how an event is published, and
how large its deliveries are, by having them counted. Client libraries are left out, because those in Python would
limit every broker long before it is busy.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol, Self

from benchmarks.processes import cpu_s_of, family_of

Address = tuple[str, int]
Wanted = Mapping[str, str]
"""Attributes and the values they must have: what a headers exchange and a subject can say, too."""
Attributes = Mapping[str, str | int | float]
_START_WAIT_S = 60.0
_SETTLE_S = 2.5


class Deliveries(Protocol):
    """Takes note of what subscribers got."""

    delivery_bytes: int

    def delivered_to(self, group: int, start: int, stop: int) -> None:
        """A subscriber of a group got its deliveries from `start` up to `stop`."""


class Subscriber(asyncio.Protocol):
    """Counts the deliveries of one connection by their bytes."""

    weighs = True
    """Whether deliveries are told by their size, which is found out with the first event."""

    def __init__(self, load: Deliveries, group: int) -> None:
        self.delivered = 0
        self.received = 0
        self._load = load
        self._group = group

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.received += len(data)
        size = self._load.delivery_bytes
        if size:
            self.count(self.received // size)

    def count(self, delivered: int) -> None:
        """So many deliveries came so far."""
        if delivered > self.delivered:
            self._load.delivered_to(self._group, self.delivered, delivered)
            self.delivered = delivered


class Broker(ABC):
    """A broker as a process; started by `with`."""

    @abstractmethod
    def __enter__(self) -> Self: ...

    @abstractmethod
    def __exit__(self, *_: object) -> None: ...

    @property
    @abstractmethod
    def addresses(self) -> Sequence[Address]:
        """Where clients connect; subscribers in turn, the publisher to the first."""

    @property
    @abstractmethod
    def pids(self) -> Sequence[int]:
        """The processes that do its work."""

    @abstractmethod
    def subscribe(self, line: socket.socket, number: int, wanted: Wanted) -> None:
        """Makes a fresh connection one that gets the events wanted, and returns when it will."""

    @abstractmethod
    def introduce(self, line: socket.socket) -> None:
        """Makes a fresh connection one that may publish."""

    @abstractmethod
    def publication(self, number: int, attributes: Attributes) -> bytes:
        """The bytes that publish the event of this number; all of one size."""

    def subscriber(self, load: Deliveries, group: int) -> Subscriber:
        """What counts the deliveries of a connection that has subscribed."""
        return Subscriber(load, group)

    def settle(self) -> None:
        """Waits until subscriptions are in force, kernels are loaded, and it has asked whether clients are there."""
        time.sleep(_SETTLE_S)

    def cpu_s(self) -> float:
        """Processor time that its processes have used."""
        return sum(cpu_s_of(pid) for pid in self.pids)


class ServerProcess:
    """A server that is a command, in a folder of its own, on a port that was free."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], folder: Path, port: int) -> None:
        self.address = "127.0.0.1", port
        self._log = (folder / "server.log").open("wb")
        self._process = subprocess.Popen(
            command, env={**os.environ, **environment}, cwd=folder, stdout=self._log, stderr=self._log,
            stdin=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip

    def await_listening(self) -> None:
        """Waits until it takes connections."""
        deadline = time.monotonic() + _START_WAIT_S
        while True:
            with suppress(OSError), socket.create_connection(self.address, 1.0):
                return
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{self._process.args!r} did not start; see {self._log.name}")
            time.sleep(0.1)

    @property
    def pids(self) -> list[int]:
        """Itself and all that it started."""
        return family_of(self._process.pid)

    def stop(self) -> None:
        """Ends it and all that it started."""
        for pid in reversed(self.pids):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
        try:
            self._process.wait(20.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()


class ServerBroker(Broker):
    """A broker that is a command with a folder of its own."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="siftcast-bench-"))

    @abstractmethod
    def command(self, folder: Path, port: int) -> tuple[list[str], Mapping[str, str]]:
        """What starts it, and the environment it needs, once its settings are written into the folder."""

    def __enter__(self) -> Self:
        port = free_port()
        command, environment = self.command(self._folder, port)
        self._server = ServerProcess(command, environment, self._folder, port)
        self._server.await_listening()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def addresses(self) -> Sequence[Address]:
        return [self._server.address]

    @property
    def pids(self) -> Sequence[int]:
        return self._server.pids


def free_port() -> int:
    """A port that nobody listens on just now."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port


def connected(address: Address) -> socket.socket:
    """A fresh connection that does not wait for more to send."""
    line = socket.create_connection(address, 30.0)
    line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return line
