"""A node that is reached is the one that was meant: names are checked by both ends, and two of one name are noticed."""

import asyncio
import json
from pathlib import Path

import pytest

import siftcast
from siftcast import Event
from siftcast.runtimes.live.node import rivals
from siftcast.runtimes.live.wire.frames import VERSION, Failure, Frame, Heartbeat, Hello, Welcome, encode_frame
from tests.live.asynchronous import on_loop, until
from tests.live.small_networks import SmallNetwork, small_network
from tests.live.wire import read_frame

N2_BETWEEN = 'links = [["n0", "n2"], ["n1", "n2"]]'
"""So that n2 calls both others."""


def logged(network: SmallNetwork, name: str, event: str) -> list[dict[str, str]]:
    lines = [json.loads(line) for line in network.log_of(name).splitlines()]
    return [line for line in lines if line["event"] == event]


@on_loop
async def test_two_addresses_that_are_exchanged_are_noticed_in_words_and_nothing_joins(tmp_path: Path) -> None:
    async with small_network(tmp_path, 3, overlay=N2_BETWEEN) as network:
        await network.start("n0")
        await network.start("n1")
        await network.start("n2", {"n0": network.address("n1"), "n1": network.address("n0")})
        await until(lambda: len(logged(network, "n2", "peer not reached")) >= 2)
        said = {line["peer"]: line for line in logged(network, "n2", "peer not reached")}
        for wanted, found in (("n0", "n1"), ("n1", "n0")):
            assert f"this is node '{found}', not '{wanted}'" in said[wanted]["reason"]
            assert "[[overlay.nodes]] of 'n2'" in said[wanted]["reason"]
            assert said[wanted]["address"] == network.address(found)
        assert network.nodes["n2"].life.peers.missing == ["n0", "n1"]
        for name in ("n0", "n1"):
            assert network.nodes[name].life.peers.missing == ["n2"]
            assert not logged(network, name, "peer found")


@on_loop
async def test_nothing_crosses_while_addresses_are_exchanged_and_everything_when_they_are_right(tmp_path: Path) -> None:
    async with small_network(tmp_path, 3, overlay=N2_BETWEEN) as network:
        await network.start("n0")
        await network.start("n1")
        await network.start("n2", {"n0": network.address("n1"), "n1": network.address("n0")})
        async with (
            siftcast.connect(network.url("n0")) as first,
            siftcast.connect(network.url("n1")) as second,
            first.subscribe("value = 0") as of_first,
            second.subscribe("value = 1") as of_second,
        ):
            await until(lambda: len(logged(network, "n2", "peer not reached")) >= 2)
            async with siftcast.connect(network.url("n2")) as bus:
                await bus.publish({"value": 0})
                await bus.publish({"value": 1})
            await network.nodes["n2"].stop()
            await network.start("n2")
            await network.joined()
            await until(lambda: network.nodes["n2"].describe()["state"]["entries"] == 2)
            async with siftcast.connect(network.url("n2")) as bus:
                await bus.publish(Event({"value": 0}, "for n0"))
                await bus.publish(Event({"value": 1}, "for n1"))
            assert [(await anext(stream)).id for stream in (of_first, of_second)] == ["for n0", "for n1"]


@on_loop
async def test_a_node_that_answers_under_another_name_than_it_was_called_by_is_not_joined(tmp_path: Path) -> None:
    """Another implementation may not look at whom the caller wants; then the caller notices."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        hello = await read_frame(reader)
        assert isinstance(hello, Hello)
        assert (hello.name, hello.called) == ("n1", "n0")
        writer.write(encode_frame(Welcome(VERSION, "n7", 1_000.0, 10_000, 10_000)))
        await reader.read()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with small_network(tmp_path, 2) as network:
        node = await network.start("n1", {"n0": address})
        await until(lambda: logged(network, "n1", "peer not reached"))
        (line,) = logged(network, "n1", "peer not reached")
        assert f"the node at {address} is 'n7', not 'n0'; are two addresses exchanged" in line["reason"]
        assert node.life.peers.missing == ["n0"]
    server.close()


@on_loop
async def test_a_node_whose_own_address_is_listed_as_anothers_is_told(tmp_path: Path) -> None:
    async with small_network(tmp_path, 2) as network:
        await network.start("n1", {"n0": network.address("n1")})
        await until(lambda: "this is node 'n1', not 'n0'" in network.log_of("n1"))
        assert network.nodes["n1"].life.peers.missing == ["n0"]


class Caller:
    """Calls a node as one of its neighbours, by hand."""

    def __init__(self, network: SmallNetwork, called: str, name: str, incarnation: str) -> None:
        overlay = network.nodes[called].life.overlay
        identity = next(node for node, each in overlay.names.items() if each == name)
        self._hello = Hello(VERSION, "node", name, "", overlay.digest, incarnation, called, VERSION, identity)
        self._port = network.port(called)
        self.answers = True
        self.heard: list[Frame] = []

    async def __aenter__(self) -> "Caller":
        reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        self._writer.write(encode_frame(self._hello))
        self._task = asyncio.create_task(self._listen(reader))
        return self

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        while not reader.at_eof():
            try:
                frame = await read_frame(reader)
            except (asyncio.IncompleteReadError, ConnectionResetError):
                return
            self.heard.append(frame)
            if isinstance(frame, Heartbeat) and frame.echo and self.answers:
                self._writer.write(encode_frame(Heartbeat(frame.number)))

    @property
    def is_welcome(self) -> bool:
        return any(isinstance(frame, Welcome) for frame in self.heard)

    @property
    def is_hung_up(self) -> bool:
        return self._task.done()

    @property
    def failures(self) -> list[Failure]:
        return [frame for frame in self.heard if isinstance(frame, Failure)]

    async def __aexit__(self, *_: object) -> None:
        self._writer.close()
        await self._task


@on_loop
async def test_a_second_process_of_a_name_is_turned_away_while_the_first_lives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rivals, "ECHO_WAIT_S", 60.0)
    monkeypatch.setattr(rivals, "_LOOKS", 6_000)
    async with small_network(tmp_path, 2) as network:
        await network.start("n0")
        async with Caller(network, "n0", "n1", "one") as first:
            await until(lambda: first.is_welcome)
            for _ in range(2):
                async with Caller(network, "n0", "n1", "two") as second:
                    await until(lambda second=second: second.is_hung_up)  # type: ignore[misc]
                    (failure,) = second.failures
                    assert failure.code == "network-mismatch"
                    assert "two nodes say they are 'n1'" in failure.message
            assert not first.is_hung_up
            assert network.nodes["n0"].life.peers.present == ["n1"]
            (line,) = logged(network, "n0", "two nodes with one name")  # once, however often it calls
            assert line["level"] == "warning"
            assert line["kept"] != line["turned_away"]


@on_loop
async def test_a_process_that_does_not_answer_any_more_gives_way_to_its_successor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rivals, "ECHO_WAIT_S", 0.05)
    async with small_network(tmp_path, 2) as network:
        await network.start("n0")
        async with Caller(network, "n0", "n1", "before the power failed") as first:
            await until(lambda: first.is_welcome)
            first.answers = False
            async with Caller(network, "n0", "n1", "after") as second:
                await until(lambda: second.is_welcome)
                await until(lambda: first.is_hung_up)
                assert network.nodes["n0"].life.peers.present == ["n1"]
        assert not logged(network, "n0", "two nodes with one name")


@on_loop
async def test_a_process_that_calls_again_replaces_its_own_connection_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rivals, "ECHO_WAIT_S", 1e9)
    async with small_network(tmp_path, 2) as network:
        await network.start("n0")
        async with Caller(network, "n0", "n1", "one") as first:
            await until(lambda: first.is_welcome)
            async with Caller(network, "n0", "n1", "one") as second:
                await until(lambda: second.is_welcome and first.is_hung_up)
                assert network.nodes["n0"].life.peers.present == ["n1"]


@on_loop
async def test_a_node_that_is_started_again_is_found_again(tmp_path: Path) -> None:
    async with small_network(tmp_path, 2) as network:
        await network.start("n0")
        for _ in range(3):
            await network.start("n1")
            await network.joined()
            await network.nodes["n1"].stop()
        assert not logged(network, "n0", "two nodes with one name")


@on_loop
async def test_a_caller_with_the_name_of_the_node_it_calls_is_told(tmp_path: Path) -> None:
    async with small_network(tmp_path, 2) as network:
        await network.start("n0")
        async with Caller(network, "n0", "n0", "another") as caller:
            await until(lambda: caller.is_hung_up)
            assert "two nodes say they are 'n0'" in caller.failures[0].message
