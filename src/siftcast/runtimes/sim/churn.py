"""Servers that come, go and crash at random: rates of a scenario turned into steps of its schedule.

Arrivals, departures and crashes are three independent Poisson processes of so many a second, from the first publication
to `until_ms`. A departure or a crash hits a server drawn from those that run; one that crashed restarts after
`down_ms`. A server that is `absent` in the beginning arrives once, in an order drawn at random. Servers that the
schedule names are left to the schedule, so that neither disturbs the other; a list of arrivals, departures and crashes
is a schedule. The seed decides all of it.
"""

from __future__ import annotations

from collections.abc import Collection
from heapq import heappop, heappush

import numpy as np

from siftcast.runtimes.sim.scenario import ChurnSpec, Step


def absent_servers(churn: ChurnSpec, servers: int) -> tuple[int, ...]:
    """Who is not there in the beginning: the servers listed, or the last of so many."""
    if isinstance(churn.absent, int):
        return tuple(range(max(0, servers - churn.absent), servers))
    return tuple(sorted(set(churn.absent)))


def draw_churn(
    churn: ChurnSpec, servers: int, named: Collection[int], until_ms: float, rng: np.random.Generator
) -> tuple[Step, ...]:
    """What happens to servers that nobody named, in the order of time."""
    free = [server for server in range(servers) if server not in named]
    away = set(absent_servers(churn, servers))
    coming = [server for server in rng.permutation(free).tolist() if server in away]
    running = [server for server in free if server not in away]
    ahead: list[tuple[float, str, int]] = []
    for do, rate in (
        ("join", churn.arrivals_per_s),
        ("leave", churn.departures_per_s),
        ("crash", churn.crashes_per_s),
    ):
        for at_ms in _times(rate, until_ms, rng):
            heappush(ahead, (at_ms, do, -1))
    steps: list[Step] = []
    while ahead:
        at_ms, do, node = heappop(ahead)
        if do == "join":
            if not coming:
                continue
            node = coming.pop()
        elif do != "restart":
            if not running:
                continue
            node = running.pop(int(rng.integers(len(running))))
        steps.append(Step(at_ms=at_ms, do=do, node=node))  # type: ignore[arg-type]
        if do in ("join", "restart"):
            running.append(node)
        elif do == "crash" and churn.down_ms is not None and at_ms + churn.down_ms <= until_ms:
            heappush(ahead, (at_ms + churn.down_ms, "restart", node))
    return tuple(steps)


def _times(rate_per_s: float, until_ms: float, rng: np.random.Generator) -> list[float]:
    """The moments of a Poisson process."""
    count = int(rng.poisson(rate_per_s * until_ms / 1_000))
    return sorted(rng.uniform(0.0, until_ms, count).tolist())
