"""What the peers of the study want, how soon they want it, and who publishes (section 2.8.1).

WL1 is uniform, WL2 has 4 to 6 hot spots (`workloads.integer_grid`, presets `qos-uniform` and `qos-hotspots`), over two
attributes in [1, 128] unless said otherwise; an event matches 5 % of the subscriptions. Sixteen publishers have a
sixteenth of the space each. The thesis says neither how many publishers there are nor what delays are asked for.
"""

from __future__ import annotations

import numpy as np

from siftcast.experiments.qos.thesis.peers import Subscriber
from siftcast.model import Attribute, Filter, Schema
from siftcast.space.dz import DzSpace
from siftcast.space.dz.cubes import Cube
from siftcast.space.dz.expression import Dz
from siftcast.workloads import generate

PUBLISHERS = 16
WORKLOADS = {"WL1": "qos-uniform", "WL2": "qos-hotspots"}


def grid(attributes: int) -> DzSpace:
    """The space of integer attributes in [1, 128]."""
    schema = Schema([Attribute(f"a{number}", "int", (1, 128), 1) for number in range(1, attributes + 1)])
    return DzSpace.of(schema, elsewhere=False)


def adverts(publishers: int = PUBLISHERS) -> list[Cube]:
    """As many equal parts of the space."""
    length = (publishers - 1).bit_length()
    return [Dz(number, length).cube for number in range(publishers)]


def draw_subscribers(
    workload: str,
    peers: int,
    seed: int,
    space: DzSpace,
    bounds: tuple[int, int],
    theta: int,
    *,
    wildcards: bool = False,
    first: int = 0,
) -> list[Subscriber]:
    """Subscribers with bounds drawn from a range of hops, both ends included."""
    made = generate(WORKLOADS[workload], events=0, subscriptions=peers, seed=seed, attributes=len(space.axes))
    rng = np.random.default_rng([seed, peers, 7])
    hops = rng.integers(bounds[0], bounds[1], peers, endpoint=True).tolist()
    filters = made.subscriptions.column("filter").to_pylist()
    found = []
    for number, (text, bound) in enumerate(zip(filters, hops, strict=True)):
        region = space.of_filter(Filter.parse(text), theta, wildcards=wildcards)
        cubes = tuple(each.cube for each in region.disjoint())
        found.append(Subscriber(first + number, float(bound), cubes))
    return found
