"""Core trees over sockets: processes join through those that run, leave and are killed; the others miss nothing.

They are ephemeral, as HOMED is: what is judged is that the network is whole again afterwards.
"""

import asyncio
from pathlib import Path

import pytest

from siftcast.runtimes.live.client.bus import connect
from siftcast.runtimes.live.local_network import LocalNetwork
from siftcast.runtimes.live.node.node import run
from tests.live.eight_processes import EVERY, outlive
from tests.live.readers import PATIENCE_S, Readers

OPTIONS = {"cores": 2, "beat_ms": 300.0, "rebuild_ms": 3_000.0}


async def all_agree(network: LocalNetwork, names: list[str]) -> None:
    """Waits until each of these has the same leader and the same two cores, one of which is its relay."""
    found: set[tuple[int, tuple[int, ...]]] = set()
    relays: list[int | None] = []
    try:
        async with asyncio.timeout(PATIENCE_S):
            while not _is_common(found, relays):
                await asyncio.sleep(0.2)
                described = [await asyncio.to_thread(network.describe, name) for name in names]
                found = {(each["state"]["leader"], tuple(each["state"]["cores"])) for each in described}
                relays = [each["state"]["relay"] for each in described]
    except TimeoutError:
        raise AssertionError(f"all should have a leader and two cores in common: {found}, {relays}") from None


def _is_common(found: set[tuple[int, tuple[int, ...]]], relays: list[int | None]) -> bool:
    """One choice, of as many cores as there are to be: a leader that is alone at first chooses itself."""
    cores = [cores for _, cores in found]
    return len(cores) == 1 and len(cores[0]) == OPTIONS["cores"] and set(relays) <= set(cores[0])


@pytest.mark.full
@pytest.mark.parametrize("joined", ["one-tree", "all-pairs"])
def test_eight_processes_grow_into_a_network_that_outlives_a_leaver_and_a_kill(tmp_path: Path, joined: str) -> None:
    state = outlive(tmp_path, "core-tree", {**OPTIONS, "joined": joined}, all_agree)
    assert state["version"] >= 1


def test_three_nodes_of_a_list_deliver_to_each_other(tmp_path: Path) -> None:
    with LocalNetwork(tmp_path, 3, "core-tree", options=OPTIONS) as network:

        async def live() -> None:
            readers = Readers(network)
            await readers.start("n1", "value < 500")
            await readers.start("n2", EVERY)
            async with connect(network.urls["n0"]) as publisher:
                await readers.expect_all(publisher, {"n1": range(500), "n2": range(1_000)}, 0)
            await readers.stop()

        run(live())
