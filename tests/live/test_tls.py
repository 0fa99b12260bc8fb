"""Encrypted connections: a node must prove who it is before anything is told to it, and nodes find each other so."""

import asyncio
import io
import socket
import ssl
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

import siftcast
from siftcast.runtimes.live.errors import ConfigurationError, ConnectionLost, LiveError, UntrustedNode
from siftcast.runtimes.live.logs import make_log
from siftcast.runtimes.live.node.certificates import node_tls
from siftcast.runtimes.live.node.configuration import MemberSpec, parse_configuration
from siftcast.runtimes.live.node.identity import listed_identity
from siftcast.runtimes.live.node.node import Node
from siftcast.runtimes.live.node.rights import new_token
from tests.live.asynchronous import on_loop, until
from tests.live.certificates import Certificates, make_certificates
from tests.live.nodes import QUIET, running
from tests.live.test_rights import principal


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return make_certificates(tmp_path_factory.mktemp("certificates"))


@on_loop
async def test_events_travel_encrypted_when_asked_by_url_or_by_authority(certificates: Certificates) -> None:
    token = new_token()
    rights = principal("all", token, 'publish = "TRUE"\nsubscribe = "TRUE"')
    async with running(certificates.table + rights) as node:
        assert node.url.startswith("siftcasts://127.0.0.1:")
        context = ssl.create_default_context(cafile=str(certificates.authority))
        plain_url = node.url.replace("siftcasts", "siftcast")
        async with (
            siftcast.connect(node.url, token=token, tls=certificates.authority) as bus,
            siftcast.connect(plain_url, token=token, tls=context) as other,
            bus.subscribe("n >= 0") as stream,
        ):
            assert await other.publish_many({"n": n, "text": "x" * 1_000} for n in range(2_000)) == 2_000
            assert [(await anext(stream))["n"] for _ in range(2_000)] == list(range(2_000))


@on_loop
async def test_a_node_signed_by_somebody_else_is_told_nothing(certificates: Certificates, tmp_path: Path) -> None:
    stranger = make_certificates(tmp_path)
    async with running(certificates.table) as node:
        for trust in (stranger.authority, True):
            with pytest.raises(UntrustedNode, match="did not prove"):
                await siftcast.connect(node.url, token="secret", tls=trust).__aenter__()
        assert node.tally.published == 0
        assert not node.life.sessions.open


@on_loop
async def test_a_certificate_for_another_name_is_not_believed(tmp_path: Path) -> None:
    elsewhere = make_certificates(tmp_path, "DNS:elsewhere.example")
    async with running(elsewhere.table) as node:
        with pytest.raises(UntrustedNode, match="a name that its certificate holds"):
            await siftcast.connect(node.url, tls=elsewhere.authority).__aenter__()


@on_loop
async def test_ends_that_do_not_agree_on_encryption_do_not_meet(certificates: Certificates) -> None:
    async with running(certificates.table) as node:
        readable = siftcast.connect(node.url.replace("siftcasts", "siftcast"), timeout_s=0.5)
        with pytest.raises(ConnectionLost):
            await readable.__aenter__()
    async with running() as node:
        encrypted = siftcast.connect(
            node.url.replace("siftcast", "siftcasts"), tls=certificates.authority, timeout_s=0.5
        )
        with pytest.raises(ConnectionLost):
            await encrypted.__aenter__()


@on_loop
async def test_what_a_listener_on_the_line_sees_holds_neither_token_nor_event(certificates: Certificates) -> None:
    token, seen = new_token(), bytearray()
    rights = principal("all", token, 'publish = "TRUE"')
    async with running(certificates.table + rights) as node:
        host, port = node.address.rsplit(":", 1)

        async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            while data := await reader.read(65_536):
                seen.extend(data)
                writer.write(data)
            writer.close()

        async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            onward = await asyncio.open_connection(host, int(port))
            await asyncio.gather(copy(reader, onward[1]), copy(onward[0], writer))

        line = await asyncio.start_server(pass_on, "127.0.0.1", 0)
        address = "{}:{}".format(*line.sockets[0].getsockname()[:2])
        async with siftcast.connect(f"siftcasts://{address}", token=token, tls=certificates.authority) as bus:
            await bus.publish({"word": "confidential"})
        line.close()
    assert len(seen) > 200
    assert token.encode() not in seen
    assert b"confidential" not in seen


def two_nodes(certificates: Certificates, ports: tuple[int, int], tokens: dict[str, str], folder: Path) -> list[str]:
    """The configurations of nodes a and b; b calls a."""
    members = "".join(
        f'[[overlay.nodes]]\nname = "{name}"\naddress = "127.0.0.1:{port}"\n'
        for name, port in zip("ab", ports, strict=True)
    )
    texts = []
    for name, port in zip("ab", ports, strict=True):
        (folder / f"{name}.token").write_text(tokens[name])
        others = "".join(principal(each, tokens[f"{each} as known"], "node = true") for each in "ab")
        texts.append(
            f'[node]\nname = "{name}"\nlisten = "127.0.0.1:{port}"\ntoken_file = "{name}.token"\n{members}'
            f"{certificates.table}{others}{principal('all', tokens['all'], _ALL)}{QUIET}"
        )
    return texts


_ALL = 'publish = "TRUE"\nsubscribe = "TRUE"\nsee = true'


def free_ports() -> tuple[int, int]:
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as two:
        return one.getsockname()[1], two.getsockname()[1]


@pytest.mark.parametrize("is_known", [True, False])
@on_loop
async def test_nodes_meet_encrypted_and_only_with_the_right_token(
    certificates: Certificates, tmp_path: Path, is_known: bool
) -> None:
    a, b, client = new_token(), new_token(), new_token()
    tokens = {"a": a, "b": b, "a as known": a, "b as known": b if is_known else new_token(), "all": client}
    said = io.StringIO()
    async with AsyncExitStack() as stack:
        nodes = []
        for text in two_nodes(certificates, free_ports(), tokens, tmp_path):
            file = parse_configuration(text, str(tmp_path / "node.toml"))
            node = Node(file, log=make_log("json", stream=said))
            await node.start()
            stack.push_async_callback(node.stop)
            nodes.append(node)
        buses = [
            await stack.enter_async_context(siftcast.connect(node.url, token=client, tls=certificates.authority))
            for node in nodes
        ]
        if not is_known:
            await until(lambda: "its token is not known here" in said.getvalue())
            assert not nodes[0].life.peers.present
            assert not nodes[1].life.peers.present
            return
        await until(lambda: all(node.life.peers.present for node in nodes))
        async with buses[0].subscribe("n = 1") as stream:
            await until(lambda: nodes[1].describe()["state"].get("entries"))
            await buses[1].publish({"n": 1})
            assert (await anext(stream))["n"] == 1
    assert not any(token in said.getvalue() for token in tokens.values())


@pytest.mark.parametrize("is_right", [True, False])
@on_loop
async def test_a_certificate_that_names_an_identity_is_good_for_that_node_alone(tmp_path: Path, is_right: bool) -> None:
    """Node b calls node a, whose certificate says who it is."""
    identity = listed_identity("siftcast", MemberSpec(name="a" if is_right else "b", address=""))
    named = make_certificates(tmp_path / "named", f"IP:127.0.0.1,DNS:localhost,URI:siftcast:node:{identity}")
    a, b, client = new_token(), new_token(), new_token()
    tokens = {"a": a, "b": b, "a as known": a, "b as known": b, "all": client}
    said = io.StringIO()
    async with AsyncExitStack() as stack:
        nodes = []
        for text in two_nodes(named, free_ports(), tokens, tmp_path):
            node = Node(parse_configuration(text, str(tmp_path / "node.toml")), log=make_log("json", stream=said))
            await node.start()
            stack.push_async_callback(node.stop)
            nodes.append(node)
        if is_right:
            await until(lambda: all(node.life.peers.present for node in nodes))
        else:
            await until(lambda: f"is that of node {identity}, and not of" in said.getvalue())
            assert not nodes[0].life.peers.present
            assert not nodes[1].life.peers.present


MISTAKES = {
    "no file": ('[tls]\ncertificate = "none.pem"\nkey = "none.key"\n', 2, "relative to this file"),
    "no certificate": ('[tls]\ncertificate = "text.pem"\nkey = "text.pem"\n', 2, "PEM files"),
    "no authority": ('[tls]\ncertificate = "{c}"\nkey = "{k}"\nauthorities = "text.pem"\n', 4, "a PEM file is wanted"),
}


@pytest.mark.parametrize(("text", "line", "remedy"), MISTAKES.values(), ids=MISTAKES)
def test_a_certificate_that_cannot_be_used_is_told_with_line_and_remedy(
    certificates: Certificates, tmp_path: Path, text: str, line: int, remedy: str
) -> None:
    (tmp_path / "text.pem").write_text("nothing of the kind\n")
    text = text.replace("{c}", str(certificates.certificate)).replace("{k}", str(certificates.key))
    file = parse_configuration(text, str(tmp_path / "node.toml"))
    with pytest.raises(ConfigurationError) as caught:
        node_tls(file)
    assert caught.value.line == line
    assert remedy in str(caught.value)


def test_an_encrypted_address_without_encryption_is_refused() -> None:
    with pytest.raises(LiveError, match="leave tls out"):
        siftcast.connect("siftcasts://localhost", tls=False)
    with pytest.raises(LiveError, match="PEM file"):
        siftcast.connect("siftcasts://localhost", tls="no such file")
