"""What routes say about who lies on the way to whom (thesis, sections 4.2 and 4.4.1.1).

    q is before s, seen from p      the routers from p to q are the first of those from p to s

The thesis asks only for the routers up to q's own, so two peers at one router are before each other. Where a router is
anonymous, a traceroute shows a new one each time. *Merged*, two anonymous ones are taken for the same if all that
stands before them is the same, which is their position and their neighbour.
"""

from __future__ import annotations

from siftcast.experiments.underlay.world import Route


def is_before(near: Route, far: Route, *, merged: bool = False) -> bool:
    """Whether the end of one route is passed by another from the same start."""
    if len(near) > len(far):
        return False
    if not merged:
        return near == far[: len(near)]
    return all(one == other or (one < 0 and other < 0) for one, other in zip(near, far, strict=False))


def beyond(near: Route, far: Route) -> Route:
    """The rest of a route, from the end of one that is before it."""
    return far[len(near) - 1 :]


def reverse(route: Route) -> Route:
    """The way back."""
    return route[::-1]
