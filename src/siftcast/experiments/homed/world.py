"""What nodes of the HOMED study want, and what is published.

    topics    a topic of 32, chosen in proportion to 1 / rank, and perhaps a range of a price and of a volume; events
              have any topic: groups from a few nodes to a sixth of all
    ranges    one to four of four integer attributes, each within a range of a width from 1/16 to 3/4 of its domain,
              drawn so that each doubling is equally likely: large groups, digests with many bits

The paper has no workload. `topics` is the case it is written for, `ranges` one that fills its digests.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from siftcast.model import Attribute, Event, Filter, Schema
from siftcast.workloads.hot_spots import draw_ranks, zipf_weights

WORKLOADS = ("topics", "ranges")
TOPICS = tuple(f"t{number:02}" for number in range(32))
_LARGEST = 127
_WIDTHS = (8.0, 96.0)
_RANGE_SHARE = 0.5

SCHEMAS = {
    "topics": Schema(
        [
            Attribute("topic", "string", TOPICS),
            Attribute("price", "int", (0, _LARGEST)),
            Attribute("volume", "int", (0, _LARGEST)),
        ],
        name="topics",
    ),
    "ranges": Schema([Attribute(f"a{number}", "int", (0, _LARGEST)) for number in range(1, 5)], name="ranges"),
}


@dataclass(frozen=True, slots=True)
class World:
    """A filter for each node, and events, each published by a node."""

    schema: Schema
    filters: tuple[Filter, ...]
    events: tuple[Event, ...]
    publishers: tuple[int, ...]


def draw_world(workload: str, nodes: int, events: int, seed: int) -> World:
    """Everything random but the network, from streams that are apart."""
    wanting, publishing = (np.random.default_rng([seed, nodes, part]) for part in (1, 2))
    drawn = _topics(nodes, wanting) if workload == "topics" else _ranges(nodes, wanting)
    return World(
        SCHEMAS[workload],
        tuple(Filter.parse(text) for text in drawn),
        tuple(_event(workload, f"e{number}", publishing) for number in range(events)),
        tuple(publishing.integers(0, nodes, size=events).tolist()),
    )


def _topics(count: int, rng: np.random.Generator) -> list[str]:
    ranks = draw_ranks(count, zipf_weights(len(TOPICS)), rng)
    texts = []
    for rank in ranks.tolist():
        parts = [f"topic = '{TOPICS[rank]}'"]
        parts += [_range(name, rng) for name in ("price", "volume") if rng.random() < _RANGE_SHARE]
        texts.append(" AND ".join(parts))
    return texts


def _ranges(count: int, rng: np.random.Generator) -> list[str]:
    names = [attribute.name for attribute in SCHEMAS["ranges"].attributes]
    texts = []
    for _ in range(count):
        chosen = rng.permutation(names)[: int(rng.integers(1, len(names) + 1))].tolist()
        texts.append(" AND ".join(_range(name, rng) for name in sorted(chosen)))
    return texts


def _range(name: str, rng: np.random.Generator) -> str:
    width = round(float(np.exp(rng.uniform(*np.log(_WIDTHS)))))
    low = int(rng.integers(0, _LARGEST + 2 - width))
    return f"{name} BETWEEN {low} AND {low + width - 1}"


def _event(workload: str, id: str, rng: np.random.Generator) -> Event:
    if workload == "topics":
        price, volume = rng.integers(0, _LARGEST + 1, size=2).tolist()
        return Event({"topic": TOPICS[int(rng.integers(0, len(TOPICS)))], "price": price, "volume": volume}, id=id)
    values = rng.integers(0, _LARGEST + 1, size=4).tolist()
    names = [attribute.name for attribute in SCHEMAS["ranges"].attributes]
    return Event(dict(zip(names, values, strict=True)), id=id)
