"""Gossiping nodes that discover the ground they stand on, over sockets: neighbours, delays, events."""

from pathlib import Path

import siftcast
from tests.live.asynchronous import on_loop, until
from tests.live.growing import Growing, growing
from tests.live.nodes import url_of

NAMES = "abcde"


def state(network: Growing, name: str) -> dict[str, object]:
    return dict(network.nodes[name].life.protocol.state())


def agree(network: Growing) -> bool:
    """Whether all have settled, and each neighbour has the other."""
    if not all(network.nodes[name].life.protocol.is_settled for name in network.nodes):
        return False
    links = {(network.identity(name), peer) for name in network.nodes for peer in state(network, name)["neighbours"]}
    return all((there, here) in links for here, there in links) and len({here for here, _ in links}) == len(NAMES)


@on_loop
async def test_nodes_find_neighbours_by_measured_delays_and_events_reach_all(tmp_path: Path) -> None:
    async with growing(tmp_path, "gossip", 'ground = "measured"\nneighbours = 3\ntargets = 3') as network:
        await network.start("a")
        for name in NAMES[1:]:
            await network.start(name, "a")
        await until(lambda: agree(network))
        for name in NAMES:
            known = network.nodes[name].life.protocol.members()
            assert all(each.delay_ms > 0 for each in known if each.state == "neighbour")
            assert len(state(network, name)["neighbours"]) - len(state(network, name)["distant"]) <= 3
        assert sum(state(network, name)["measurements"] for name in NAMES) > 0
        async with (
            siftcast.connect(url_of(network.nodes["e"])) as reader,
            siftcast.connect(url_of(network.nodes["b"])) as writer,
            reader.subscribe("price < 95") as stream,
        ):
            await writer.publish({"price": 90})
            assert (await anext(stream)).attributes == {"price": 90}
            shown = (await reader.describe())["state"]
            assert {"inferences", "measurements", "walks", "distant", "coordinate"} <= set(shown)
