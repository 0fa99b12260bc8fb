"""Generators and formats of files by name, for scenarios and whoever else lets people choose a network.

A new one is a name and an entry here: nobody else knows what there is, which options it has and how it is built.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np

from siftcast.model.errors import UnderlayError
from siftcast.underlay.balanced_tree import BalancedTree
from siftcast.underlay.brite import read_brite
from siftcast.underlay.ground_underlay import read_ground_underlay
from siftcast.underlay.hierarchy import Hierarchy
from siftcast.underlay.latency_matrix import read_latency_matrix
from siftcast.underlay.measured import MeasuredUnderlay
from siftcast.underlay.network import Network
from siftcast.underlay.rocketfuel import read_rocketfuel
from siftcast.underlay.topology_files import AnyPath
from siftcast.underlay.topology_zoo import read_topology_zoo
from siftcast.underlay.transit_stub import TransitStub
from siftcast.underlay.waxman import Waxman

GeneratorName = Literal["transit-stub", "waxman", "hierarchy", "balanced-tree"]
FormatName = Literal["brite", "rocketfuel", "topology-zoo", "latency-matrix", "ground"]

GENERATORS: Mapping[str, type[TransitStub | Waxman | Hierarchy | BalancedTree]] = {
    "transit-stub": TransitStub,
    "waxman": Waxman,
    "hierarchy": Hierarchy,
    "balanced-tree": BalancedTree,
}
FORMATS: Mapping[str, Callable[..., Network | MeasuredUnderlay]] = {
    "brite": read_brite,
    "rocketfuel": read_rocketfuel,
    "topology-zoo": read_topology_zoo,
    "latency-matrix": read_latency_matrix,
    "ground": read_ground_underlay,
}
MEASURED_FORMATS = ("latency-matrix", "ground")
"""Those that hold servers and how far they are apart; the others hold routers and links."""


def draw_network(generator: str, options: Mapping[str, Any], rng: np.random.Generator) -> Network:
    """A network of the generator of this name; an option that it does not have is refused."""
    kind = GENERATORS[generator]
    known = [each.name for each in dataclasses.fields(kind)]
    for option in options:
        if option not in known:
            raise UnderlayError(f"generator '{generator}' has no option '{option}' (options: {', '.join(known)})")
    return kind(**options).build(rng)


def read_topology(
    path: AnyPath, format: str, name: str | None, options: Mapping[str, Any]
) -> Network | MeasuredUnderlay:
    """What a file holds: routers and links or, where latencies were measured, the servers between which they were.

    `name` picks one of many networks in a file, and `options` say how measurements are to be read.
    """
    if format in MEASURED_FORMATS:
        return FORMATS[format](path, **options)
    return FORMATS[format](path, name or None) if format == "topology-zoo" else FORMATS[format](path)
