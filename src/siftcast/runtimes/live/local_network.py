"""A whole network on one machine: one process a node, on loopback ports that the system chooses.

The sockets are opened here and handed down, so no port can be taken in between, and a node that is killed comes back at
the address it had. Everything lies in one folder: a configuration, a log and the data of each node.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from siftcast.overlays.tables import matcher_tables
from siftcast.runtimes.live.client.bus import Bus, connect
from siftcast.runtimes.live.errors import LiveError
from siftcast.runtimes.live.node.configuration import load_configuration
from siftcast.runtimes.live.node.layout import lay_out
from siftcast.runtimes.live.node.node import run

READY = "ready at "
"""How a node's process says on standard output that it listens; the address follows."""
SCHEMA = '[[attribute]]\nname = "value"\ntype = "int"\ndomain = [0, 999]\ngranularity = 1\n'
"""What a network divides that must divide something and was not told what."""
_STOP_WAIT_S = 10.0
Lines = Callable[[Mapping[str, str]], Mapping[tuple[str, str], str]]


class LocalNetwork:
    """Nodes `n0`, `n1`, … as processes; start it with `with`.

    `more` goes into every configuration; `{name}` in it is the node's own. Others may `join` them. `lines` gets the
    addresses of all, and says by which other one a node reaches another, such as that of a slow line between both.
    """

    def __init__(
        self,
        folder: Path,
        nodes: int,
        scheme: str | None = None,
        *,
        options: Mapping[str, object] | None = None,
        schema: Path | None = None,
        more: str = "",
        absent_ms: float | None = None,
        lines: Lines | None = None,
        program: Sequence[str] = (sys.executable, "-m", "siftcast"),
    ) -> None:
        if nodes < 1:
            raise LiveError("a network has at least one node")
        self.folder = folder
        self.names = tuple(f"n{number}" for number in range(nodes))
        self.processes: dict[str, subprocess.Popen[str]] = {}
        self._scheme = scheme
        self._options = dict(options or {})
        self._schema = schema
        self._more = more
        self._absent = [] if absent_ms is None else [f"absent_ms = {float(absent_ms)}"]
        self._lines = lines
        self._reached: Mapping[tuple[str, str], str] = {}
        self._program = program
        self._sockets: dict[str, socket.socket] = {}

    @property
    def urls(self) -> dict[str, str]:
        """Where each node is reached."""
        return {name: f"siftcast://{_address(listener)}" for name, listener in self._sockets.items()}

    def __enter__(self) -> Self:
        self.folder.mkdir(parents=True, exist_ok=True)
        for name in self.names:
            listener = socket.create_server(("127.0.0.1", 0), backlog=1_024)
            listener.set_inheritable(True)
            self._sockets[name] = listener
        try:
            if self._schema is None:
                (self.folder / "schema.toml").write_text(SCHEMA, encoding="utf-8")
            if self._lines is not None:
                self._reached = self._lines({name: _address(each) for name, each in self._sockets.items()})
            for name in self.names:
                (self.folder / f"{name}.toml").write_text(self._configuration(name), encoding="utf-8")
                self.start(name)
            for name in self.names:
                self._await_ready(name)
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self, name: str, *, wait: bool = False) -> None:
        """Starts the process of a node, for the first time or again."""
        listener = self._sockets[name].fileno()
        command = [*self._program, "serve", "--config", str(self.folder / f"{name}.toml")]
        with (self.folder / f"{name}.log").open("a", encoding="utf-8") as log:
            self.processes[name] = subprocess.Popen(
                [*command, "--listen-fd", str(listener), "--until-input-ends"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                pass_fds=(listener,),
                start_new_session=True,  # Ctrl-C is for whoever started the network, who then stops the nodes in order
            )
        if wait:
            self._await_ready(name)

    def join(self, name: str, seed: str, *, data: bool = False) -> None:
        """Starts the process of another node, which joins through one that runs, and waits until it is ready."""
        listener = socket.create_server(("127.0.0.1", 0), backlog=1_024)
        listener.set_inheritable(True)
        self._sockets[name] = listener
        folder = f'data = "{name}"\n' if data else ""
        (self.folder / f"{name}.toml").write_text(
            f'[node]\nname = "{name}"\nlisten = "{_address(listener)}"\n{folder}'
            f'[join]\nseeds = ["{_address(self._sockets[seed])}"]\n',
            encoding="utf-8",
        )
        self.start(name, wait=True)

    def kill(self, name: str) -> None:
        """Takes a node down without warning."""
        process = self.processes[name]
        process.kill()
        process.wait()

    def stop(self) -> None:
        """Stops all nodes; those that do not stop in time are killed."""
        for process in self.processes.values():
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.terminate()
        for process in self.processes.values():
            try:
                process.wait(_STOP_WAIT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()
        for listener in self._sockets.values():
            listener.close()

    @property
    def ended(self) -> dict[str, int]:
        """The nodes whose processes have ended, with their exit status."""
        found = {name: process.poll() for name, process in self.processes.items()}
        return {name: status for name, status in found.items() if status is not None}

    def await_joined(self, timeout_s: float = 30.0) -> None:
        """Waits until every node is connected to all it must know."""

        async def joined(url: str) -> None:
            async with connect(url, name="network") as bus:
                while (await bus.describe())["missing"]:
                    await asyncio.sleep(0.01)

        async def all_joined() -> None:
            await asyncio.wait_for(asyncio.gather(*map(joined, self.urls.values())), timeout_s)

        run(all_joined())

    def await_quiet(self, timeout_s: float = 60.0) -> dict[str, dict[str, Any]]:
        """Waits until nodes have no more to say to each other; returns what they say about themselves.

        That is so when twice in a row all nodes together have sent as many messages as they have received, none in
        between, and no node waits for its disk: a message that was on its way at the first look would have been
        received by the second, and one that follows from a write is sent when the disk has answered.
        """

        async def look(buses: list[Bus]) -> dict[str, dict[str, Any]]:
            found = await asyncio.gather(*(bus.describe() for bus in buses))
            return {facts["node"]: facts for facts in found}

        async def quiet() -> dict[str, dict[str, Any]]:
            async with AsyncExitStack() as stack:
                buses = [await stack.enter_async_context(connect(url, name="network")) for url in self.urls.values()]
                before = None
                while True:
                    facts = await look(buses)
                    sent, received = (sum(each[name] for each in facts.values()) for name in ("sent", "received"))
                    is_still = sent == received and not any(each["writing"] for each in facts.values())
                    if is_still and received == before:
                        return facts
                    before = received if is_still else None
                    await asyncio.sleep(0.01)

        async def in_time() -> dict[str, dict[str, Any]]:
            return await asyncio.wait_for(quiet(), timeout_s)

        facts: dict[str, dict[str, Any]] = run(in_time())
        return facts

    def describe(self, name: str) -> dict[str, Any]:
        """What a node says about itself."""

        async def ask() -> dict[str, Any]:
            async with connect(self.urls[name], name="network") as bus:
                return await bus.describe()

        facts: dict[str, Any] = run(ask())
        return facts

    def remarks(self) -> tuple[str, ...]:
        """What in the options of the scheme does not come out as it says."""
        name = self.names[0]
        file = load_configuration(self.folder / f"{name}.toml")
        return lay_out(file, matcher_tables("brute_force")).part.remarks

    def log_of(self, name: str) -> str:
        """What a node has logged."""
        return (self.folder / f"{name}.log").read_text(encoding="utf-8")

    def _await_ready(self, name: str) -> None:
        process = self.processes[name]
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line.startswith(READY):
            process.kill()
            process.wait()
            raise LiveError(f"node {name} did not start: {self.log_of(name).strip()[-1_000:]}")

    def _configuration(self, name: str) -> str:
        """A node's file; all say the same but for the name."""
        schema = "schema.toml" if self._schema is None else os.fspath(self._schema.resolve())
        lines = [
            "[node]", f'name = "{name}"', f'listen = "{_address(self._sockets[name])}"', self._more.format(name=name),
            "[overlay]", *([f'scheme = "{self._scheme}"'] if self._scheme else []),
            f"schema = {_quoted(schema)}", *self._absent,
            "[overlay.options]", *(f"{key} = {_quoted(value)}" for key, value in self._options.items()),
        ]  # fmt: skip
        for other, listener in self._sockets.items():
            address = self._reached.get((name, other), _address(listener))
            lines += ["[[overlay.nodes]]", f'name = "{other}"', f'address = "{address}"']
        return "\n".join(lines) + "\n"


def _quoted(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    return str(value)


def _address(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"{host}:{port}"
