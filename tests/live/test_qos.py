"""The QoS overlay over sockets: processes join through those that run, leave and are killed; the others miss nothing.

It is ephemeral, as HOMED is: what is judged is that the network is whole again afterwards.
"""

from pathlib import Path

import pytest

from siftcast.runtimes.live.client.bus import connect
from siftcast.runtimes.live.local_network import LocalNetwork
from siftcast.runtimes.live.node.node import run
from tests.live.eight_processes import EVERY, outlive
from tests.live.readers import Readers

OPTIONS = {"degree": 3, "round_ms": 300.0, "request_ms": 200.0, "grace_ms": 1_000.0, "forget_ms": 2_000.0}


@pytest.mark.full
def test_eight_processes_grow_into_a_network_that_outlives_a_leaver_and_a_kill(tmp_path: Path) -> None:
    state = outlive(tmp_path, "qos", OPTIONS)
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
