"""What routes say about who lies on the way to whom (thesis, sections 4.2 and 4.4.1.1).

    q is before s, seen from p      the routers from p to q are the first of those from p to s

The thesis asks only for the routers up to q's own, so two peers at one router are before each other. Where a router is
anonymous, a traceroute shows a new one each time. Two anonymous ones may be taken for the same by their position: if
all that stands before them is the same (`Merging.PREFIX`), or if their neighbours on both sides are as well
(`Merging.NEIGHBOURS`). The first takes the anonymous ends of two routes for the same router whenever they have the same
neighbour, and where that has many neighbours it is wrong.

Where no routes can be had, delays stand in: q is on the way to s if the way over it is hardly longer than direct
(`is_between`). Noise, and two peers at one router, would make each of two be before the other, and newcomers would
be sent in circles. So q must be nearer than s, and farther than the slack.
"""

from __future__ import annotations

from enum import Enum

from siftcast.experiments.underlay.world import Floats, Route


class Merging(Enum):
    """Which anonymous routers on two routes are taken for the same."""

    NOT = "none"
    PREFIX = "those with the same way to them"
    NEIGHBOURS = "those with the same way to them and the same router behind them"


def is_before(near: Route, far: Route, merging: Merging = Merging.NOT) -> bool:
    """Whether the end of one route is passed by another from the same start."""
    if len(near) > len(far):
        return False
    if merging is Merging.NOT:
        return near == far[: len(near)]
    if merging is Merging.NEIGHBOURS and near[-1] != far[len(near) - 1]:
        return False  # nothing known stands behind the last one
    return all(one == other or (one < 0 and other < 0) for one, other in zip(near, far, strict=False))


def is_between(delays_ms: Floats, start: int, near: int, far: int, slack: float) -> bool:
    """Whether the way from the start to the far peer over the near one is longer by at most the slack."""
    first, direct = delays_ms[start, near], delays_ms[start, far]
    if not slack * direct < first < direct:
        return False
    return bool(first + delays_ms[near, far] <= (1.0 + slack) * direct)


def beyond(near: Route, far: Route) -> Route:
    """The rest of a route, from the end of one that is before it."""
    return far[len(near) - 1 :]


def reverse(route: Route) -> Route:
    """The way back."""
    return route[::-1]
