"""What the printed algorithms come to, each with all that it builds on as it should be.

A share that is above nothing here is the algorithm's own: tables are filled by an observer unless errors are to pile
up, newcomers are put where they belong, and an event begins at a node that wants it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np

from siftcast.experiments.homed.printed import Part, PrintedCube, PrintedNode
from siftcast.experiments.homed.world import draw_world
from siftcast.space.digests import InterestDigests

Found = dict[str, Any]
SET_BITS = (1, 2, 3, 4)
"""How many bits an event sets where identifiers are drawn at random: the more, the fewer nodes want it."""
UNIFORM = "uniform"
_JOINS_MAX = 20


@dataclass(frozen=True, slots=True)
class Cast:
    """Nodes in the order in which they join, others that might join after them, and events by their kind."""

    bits: int
    identifiers: Sequence[int]
    newcomers: Sequence[int]
    events: dict[str, list[Part]]


def draw_cast(identifiers: str, bits: int, nodes: int, samples: int, seed: int) -> Cast:
    """Identifiers that are all equally likely, or the distinct digests of a workload's filters."""
    rng = np.random.default_rng([seed, bits, nodes])
    if identifiers == UNIFORM:
        drawn = _draw_distinct(bits, min(nodes + samples, 1 << bits), rng)
        events = {str(count): [_draw_event(bits, count, rng) for _ in range(samples)] for count in SET_BITS}
    else:
        world = draw_world(identifiers, nodes + samples, samples, seed)
        digests = InterestDigests.of(world.schema, bits=bits)
        bits = digests.bits
        drawn = list(dict.fromkeys(map(digests.of_filter, world.filters)))
        nodes = len(drawn) * nodes // (nodes + samples)
        events = {identifiers: [Part(digest, digest) for digest in map(digests.of_event, world.events)]}
    return Cast(bits, drawn[:nodes], drawn[nodes:], events)


def measure_printed(cast: Cast, rng: np.random.Generator) -> Found:
    """Everything that the page says about the printed algorithms."""
    cube = PrintedCube.settled(cast.bits, cast.identifiers)
    nodes = list(cube.nodes.values())
    samples = len(next(iter(cast.events.values())))
    *_, rarest = cast.events.values()
    return {
        "nodes": len(nodes),
        "filled": len(nodes) / (1 << cast.bits),
        "unfilled": _unfilled(cast, rng),
        **_piled_up(cast),
        "stuck_events": _stuck(cube, nodes, rarest, rng, by_cover=False),
        "stuck_events_by_cover": _stuck(cube, nodes, rarest, rng, by_cover=True),
        "stuck_newcomers": _stuck(cube, nodes, [Part(cube.whole, each) for each in cast.newcomers], rng, by_cover=True),
        **_reached(cube, nodes, cast, rng),
        **_recovery(nodes, samples, rng),
    }


def _unfilled(cast: Cast, rng: np.random.Generator) -> float:
    """The share of its entries that a newcomer does not find among nodes whose tables are right."""
    shares = []
    for _ in range(_JOINS_MAX):
        there = int(rng.integers(len(cast.identifiers) // 2, len(cast.identifiers)))
        cube = PrintedCube.settled(cast.bits, cast.identifiers[:there])
        shares.append(cube.subscribe(cast.identifiers[there]).unfilled / cast.bits)
    return fmean(shares)


def _piled_up(cast: Cast) -> Found:
    """All join as printed: entries that the last quarter did not find, and those of all that name a wrong node."""
    cube = PrintedCube(cast.bits, cast.identifiers[0])
    joined = [cube.subscribe(identifier) for identifier in cast.identifiers[1:]]
    late = joined[-max(1, len(joined) // 4) :]
    stale = sum(
        owner is not cube.owner(node.identifier ^ (1 << bit))
        for node in cube.nodes.values()
        for bit, owner in node.table.items()
    )
    return {
        "unfilled_late": fmean(each.unfilled for each in late) / cast.bits,
        "stale": stale / sum(len(node.table) for node in cube.nodes.values()),
        "messages": fmean(each.messages for each in late),
    }


def _stuck(
    cube: PrintedCube, nodes: Sequence[PrintedNode], wanted: Sequence[Part], rng: np.random.Generator, *, by_cover: bool
) -> float | None:
    """The share of routes that end before they should; what nobody wants has no end and does not count."""
    if not by_cover:
        wanted = [each for each in wanted if any(node.identifier in each for node in nodes)]
    starts = rng.integers(0, len(nodes), size=len(wanted)).tolist()
    ends = [
        cube.route(nodes[start], each, by_cover=by_cover)[1] is None for start, each in zip(starts, wanted, strict=True)
    ]
    return fmean(ends) if ends else None


def _reached(cube: PrintedCube, nodes: Sequence[PrintedNode], cast: Cast, rng: np.random.Generator) -> Found:
    """By kind of event, the share of those who want one, but for the first, whom it misses; and copies too many."""
    missed: dict[str, float | None] = {}
    repeated = 0
    for kind, events in cast.events.items():
        wanted = reached = 0
        for event in events:
            interested = [node for node in nodes if node.identifier in event]
            if len(interested) < 2:
                continue
            first = interested[int(rng.integers(0, len(interested)))]
            copies = cube.disseminate(first, event, shrinks=True)
            receivers = {copy.receiver for copy in copies} - {first}
            wanted += len(interested) - 1
            reached += len(receivers)
            repeated += len(copies) - len(receivers)
        missed[kind] = 1 - reached / wanted if wanted else None
    return {"missed": missed, "repeated": repeated}


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


def _draw_distinct(bits: int, count: int, rng: np.random.Generator) -> list[int]:
    if count == 1 << bits:
        return [int(each) for each in rng.permutation(count)]
    found: dict[int, None] = {}
    while len(found) < count:
        found.update(dict.fromkeys(rng.integers(0, 1 << bits, size=count).tolist()))
    return list(found)[:count]


def _draw_event(bits: int, count: int, rng: np.random.Generator) -> Part:
    fixed = sum(1 << bit for bit in rng.choice(bits, count, replace=False).tolist())
    return Part(fixed, fixed)
