"""The workload of lookup reuse (section 3.1): points and boxes in [0, 1]^5 with a chosen density.

An event draws each attribute uniformly from [0, 1]. A subscription constrains every attribute to a random
sub-interval that lies wholly inside [0, 1]; the product of the lengths is the density, the paper's word for the match
rate. The paper sizes intervals to the density and says no more: ours all have the length density^(1/5) unless
`spread` asks otherwise. It uses 10,000 subscriptions, 1,000 events, 100 routers and densities of 0.1, 0.2, 0.5, 1, 5,
10, 15 and 20 %.

Cost: O((events + subscriptions) * attributes).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from siftcast.model import Attribute, Schema
from siftcast.workloads.boxes import unit_boxes
from siftcast.workloads.filter_text import all_of, between_text, decimal_text
from siftcast.workloads.parameters import require_count, require_fraction
from siftcast.workloads.preset import Content, Request
from siftcast.workloads.tables import draw_parties, events_table, numbered, subscriptions_table

DENSITIES = (0.001, 0.002, 0.005, 0.01, 0.05, 0.1, 0.15, 0.2)
_DECIMALS = 6


@dataclass(frozen=True, slots=True)
class LookupReuseOptions:
    """How dense, and over how many attributes and routers."""

    density: float = 0.01
    attributes: int = 5
    spread: float = 0.0
    routers: int = 100

    def __post_init__(self) -> None:
        require_fraction("density", self.density)
        require_count("attributes", self.attributes, least=1, most=64)
        require_fraction("spread", self.spread, zero_allowed=True)
        require_count("routers", self.routers, least=1)


def build_lookup_reuse(options: LookupReuseOptions, request: Request) -> Content:
    """Uniform points, random boxes of the asked density."""
    names = [f"a{number}" for number in range(1, options.attributes + 1)]
    schema = Schema([Attribute(name, "float", (0.0, 1.0)) for name in names], name="lookup-reuse")
    streams = request.streams
    points = streams.generator("events").random((request.events, options.attributes))
    boxes = unit_boxes(
        request.subscriptions,
        options.attributes,
        density=options.density,
        rng=streams.generator("subscriptions"),
        spread=options.spread,
        decimals=_DECIMALS,
    )
    fragments = [
        between_text(name, decimal_text(boxes.low[:, axis], _DECIMALS), decimal_text(boxes.high[:, axis], _DECIMALS))
        for axis, name in enumerate(names)
    ]
    publishers = draw_parties("router", request.events, parties=options.routers, rng=streams.generator("publishers"))
    # Subscriptions are dealt out in turn: every router holds as many as any other.
    routers = np.arange(request.subscriptions) % options.routers + 1
    return Content(
        schema,
        events_table(schema, {name: points[:, axis] for axis, name in enumerate(names)}, publishers=publishers),
        subscriptions_table(all_of(fragments), subscribers=numbered("router", routers)),
    )
