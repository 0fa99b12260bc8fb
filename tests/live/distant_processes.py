"""Nodes as processes, each pair with a slow line of its own between them; all lines are in one more process."""

import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from itertools import permutations
from pathlib import Path

from siftcast.runtimes.live.local_network import LocalNetwork
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
