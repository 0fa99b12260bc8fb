"""What nodes of a planned network say while something waits: for a place, for the coordinator, for a member."""

import signal
import subprocess
from pathlib import Path

import pytest

import siftcast
from siftcast.overlays.contract import PeerGone
from siftcast.overlays.epochs.planned import Planned
from siftcast.runtimes.live.client import operating
from siftcast.runtimes.live.local_network import LocalNetwork
from siftcast.runtimes.live.node import node
from tests.live.asynchronous import on_loop, until
from tests.live.growing import Growing, growing
from tests.live.nodes import url_of
from tests.live.test_commands import finish, start

PLANNED = "filter-based"


@on_loop
async def test_the_log_of_a_node_that_joins_says_ready_when_it_has_its_place(tmp_path: Path) -> None:
    async with growing(tmp_path, PLANNED) as network:
        await network.start("a")
        assert network.logged("a")[-2:] == ["listening", "ready"]
        joining = await network.start("b", "a")
        assert "listening" in network.logged("b")
        assert "ready" not in network.logged("b")
        await joining.placed
        said = network.logged("b")
        assert said.index("listening") < said.index("ready")


async def reach_of(network: Growing, at: str) -> dict[str, tuple[str, str]]:
    """The state that the members agree on and what one of them sees, by name."""
    async with siftcast.connect(url_of(network.nodes[at])) as bus:
        return {row["name"]: (row["state"], row["reach"]) for row in await operating.members_of(bus)}


@on_loop
async def test_a_coordinator_that_is_down_is_shown_as_not_reached_beside_its_agreed_state(tmp_path: Path) -> None:
    async with growing(tmp_path, PLANNED) as network:
        await network.start("a")
        await (await network.start("b", "a")).placed
        await until(lambda: network.present("b") == ["a"])
        assert await reach_of(network, "b") == {"a": ("present", "connected"), "b": ("present", "this node")}
        await network.nodes["a"].stop()
        await until(lambda: not network.present("b"))
        assert await reach_of(network, "b") == {"a": ("present", "not reached"), "b": ("present", "this node")}


def line_with(process: subprocess.Popen[str], words: str) -> str:
    """The next line on standard error that has these words in it."""
    assert process.stderr is not None
    for line in process.stderr:
        if words in line:
            return line
    raise AssertionError(f"it ended, and never said '{words}'")


def test_a_command_that_waits_and_is_interrupted_says_for_whom_and_that_what_was_asked_for_goes_on(
    tmp_path: Path,
) -> None:
    with LocalNetwork(tmp_path, 3) as network:
        network.await_joined()
        network.kill("n0")
        at = ["--at", network.urls["n1"]]
        leaving = start("leave", *at)
        said = line_with(leaving, "leaving for 0 s: ")
        assert said.rstrip().endswith(
            "; waits for coordinator 'n0', which this node does not reach; if it never comes back: siftcast forget n0"
        )
        out, said = finish(leaving, signal.SIGINT)
        assert (leaving.returncode, out) == (130, "")
        assert f"leaving goes on without this command; to see how far it is: siftcast members {' '.join(at)}" in said
        forgetting = start("forget", "n0", "--at", network.urls["n2"])
        assert finish(forgetting)[0] == "node 'n0' is gone\n"
        assert network.processes["n1"].wait(60) == 0  # it has gone on


@on_loop
async def test_who_does_not_answer_the_coordinator_or_one_that_would_be_is_named(tmp_path: Path) -> None:
    async with growing(tmp_path, PLANNED) as network:
        await network.start("a")
        for name in "bc":
            await (await network.start(name, "a")).placed
        assert not any(node.life.waits_for() for node in network.nodes.values())  # nobody wants anything
        await until(lambda: all(network.present(name) for name in "abc"))
        await network.nodes["c"].stop()
        await until(lambda: "c" not in network.present("a"))
        silent = "waits for node 'c', which does not answer; if it never comes back: siftcast forget c"
        await until(lambda: silent in network.nodes["a"].life.waits_for())
        await network.nodes["a"].stop()
        await until(lambda: "a" not in network.present("b"))
        network.nodes["b"].life.tell(PeerGone(network.identity("a")))
        unheard = "waits for most of the other nodes, and does not reach 'c'; if it never comes back: siftcast forget c"
        await until(lambda: network.nodes["b"].life.waits_for() == [unheard])


@on_loop
async def test_a_joining_node_asks_those_it_has_heard_of_when_its_seed_is_down_and_says_whom_it_asks_in_vain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node, "_SAY_S", 0.1)
    async with growing(tmp_path, PLANNED) as network:
        await network.start("a")
        for name in "bc":
            await (await network.start(name, "a")).placed
        coordinator = network.nodes["a"].life.protocol
        assert isinstance(coordinator, Planned)
        monkeypatch.setattr(coordinator._coordinator, "join", lambda *_: "")  # it is shown the view, and no place
        joining = await network.start("d", "a")
        await until(lambda: "b" in joining._lasting.book.names.values())
        await network.nodes["a"].stop()
        in_vain = f"asks 'a' for a place, and does not reach it at {network.nodes['a'].address}"
        await until(lambda: in_vain in network.said["d"].getvalue())
        assert not joining.placed.done()
        await until(lambda: "a" not in network.present("b"))
        network.nodes["b"].life.tell(PeerGone(network.identity("a")))
        await joining.placed
