"""The overlay that users get, beside the thesis's: the same subscriptions, publishers, bounds and out-degree.

Here nodes exchange messages that take time, adverts reach everybody, and there is a clock instead of rounds: `round_ms`
is how often links are refreshed and news is exchanged. A hop takes `HOP_MS`. A peer counts as notified when it gets all
that it wants within its bound, as far as it knows; at the end events are published, and that is looked at.
"""

from __future__ import annotations

from collections import Counter
from time import process_time
from typing import Any

import numpy as np

from siftcast.experiments.qos.setup import MODERATE, degree_of
from siftcast.experiments.qos.thesis.world import PUBLISHERS, WORKLOADS
from siftcast.matching.pool import MatcherPool
from siftcast.model import Event, Filter, Subscription
from siftcast.overlays.contract import AdvertiseRequested
from siftcast.overlays.protocols.qos import Qos, QosSettings
from siftcast.overlays.trace import Trace
from siftcast.runtimes.sim import Simulation
from siftcast.runtimes.sim.wire import Faults, UniformNetwork
from siftcast.space.dz import DzSpace
from siftcast.workloads import generate

HOP_MS = 10.0
_STEP_MS = 250.0
_EVENTS = 100
_SIDE = 128 // 4


def measure_users(workload: str, peers: int, seconds: int, seed: int) -> dict[str, Any]:
    """Q4, printed: how soon all peers are notified, and what then becomes of events."""
    begun = process_time()
    made = generate(WORKLOADS[workload], events=_EVENTS, subscriptions=peers, seed=seed, attributes=2)
    space, pool = DzSpace.of(made.schema), MatcherPool("brute_force")
    settings = QosSettings(degree=degree_of(peers), theta=4)
    # A publisher without an interest is no peer of the thesis's population, so there are so many nodes more.
    simulation = Simulation(
        range(PUBLISHERS + peers),
        lambda node: Qos(node, space, lambda: pool.table(), settings),
        UniformNetwork(HOP_MS),
        seed=seed,
        faults=Faults(detect_ms=50.0),
        trace=Trace(messages=False),
        contacts=lambda node: (node // 2,) if node else (),
    )
    for number in range(PUBLISHERS):
        simulation.at(0.0, number, AdvertiseRequested((Subscription(f"p{number}", _advert(number)),)))
    hops = np.random.default_rng([seed, peers, 7]).integers(MODERATE[0], MODERATE[1], peers, endpoint=True).tolist()
    filters = [Filter.parse(text) for text in made.subscriptions.column("filter").to_pylist()]
    for number, (filter_, bound) in enumerate(zip(filters, hops, strict=True)):
        item = Subscription(f"s{number}", filter_, delay_ms_max=bound * HOP_MS)
        simulation.subscribe(PUBLISHERS + number, item)
    series: list[float] = []
    while len(series) * _STEP_MS < 1_000 * seconds:
        simulation.run((len(series) + 1) * _STEP_MS)
        series.append(_notified(simulation) / peers)
        if series[-1] == 1.0 and len(series) * _STEP_MS >= 5_000:
            break
    return {
        "notified": series,
        "seconds_notified": next(
            (number * _STEP_MS / 1_000 for number, share in enumerate(series, 1) if share == 1.0), None
        ),
        **_publish(simulation, made.events.to_pylist(), filters, hops),
        "seconds": process_time() - begun,
    }


def _advert(number: int) -> Filter:
    """A sixteenth of the space: the part of the thesis's publisher of this number, two bits of each attribute."""
    one = (number >> 3 & 1) << 1 | (number >> 1 & 1)
    two = (number >> 2 & 1) << 1 | (number & 1)
    sides = ((f"a{axis}", part * _SIDE + 1) for axis, part in ((1, one), (2, two)))
    return Filter.parse(" AND ".join(f"{name} BETWEEN {low} AND {low + _SIDE - 1}" for name, low in sides))


def _notified(simulation: Simulation) -> int:
    count = 0
    for node in simulation.protocols.values():
        if not isinstance(node, Qos):
            continue
        places = [place for place in node.places.values() if not place.is_empty]
        knows_all = len(node.state()["publishing"]) == PUBLISHERS  # who knows nobody lacks nothing
        count += bool(places and knows_all) and all(
            not place.parents.supply.unserved and place.parents.supply.reach_ms <= place.bound.bound_ms
            for place in places
        )
    return count


def _publish(
    simulation: Simulation, rows: list[dict[str, Any]], filters: list[Filter], hops: list[int]
) -> dict[str, Any]:
    """Events by whoever has their part of the space, and who got them."""
    adverts = [_advert(number) for number in range(PUBLISHERS)]
    begun = simulation.now
    wanted: Counter[tuple[str, str]] = Counter()
    for number, row in enumerate(rows):
        event = Event({"a1": row["a1"], "a2": row["a2"]}, id=f"e{number}")
        publisher = next(place for place, advert in enumerate(adverts) if advert.matches(event))
        simulation.publish(publisher, event, begun)
        wanted.update((event.id, f"s{place}") for place, filter_ in enumerate(filters) if filter_.matches(event))
    simulation.run(begun + 2_000.0)
    got: Counter[tuple[str, str]] = Counter()
    late = 0
    for row in simulation.trace.delivery_table().to_pylist():
        for id in row["subscriptions"]:
            got[row["event"], id] += 1
            late += row["time_ms"] - begun > hops[int(id[1:])] * HOP_MS
    return {
        "required": wanted.total(),
        "missed": (wanted - got).total(),
        "repeated": (got - wanted).total(),
        "late": late,
    }
