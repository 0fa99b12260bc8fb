"""Ends that speak version 1, whose frames had four bytes of length and nothing else, are told so in words they read.

Version 1 is written here as the bytes it had, because no code of it is left.
"""

import asyncio
from pathlib import Path

import msgspec
import pytest

import siftcast
from siftcast.runtimes.live.client.bus import parse_url
from siftcast.runtimes.live.errors import VersionError
from siftcast.runtimes.live.wire.frames import VERSION, Failure, Hello, Welcome, encode_frame
from siftcast.runtimes.live.wire.framing import framed, is_version_1
from tests.live.asynchronous import on_loop, until
from tests.live.nodes import running, url_of
from tests.live.small_networks import small_network
from tests.live.test_connection import joined
from tests.live.test_damaged_frames import flipped
from tests.live.wire import HEADER_BYTES, frames_in


def version_1(*fields: object) -> bytes:
    """A frame of version 1."""
    body = msgspec.msgpack.encode(fields)
    return len(body).to_bytes(4, "big") + body


HELLOS = {
    "a client": version_1(1, 1, "client", "", "", ""),
    "a client with few fields": version_1(1, 1, "client"),
    "a node": version_1(1, 1, "node", "n1", "token", "digest"),
    "a node with few fields": version_1(1, 1, "node"),
}


@pytest.mark.parametrize("hello", HELLOS.values(), ids=HELLOS)
@on_loop
async def test_whoever_says_hello_in_version_1_is_answered_in_version_1(hello: bytes) -> None:
    async with running() as node:
        reader, writer = await asyncio.open_connection(*parse_url(url_of(node)))
        writer.write(hello)
        check_answer(await reader.read())
        writer.close()


@pytest.mark.parametrize("hello", HELLOS.values(), ids=HELLOS)
@on_loop
async def test_version_1_is_recognised_however_its_bytes_arrive(hello: bytes) -> None:
    for piece in (1, 5, 12):
        connection, listener, transport = joined(asyncio.get_running_loop())
        for start in range(0, len(hello), piece):
            connection.data_received(hello[start : start + piece])
        check_answer(b"".join(transport.written))
        assert transport.closed
        assert listener.frames == []


def check_answer(answer: bytes) -> None:
    """A Failure in the words of version 1."""
    assert int.from_bytes(answer[:4], "big") == len(answer) - 4
    kind, request, code, message = msgspec.msgpack.decode(answer[4:])
    assert (kind, request, code) == (3, 0, VersionError.code)
    assert "version 1" in message
    assert f"version {VERSION}" in message


async def old_node(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A node of version 1 that cannot make anything of what it reads."""
    await reader.readexactly(4)
    writer.write(version_1(3, 0, "frame", "not a frame of version 1: MessagePack data is malformed"))
    writer.close()


@on_loop
async def test_a_client_that_calls_a_node_of_version_1_is_told_at_once() -> None:
    server = await asyncio.start_server(old_node, "127.0.0.1", 0)
    url = f"siftcast://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    with pytest.raises(VersionError, match=f"version {VERSION}, the other version 1"):
        await siftcast.connect(url, timeout_s=600).__aenter__()
    server.close()


@on_loop
async def test_a_node_that_calls_a_node_of_version_1_logs_it_and_does_not_join(tmp_path: Path) -> None:
    server = await asyncio.start_server(old_node, "127.0.0.1", 0)
    async with small_network(tmp_path, 2) as network:
        node = await network.start("n1", {"n0": f"127.0.0.1:{server.sockets[0].getsockname()[1]}"})
        await until(lambda: "the other version 1" in network.log_of("n1"))
        assert node.life.peers.missing == ["n0"]
        assert "damaged" not in network.log_of("n1")
    server.close()


def test_a_damaged_hello_is_not_taken_for_version_1() -> None:
    """That would be final for a client, where a damaged frame is not."""
    header = encode_frame(Hello(VERSION, "client", "name"))[:HEADER_BYTES]
    assert is_version_1(HELLOS["a client"][:HEADER_BYTES])
    for bit in range(8 * HEADER_BYTES):
        assert not is_version_1(flipped(header, bit))


def hello_of(role: str, version: int, oldest: int | None) -> bytes:
    """A Hello as an end that speaks these versions writes it; one of version 2 knows no `oldest`."""
    fields = [1, version, role, "old", "", "", "", ""] + ([] if oldest is None else [oldest])
    return framed(msgspec.msgpack.encode(fields))


@pytest.mark.parametrize(
    ("role", "version", "oldest", "agreed"),
    [
        ("client", 2, None, 2),
        ("client", 3, 2, 3),
        ("client", 4, 3, 4),
        ("client", 5, 4, 4),
        ("client", 5, 5, None),
        ("node", 2, None, None),
        ("client", 1, None, None),
    ],
)
@on_loop
async def test_two_ends_agree_on_the_newest_version_that_both_speak(
    role: str, version: int, oldest: int | None, agreed: int | None
) -> None:
    async with running() as node:
        reader, writer = await asyncio.open_connection(*parse_url(url_of(node)))
        writer.write(hello_of(role, version, oldest))
        (answer, *_) = frames_in(await reader.read(10_000))
        if agreed is None:
            assert isinstance(answer, Failure)
            assert answer.code == VersionError.code
            assert f"not {version}" in answer.message
        else:
            assert isinstance(answer, Welcome)
            assert answer.version == agreed
        writer.close()
