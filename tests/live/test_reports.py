"""What a protocol reports is logged as a warning, unless nobody has to look after it."""

import json
from pathlib import Path

from siftcast.overlays.contract import Report
from tests.live.asynchronous import on_loop
from tests.live.growing import growing


@on_loop
async def test_reports_are_warnings_unless_they_are_routine(tmp_path: Path) -> None:
    async with growing(tmp_path, "filter-based") as network:
        await network.start("a")
        await (await network.start("b", "a")).placed
        network.nodes["a"].life.carrier.carry_out([Report("trouble", {"event": "e1"})])
        lines = [json.loads(line) for line in network.said["a"].getvalue().splitlines()]
        levels = {line["event"]: line["level"] for line in lines}
        assert levels["member is present"] == "info"
        assert levels["trouble"] == "warning"
        assert next(line for line in lines if line["event"] == "trouble")["event_id"] == "e1"
