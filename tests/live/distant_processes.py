"""Nodes as processes, each pair with a slow line of its own between them: in one more process, or, where they are to
change while nodes run, in the one of the test.
"""

import asyncio
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from itertools import permutations
from pathlib import Path

from siftcast.runtimes.live.local_network import LocalNetwork
from siftcast.testing import SlowLine
from tests.live.distances import Distances

_LINE = re.compile(r"(\S+) leads to")


@contextmanager
def distant_network(
    folder: Path, distances: Distances, scheme: str, options: Mapping[str, object]
) -> Iterator[LocalNetwork]:
    """A network whose nodes reach each other as late as their distances say."""
    with ExitStack() as stack:

        def lines(listening: Mapping[str, str]) -> dict[tuple[str, str], str]:
            pairs = list(permutations(range(distances.nodes), 2))
            wanted = [f"0={listening[f'n{other}']}@{distances.between(one, other):g}" for one, other in pairs]
            addresses = stack.enter_context(_slow_lines(wanted))
            return {(f"n{one}", f"n{other}"): at for (one, other), at in zip(pairs, addresses, strict=True)}

        yield stack.enter_context(LocalNetwork(folder, distances.nodes, scheme, options=options, lines=lines))


@contextmanager
def _slow_lines(lines: list[str]) -> Iterator[list[str]]:
    """Slow lines; yields where each listens, in their order."""
    command = [sys.executable, "-m", "siftcast", "slow-line", *lines]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        try:
            assert process.stderr is not None
            said = [process.stderr.readline() for _ in lines]
            found = [_LINE.match(each) for each in said]
            assert all(found), said
            yield [each[1] for each in found if each is not None]
        finally:
            process.terminate()


class ChangingLines:
    """A line from each node to each other one, whose delay may be set at any time."""

    def __init__(self) -> None:
        self._lines: dict[tuple[int, int], SlowLine] = {}

    async def open(self, stack: AsyncExitStack, targets: Sequence[str], delays_ms: Sequence[Sequence[float]]) -> None:
        """Opens the lines to the nodes at these addresses."""
        for one, other in permutations(range(len(targets)), 2):
            host, _, port = targets[other].rpartition(":")
            line = SlowLine(host, int(port), delays_ms[one][other])
            self._lines[one, other] = await stack.enter_async_context(line)

    def addresses(self) -> dict[tuple[str, str], str]:
        """By which address each node reaches each other one."""
        return {(f"n{one}", f"n{other}"): f"127.0.0.1:{line.port}" for (one, other), line in self._lines.items()}

    def change(self, pair: tuple[int, int], delay_ms: float) -> None:
        """Two nodes are so far from each other from now on."""
        one, other = pair
        self._lines[one, other].delay_ms = self._lines[other, one].delay_ms = delay_ms


@asynccontextmanager
async def changing_network(
    folder: Path, delays_ms: Sequence[Sequence[float]], scheme: str, options: Mapping[str, object]
) -> AsyncIterator[tuple[LocalNetwork, ChangingLines]]:
    """A network whose nodes reach each other as late as a matrix says, and its lines.

    The network is started and stopped in another thread, for meanwhile the lines must go on in the test's loop.
    """
    loop, found = asyncio.get_running_loop(), ChangingLines()
    async with AsyncExitStack() as stack:

        def lines(listening: Mapping[str, str]) -> dict[tuple[str, str], str]:
            opening = found.open(stack, list(listening.values()), delays_ms)
            asyncio.run_coroutine_threadsafe(opening, loop).result()
            return found.addresses()

        network = LocalNetwork(folder, len(delays_ms), scheme, options=options, lines=lines)
        await asyncio.to_thread(network.__enter__)
        try:
            yield network, found
        finally:
            await asyncio.to_thread(network.stop)
