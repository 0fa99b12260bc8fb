"""A node is its name: the order of the list means nothing, and a folder that does not fit is refused in words."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

import siftcast
from siftcast import Event
from siftcast.overlays.contract import TimerFired
from siftcast.overlays.durability.watchdog import WATCH_TIMER
from siftcast.overlays.tables import matcher_tables
from siftcast.runtimes.live.local_network import LocalNetwork
from siftcast.runtimes.live.node.configuration import parse_configuration
from siftcast.runtimes.live.node.layout import lay_out
from siftcast.runtimes.live.node.node import Node
from tests.live.asynchronous import on_loop

LIST = "[[overlay.nodes]]\n"


def reorder(network: LocalNetwork) -> None:
    """Writes the list of nodes the other way round, into all configurations."""
    for name in network.names:
        path = network.folder / f"{name}.toml"
        head, *members = path.read_text().split(LIST)
        path.write_text(head + "".join(LIST + member for member in reversed(members)))


@pytest.mark.parametrize(
    "scheme",
    ["filter-based", pytest.param("kyra", marks=pytest.mark.full), pytest.param("match-early", marks=pytest.mark.full)],
)
def test_an_accepted_event_arrives_although_the_list_is_in_another_order_afterwards(
    tmp_path: Path, scheme: str
) -> None:
    with LocalNetwork(tmp_path, 3, scheme, more='data = "data-{name}"') as network:
        network.await_joined()

        @on_loop
        async def publish_to_one_that_is_down() -> None:
            async with siftcast.connect(network.urls["n2"]) as bus, bus.subscribe("value >= 0", durable="d"):
                pass
            await asyncio.to_thread(network.await_quiet)
            network.kill("n2")
            async with siftcast.connect(network.urls["n0"], timeout_s=60) as bus:
                for number in range(20):
                    await bus.publish(Event({"value": 49 * number}, id=f"e{number}"), durable=True)

        @on_loop
        async def read() -> None:
            async with (
                siftcast.connect(network.urls["n2"], timeout_s=60) as bus,
                bus.subscribe("value >= 0", durable="d") as stream,
            ):
                found = [await anext(stream) for _ in range(20)]
                assert [event.id for event in found] == [f"e{number}" for number in range(20)]

        publish_to_one_that_is_down()
        for name in ("n0", "n1"):
            network.kill(name)
        reorder(network)
        for name in network.names:
            network.start(name)
        for name in network.names:
            network._await_ready(name)
        read()


def test_all_orders_of_a_list_are_one_network() -> None:
    members = [f'{LIST}name = "{name}"\naddress = "127.0.0.1:{port}"\n' for port, name in enumerate("bca", 7_001)]
    table = '[node]\nname = "a"\n[overlay]\nscheme = "filter-based"\n'
    one, other = (
        lay_out(parse_configuration(table + "".join(listed)), matcher_tables("brute_force"))
        for listed in (members, members[::-1])
    )
    for part in ("names", "node", "contacts", "digest"):
        assert getattr(one, part) == getattr(other, part)
    (node,) = (node for node, name in one.names.items() if name == "b")
    assert one.addresses[node] == "127.0.0.1:7001"


def test_a_folder_of_another_node_is_refused_in_words_and_left_as_it_is(tmp_path: Path) -> None:
    with LocalNetwork(tmp_path, 1, more='data = "data-{name}"'):
        pass
    path = tmp_path / "n0.toml"
    before = (tmp_path / "data-n0" / "store.sqlite").read_bytes()
    path.write_text(path.read_text().replace('name = "n0"', 'name = "other"'))
    command = [sys.executable, "-m", "siftcast", "serve", "--config", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode != 0
    assert "belongs to node 'n0', and this is 'other'" in done.stderr
    assert (tmp_path / "data-n0" / "store.sqlite").read_bytes() == before


@on_loop
async def test_a_neighbour_that_was_never_there_is_missing_and_no_stall(tmp_path: Path) -> None:
    members = "".join(f'{LIST}name = "{name}"\naddress = "127.0.0.1:1"\n' for name in ("a", "b"))
    table = f'[node]\nname = "a"\nlisten = "127.0.0.1:0"\ndata = "data"\n[log]\nlevel = "error"\n[overlay]\n{members}'
    node = Node(parse_configuration(table, str(tmp_path / "a.toml")))
    await node.start()
    try:
        state = node.describe()["state"]
        assert state["peers_lost"] == ["b"]
        assert node.describe()["missing"] == ["b"]
        node.life.tell(TimerFired(WATCH_TIMER))
        assert state["stalled"] == []
    finally:
        await node.stop()
