"""Nodes as processes, with a proxy of its own on every way between two of them and on the way of the clients to each.

    n0 ──────────▶ proxy (n0, n1) ──▶ n1 ◀── proxy to n1 ◀── clients
       ◀── proxy (n1, n0) ◀──────────

Sockets are opened here and handed down, so a node that is killed comes back at its address; while it is down, whoever
calls it is neither answered nor refused, as with a machine that is gone. A node's configuration names the proxies as
the addresses of the others. Everything lies in one folder: the configuration, the log (lines of JSON) and the data of
each node; it stays there when the run is over.
"""

import asyncio
import json
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from types import TracebackType
from typing import Any, Self

import siftcast
from siftcast.runtimes.live.client import operating
from tests.live.proxies import Proxy

HEARTBEAT_MS = 200.0
"""Short, so that what is silent is noticed soon."""
SCHEMA = '[[attribute]]\nname = "value"\ntype = "int"\ndomain = [0, 999]\ngranularity = 1\n'
_READY = "ready at "
_STOP_WAIT_S = 20.0


class NodeFailed(Exception):
    """A node's process ended although nobody had asked it to."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What kind of network a run is about."""

    scheme: str
    durable: bool
    nodes: int = 3
    options: Mapping[str, object] = field(default_factory=dict)

    def __str__(self) -> str:
        options = "".join(f" {key}={value}" for key, value in self.options.items())
        return f"{self.scheme}{options}, {'durable' if self.durable else 'ephemeral'}, {self.nodes} nodes"


class HostileNetwork:
    """Nodes `n0`, `n1`, …; entered with `async with`, which starts them all."""

    def __init__(self, folder: Path, setting: Setting, seed: int) -> None:
        self.setting = setting
        self.names = tuple(f"n{number}" for number in range(setting.nodes))
        self.links: dict[tuple[str, str], Proxy] = {}
        """The way from one node to another, if the one calls the other."""
        self.doors: dict[str, Proxy] = {}
        """The way of clients to a node."""
        self._folder = folder
        self._seed = seed
        self._listeners: dict[str, socket.socket] = {}
        self._processes: dict[str, subprocess.Popen[str]] = {}
        self._frozen: set[str] = set()
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        (self._folder / "schema.toml").write_text(SCHEMA)
        for name in self.names:
            listener = self._stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=1_024))
            listener.set_inheritable(True)
            self._listeners[name] = listener
        for name in self.names:
            self.doors[name] = await self._proxy(name, f"door {name}")
            for other in self.names:
                if other != name:
                    self.links[other, name] = await self._proxy(name, f"{other} {name}")
        try:
            for name in self.names:
                self.configure(name)
            await self.start(*self.names)
        except BaseException:
            await self._end()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._end()

    async def _proxy(self, target: str, what: str) -> Proxy:
        host, port = self._listeners[target].getsockname()
        return await self._stack.enter_async_context(
            Proxy(host, port, seed=Random(f"{self._seed} {what}").getrandbits(32))
        )

    async def _end(self) -> None:
        for process in self._processes.values():
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()
        await self._stack.aclose()

    # -- configurations ----------------------------------------------------------------------------------

    def configure(
        self, name: str, *, order: Sequence[str] | None = None, exchanged: tuple[str, str] | None = None
    ) -> None:
        """Writes a node's configuration: the list of nodes in some order, two addresses exchanged if so wanted."""
        host, port = self._listeners[name].getsockname()
        lines = ["[node]", f'name = "{name}"', f'listen = "{host}:{port}"']
        if self.setting.durable:
            lines.append(f'data = "{self.data(name).name}"')
        lines += [f"[heartbeat]\ninterval_ms = {HEARTBEAT_MS}", '[log]\nformat = "json"']
        lines += ["[overlay]", f'scheme = "{self.setting.scheme}"', 'schema = "schema.toml"', "[overlay.options]"]
        lines += [f"{key} = {json.dumps(value)}" for key, value in self.setting.options.items()]
        one, other = exchanged or ("", "")
        for member in self.names if order is None else order:
            called = {one: other, other: one}.get(member, member)
            address = f"{host}:{port}" if called == name else self.links[name, called].address
            lines += ["[[overlay.nodes]]", f'name = "{member}"', f'address = "{address}"']
        (self._folder / f"{name}.toml").write_text("\n".join(lines) + "\n")

    def data(self, name: str) -> Path:
        """A node's data folder."""
        return self._folder / f"data-{name}"

    def copy_data(self, name: str, to: str) -> None:
        """Puts a copy of a node's data folder beside it; the node must be down."""
        shutil.rmtree(self._folder / to, ignore_errors=True)
        shutil.copytree(self.data(name), self._folder / to)

    def restore_data(self, name: str, source: str) -> None:
        """Has a copy take the place of a node's data folder; the node must be down."""
        self.lose_data(name)
        shutil.copytree(self._folder / source, self.data(name))

    def lose_data(self, name: str) -> None:
        """Removes a node's data folder; the node must be down."""
        shutil.rmtree(self.data(name))

    # -- processes ---------------------------------------------------------------------------------------

    async def start(self, *names: str) -> None:
        """Starts the processes of nodes, and waits until they are ready."""
        for name in names:
            self._processes[name] = self._spawn(name)
        lines = await asyncio.gather(*(asyncio.to_thread(self._first_line, name) for name in names))
        for name, line in zip(names, lines, strict=True):
            if not line.startswith(_READY):
                raise NodeFailed(f"{name} did not start")

    async def join(self, name: str, seed: str) -> None:
        """Starts another node, which joins through one that runs; clients and proxies do not know it."""
        listener = self._stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=1_024))
        listener.set_inheritable(True)
        self._listeners[name] = listener
        addresses = ["{}:{}".format(*self._listeners[each].getsockname()) for each in (name, seed)]
        lines = ["[node]", f'name = "{name}"', f'listen = "{addresses[0]}"']
        lines += [f'data = "{self.data(name).name}"'] if self.setting.durable else []
        lines += [f'[join]\nseeds = ["{addresses[1]}"]', '[log]\nformat = "json"']
        (self._folder / f"{name}.toml").write_text("\n".join(lines) + "\n")
        await self.start(name)

    async def leave(self, name: str) -> None:
        """Has a node leave in peace, and waits until its process has ended."""
        host, port = self._listeners[name].getsockname()
        async with siftcast.connect(f"siftcast://{host}:{port}", name="operator", timeout_s=60) as bus:
            await operating.leave(bus, lambda _: None)
        await asyncio.to_thread(self._processes[name].wait, _STOP_WAIT_S)
        if self._processes[name].returncode != 0:
            raise NodeFailed(f"{name} has left with status {self._processes[name].returncode}")
        self._take_down(name)

    async def start_and_kill(self, name: str, changes: int) -> None:
        """Starts a node and kills it once its data folder has changed so often, or when it is ready."""
        since, before = len(self.log_of(name)), self._files(name)
        self._processes[name] = self._spawn(name)
        while changes and self._processes[name].poll() is None:
            await asyncio.sleep(0.001)
            now = self._files(name)
            if now != before:
                before, changes = now, changes - 1
            if any(line["event"] == "ready" for line in self.logged(name, since)):
                break
        self.kill(name)

    def _files(self, name: str) -> dict[str, tuple[int, int]]:
        """The files of a node's data folder, with what tells whether they have changed."""
        found = {}
        for path in self.data(name).glob("*"):
            with suppress(FileNotFoundError):
                found[path.name] = path.stat().st_size, path.stat().st_mtime_ns
        return found

    def _spawn(self, name: str) -> subprocess.Popen[str]:
        listener = self._listeners[name].fileno()
        command = [sys.executable, "-m", "siftcast", "serve", "--config", str(self._folder / f"{name}.toml")]
        with (self._folder / f"{name}.log").open("a", encoding="utf-8") as log:
            return subprocess.Popen(
                [*command, "--listen-fd", str(listener), "--until-input-ends"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                pass_fds=(listener,),
                start_new_session=True,
            )

    def _first_line(self, name: str) -> str:
        output = self._processes[name].stdout
        assert output is not None
        return output.readline()

    def kill(self, *names: str) -> None:
        """Takes nodes down without warning, all of them before any is waited for."""
        for name in names:
            self._processes[name].kill()
        for name in names:
            self._take_down(name)

    async def stop(self, *names: str) -> None:
        """Asks nodes to stop, and waits until they have."""
        for name in names:
            self._processes[name].terminate()
        await asyncio.gather(*(asyncio.to_thread(self._processes[name].wait, _STOP_WAIT_S) for name in names))
        for name in names:
            self._take_down(name)

    def _take_down(self, name: str) -> None:
        process = self._processes.pop(name)
        process.wait()
        self._frozen.discard(name)
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()

    def freeze(self, name: str) -> None:
        """Stops a node's process where it is (SIGSTOP)."""
        self._processes[name].send_signal(signal.SIGSTOP)
        self._frozen.add(name)

    def thaw(self, name: str) -> None:
        """Has a frozen process go on."""
        self._processes[name].send_signal(signal.SIGCONT)
        self._frozen.discard(name)

    @property
    def down(self) -> set[str]:
        """The nodes that do not run now."""
        return (set(self.names) - set(self._processes)) | self._frozen

    def check_running(self) -> None:
        """Raises NodeFailed if a process has ended by itself."""
        for name, process in self._processes.items():
            if (status := process.poll()) is not None:
                raise NodeFailed(f"{name} ended by itself with status {status}")

    # -- links -------------------------------------------------------------------------------------------

    def links_of(self, name: str) -> list[Proxy]:
        """All ways between a node and the others."""
        return [proxy for ends, proxy in self.links.items() if name in ends]

    def heal(self) -> None:
        """Everything passes again, everywhere."""
        for proxy in (*self.links.values(), *self.doors.values()):
            proxy.pass_on()

    # -- what nodes say ----------------------------------------------------------------------------------

    def url(self, name: str) -> str:
        """Where clients reach a node."""
        return f"siftcast://{self.doors[name].address}"

    async def describe(self, names: Iterable[str] | None = None) -> dict[str, dict[str, Any]]:
        """What nodes say about themselves."""

        async def ask(name: str) -> dict[str, Any]:
            async with siftcast.connect(self.url(name), name="inspector", timeout_s=60) as bus:
                return await bus.describe()

        asked = self.names if names is None else tuple(names)
        return dict(zip(asked, await asyncio.gather(*map(ask, asked)), strict=True))

    def log_of(self, name: str, since: int = 0) -> str:
        """What a node has logged, in all its lives, from a character on."""
        return (self._folder / f"{name}.log").read_text(encoding="utf-8", errors="replace")[since:]

    def logged(self, name: str, since: int = 0) -> list[dict[str, Any]]:
        """The same as lines of JSON; lines that are none, as those of a traceback, are left out."""
        found = []
        for line in self.log_of(name, since).splitlines():
            with suppress(json.JSONDecodeError):
                found.append(json.loads(line))
        return found
