"""A simulation in which handling a message takes time: nodes are busy, and what comes meanwhile waits its turn.

    arrives ───waits───▶ handling begins ───costs───▶ effects are carried out, the next in the queue has its turn

A message or a publication costs `message_ms`, and `match_ms` and `lookup_ms` for each routing table that was matched
and each key that was looked up (`Spent`). Costs are given, and not measured while the run goes on: then the machine
would decide, and no longer the seed. Timers, answers, subscriptions and news about peers take no time. What waits at a
node that crashes is dropped.

A message is `received` in the trace when handling it begins. Cost: a deque for each busy node, one more step a message.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from siftcast.overlays.contract import Effects, MessageReceived, NodeId, PublishRequested, Spent
from siftcast.runtimes.sim.recording import note_request
from siftcast.runtimes.sim.simulation import Simulation


@dataclass(frozen=True, slots=True)
class Costs:
    """How long a node is busy: for each message or publication, and for each match and lookup that it takes."""

    message_ms: float = 0.0
    match_ms: float = 0.0
    lookup_ms: float = 0.0

    def __post_init__(self) -> None:
        for name in ("message_ms", "match_ms", "lookup_ms"):
            if not 0 <= getattr(self, name) < float("inf"):
                raise ValueError(f"{name} must be a time of at least 0, not {getattr(self, name)}")


class _Finish(msgspec.Struct, frozen=True, gc=False):
    """A node has handled something; what it wants done is done now."""

    life: int
    effects: Effects


class QueueingSimulation(Simulation):
    """A simulation whose nodes handle one thing after the other."""

    def __init__(self, *arguments: Any, costs: Costs, **options: Any) -> None:
        self.costs = costs
        self.waits_ms: list[float] = []
        """How long each message and publication waited for its turn."""
        self.busy_ms: dict[NodeId, float] = {}
        self._queues: dict[NodeId, deque[tuple[float, Any]]] = {}
        """What waits at nodes that are busy; a node that is not has no queue."""
        super().__init__(*arguments, **options)

    def utilisation(self) -> npt.NDArray[np.float64]:
        """The share of the time so far that each node was busy, by number, for all nodes that ever were."""
        return np.array([self.busy_ms[node] / self.now for node in sorted(self.busy_ms)]) if self.now else np.zeros(0)

    def _receive(self, node: NodeId, arrival: Any) -> None:
        if node not in self.protocols:
            super()._receive(node, arrival)
        else:
            self._enter(node, arrival)

    def _meet(self, node: NodeId, item: Any) -> None:
        if type(item) is _Finish:
            self._finish(node, item)
        elif type(item) is PublishRequested and node in self.protocols:
            self._enter(node, item)
        else:
            super()._meet(node, item)

    def _enter(self, node: NodeId, item: Any) -> None:
        queue = self._queues.get(node)
        if queue is None:
            self._queues[node] = deque()
            self._begin(node, self.now, item)
        else:
            queue.append((self.now, item))

    def _begin(self, node: NodeId, arrived_ms: float, item: Any) -> None:
        """Handles something; what it costs passes before its effects are seen."""
        self.waits_ms.append(self.now - arrived_ms)
        stimulus: Any = item if type(item) is PublishRequested else item[0]
        if type(stimulus) is MessageReceived and self._introductions is not None:
            self._introductions.hear(node, stimulus.sender, stimulus.message)
        effects = self.protocols[node].handle(stimulus, self.now)
        spent = [effect for effect in effects if type(effect) is Spent]
        matches, lookups = sum(each.matches for each in spent), sum(each.lookups for each in spent)
        if type(stimulus) is PublishRequested:
            note_request(self.trace, self.now, node, stimulus, heard=True, matches=matches, lookups=lookups)
        elif self.trace.messages:
            _, name, event, overhead = item
            row = (self.now, "received", node, stimulus.sender, name, event, matches, lookups, overhead)
            self.trace.records.append(row)
        else:
            self.trace.counts["received", item[1]] += 1
        cost_ms = self._cost_ms(node, matches, lookups)
        self.busy_ms[node] = self.busy_ms.get(node, 0.0) + cost_ms
        self._push(self.now + cost_ms, node, _Finish(self._lives[node], effects))

    def _cost_ms(self, node: NodeId, matches: int, lookups: int) -> float:
        """How long a node is busy with what it handles now."""
        costs = self.costs
        return costs.message_ms + matches * costs.match_ms + lookups * costs.lookup_ms

    def _finish(self, node: NodeId, item: _Finish) -> None:
        if self._lives[node] != item.life:
            return
        for effect in item.effects:
            self._carry_out(node, effect)
        queue = self._queues[node]
        if queue:
            self._begin(node, *queue.popleft())
        else:
            del self._queues[node]

    def _stop(self, node: NodeId, kind: str) -> None:
        super()._stop(node, kind)
        for _, item in self._queues.pop(node, ()):
            if type(item) is PublishRequested:
                note_request(self.trace, self.now, node, item, heard=False)
            else:
                self._note_message("dropped", node, item[0].sender, item[1], item[2])
