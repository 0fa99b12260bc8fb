"""Two nodes that call each other at once keep one connection, and what both had to say arrives, once."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random

import pytest

from siftcast import Event
from siftcast.overlays.protocols.homed.messages import Cast
from siftcast.runtimes.live.node import calling
from siftcast.runtimes.live.node.configuration import parse_configuration
from siftcast.runtimes.live.node.node import Node
from siftcast.runtimes.live.node.peers import Peers
from siftcast.runtimes.live.wire.connection import Connection
from siftcast.runtimes.live.wire.frames import Frame, Welcome
from siftcast.runtimes.live.wire.node_frames import PeerMessage
from tests.live.asynchronous import on_loop, until
from tests.live.nodes import QUIET, SCHEMA


class Pair:
    """Two nodes that watch nobody, and are connected when one has something to say; `larger` by its identity."""

    def __init__(self, nodes: list[Node], patch: pytest.MonkeyPatch) -> None:
        self._peers = sorted((node.life.peers for node in nodes), key=lambda peers: peers._node)
        self.smaller, self.larger = self._peers
        self.got: dict[Peers, list[str]] = {peers: [] for peers in self._peers}
        take = Peers.take

        def note(peers: Peers, number: int, frame: PeerMessage) -> None:
            message = peers._codec.decode(frame.message)
            if isinstance(message, Cast):
                self.got[peers].append(message.event.id)
            else:
                take(peers, number, frame)

        patch.setattr(Peers, "take", note)

    def other(self, peers: Peers) -> Peers:
        return self.smaller if peers is self.larger else self.larger

    async def separate(self) -> None:
        """Ends the connection between them, and whatever would make another."""
        for peers in self._peers:
            peers._watched.clear()
            for connection in (*peers._links.values(), *peers._guests.values()):
                connection.close("test")
        await until(lambda: not any(peers.connected or peers._calls._tasks for peers in self._peers))
        for peers in self._peers:
            peers._lost.clear()

    def say(self, peers: Peers, id: str) -> None:
        peers.send(Cast(0, Event({"value": 1}, id), -1, -1), (self.other(peers)._node,))


@asynccontextmanager
async def pair(folder: Path, patch: pytest.MonkeyPatch) -> AsyncIterator[Pair]:
    (folder / "schema.toml").write_text(SCHEMA)
    listeners = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
    table = "".join(
        f'[[overlay.nodes]]\nname = "n{number}"\naddress = "127.0.0.1:{listener.getsockname()[1]}"\n'
        for number, listener in enumerate(listeners)
    )
    options = "[overlay.options]\nheartbeat_ms = 1e9\n"
    nodes = []
    for number, listener in enumerate(listeners):
        node = f'[node]\nname = "n{number}"\nlisten = "127.0.0.1:0"\n{QUIET}'
        overlay = f'[overlay]\nscheme = "homed"\nschema = "schema.toml"\n{options}{table}'
        nodes.append(Node(parse_configuration(node + overlay, str(folder / f"n{number}.toml"))))
        await nodes[-1].start(listener)
    try:
        await until(lambda: all(node.life.peers.connected for node in nodes))
        yield Pair(nodes, patch)
    finally:
        for node in nodes:
            await node.stop()


@on_loop
async def test_what_two_nodes_say_that_call_each_other_at_once_arrives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = Random(1)
    async with pair(tmp_path, monkeypatch) as both:
        for number in range(40):
            await both.separate()
            first = random.choice((both.smaller, both.larger))
            both.say(first, f"{number}")
            for _ in range(random.randrange(25)):
                await asyncio.sleep(0)
            both.say(both.other(first), f"{number}")
            await until(lambda said=f"{number}": all(said in got for got in both.got.values()))
            assert [len(peers.connected) for peers in (both.smaller, both.larger)] == [1, 1]
        assert set(map(tuple, both.got.values())) == {tuple(map(str, range(40)))}


@on_loop
async def test_a_call_that_is_not_put_through_is_dropped_when_the_others_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other would hear it before the answer to its own call, and give up what the answer came by."""
    dialled, answers = asyncio.Event(), asyncio.Event()
    async with pair(tmp_path, monkeypatch) as both:
        await both.separate()
        dial, receive = calling.dial_node, calling.Call.frame_received

        def slow_dial(line: calling.Line, address: str) -> object:
            async def connect(make: object) -> Connection:
                await dialled.wait()
                return await dial(line, address)(make)

            return connect if line is both.larger._calls._line else dial(line, address)

        def slow_answer(call: calling.Call, frame: Frame) -> None:
            if call._calls is both.smaller._calls and not answers.is_set() and (later or isinstance(frame, Welcome)):
                later.append((call, frame))
            else:
                receive(call, frame)

        later: list[tuple[calling.Call, Frame]] = []
        monkeypatch.setattr(calling, "dial_node", slow_dial)
        monkeypatch.setattr(calling.Call, "frame_received", slow_answer)
        both.say(both.larger, "of the larger")
        await asyncio.sleep(0)
        both.say(both.smaller, "of the smaller")
        await until(lambda: later)
        dialled.set()
        for _ in range(200):
            await asyncio.sleep(0)
        answers.set()
        for call, frame in later:
            call._connection.handler.frame_received(frame)
        await until(lambda: both.got[both.larger] and both.larger.connected)
        both.say(both.larger, "later")
        await until(lambda: "later" in both.got[both.smaller])
        assert both.got == {both.smaller: ["of the larger", "later"], both.larger: ["of the smaller"]}
