"""A few nodes in this process, on ports that are known before they start, so that anything may be put between them."""

import io
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from siftcast.runtimes.live.logs import make_log
from siftcast.runtimes.live.node.configuration import parse_configuration
from siftcast.runtimes.live.node.node import Node
from tests.live.asynchronous import until


class SmallNetwork:
    """Nodes `n0`, `n1`, …; of two that know each other the later one calls."""

    def __init__(self, folder: Path, count: int, *, scheme: str, durable: bool, overlay: str, more: str) -> None:
        self.names = [f"n{number}" for number in range(count)]
        self.nodes: dict[str, Node] = {}
        self._folder = folder
        self._scheme = scheme
        self._durable = durable
        self._overlay = overlay
        self._more = more
        self._listeners = {name: socket.create_server(("127.0.0.1", 0)) for name in self.names}
        self._said: dict[str, io.StringIO] = {}

    def address(self, name: str) -> str:
        """Where a node listens."""
        host, port = self._listeners[name].getsockname()
        return f"{host}:{port}"

    def port(self, name: str) -> int:
        port: int = self._listeners[name].getsockname()[1]
        return port

    def url(self, name: str) -> str:
        return f"siftcast://{self.address(name)}"

    def log_of(self, name: str) -> str:
        """What a node has logged, as lines of JSON."""
        return self._said[name].getvalue()

    async def start(self, name: str, addresses: Mapping[str, str] | None = None, *, as_name: str = "") -> Node:
        """Starts a node, which takes others to be at `addresses`, or where they are; `as_name` says who it is."""
        known = {each: self.address(each) for each in self.names} | dict(addresses or {})
        lines = ["[node]", f'name = "{as_name or name}"', f'listen = "{self.address(name)}"']
        if self._durable:
            lines.append(f'data = "{name}"')
        lines += [self._more, "[overlay]", f'scheme = "{self._scheme}"', self._overlay]
        lines += [f'[[overlay.nodes]]\nname = "{each}"\naddress = "{known[each]}"' for each in self.names]
        file = parse_configuration("\n".join(lines), str(self._folder / f"{name}.toml"))
        said = self._said.setdefault(name, io.StringIO())
        node = self.nodes[name] = Node(file, log=make_log("json", stream=said))
        await node.start(self._listeners[name].dup())
        return node

    async def joined(self) -> None:
        """Waits until all nodes know all they must know."""
        await until(lambda: not any(node.life.peers.missing for node in self.nodes.values()))

    async def stop(self) -> None:
        for node in self.nodes.values():
            await node.stop()
        for listener in self._listeners.values():
            listener.close()


@asynccontextmanager
async def small_network(
    folder: Path,
    count: int,
    *,
    scheme: str = "filter-based",
    durable: bool = False,
    overlay: str = "",
    more: str = "",
) -> AsyncIterator[SmallNetwork]:
    """Nodes that are still to be started, and are stopped at the end; `overlay` goes into the table of this name."""
    network = SmallNetwork(folder, count, scheme=scheme, durable=durable, overlay=overlay, more=more)
    try:
        yield network
    finally:
        await network.stop()
