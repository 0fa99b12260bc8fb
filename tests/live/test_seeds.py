"""Seeds are asked again while a node is outside; without a plan, too, who was forgotten is turned away."""

import asyncio
import json
from pathlib import Path

import msgspec
import pytest

import siftcast
from siftcast.overlays.contract import PeerGone
from siftcast.runtimes.live.client import operating
from siftcast.runtimes.live.errors import LiveError
from siftcast.runtimes.live.node import node as node_module
from siftcast.runtimes.live.node.configuration import JoinSpec, parse_configuration
from siftcast.runtimes.live.node.node import Node, ask_to_be_invited
from tests.live.asynchronous import on_loop, until
from tests.live.growing import Growing, growing
from tests.live.nodes import url_of


async def join_through(network: Growing, folder: Path, first: str, second: str) -> Node:
    """A node whose first seed has answered and is down before the node begins."""
    text = f'[node]\nname = "late"\nlisten = "127.0.0.1:0"\n[join]\nseeds = ["{network.nodes[first].address}"]\n'
    file = parse_configuration(text, str(folder / "late.toml"))
    invited = await ask_to_be_invited(file)
    seeds = [network.nodes[first].address, network.nodes[second].address]
    configuration = msgspec.structs.replace(file.configuration, join=JoinSpec(seeds=seeds))
    await network.nodes[first].stop()
    late = Node(msgspec.structs.replace(file, configuration=configuration), invited=invited)
    await late.start()
    network.nodes["late"] = late
    return late


@pytest.mark.parametrize("scheme", ["filter-based", "gossip"])
@on_loop
async def test_another_seed_lets_a_node_in_when_the_one_that_answered_is_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    monkeypatch.setattr(node_module, "_ASK_AGAIN_S", 0.05)
    async with growing(tmp_path, scheme) as network:
        await network.start("a")
        for name in "bc":
            await (await network.start(name, "a")).placed
        late = await join_through(network, tmp_path, "b", "c")
        await late.placed
        await until(lambda: {"a", "c"} & set(late.life.peers.present))
        if scheme == "filter-based":
            assert late._seeking is not None
            await late._seeking, "a member of a planned network knows whom to ask"


@on_loop
async def test_a_forgotten_node_is_turned_away_by_all_without_a_plan(tmp_path: Path) -> None:
    async with growing(tmp_path, "gossip") as network:
        await network.start("a", data=True)
        for name in "bc":
            await network.start(name, "a", data=True)
        await until(lambda: all(len(network.present(name)) == 2 for name in "abc"))
        forgotten = network.identity("c")
        heard = []
        tell = network.nodes["b"].life.peers._tell
        network.nodes["b"].life.peers._tell = lambda stimulus: heard.append(stimulus) or tell(stimulus)
        await network.nodes["c"].stop()
        async with siftcast.connect(url_of(network.nodes["a"])) as bus:
            await operating.forget(bus, "c", lambda _: None)
        await until(lambda: PeerGone(forgotten) in heard)
        for seed in "ab":
            with pytest.raises(LiveError, match=r"'c' was declared gone; begin with an empty data folder"):
                await network.start("c", seed, data=True)
        await network.start("d", "b", data=True)  # whoever comes later hears of it
        await until(lambda: network.nodes["d"].life.peers.connected)
        with pytest.raises(LiveError, match="declared gone"):
            await network.start("c", "d", data=True)
        await network.nodes["a"].stop()
        assert json.loads((tmp_path / "a" / "peers").read_text())["gone"] == [forgotten]
        await network.start("a", "b", data=True)  # and who starts again knows it still
        assert network.nodes["a"].life._lasting.book.gone == (forgotten,)


@on_loop
async def test_a_planned_network_says_by_its_plan_who_is_gone(tmp_path: Path) -> None:
    async with growing(tmp_path, "filter-based") as network:
        await network.start("a")
        await (await network.start("b", "a")).placed
        await network.nodes["b"].stop()
        async with siftcast.connect(url_of(network.nodes["a"])) as bus:
            await operating.forget(bus, "b", lambda _: None)
        assert network.nodes["a"].life._lasting.book.gone == ()
        await asyncio.wait_for((await network.start("b", "a")).placed, 30)  # without a folder it is another node
