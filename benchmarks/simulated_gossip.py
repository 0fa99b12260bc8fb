"""Simulates nodes that gossip, and prints the memory of this process as JSON: the child of `simulation`.

Each node has a timer of a second, and sends what it knows about twenty others to three of them, drawn at random.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from time import process_time

import numpy as np

from benchmarks.memory_growth import peak_bytes
from siftcast.overlays.contract import (
    NOTHING,
    Effect,
    Message,
    MessageReceived,
    NodeId,
    Protocol,
    SendMessage,
    SetTimer,
    Started,
    Stimulus,
)
from siftcast.runtimes.sim import Simulation, UniformNetwork

PERIOD_MS, FANOUT, VIEW, ROUNDS = 1_000.0, 3, 20, 20


class Gossip(Message, frozen=True, gc=False):
    """Nodes and what was last heard of each."""

    view: tuple[tuple[NodeId, int], ...]


class Gossiper(Protocol):
    """A node that keeps the newest news of twenty others."""

    messages = (Gossip,)

    __slots__ = ("_clock", "_news", "_nodes", "_random")

    def __init__(self, nodes: int, random: np.random.Generator) -> None:
        self._nodes = nodes
        self._random = random
        self._clock = 0
        self._news: dict[NodeId, int] = dict.fromkeys(random.integers(0, nodes, VIEW).tolist(), 0)

    def handle(self, stimulus: Stimulus, now: float) -> Sequence[Effect]:
        if isinstance(stimulus, MessageReceived):
            assert isinstance(stimulus.message, Gossip)
            for node, heard in stimulus.message.view:
                if heard > self._news.get(node, -1):
                    self._news[node] = heard
            while len(self._news) > VIEW:
                del self._news[min(self._news, key=self._news.__getitem__)]
            return NOTHING
        wait = SetTimer("gossip", PERIOD_MS)
        if isinstance(stimulus, Started):
            return [SetTimer("gossip", float(self._random.random()) * PERIOD_MS)]
        self._clock += 1
        others = self._random.integers(0, self._nodes, FANOUT).tolist()
        return [SendMessage(Gossip(tuple(self._news.items())), others), wait]


def main() -> None:
    nodes = int(sys.argv[1])
    seeds = np.random.SeedSequence(1).spawn(nodes)
    simulation = Simulation(
        range(nodes), lambda node: Gossiper(nodes, np.random.default_rng(seeds[node])), UniformNetwork(20.0)
    )
    started = process_time()
    simulation.run(until_ms=ROUNDS * PERIOD_MS)
    taken = process_time() - started
    found = {
        "peak_bytes": peak_bytes() or 0,
        "handled": simulation.handled,
        "rate": simulation.handled / taken,
        "records": simulation.trace.record_table().num_rows,
    }
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
