"""A node on a port of its own, for tests."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from siftcast.runtimes.live.configuration import ConfigurationFile, parse_configuration
from siftcast.runtimes.live.node import Node

QUIET = '[log]\nlevel = "error"\n'


def configured(text: str = "", folder: Path | None = None) -> ConfigurationFile:
    """A configuration on a free port; `text` may begin with more lines of [node]."""
    path = "test.toml" if folder is None else str(folder / "test.toml")
    return parse_configuration(f'[node]\nlisten = "127.0.0.1:0"\n{text}\n{QUIET}', path)


@asynccontextmanager
async def running(text: str = "", folder: Path | None = None) -> AsyncIterator[Node]:
    """A node that runs in this process."""
    node = Node(configured(text, folder))
    await node.start()
    try:
        yield node
    finally:
        await node.stop()


def url_of(node: Node) -> str:
    return f"siftcast://{node.address}"
