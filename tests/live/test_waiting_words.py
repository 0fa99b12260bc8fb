"""What nodes of a planned network say while something waits: for a place, for the coordinator, for a member."""

from pathlib import Path

import siftcast
from siftcast.runtimes.live.client import operating
from tests.live.asynchronous import on_loop, until
from tests.live.growing import Growing, growing
from tests.live.nodes import url_of

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
