"""A network whose nodes are as far from each other as a table says, which may change while they run."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from siftcast import Schema
from siftcast.overlays.epochs.planned import Planned
from siftcast.overlays.epochs.view import View
from siftcast.runtimes.live.node import peers, surveying
from siftcast.runtimes.live.node.planning import survey_of
from siftcast.testing import SlowLine
from tests.live.small_networks import SmallNetwork, small_network


def quicken(patch: pytest.MonkeyPatch) -> None:
    """Has the nodes of this process measure each other more often than they would."""
    patch.setattr(peers, "_ROUND_S", 0.05)
    patch.setattr(surveying, "EAGER_S", 0.1)


class Terrain:
    """A network, and a line for each way between two of its nodes."""

    def __init__(self, network: SmallNetwork, lines: Mapping[tuple[str, str], SlowLine]) -> None:
        self.network = network
        self._lines = lines

    def put(self, delays_ms: Mapping[str, float]) -> None:
        """Pairs, as in `n0 n1`, are so far apart from now on."""
        for pair, delay_ms in delays_ms.items():
            here, there = pair.split()
            self._lines[here, there].delay_ms = self._lines[there, here].delay_ms = delay_ms

    async def start(self, name: str) -> None:
        others = [each for each in self.network.names if each != name]
        await self.network.start(name, {each: f"127.0.0.1:{self._lines[name, each].port}" for each in others})

    def view(self, name: str = "n0") -> View:
        protocol = self.network.nodes[name].life.protocol
        assert isinstance(protocol, Planned)
        assert protocol.view is not None
        return protocol.view

    def plan(self, name: str = "n0") -> Any:
        """The plan in force as a node has it, with names in place of nodes."""
        overlay, view = self.network.nodes[name].life.overlay, self.view(name)
        epoch = view.epoch(view.used)
        assert epoch is not None
        schema = None if overlay.terms.schema is None else Schema.parse(overlay.terms.schema)
        plan = overlay.chosen.plan(*survey_of(overlay.chosen, schema)(epoch))
        return overlay.chosen.assign(plan, [view.names[node] for node in epoch.nodes])

    def tree(self, name: str = "n0") -> set[str]:
        """The links of the tree that all nodes use; nothing while they differ."""
        views = [self.view(name) for name in self.network.names]
        if len({(view.version, len(view.epochs)) for view in views}) > 1 or len(views[0].epochs) > 1:
            return set()
        return {" ".join(sorted(edge)) for edge in self.plan(name).tree.edges}


@asynccontextmanager
async def terrain(
    folder: Path, count: int, delays_ms: Mapping[str, float], *, overlay: str, **more: Any
) -> AsyncIterator[Terrain]:
    """Nodes that have all started, and know their neighbours."""
    async with AsyncExitStack() as stack:
        network = await stack.enter_async_context(small_network(folder, count, overlay=overlay, **more))
        lines = {
            (here, there): await stack.enter_async_context(SlowLine("127.0.0.1", network.port(there), 0.0))
            for here, there in permutations(network.names, 2)
        }
        found = Terrain(network, lines)
        found.put(delays_ms)
        for name in network.names:
            await found.start(name)
        await network.joined()
        yield found
