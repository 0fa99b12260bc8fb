"""Without a descriptor for another caller a node goes on: calls wait, nobody is harmed, and later ones are taken."""

import asyncio
import errno
import os
import resource
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import siftcast
from siftcast.runtimes.live.errors import ConnectionLost
from siftcast.runtimes.live.local_network import READY
from siftcast.runtimes.live.node import descriptors
from siftcast.runtimes.live.node.node import Node
from tests.live.asynchronous import on_loop, until
from tests.live.nodes import configured, running, url_of

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="limits of descriptors are those of POSIX")


class ShortListener(socket.socket):
    """A listening socket that finds no descriptor, a few times."""

    shortages = 3

    def accept(self) -> tuple[socket.socket, object]:
        if self.shortages:
            self.shortages -= 1
            raise OSError(errno.EMFILE, "Too many open files")
        return super().accept()


@on_loop
async def test_a_call_that_finds_no_descriptor_waits_and_is_taken() -> None:
    listener = ShortListener()
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    node = Node(configured())
    await node.start(listener)
    try:
        async with siftcast.connect(url_of(node)) as bus, bus.subscribe("n = 1") as stream:
            await bus.publish({"n": 1})
            assert (await anext(stream))["n"] == 1
        assert listener.shortages == 0
    finally:
        await node.stop()


@on_loop
async def test_who_is_one_too_many_is_told_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    async with running("[limits]\nconnections_max = 2\n") as node, siftcast.connect(url_of(node)) as bus:
        async with siftcast.connect(url_of(node)):
            with pytest.raises(ConnectionLost, match="connections_max in"):
                await siftcast.connect(url_of(node), timeout_s=0.1).__aenter__()
        await until(lambda: len(node.life.sessions.open) == 1)
        monkeypatch.setattr(descriptors, "connections_max", lambda: 1)
        with pytest.raises(ConnectionLost, match="ulimit -n"):
            await siftcast.connect(url_of(node), timeout_s=0.1).__aenter__()
        await bus.publish({"n": 1})


def test_some_descriptors_are_kept_from_connections() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        for soft, room in ((1_024, 896), (200, 100), (256, 128)):
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, before[1]))
            assert descriptors.connections_max() == room
        descriptors.raise_limit()
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (before[1], before[1])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.parametrize("limit", [40, pytest.param(64, marks=pytest.mark.full)])
def test_a_node_with_few_descriptors_serves_on_through_a_flood_of_calls(tmp_path: Path, limit: int) -> None:
    (tmp_path / "node.toml").write_text('[node]\nlisten = "127.0.0.1:0"\ndata = "kept"\n')

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (20, limit))  # it raises the soft one itself

    command = [sys.executable, "-m", "siftcast", "serve", "--config", str(tmp_path / "node.toml")]
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, preexec_fn=limited)
    try:
        assert process.stdout is not None
        url = process.stdout.readline().removeprefix(READY).strip()
        asyncio.run(flood(url, process.pid))
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
        if process.stdout is not None:
            process.stdout.close()
    said = (tmp_path / "log").read_text()
    assert "LimitNOFILE" in said
    assert "Traceback" not in said


async def flood(url: str, pid: int) -> None:
    host, _, port = url.removeprefix("siftcast://").partition(":")
    async with siftcast.connect(url) as bus, bus.subscribe("n >= 0", durable="desk") as stream:
        lines = [socket.create_connection((host, int(port))) for _ in range(100)]
        for number in range(50):
            await bus.publish({"n": number}, durable=True)
            event = await anext(stream)
            assert event["n"] == number
            event.ack()
        for line in lines:
            line.close()
        async with siftcast.connect(url, timeout_s=60) as other:
            await other.publish({"n": 77}, durable=True)
            assert (await anext(stream))["n"] == 77
        few = len(os.listdir(f"/proc/{pid}/fd"))
        assert few < 40
