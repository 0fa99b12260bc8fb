"""What `siftcast plan ring` proposes is what the scheme `rendezvous` lays out from its options."""

from dataclasses import asdict
from random import Random

import numpy as np
import pytest

from siftcast import Filter
from siftcast.model.values import Kind
from siftcast.planning.ring_costs import MatchTimes, NodeCosts
from siftcast.planning.ring_planning import plan_ring
from siftcast.planning.ring_proposal import PLANNED, RingBounds
from siftcast.schemes import Ground, scheme

COSTS = NodeCosts(MatchTimes((100, 100_000), (0.05, 1.2)))
GIB = 2.0**30


@pytest.fixture(scope="module")
def filters():
    rng = Random(3)
    texts = [f"symbol = 'S{min(int(rng.expovariate(0.1)), 99):02}'" for _ in range(170)]
    return [Filter.parse(text) for text in [*texts, *(f"price > {rng.random()}" for _ in range(30))]]


@pytest.mark.parametrize(
    ("bounds", "rendezvous"),
    [
        (RingBounds(20_000, GIB), "auto"),
        (RingBounds(900_000, GIB, rate_s=9_000), "auto"),
        (RingBounds(900_000, GIB, rate_s=2_000, nodes=17), "range"),
        (RingBounds(900_000, 0.4 * GIB), "hash"),
        (RingBounds(900_000, 0.4 * GIB, nodes=23), "none"),
        (RingBounds(30_000, GIB, nodes=7, replicas=1, node_weights=(3.0, 1.0, 1.0, 2.0, 0.5, 0.5, 1.0)), "range"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_the_scheme_lays_out_what_was_proposed(filters, bounds, rendezvous):
    rng = Random(5)
    symbols = ["S03" if rng.random() < 0.4 else f"S{rng.randrange(40):02}" for _ in range(300)]
    events = {("symbol", Kind.STRING): symbols}
    found = plan_ring(filters, events, bounds, COSTS, rendezvous=rendezvous)
    chosen = scheme("rendezvous")
    ground = Ground(lambda: np.zeros((found.nodes, found.nodes)), np.random.default_rng(1), places=found.nodes)
    assert found.options().keys() <= PLANNED <= asdict(chosen.options).keys()
    (circle,) = chosen.plan(ground, chosen.configure(found.options())).ring.circles
    assert circle.clusters == found.circle.clusters
    assert circle.starts == found.circle.starts
    assert circle.shards.parts == found.circle.shards.parts
    assert circle.shards.axes == found.circle.shards.axes
