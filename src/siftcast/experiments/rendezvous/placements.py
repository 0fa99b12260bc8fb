"""Rows R1, R2 and R4 on the geometry alone, with the code that a running ring uses for it.

R1   any N, R, H: how often events meet the subscriptions that match them, repaired and as printed
R2   the load of nodes when all have one rendezvous value (the worst case), and when values are uniform
R4   applications with their own R and H on the same nodes
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from siftcast.experiments.rendezvous.printed import PrintedRing, broken_by_estimates, empty_share, meetings
from siftcast.experiments.rendezvous.rings import (
    KEYS,
    Shape,
    count_meetings,
    count_singles,
    draw_events,
    draw_filters,
    key_axis,
    placement,
    ring,
)
from siftcast.model import Filter
from siftcast.space import cut_by_rank

Found = dict[str, Any]


def measure_meetings(
    draws: int, filters: int, singles: int, events: int, hops_max: int, samples: int, seed: int
) -> Found:
    """R1: random N, R and H, H up to twice X, and the printed flaws one by one.

    Filters of all kinds come with random events; `singles` is how many of a single zone come with an event of it.
    """
    rng = np.random.default_rng([seed, 1])
    repaired: Counter[str] = Counter()
    printed: Counter[str] = Counter()
    by_walk: dict[str, Counter[str]] = {name: Counter() for name in ("even", "odd", "round")}
    for _ in range(draws):
        nodes = int(rng.integers(1, 200))
        replicas = int(rng.integers(1, 1 + min(nodes, 12)))
        clusters = nodes // replicas
        hops = int(rng.integers(1, 1 + 2 * clusters))
        wanted, published = draw_filters(filters, rng), draw_events(events, rng)
        ours, axis = placement(ring(nodes, Shape(replicas, hops))), key_axis(clusters)
        theirs = PrintedRing(axis, clusters, hops, rng)
        repaired.update(count_meetings(ours, wanted, published))
        printed.update(count_meetings(theirs, wanted, published))
        zone = int(rng.integers(clusters))
        repaired.update(count_singles(ours, axis, zone, singles))
        walk = "round" if hops >= clusters else "odd" if hops % 2 else "even"
        by_walk[walk].update(count_singles(theirs, axis, zone, singles))
    return {
        "repaired": dict(repaired),
        "printed": dict(printed),
        "printed_singles": {name: dict(counts) for name, counts in by_walk.items()},
        "missed_by_hops": {
            str(hops): [float((meetings(4 * hops_max, hops, floored=floored) == 0).mean()) for floored in (False, True)]
            for hops in range(1, 1 + hops_max)
        },
        "again_beyond_the_ring": float((meetings(4, 6, floored=True) > 1).mean()),
        "empty_random": {str(replicas): empty_share(20_000, replicas, rng) for replicas in (1, 2, 4, 8)},
        "empty_by_rank": sum(
            not cluster for replicas in (1, 2, 4, 8) for cluster in cut_by_rank(range(2_000), 2_000 // replicas)
        ),
        "broken": {
            f"{error:+.0%}": broken_by_estimates(960, 4, 8, error, samples, rng) for error in (0.0, 0.01, -0.01)
        },
        "broken_within": float(
            np.mean([broken_by_estimates(960, 4, 8, rng.uniform(-0.01, 0.01), samples // 20, rng) for _ in range(40)])
        ),
    }


def measure_load(nodes: int, replicas: int, hops: int, samples: int, seed: int) -> Found:
    """R2: H·R·I/N for storage and routing; one rendezvous value, and uniform ones.

    `samples` is how many subscriptions, and how many matches, a node that shares the load has on average.
    """
    rng = np.random.default_rng([seed, 2, nodes, replicas, hops])
    plan = ring(nodes, Shape(replicas, hops))
    (only,), placing, clusters = plan.circles, placement(plan), plan.clusters
    found: Found = {}
    for name, spread in (("one", 1), ("uniform", nodes // replicas)):
        stored, routed = np.zeros(nodes), np.zeros(nodes)
        # In the worst case H clusters share the load, and all X where values are uniform.
        subscriptions = samples * (hops if spread == 1 else spread) // spread
        events = max(1, samples * replicas // (1 if spread == 1 else hops))
        for value in range(spread):
            key = KEYS * (value + 0.5) / spread
            wanted = Filter.parse(f"key = {key}")
            for id in rng.bytes(8 * subscriptions).hex(" ", 8).split():
                for _, cluster in placing.places(id, wanted):
                    stored[list(clusters[cluster])] += 1
            # The paper has no span, so the visits to it are left out.
            for cluster in only.clusters_of(value):
                routed += np.bincount(rng.choice(clusters[cluster], events), minlength=nodes)
        share = hops * replicas / nodes
        found[name] = [share * float(load.max() / load.mean()) for load in (stored, routed)]
    return found


def measure_applications(draws: int, filters: int, events: int, seed: int) -> Found:
    """R4: circles of random (R, H) over the same nodes, and what each keeps and visits."""
    rng = np.random.default_rng([seed, 4])
    met: Counter[str] = Counter()
    wrong_copies = wrong_visits = applications = 0
    for _ in range(draws):
        nodes = int(rng.integers(8, 200))
        shapes = []
        for number in range(int(rng.integers(2, 6))):
            replicas = int(rng.integers(1, 6))
            shapes.append(Shape(replicas, int(rng.integers(1, 1 + min(8, nodes // replicas))), f"app{number}"))
        names = [shape.name for shape in shapes]
        plan = ring(nodes, *shapes)
        placing, clusters = placement(plan), plan.clusters
        met.update(count_meetings(placing, draw_filters(filters, rng, names), draw_events(events, rng, names)))
        applications += len(shapes)
        for shape in shapes:
            expected = {nodes // (nodes // shape.replicas), -(-nodes // (nodes // shape.replicas))}
            for number in range(20):
                filter_ = Filter.parse(f"app = '{shape.name}' AND key = {int(rng.integers(KEYS))}")
                kept = placing.places(f"{shape.name}-{number}", filter_)
                wrong_copies += len(kept) != 1 or len(clusters[kept[0][1]]) not in expected
                visited = placing.visits({"app": shape.name, "key": int(rng.integers(KEYS))})
                own = [cluster for cluster, labels in visited.items() if not _only_span(plan, shape.name, labels)]
                wrong_visits += len(own) != shape.parts
    return {"met": dict(met), "copies": wrong_copies, "visits": wrong_visits, "applications": applications}


def _only_span(plan: Any, name: str, labels: tuple[int, ...]) -> bool:
    """Whether a cluster is visited for the span alone."""
    for circle, first_label, _ in plan.numbered():
        if circle.name == name:
            return labels == (first_label + len(circle.starts) - 1,)
    raise LookupError(name)
