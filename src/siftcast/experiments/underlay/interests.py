"""Who publishes what, who gets it, and how alike the interests of two peers are (sections 4.5 and 4.6.1).

Each peer has one subscription over five integer attributes in [0, 10]; an event matches 5 % of them and is published by
a peer drawn at random. Similarity is Jaccard's over the events that two peers match.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from siftcast import Filter, Matcher
from siftcast.workloads import generate

WORKLOADS = {"WL1": "uniform", "WL2": "hotspots"}
Flags = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


class Interests:
    """Events (rows), and which peers (columns) match them."""

    def __init__(self, workload: str, peers: int, events: int, seed: int) -> None:
        kind = WORKLOADS[workload]
        made = generate(
            "underlay",
            events=events,
            subscriptions=peers,
            seed=seed,
            event_distribution=kind,
            subscription_distribution=kind,
        )
        matcher = Matcher()
        for number, text in enumerate(made.subscriptions.column("filter").to_pylist()):
            matcher.add(str(number), Filter.parse(text))
        self.matches: Flags = np.zeros((events, peers), dtype=np.bool_)
        for row, ids in enumerate(matcher.match_batch(made.attributes()).to_pylist()):
            self.matches[row, [int(id) for id in ids]] = True
        self.publishers: Integers = np.random.default_rng([seed, peers, 11]).integers(0, peers, events)
        self._counts = self.matches.sum(axis=0)

    def demand(self, first: int = 0, last: int | None = None) -> Floats:
        """How many events of each peer (row) each other peer gets."""
        peers = self.matches.shape[1]
        found = np.zeros((peers, peers))
        np.add.at(found, self.publishers[first:last], self.matches[first:last].astype(np.float64))
        np.fill_diagonal(found, 0.0)
        return found

    def similarity(self, one: int, other: int) -> float:
        """The share of the events of either that both match."""
        both = int((self.matches[:, one] & self.matches[:, other]).sum())
        either = int(self._counts[one] + self._counts[other]) - both
        return both / either if either else 0.0
