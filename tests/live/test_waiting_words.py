"""What nodes of a planned network say while something waits: for a place, for the coordinator, for a member."""

from pathlib import Path

from tests.live.asynchronous import on_loop, until
from tests.live.growing import growing

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
