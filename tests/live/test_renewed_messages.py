"""Where the messages of a scheme have changed, a node of the version before is refused in words, whoever calls."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from siftcast.runtimes.live.client.bus import parse_url
from siftcast.runtimes.live.errors import LiveError, VersionError
from siftcast.runtimes.live.node import meeting
from siftcast.runtimes.live.node.layout import check_version, oldest_of
from siftcast.runtimes.live.wire.frames import OLDEST, VERSION, Failure, Hello, Welcome, encode_frame
from siftcast.runtimes.live.wire.node_frames import Invitation
from tests.live.asynchronous import on_loop, until
from tests.live.nodes import SCHEMA, running, url_of
from tests.live.small_networks import small_network
from tests.live.test_joining import answering, asked
from tests.live.test_versions import hello_of
from tests.live.wire import frames_in

OVERLAY = 'schema = "schema.toml"\n'
WORDS = "the messages of scheme 'qos' have changed"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "schema.toml").write_text(SCHEMA)
    return tmp_path


def test_only_schemes_whose_messages_have_changed_want_all_nodes_to_be_of_one_version() -> None:
    assert (oldest_of("qos"), oldest_of("filter-based"), oldest_of("gossip")) == (VERSION, OLDEST["node"], 3)
    check_version("qos", VERSION, "node 'a'")
    check_version("filter-based", 3, "node 'a'")
    with pytest.raises(VersionError, match=f"{WORDS}: node 'a' speaks version 3, and .* speak version 4"):
        check_version("qos", 3, "node 'a'")


@on_loop
async def test_a_node_of_the_version_before_that_calls_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with small_network(folder, 2, scheme="qos", overlay=OVERLAY) as network:
        await network.start("n0")
        hello = meeting.Meeting.hello

        def older(*called: Any) -> Hello:
            return msgspec.structs.replace(hello(*called), version=3, oldest=3)

        monkeypatch.setattr(meeting.Meeting, "hello", older)
        node = await network.start("n1")
        await until(lambda: f"{WORDS}: node 'n1' speaks version 3" in network.log_of("n1"))
        assert node.life.peers.missing == ["n0"]


@on_loop
async def test_a_node_of_the_version_before_that_is_called_is_not_joined(folder: Path) -> None:
    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(encode_frame(Welcome(3, "n0", 5_000.0, 1_048_576, 262_144)))

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with small_network(folder, 2, scheme="qos", overlay=OVERLAY) as network:
        node = await network.start("n1", {"n0": f"127.0.0.1:{server.sockets[0].getsockname()[1]}"})
        await until(lambda: f"{WORDS}: node 'n0' speaks version 3" in network.log_of("n1"))
        assert node.life.peers.missing == ["n0"]
    server.close()


@on_loop
async def test_a_joiner_of_the_version_before_is_not_invited(folder: Path) -> None:
    async with running(f'[overlay]\nscheme = "qos"\n{OVERLAY}', folder) as node:
        reader, writer = await asyncio.open_connection(*parse_url(url_of(node)))
        writer.write(hello_of("joiner", 3, 3))
        (answer, *_) = frames_in(await reader.read(10_000))
        assert isinstance(answer, Failure)
        assert (answer.code, answer.message.startswith(WORDS)) == (VersionError.code, True)
        writer.close()


@on_loop
async def test_a_node_does_not_join_a_network_of_the_version_before(tmp_path: Path) -> None:
    invitation = Invitation(3, "net", "digest", "qos", {}, SCHEMA, False, 7, "seed", 5_000.0)
    async with answering(encode_frame(invitation)) as seed:
        with pytest.raises(LiveError, match=f"{WORDS}: node 'seed' speaks version 3"):
            await asked(tmp_path, seed)
