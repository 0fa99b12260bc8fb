"""A node on a port of its own, for tests."""

import io
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from siftcast.runtimes.live.logs import make_log
from siftcast.runtimes.live.node.configuration import ConfigurationFile, load_configuration, parse_configuration
from siftcast.runtimes.live.node.node import Node

QUIET = '[log]\nlevel = "error"\n'


def configured(text: str = "", folder: Path | None = None) -> ConfigurationFile:
    """A configuration on a free port; `text` may begin with more lines of [node]."""
    path = "test.toml" if folder is None else str(folder / "test.toml")
    return parse_configuration(f'[node]\nlisten = "127.0.0.1:0"\n{text}\n{QUIET}', path)


@asynccontextmanager
async def running(
    text: str = "", folder: Path | None = None, *, said: io.StringIO | None = None
) -> AsyncIterator[Node]:
    """A node that runs in this process; what it logs goes to `said`, as lines of JSON."""
    node = Node(configured(text, folder), log=None if said is None else make_log("json", stream=said))
    await node.start()
    try:
        yield node
    finally:
        await node.stop()


def url_of(node: Node) -> str:
    return f"siftcast://{node.address}"


SCHEMA = """[[attribute]]
name = "value"
type = "int"
domain = [0, 999]
granularity = 1
"""


@asynccontextmanager
async def joined(
    folder: Path, names: Sequence[str], scheme: str = "filter-based", *, durable: bool = True
) -> AsyncIterator[dict[str, Node]]:
    """Nodes of one network, all in this process, that have found each other."""
    from tests.live.asynchronous import until

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "schema.toml").write_text(SCHEMA)
    listeners = {name: socket.create_server(("127.0.0.1", 0)) for name in names}
    table = "".join(
        f'[[overlay.nodes]]\nname = "{name}"\naddress = "127.0.0.1:{listener.getsockname()[1]}"\n'
        for name, listener in listeners.items()
    )
    nodes = {}
    async with AsyncExitStack() as stack:
        for name, listener in listeners.items():
            data = f'data = "data-{name}"\n' if durable else ""
            overlay = f'[overlay]\nscheme = "{scheme}"\nschema = "schema.toml"\n{table}'
            text = f'[node]\nname = "{name}"\nlisten = "127.0.0.1:0"\n{data}{QUIET}{overlay}'
            nodes[name] = Node(parse_configuration(text, str(folder / f"{name}.toml")))
            stack.push_async_callback(nodes[name].stop)
            await nodes[name].start(listener)
        await until(lambda: not any(node.life.peers.missing for node in nodes.values()))
        yield nodes


@asynccontextmanager
async def running_from(path: Path, text: str, *, said: io.StringIO | None = None) -> AsyncIterator[Node]:
    """A node that has read its configuration from a file, and can read it again."""
    write_configuration(path, text)
    node = Node(load_configuration(path), log=None if said is None else make_log("json", stream=said))
    await node.start()
    try:
        yield node
    finally:
        await node.stop()


def write_configuration(path: Path, text: str) -> None:
    """Puts a whole configuration in the place of another at once; `text` may begin with more lines of [node]."""
    fresh = path.with_suffix(".new")
    fresh.write_text(f'[node]\nlisten = "127.0.0.1:0"\n{text}\n{QUIET}')
    fresh.replace(path)
