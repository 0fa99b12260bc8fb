"""HOMED over sockets: processes join through those that run, leave in peace and are killed; the others miss nothing.

HOMED is ephemeral: what is published while a node is down, a crash is not noticed yet or a connection is made again may
be lost. What is judged here is that the network is whole again afterwards.
"""

import asyncio
from pathlib import Path

import pytest

from siftcast.interfaces.cli import main
from siftcast.runtimes.live.client.bus import connect
from siftcast.runtimes.live.local_network import LocalNetwork
from siftcast.runtimes.live.node.node import run
from tests.live.eight_processes import EVERY, outlive
from tests.live.readers import PATIENCE_S, Readers

OPTIONS = {"heartbeat_ms": 500.0, "request_ms": 200.0, "bits": 32}


async def all_know(network: LocalNetwork, names: list[str]) -> None:
    """Waits until each of these counts on all of them, who all want something, and on nobody else."""
    found = dict.fromkeys(names, 0)
    try:
        async with asyncio.timeout(PATIENCE_S):
            while set(found.values()) != {len(names)}:
                await asyncio.sleep(0.2)
                for name in names:
                    described = await asyncio.to_thread(network.describe, name)
                    found[name] = described["state"]["known"]
    except TimeoutError:
        raise AssertionError(f"each should count on {len(names)} nodes: {found}") from None


@pytest.mark.full
def test_eight_processes_grow_into_a_network_that_outlives_a_leaver_and_a_kill(tmp_path: Path) -> None:
    state = outlive(tmp_path, "homed", OPTIONS, all_know)
    assert state["known"] >= 7


def test_three_nodes_of_a_list_deliver_to_each_other(tmp_path: Path) -> None:
    with LocalNetwork(tmp_path, 3, "homed", options=OPTIONS) as network:

        async def live() -> None:
            readers = Readers(network)
            await readers.start("n1", "value < 500")
            await readers.start("n2", EVERY)
            async with connect(network.urls["n0"]) as publisher:
                await readers.expect_all(publisher, {"n1": range(500), "n2": range(1_000)}, 0)
            await readers.stop()

        run(live())


def test_a_schema_without_domains_is_refused_where_it_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "schema.toml").write_text('[[attribute]]\nname = "note"\ntype = "string"\n', encoding="utf-8")
    file = tmp_path / "node.toml"
    file.write_text('[node]\nname = "a"\n[overlay]\nscheme = "homed"\nschema = "schema.toml"\n', encoding="utf-8")
    assert main(["serve", "--config", str(file)]) == 2
    assert "digests of kind 'hashed'" in capsys.readouterr().err
