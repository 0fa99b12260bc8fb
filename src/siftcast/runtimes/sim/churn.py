"""Servers that come, go and crash, and interests that change, at random: rates of a scenario turned into steps.

Arrivals, departures and crashes are three independent Poisson processes of so many a second, from the first publication
to `until_ms`. A departure or a crash hits a server drawn from those that run; one that crashed restarts after
`down_ms`, be that after `until_ms`, so that a run does not end without it. A server that is `absent` in the beginning
arrives once, in an order drawn at random. Servers that the schedule names are left to the schedule, so that neither
disturbs the other; a list of arrivals, departures and crashes is a schedule.

Changes of interests are a fourth process: a subscriber gives up a subscription drawn from all that stand, and makes
another, which the workload has in reserve. Who lives on a server that is down, or that the schedule names, changes
nothing meanwhile. The seed decides all of it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np

from siftcast.model import Filter, Subscription
from siftcast.runtimes.sim.scenario import ChurnSpec, Step


@dataclass(frozen=True, slots=True)
class Change:
    """A subscriber of a server gives up a subscription, and makes another."""

    at_ms: float
    server: int
    given_up: Subscription
    made: Subscription


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
        elif do == "crash" and churn.down_ms is not None:
            heappush(ahead, (at_ms + churn.down_ms, "restart", node))
    return tuple(steps)


def change_times(churn: ChurnSpec, until_ms: float, rng: np.random.Generator) -> list[float]:
    """When interests change; each change needs a subscription of the workload in reserve."""
    return _times(churn.changes_per_s, until_ms, rng)


def draw_changes(
    times: Sequence[float],
    reserve: Sequence[tuple[str, Filter]],
    homes: Mapping[int, Sequence[Subscription]],
    steps: Sequence[Step],
    resubscribe_ms: float,
    named: Collection[int],
    absent: Collection[int],
    rng: np.random.Generator,
) -> tuple[Change, ...]:
    """Who gives up what for what, in the order of time; `steps` say which servers are down meanwhile."""
    standing = [(server, item) for server, items in sorted(homes.items()) if server not in named for item in items]
    away = dict.fromkeys(absent, float("inf"))
    ahead = sorted((step for step in steps if step.node is not None), key=lambda step: step.at_ms, reverse=True)
    found: list[Change] = []
    for at_ms, (id, filter_) in zip(times, reserve, strict=True):
        while ahead and ahead[-1].at_ms <= at_ms:
            step = ahead.pop()
            back = step.do in ("restart", "join")
            away[step.node or 0] = step.at_ms + resubscribe_ms if back else float("inf")
        if not standing:
            break
        number = int(rng.integers(len(standing)))
        server, old = standing[number]
        if away.get(server, 0.0) > at_ms:
            continue
        made = Subscription(id, filter_, old.subscriber, old.delay_ms_max, old.bandwidth)
        standing[number] = (server, made)
        found.append(Change(at_ms, server, old, made))
    return tuple(found)


def _times(rate_per_s: float, until_ms: float, rng: np.random.Generator) -> list[float]:
    """The moments of a Poisson process."""
    count = int(rng.poisson(rate_per_s * until_ms / 1_000))
    return sorted(rng.uniform(0.0, until_ms, count).tolist())
