"""Simulates peers that come, gossip and crash, and prints time and memory of this process as JSON: for `simulation`.

Peers on the servers of a transit-stub network join one after the other, each with one contact that is there already.
Each has a timer of a second, and sends what it knows about twenty others to three of them, drawn at random. Later every
tenth peer crashes, in three waves, and comes back. `records` says whether each message has its records in the trace, or
is counted.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from operator import itemgetter
from random import Random
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
    TimerFired,
)
from siftcast.overlays.trace import Trace
from siftcast.runtimes.sim import Simulation
from siftcast.underlay import TransitStub

PERIOD_MS, FANOUT, VIEW, ROUNDS = 1_000.0, 3, 20, 20
JOIN_MS, WAVES, DOWN_MS = 1.0, 3, 3_000.0
_heard = itemgetter(1)


class Gossip(Message, frozen=True, gc=False):
    """Nodes and what was last heard of each."""

    view: tuple[tuple[NodeId, int], ...]

    @property
    def introduces(self) -> tuple[NodeId, ...]:
        return tuple(node for node, _ in self.view)


class Gossiper(Protocol):
    """A node that keeps the newest news of twenty others."""

    messages = (Gossip,)

    __slots__ = ("_clock", "_news", "_node", "_random")

    def __init__(self, node: NodeId) -> None:
        self._node = node
        self._random = Random(0)
        self._clock = 0
        self._news: dict[NodeId, int] = {}

    def handle(self, stimulus: Stimulus, now: float) -> Sequence[Effect]:
        if isinstance(stimulus, MessageReceived):
            assert isinstance(stimulus.message, Gossip)
            self._learn(stimulus.message.view)
        elif isinstance(stimulus, TimerFired):
            return [self._tell(), SetTimer("gossip", PERIOD_MS)]
        elif isinstance(stimulus, Started):
            self._random = Random(stimulus.nonce)
            self._news = dict.fromkeys(stimulus.contacts, 0)
            return [SetTimer("gossip", self._random.random() * PERIOD_MS)]
        return NOTHING

    def _learn(self, view: tuple[tuple[NodeId, int], ...]) -> None:
        news = self._news
        newer = [item for item in view if item[1] > news.get(item[0], -1) and item[0] != self._node]
        if newer:
            news.update(newer)
            if len(news) > VIEW:
                self._news = dict(sorted(news.items(), key=_heard)[-VIEW:])

    def _tell(self) -> SendMessage:
        self._clock += 1
        known = list(self._news)
        others = self._random.sample(known, min(FANOUT, len(known)))
        return SendMessage(Gossip(((self._node, self._clock), *self._news.items())), others)


def main() -> None:
    nodes, records = int(sys.argv[1]), sys.argv[2:] == ["records"]
    started = process_time()
    simulation = prepare(nodes, Trace(messages=records))
    prepared = process_time()
    simulation.run(until_ms=nodes * JOIN_MS + ROUNDS * PERIOD_MS)
    taken = process_time() - prepared
    found = {
        "peak_bytes": peak_bytes() or 0,
        "handled": simulation.handled,
        "prepared_s": prepared - started,
        "rate": simulation.handled / taken,
        "records": simulation.trace.record_table().num_rows,
    }
    sys.stdout.write(json.dumps(found))


def prepare(nodes: int, trace: Trace) -> Simulation:
    """Peers that join, and waves of crashes."""
    rng = np.random.default_rng(1)
    underlay = TransitStub().build(rng).attach(nodes, rng)
    underlay.latency_ms(0, nodes - 1)  # has latencies worked out, once for all
    # Whoever is there already; after a crash, also peers of a greater number are.
    simulation = Simulation(
        [0], Gossiper, underlay, trace=trace, contacts=lambda node: (int(rng.integers(0, node)),) if node else ()
    )
    for node in range(1, nodes):
        simulation.join(node, at_ms=node * JOIN_MS)
    for wave in range(WAVES):
        crash_ms = nodes * JOIN_MS + (3 + 5 * wave) * PERIOD_MS
        for node in rng.choice(nodes, nodes // 10, replace=False).tolist():
            simulation.crash(node, at_ms=crash_ms)
            simulation.restart(node, at_ms=crash_ms + DOWN_MS)
    return simulation


if __name__ == "__main__":
    main()
