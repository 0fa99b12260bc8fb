"""What the printed algorithms come to, each with all that it builds on as it should be.

A share that is above nothing here is the algorithm's own: tables are filled by an observer unless errors are to pile
up, newcomers are put where they belong, and an event begins at a node that wants it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Any

import numpy as np

from siftcast.experiments.homed.printed import Part, PrintedCube, PrintedNode

Found = dict[str, Any]
ANSWERED_BITS = (1, 2, 3, 4)
"""How many bits an event sets: the more, the fewer nodes want it."""


def draw_identifiers(bits: int, count: int, rng: np.random.Generator) -> list[int]:
    """Distinct identifiers, all equally likely."""
    found: dict[int, None] = {}
    while len(found) < count:
        found.update(dict.fromkeys(rng.integers(0, 1 << bits, size=count).tolist()))
    return list(found)[:count]


def measure_printed(bits: int, identifiers: Sequence[int], samples: int, rng: np.random.Generator) -> Found:
    """Everything that the page says about the printed algorithms, for nodes that join in this order."""
    cube = PrintedCube.settled(bits, identifiers)
    nodes = list(cube.nodes.values())
    return {
        "unfilled": _unfilled(bits, identifiers, min(samples, 20), rng),
        **_piled_up(bits, identifiers),
        **_stuck(cube, nodes, samples, rng),
        "missed": {count: _missed(cube, nodes, count, samples, rng) for count in ANSWERED_BITS},
        **_recovery(nodes, samples, rng),
    }


def _unfilled(bits: int, identifiers: Sequence[int], samples: int, rng: np.random.Generator) -> float:
    """The share of its entries that a newcomer does not find among nodes whose tables are right."""
    half = len(identifiers) // 2
    shares = []
    for _ in range(samples):
        there = int(rng.integers(half, len(identifiers)))
        cube = PrintedCube.settled(bits, identifiers[:there])
        shares.append(cube.subscribe(identifiers[there]).unfilled / bits)
    return fmean(shares)


def _piled_up(bits: int, identifiers: Sequence[int]) -> Found:
    """All join as printed: entries that the last quarter did not find, and those of all that name a wrong node."""
    cube = PrintedCube(bits, identifiers[0])
    joined = [cube.subscribe(identifier) for identifier in identifiers[1:]]
    late = joined[-len(joined) // 4 :]
    stale = sum(
        owner is not cube.owner(node.identifier ^ (1 << bit))
        for node in cube.nodes.values()
        for bit, owner in node.table.items()
    )
    return {
        "unfilled_late": fmean(each.unfilled for each in late) / bits,
        "stale": stale / sum(len(node.table) for node in cube.nodes.values()),
        "messages": fmean(each.messages for each in late),
    }


def _stuck(cube: PrintedCube, nodes: Sequence[PrintedNode], samples: int, rng: np.random.Generator) -> Found:
    """Routes that end before they should: of events and of newcomers, nearness by identifiers and by covers."""

    def share(wanted: Callable[[], Part], *, by_cover: bool) -> float:
        starts = rng.integers(0, len(nodes), size=samples)
        return fmean(cube.route(nodes[start], wanted(), by_cover=by_cover)[1] is None for start in starts)

    def event() -> Part:
        return _draw_event(cube.bits, ANSWERED_BITS[-1], rng)

    def newcomer() -> Part:
        return Part(cube.whole, int(rng.integers(0, 1 << cube.bits)))

    return {
        "stuck_events": share(event, by_cover=False),
        "stuck_events_by_cover": share(event, by_cover=True),
        "stuck_newcomers": share(newcomer, by_cover=True),
    }


def _missed(
    cube: PrintedCube, nodes: Sequence[PrintedNode], answered: int, samples: int, rng: np.random.Generator
) -> float | None:
    """The share of those who want an event, but for the first, whom it does not reach; None if nobody was to be."""
    wanted = reached = 0
    for _ in range(samples):
        event = _draw_event(cube.bits, answered, rng)
        interested = [node for node in nodes if node.identifier in event]
        if len(interested) > 1:
            first = interested[int(rng.integers(0, len(interested)))]
            wanted += len(interested) - 1
            reached += len({copy.receiver for copy in cube.disseminate(first, event, shrinks=True)} - {first})
    return 1 - reached / wanted if wanted else None


def _recovery(nodes: Sequence[PrintedNode], samples: int, rng: np.random.Generator) -> Found:
    """Who takes part when any neighbour inherits, beyond the neighbours of the lost node; and what it inherits."""
    outside, whole = [], []
    for number in rng.integers(0, len(nodes), size=samples).tolist():
        lost = nodes[number]
        around = set(lost.neighbours) | set(lost.back)
        heirs = lost.neighbours
        heir = heirs[int(rng.integers(0, len(heirs)))]
        outside.append(len(PrintedCube.takers_part(lost, heir) - around))
        whole.append(lost.cover.joins(heir.cover))
    return {"outside": fmean(outside), "joins": fmean(whole)}


def _draw_event(bits: int, answered: int, rng: np.random.Generator) -> Part:
    fixed = sum(1 << bit for bit in rng.choice(bits, answered, replace=False).tolist())
    return Part(fixed, fixed)
