"""Nodes join through one that runs, are introduced to each other, call on demand, watch, leave and are forgotten."""

import asyncio
import io
import json
import socket
import ssl
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

import siftcast
from siftcast.interfaces.cli import main
from siftcast.overlays.contract import DelayMeasured, MessageReceived, PeerFound, PeerGone, PeerLost, SendMessage
from siftcast.runtimes.live.client import operating
from siftcast.runtimes.live.errors import ConfigurationError, LiveError, Refused
from siftcast.runtimes.live.local_network import LocalNetwork
from siftcast.runtimes.live.logs import make_log
from siftcast.runtimes.live.node import guests, joining, measuring, peers
from siftcast.runtimes.live.node.configuration import parse_configuration
from siftcast.runtimes.live.node.joining import Invited
from siftcast.runtimes.live.node.meeting import Meeting
from siftcast.runtimes.live.node.node import Node, ask_to_be_invited, serve
from siftcast.runtimes.live.node.rights import new_token
from siftcast.runtimes.live.wire.frames import Failure, Hello, encode_frame
from siftcast.runtimes.live.wire.node_frames import Introduction
from tests.live.asynchronous import on_loop, until
from tests.live.certificates import make_certificates
from tests.live.growing import NAME, Enter, Growing, Meet, growing, use_everybody
from tests.live.nodes import url_of
from tests.live.test_rights import principal


@pytest.fixture(autouse=True)
def everybody(monkeypatch: pytest.MonkeyPatch) -> None:
    use_everybody(monkeypatch.setattr)


async def all_present(network: Growing) -> None:
    """Waits until all nodes are connected to all others."""
    names = set(network.nodes)
    await until(lambda: all(set(network.present(name)) == names - {name} for name in names))


@on_loop
async def test_a_network_grows_from_one_node_and_delivers_everywhere(tmp_path: Path) -> None:
    async with growing(tmp_path) as network:
        await network.start("a")
        for name in "bcd":
            await network.start(name, "a")
        await all_present(network)
        async with (
            siftcast.connect(url_of(network.nodes["d"])) as reader,
            siftcast.connect(url_of(network.nodes["b"])) as writer,
            reader.subscribe("n = 1") as stream,
        ):
            await writer.publish({"n": 1})
            assert (await anext(stream))["n"] == 1
        for name in network.nodes:
            found = network.protocol(name).of(PeerFound)
            assert len(found) == len({each.peer for each in found}) == 3, "one connection per pair, told once"
            assert not network.protocol(name).of(PeerLost)
            assert network.nodes[name].describe()["network"] == "growing"


@on_loop
async def test_what_is_sent_to_an_introduced_node_is_dialled_on_demand_and_ends_when_nobody_uses_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peers, "_ROUND_S", 0.01)
    async with growing(tmp_path) as network:
        await network.start("a")
        network.protocol("a").is_talkative = False
        await network.start("b", "a")
        await network.start("c", "a")
        await until(lambda: len(network.protocol("a").of(MessageReceived)) == 2)
        b, c = network.identity("b"), network.identity("c")
        carrier, talk = network.nodes["b"].life.carrier, network.nodes["b"].life.peers
        carrier.carry_out([SendMessage(Enter(), (c,))])
        assert talk.dropped == 1, "nobody has introduced it"
        network.nodes["a"].life.carrier.carry_out([SendMessage(Meet((c,)), (b,))])
        network.protocol("b").members.add(c)  # so that it does not watch it
        await until(lambda: network.protocol("b").of(MessageReceived))
        network.protocol("c").is_talkative = False
        carrier.carry_out([SendMessage(Enter(), (c,))] * 3)
        await until(lambda: len(network.protocol("c").of(MessageReceived)) == 3)
        assert network.present("b") == ["a", "c"]
        assert [each.sender for each in network.protocol("c").of(MessageReceived)] == [b] * 3
        assert not any(each.peer == c for each in network.protocol("b").of(PeerFound)), "nobody watches it"
        talk.measure(c)
        await until(lambda: network.protocol("b").of(DelayMeasured))
        assert network.protocol("b").of(DelayMeasured)[0].delay_ms >= 0
        monkeypatch.setattr(guests, "IDLE_S", 0.0)
        await until(lambda: network.present("b") == ["a"] and network.present("c") == ["a"])
        talk.measure(c)  # dialled on demand as well
        await until(lambda: len(network.protocol("b").of(DelayMeasured)) == 2)


@on_loop
async def test_a_watched_node_is_found_and_lost_and_an_unwatched_one_is_neither(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guests, "DEMAND_S", 0.05)
    monkeypatch.setattr(measuring, "DEMAND_S", 0.05)
    async with growing(tmp_path) as network:
        await network.start("a")
        await network.start("b", "a")
        await all_present(network)
        a, b = network.identity("a"), network.identity("b")
        mine, talk = network.protocol("a"), network.nodes["a"].life.peers
        await until(lambda: b in talk.watched and mine.of(PeerFound))
        found = len(mine.of(PeerFound))
        talk.unwatch(b)
        assert (talk.missing, network.present("a")) == ([], ["b"]), "the connection stays, because b watches a"
        talk.watch(b)
        await until(lambda: len(mine.of(PeerFound)) == found + 1)
        talk.unwatch(b)
        await network.nodes["b"].stop()
        await until(lambda: not network.present("a"))
        assert not mine.of(PeerLost)
        talk.watch(b)
        await until(lambda: mine.of(PeerLost))
        talk.measure(b)
        await until(lambda: mine.of(DelayMeasured))
        assert mine.of(DelayMeasured) == [DelayMeasured(b, None)]
        talk.unwatch(b)
        talk.measure(b)
        await until(lambda: len(mine.of(DelayMeasured)) == 2)
        dropped = talk.dropped
        talk.send(Enter(), (b,))
        await until(lambda: talk.dropped == dropped + 1)
        assert a not in talk.watched


@on_loop
async def test_when_both_call_at_once_one_connection_survives(tmp_path: Path) -> None:
    async with growing(tmp_path) as network:
        for name in "ab":
            await network.start(name)
        a, b = (network.nodes[name].life for name in "ab")
        ends = {name: network.nodes[name]._lasting.book for name in "ab"}
        ends["a"].learn(Introduction(b.overlay.node, "b", network.nodes["b"].address, 1))
        ends["b"].learn(Introduction(a.overlay.node, "a", network.nodes["a"].address, 1))
        for _ in range(10):
            a.peers.watch(b.overlay.node)
            b.peers.watch(a.overlay.node)
            await until(lambda: a.peers.connected and b.peers.connected)
            for life, other in ((a, b), (b, a)):
                life.peers.measure(other.overlay.node)
            await until(lambda: network.protocol("a").of(DelayMeasured) and network.protocol("b").of(DelayMeasured))
            for name in "ab":
                protocol = network.protocol(name)
                assert len(protocol.of(PeerFound)) == 1
                assert not protocol.of(PeerLost)
                assert protocol.of(DelayMeasured)[0].delay_ms is not None
                protocol.heard.clear()
            await until(lambda: len(network.nodes["a"]._connections) + len(network.nodes["b"]._connections) == 1)
            a.peers.unwatch(b.overlay.node)
            b.peers.unwatch(a.overlay.node)
            a.peers.cut((b.overlay.node,), "the test begins again")
            await until(lambda: not a.peers.connected and not b.peers.connected)


@on_loop
async def test_a_node_that_starts_again_elsewhere_is_found_by_those_who_know_it(tmp_path: Path) -> None:
    async with growing(tmp_path) as network:
        await network.start("a", data=True)
        await network.start("b", "a", data=True)
        await network.start("c", "a", data=True)
        await until(lambda: not any(node.life.peers.missing for node in network.nodes.values()))
        before, identity = network.nodes["b"].address, network.nodes["b"].life.overlay.node
        await network.nodes["b"].stop()
        host, port = before.split(":")
        with socket.create_server((host, int(port))):  # so that it cannot listen there again
            again = await network.start("b", "a", data=True)
        assert again.life.overlay.node == identity
        assert again.address != before
        await until(lambda: all(set(network.present(name)) == set("abc") - {name} for name in "abc"))
        assert network.nodes["c"]._lasting.book.address(identity) == again.address


@on_loop
async def test_a_node_that_was_in_the_network_starts_again_although_its_seed_is_down(tmp_path: Path) -> None:
    async with growing(tmp_path) as network:
        seed = await network.start("a", data=True)
        await network.start("b", "a", data=True)
        await network.start("c", "a", data=True)
        await until(lambda: set(network.present("b")) == {"a", "c"})
        address = seed.address
        for name in "ab":
            await network.nodes[name].stop()
        del network.nodes["a"]
        await network.start("b", address, data=True)
        await until(lambda: network.present("b") == ["c"])
        assert "starts with what it knew before" in network.said["b"].getvalue()


@on_loop
async def test_a_node_that_leaves_is_gone_and_its_folder_is_not_used_again(tmp_path: Path) -> None:
    async with growing(tmp_path) as network:
        await network.start("a")
        await network.start("b", "a")
        await all_present(network)
        identity = network.identity("b")
        seen: list[object] = []
        async with siftcast.connect(url_of(network.nodes["b"])) as bus:
            leaving = asyncio.ensure_future(operating.leave(bus, seen.append))
            await network.nodes["b"].left
            await network.nodes["b"].stop()
            await leaving
        await until(lambda: network.protocol("a").of(PeerGone))
        assert network.protocol("a").of(PeerGone) == [PeerGone(identity)]
        assert not network.protocol("a").of(PeerLost)
        assert network.nodes["a"].life.peers.missing == []
        assert [row["name"] for row in network.nodes["a"].life.members()] == ["a"]


@on_loop
async def test_members_are_listed_and_one_that_is_down_can_be_forgotten(tmp_path: Path) -> None:
    async with growing(tmp_path) as network:
        for name, seed in (("a", ""), ("b", "a"), ("c", "a")):
            await network.start(name, seed)
        await all_present(network)
        gone = network.identity("c")
        async with siftcast.connect(url_of(network.nodes["a"])) as bus:
            await until(lambda: len(network.nodes["a"].life.peers.echoes.delays_ms) == 2)
            rows = {row["name"]: row for row in await operating.members_of(bus)}
            assert {name: row["state"] for name, row in rows.items()} == {
                "a": "this node", "b": "connected", "c": "connected"
            }  # fmt: skip
            assert rows["b"]["address"] == network.nodes["b"].address
            assert rows["b"]["delay_ms"] >= 0
            found, silent = await operating.members_of_all(bus)
            assert (sorted(found), silent) == (["a", "b", "c"], [])
            with pytest.raises(Refused, match="is there and answers"):
                await operating.forget(bus, "c", lambda _: None)
            with pytest.raises(Refused, match="no node 'nobody' is known"):
                await operating.forget(bus, "nobody", lambda _: None)
            await network.nodes["c"].stop()
            await until(lambda: network.present("a") == ["b"])
            assert await operating.forget(bus, "c", lambda _: None) == [{"what": "nothing waited for it", "peer": gone}]
            assert [row["name"] for row in await operating.members_of(bus)] == ["a", "b"]
            assert network.nodes["a"].life.peers.missing == []


@on_loop
async def test_two_nodes_of_one_name_are_noticed_and_the_first_is_kept(tmp_path: Path) -> None:
    async with growing(tmp_path) as network:
        await network.start("a")
        first = await network.start("b", "a")
        await all_present(network)
        with pytest.raises(LiveError, match="there is a node 'b' already; give each node a name of its own"):
            await network.start("b", "a")
        assert network.nodes["a"].life.peers.connected == (first.life.overlay.node,)
        await first.stop()
        await until(lambda: not network.nodes["a"].life.peers.connected)
        second = await network.start("b", "a")
        await until(lambda: network.nodes["a"].life.peers.connected == (second.life.overlay.node,))


# -- seeds that are none -----------------------------------------------------------------------------


async def asked(folder: Path, seed: str, more: str = "", join: str = "", said: io.StringIO | None = None) -> object:
    """What comes of asking a seed."""
    text = f'[node]\nname = "x"\nlisten = "127.0.0.1:0"\n{more}[join]\nseeds = ["{seed}"]\n{join}'
    file = parse_configuration(text, str(folder / "x.toml"))
    return await ask_to_be_invited(file, make_log("json", stream=said or io.StringIO()))


@asynccontextmanager
async def answering(answer: bytes) -> AsyncIterator[str]:
    """Something that says this to whoever calls, and hangs up."""

    async def say(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        writer.write(answer)
        writer.close()

    server = await asyncio.start_server(say, "127.0.0.1", 0)
    yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    server.close()


WRONG = {
    "no node": (b"HTTP/1.1 400 Bad Request\r\n\r\n", "is no node of Siftcast"),
    "another version": (encode_frame(Failure(0, "version", "this node speaks version 9, not 3")), "speaks version 9"),
    "no right": (encode_frame(Failure(0, "unauthorised", "the joiner is not let in")), "is not let in"),
    "odd": (encode_frame(Hello(3, "node", "a")), "an Invitation was expected"),
}


@pytest.mark.parametrize(("answer", "words"), WRONG.values(), ids=WRONG)
@on_loop
async def test_a_seed_that_never_will_be_one_ends_the_node_with_words(
    tmp_path: Path, answer: bytes, words: str
) -> None:
    async with answering(answer) as seed:
        with pytest.raises(LiveError, match=words) as raised:
            await asked(tmp_path, seed)
        assert f"cannot join through {seed}: " in str(raised.value)


@on_loop
async def test_a_host_that_could_never_be_one_ends_the_node_with_words(tmp_path: Path) -> None:
    with pytest.raises(LiveError, match="no name of a host"):
        await asked(tmp_path, "a..b:7007")


@on_loop
async def test_another_network_or_one_that_is_durable_ends_the_node_with_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with growing(tmp_path) as network:
        seed = await network.start("a")
        with pytest.raises(LiveError, match="a node of network 'growing', not of 'other'"):
            await asked(tmp_path, seed.address, join='network = "other"\n')
        with pytest.raises(LiveError, match="two nodes say they are 'a'"):
            await network.start("a", seed.address)
        durable = await asked(tmp_path, seed.address)
        assert isinstance(durable, Invited)
        told = msgspec.structs.replace(durable.invitation, durable=True)
        monkeypatch.setattr(Meeting, "invitation", lambda *_: told)
        with pytest.raises(LiveError, match="keeps durable events; name a folder with --data"):
            await asked(tmp_path, seed.address)


DOWN = {
    "refused": (ConnectionRefusedError(111, "Connection refused"), "127.0.0.1:7: connection refused, so no node"),
    "unresolvable": (socket.gaierror(-2, "Name or service not known"), "127.0.0.1:7: Name or service not known"),
    "silent": (TimeoutError(), "127.0.0.1:7: no answer within 10 s"),
    "other": (ssl.SSLError(1, "wrong version number"), "127.0.0.1:7: it does not speak TLS as this node does"),
}


@pytest.mark.parametrize(("failure", "words"), DOWN.values(), ids=DOWN)
@on_loop
async def test_a_seed_that_is_down_is_called_again_and_said_once(
    tmp_path: Path, failure: OSError, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(joining, "_WAIT_MAX_S", 0.01)
    monkeypatch.setattr(joining, "_WAIT_MIN_S", 0.01)
    tries = [0]

    async def dial(_make: object) -> None:
        tries[0] += 1
        raise failure

    monkeypatch.setattr(joining, "dial_node", lambda *_: dial)
    said = io.StringIO()
    asking = asyncio.ensure_future(asked(tmp_path, "127.0.0.1:7", said=said))
    await until(lambda: tries[0] > 2)
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    (line,) = [json.loads(each) for each in said.getvalue().splitlines()]
    assert words in line["reason"]
    assert "called again" in line["remedy"]


@on_loop
async def test_a_full_seed_is_called_again_until_there_is_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joining, "_WAIT_MIN_S", 0.01)
    async with growing(tmp_path) as network:
        seed = await network.start("a", more="[limits]\nconnections_max = 1\n")
        said = io.StringIO()
        async with siftcast.connect(url_of(seed)):
            asking = asyncio.ensure_future(asked(tmp_path, seed.address, said=said))
            await until(lambda: "connections_max" in said.getvalue())
        await asking
        assert asking.result() is not None


@on_loop
async def test_serve_says_whether_the_node_has_left(tmp_path: Path) -> None:
    text = f'[node]\nlisten = "127.0.0.1:0"\ndata = "data"\n[overlay]\nscheme = "{NAME}"\n'
    file = parse_configuration(text, str(tmp_path / "node.toml"))
    log, started = make_log(level="error", stream=io.StringIO()), []
    assert not await stopped_at_once(file, log)

    def leave(node: Node) -> None:
        started.append(node)
        node.life.leave()

    assert await serve(file, asyncio.Event(), ready=leave, log=log)
    with pytest.raises(ConfigurationError, match="has left network 'siftcast' for good"):
        Node(file, log=log)


async def stopped_at_once(file: object, log: object) -> bool:
    stop = asyncio.Event()
    return await serve(file, stop, ready=lambda _: stop.set(), log=log)  # type: ignore[arg-type]


def test_processes_join_are_listed_leave_and_are_forgotten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = (sys.executable, "-m", "tests.live.growing")
    with LocalNetwork(tmp_path, 1, NAME, program=program) as network:
        network.join("b", "n0")
        network.join("c", "b")
        at = ["--at", network.urls["n0"]]
        seen: list[dict[str, object]] = []
        while {(row["name"], row["state"]) for row in seen} != {
            ("n0", "this node"), ("b", "connected"), ("c", "connected")
        }:  # fmt: skip
            assert main(["members", "--json", *at]) == 0
            seen = json.loads(capsys.readouterr().out)
        assert main(["members", "--all", *at]) == 0
        assert "as c sees it" in capsys.readouterr().out
        assert main(["leave", "--at", network.urls["b"]]) == 0
        assert capsys.readouterr().out == "left the network\n"
        assert network.processes["b"].wait() == 0
        assert network.processes["b"].stdout is not None
        assert network.processes["b"].stdout.read() == "left the network\n"
        assert main(["forget", "c", *at]) == 2
        assert "is there and answers" in capsys.readouterr().err
        network.kill("c")
        while main(["forget", "c", *at]) != 0:
            assert "is there and answers" in capsys.readouterr().err
        assert "node 'c' is gone\nnothing waited for it: peer " in capsys.readouterr().out
        assert main(["members", "--json", *at]) == 0
        assert [row["name"] for row in json.loads(capsys.readouterr().out)] == ["n0"]


@pytest.mark.parametrize("is_named", [True, False])
@on_loop
async def test_a_certificate_that_names_its_identity_lets_a_node_in_that_has_no_token(
    tmp_path: Path, is_named: bool
) -> None:
    identity = 4_729_581_942_038_695_057
    name = f",URI:siftcast:node:{identity}" if is_named else ""
    certificates = make_certificates(tmp_path / "tls", f"IP:127.0.0.1,DNS:localhost{name}")
    closed = principal("somebody", new_token(), "see = true")
    async with growing(tmp_path) as network:
        seed = await network.start("a", more=f"id = {identity + 1}\n{make_seed(tmp_path, identity + 1)}{closed}")
        more = f"id = {identity}\n{certificates.table}{closed}"
        if not is_named:
            with pytest.raises(LiveError, match="it shows no token"):
                await network.start("b", seed.address, more=more)
            return
        await network.start("b", seed.address, more=more)
        await until(lambda: network.present("a") == ["b"] and network.present("b") == ["a"])


def make_seed(folder: Path, identity: int) -> str:
    """The [tls] of another node of the same authority, whose certificate names it."""
    return make_certificates(
        folder / "tls", f"IP:127.0.0.1,DNS:localhost,URI:siftcast:node:{identity}", node="seed"
    ).table
