"""The QoS overlay over sockets: processes join through those that run, leave and are killed; the others miss nothing.

It is ephemeral, as HOMED is: what is judged is that the network is whole again afterwards.
"""

from pathlib import Path

import pytest

from siftcast.runtimes.live.client import operating
from siftcast.runtimes.live.client.bus import connect
from siftcast.runtimes.live.local_network import LocalNetwork
from siftcast.runtimes.live.node.node import run
from tests.live.readers import Readers

OPTIONS = {"degree": 3, "round_ms": 300.0, "request_ms": 200.0, "grace_ms": 1_000.0, "forget_ms": 2_000.0}
EVERY = "value >= 0"


@pytest.mark.full
def test_eight_processes_grow_into_a_network_that_outlives_a_leaver_and_a_kill(tmp_path: Path) -> None:
    with LocalNetwork(tmp_path, 1, "qos", options=OPTIONS) as network:
        for number in range(1, 8):
            network.join(f"n{number}", f"n{number // 2}")
        filters = {"n0": EVERY, "n1": "value < 500", "n2": "value >= 500", "n3": EVERY, "n4": "value < 250"}
        filters |= {"n5": "value BETWEEN 100 AND 900", "n6": EVERY, "n7": "value < 500"}
        wanted = {name: range(1_000) for name in ("n0", "n3", "n6")}
        wanted |= {"n1": range(500), "n7": range(500), "n4": range(250), "n2": range(500, 1_000), "n5": range(100, 901)}

        async def live() -> None:
            readers = Readers(network)
            for name, text in filters.items():
                await readers.start(name, text)
            async with connect(network.urls["n0"]) as first, connect(network.urls["n6"]) as other:
                number = await readers.expect_all(first, wanted, 0)
                await readers.expect_all(other, wanted, 500)
                await readers.stop("n5")
                async with connect(network.urls["n5"]) as leaver:
                    await operating.leave(leaver, lambda _: None)
                number = await readers.expect_all(first, wanted, number)
                network.kill("n3")
                await readers.stop("n3")
                number = await readers.expect_all(other, wanted, number)
                network.start("n3", wait=True)
                await readers.start("n3", EVERY)
                await readers.expect_all(first, wanted, number)
            await readers.stop()

        run(live())
        state = network.describe("n0")["state"]
        assert len(state["publishing"]) >= 2
        assert state["neighbours"]


def test_nodes_of_a_list_deliver_to_each_other_and_say_which_bounds_are_kept(tmp_path: Path) -> None:
    with LocalNetwork(tmp_path, 3, "qos", options=OPTIONS) as network:

        async def live() -> None:
            readers = Readers(network)
            await readers.start("n1", "value < 500")
            await readers.start("n2", EVERY)
            async with connect(network.urls["n0"]) as publisher:
                await readers.expect_all(publisher, {"n1": range(500), "n2": range(1_000)}, 0)
            await readers.stop()

        run(live())
        state = network.describe("n1")["state"]
        assert (state["bounds_missed"], state["bounds_impossible"]) == (0, 0)
