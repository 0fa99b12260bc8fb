"""Eight cities on a real map, and how good an overlay between them is: links and trees by the delays of the map.

The delays are the shortest ways between the busiest routers of these cities on Rocketfuel's map of Sprint (AS 1239), by
its inferred latencies (Mahajan, Spring, Wetherall, Anderson: Inferring Link Weights using End-to-End Measurements,
2002): one way, in milliseconds.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import inf, isfinite
from statistics import fmean
from typing import Any

CITIES = ("Seattle", "Dallas", "New York", "London", "Stockholm", "Tokyo", "Sydney", "Hong Kong")
DELAYS_MS = (
    (0, 18, 23, 53, 62, 42, 68, 58),
    (18, 0, 13, 46, 53, 56, 77, 72),
    (23, 13, 0, 37, 45, 65, 86, 81),
    (53, 46, 37, 0, 11, 95, 116, 111),
    (62, 53, 45, 11, 0, 104, 125, 120),
    (42, 56, 65, 95, 104, 0, 106, 16),
    (68, 77, 86, 116, 125, 106, 0, 120),
    (58, 72, 81, 111, 120, 16, 120, 0),
)
PLACES = range(len(CITIES))
Pair = tuple[int, int]
States = Mapping[int, Mapping[str, Any]]
TREES = ("parent", "cores_parent")


class CityDelays:
    """The delays between the cities, some of which may change; a network of the simulator."""

    def __init__(self) -> None:
        self.delays_ms = [[float(each) for each in row] for row in DELAYS_MS]

    def latency_ms(self, a: int, b: int) -> float:
        return self.delays_ms[a][b]

    def slow_down(self, pair: Pair, more_ms: float) -> None:
        """Two cities are so much farther from each other from now on."""
        one, other = pair
        self.delays_ms[one][other] = self.delays_ms[other][one] = self.delays_ms[one][other] + more_ms


def links_of(states: States) -> set[Pair]:
    """All links of the overlay."""
    return {(min(here, there), max(here, there)) for here, state in states.items() for there in state["neighbours"]}


def tree_of(states: States) -> set[Pair]:
    """The links that events take: within cells, and between cores."""
    ways = ((here, state[tree]) for here, state in states.items() for tree in TREES)
    return {(min(here, there), max(here, there)) for here, there in ways if there is not None}


def joins_all(links: Iterable[Pair]) -> bool:
    """Whether there is a way from each city to each other one."""
    return isfinite(max(map(max, _ways_ms(DELAYS_MS, links))))


def rdp(delays_ms: Sequence[Sequence[float]], links: Iterable[Pair]) -> float:
    """How much longer the way over the overlay is than the direct one, on average over all pairs."""
    ways = _ways_ms(delays_ms, links)
    return fmean(ways[one][other] / delays_ms[one][other] for one in PLACES for other in PLACES if one != other)


def _ways_ms(delays_ms: Sequence[Sequence[float]], links: Iterable[Pair]) -> list[list[float]]:
    ways = [[0.0 if one == other else inf for other in PLACES] for one in PLACES]
    for one, other in links:
        ways[one][other] = ways[other][one] = delays_ms[one][other]
    for via in PLACES:
        for one in PLACES:
            for other in PLACES:
                ways[one][other] = min(ways[one][other], ways[one][via] + ways[via][other])
    return ways
