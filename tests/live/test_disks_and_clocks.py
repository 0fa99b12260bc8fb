"""The machine under a node misbehaves: its disk is full or alters what it holds, its clock jumps.

Nothing acknowledged is lost, or it is said what is.

The disk is a real one that is really full: a file system of three megabytes, in a namespace of its own, where this
machine lets an ordinary user make one.
"""

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path

import pytest

import siftcast
from siftcast import Event
from siftcast.runtimes.live.errors import Refused
from siftcast.runtimes.live.logs import make_log
from siftcast.runtimes.live.node.node import Node
from tests.live.asynchronous import on_loop, until
from tests.live.nodes import QUIET, configured, running, url_of
from tests.live.stores import FRAME_BYTES, LOG, LOG_HEADER, commit_ends

HOUR_S = 3_600.0
_ENTER = ("unshare", "--user", "--map-root-user", "--mount")
_MOUNT = 'mount -t tmpfs -o size=3m tmpfs "$0" && head -c 1500000 /dev/zero > "$0/filler"'
_AGAIN = f'{_MOUNT} && while :; do "$@" || :; done'


def _can_mount() -> bool:
    if shutil.which("unshare") is None:
        return False
    tried = subprocess.run([*_ENTER, "mount", "-t", "tmpfs", "tmpfs", "/mnt"], capture_output=True, check=False)
    return tried.returncode == 0


class SmallDisk:
    """A node whose data lies on a disk of three megabytes, half of them taken; killed, it is started again."""

    def __init__(self, folder: Path) -> None:
        self._data = folder / "small"
        self._data.mkdir()
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self.address = f"127.0.0.1:{probe.getsockname()[1]}"
        config = folder / "node.toml"
        text = f'[node]\nlisten = "{self.address}"\ndata = "{self._data}/kept"\n{QUIET}'
        config.write_text(text, encoding="utf-8")
        serve = [sys.executable, "-m", "siftcast", "serve", "--config", str(config)]
        self._shell = subprocess.Popen([*_ENTER, "sh", "-c", _AGAIN, str(self._data), *serve], start_new_session=True)

    def make_room(self) -> None:
        """Removes what took half of the disk."""
        Path(f"/proc/{self._shell.pid}/root{self._data}/filler").unlink()

    def kill_node(self) -> None:
        shell = self._shell.pid
        (node,) = Path(f"/proc/{shell}/task/{shell}/children").read_text(encoding="utf-8").split()
        os.kill(int(node), signal.SIGKILL)

    def stop(self) -> None:
        os.killpg(self._shell.pid, signal.SIGKILL)
        self._shell.wait()


@contextmanager
def small_disk(folder: Path) -> Iterator[SmallDisk]:
    disk = SmallDisk(folder)
    try:
        yield disk
    finally:
        disk.stop()


@pytest.mark.skipif(not _can_mount(), reason="this machine lets nobody mount a file system of their own")
def test_a_node_whose_disk_is_really_full_refuses_loses_nothing_and_recovers(tmp_path: Path) -> None:
    accepted: list[int] = []

    async def publish(bus: siftcast.Bus, value: int) -> None:
        await bus.publish(Event({"value": value, "text": "x" * 2_000}, f"event-{value}"), durable=True)
        accepted.append(value)

    async def publish_all(bus: siftcast.Bus) -> None:
        for value in range(5_000):
            await publish(bus, value)

    @on_loop
    async def story(disk: SmallDisk) -> None:
        async with siftcast.connect(f"siftcast://{disk.address}", timeout_s=60.0) as bus:
            async with bus.subscribe("value >= 0", durable="desk"):
                pass
            with pytest.raises(Refused, match="kept now"):
                await publish_all(bus)
            assert accepted
            disk.make_room()
            while 5_000 not in accepted:
                try:
                    await publish(bus, 5_000)
                except Refused:
                    await asyncio.sleep(0.01)
            disk.kill_node()
            found: list[int] = []
            async for event in bus.subscribe("value >= 0", durable="desk"):
                event.ack()
                found.append(event["value"])
                if event["value"] == 5_000:
                    break
            assert set(accepted) <= set(found)
            assert len(found) == len(set(found))

    with small_disk(tmp_path) as disk:
        story(disk)


@pytest.mark.parametrize("jump_s", [HOUR_S, -HOUR_S])
@on_loop
async def test_a_clock_that_jumps_by_an_hour_is_harmless(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jump_s: float
) -> None:
    real_time = time.time
    data = 'data = "kept"\n[heartbeat]\ninterval_ms = 50'
    async with running(data, tmp_path) as node, siftcast.connect(url_of(node)) as bus:
        stream = bus.subscribe("value >= 0", durable="desk")
        await stream.ready()
        for value in range(4):
            await bus.publish({"value": value}, durable=True)
        for value in range(2):
            event = await anext(stream)
            assert event["value"] == value
            event.ack()
        monkeypatch.setattr(time, "time", lambda: real_time() + jump_s)
        await asyncio.sleep(0.25)  # several heartbeats: nobody takes the other for dead
        await bus.publish({"value": 4}, durable=True)
        assert [(await anext(stream))["value"] for _ in range(3)] == [2, 3, 4]
        assert len(node.life.sessions.open) == 1
    # The node comes back under the other clock, which is where calendars of two lives meet.
    async with running(data, tmp_path) as node, siftcast.connect(url_of(node)) as bus:
        stream = bus.subscribe("value >= 0", durable="desk")
        await stream.ready()
        await bus.publish({"value": 5}, durable=True)
        found = [await anext(stream) for _ in range(4)]
        assert [event["value"] for event in found] == [2, 3, 4, 5]
        assert stream.expired == 0
        for event in found:
            event.ack()
        await until(lambda: _waiting(node) == 0)
        since = datetime.fromtimestamp(real_time() - 2 * HOUR_S, UTC)
        replay = bus.subscribe("value >= 0", durable="desk", since=since - timedelta(seconds=1))
        assert [(await anext(replay))["value"] for _ in range(6)] == [0, 1, 2, 3, 4, 5]


async def _crashed(folder: Path, count: int) -> Path:
    """A folder as it is left by a node that crashes after it has acknowledged some events; returns the log there."""
    async with running('data = "kept"', folder) as node, siftcast.connect(url_of(node), name="source") as bus:
        async with bus.subscribe("value >= 0", durable="desk"):
            pass
        for value in range(count):
            await bus.publish(Event({"value": value, "text": "x" * 200}, f"event-{value}"), durable=True)
        shutil.copytree(folder / "kept", folder / "crashed")
    return folder / "crashed" / LOG


async def _read_until(bus: siftcast.Bus, last: int) -> list[int]:
    found: list[int] = []
    async for event in bus.subscribe("value >= 0", durable="desk"):
        found.append(event["value"])
        event.ack()
        if event["value"] == last:
            break
    return found


@on_loop
async def test_a_node_finds_all_it_acknowledged_behind_a_flipped_bit_in_its_log_and_reports_it(tmp_path: Path) -> None:
    log = await _crashed(tmp_path, 30)
    content = bytearray(log.read_bytes())
    content[LOG_HEADER + len(content) // FRAME_BYTES // 3 * FRAME_BYTES + 8] ^= 1
    log.write_bytes(content)
    lines = StringIO()
    node = Node(configured('data = "crashed"', tmp_path), log=make_log(stream=lines))
    await node.start()
    try:
        async with siftcast.connect(url_of(node)) as bus:
            assert await _read_until(bus, 29) == list(range(30))
    finally:
        await node.stop()
    assert "store damaged" in lines.getvalue()
    assert "whole=True" in lines.getvalue()


@on_loop
async def test_a_node_whose_log_was_cut_says_which_commits_are_missing_and_goes_on(tmp_path: Path) -> None:
    log = await _crashed(tmp_path, 30)
    content = log.read_bytes()
    log.write_bytes(content[: commit_ends(content)[-5]])
    lines = StringIO()
    node = Node(configured('data = "crashed"', tmp_path), log=make_log(stream=lines))
    await node.start()
    try:
        async with siftcast.connect(url_of(node)) as bus:
            await bus.publish(Event({"value": 100}, "event-100"), durable=True)
            found = await _read_until(bus, 100)
            assert found == [*range(len(found) - 1), 100]
    finally:
        await node.stop()
    last = len(commit_ends(content)) - 1
    assert f"commits_missing='{last - 3} to {last}'" in lines.getvalue()


def _waiting(node: object) -> int:
    (subscription,) = node.describe()["subscriptions"]  # type: ignore[attr-defined]
    waiting: int = subscription["waiting"]
    return waiting
