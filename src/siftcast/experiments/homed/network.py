"""A network of HOMED nodes in the simulator: it grows, and then it is asked things.

Nodes join in the order of their numbers, the network doubling every four seconds, so that up to thousands join at once;
each wants what its filter says and subscribes as it joins. While it grows, messages are only counted; afterwards each
is recorded. Heartbeats go on all the time, and are told apart from what a request causes by their names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial, reduce
from math import log2
from operator import or_
from typing import Any

import numpy as np

from siftcast.experiments.homed.world import World, draw_world
from siftcast.matching.pool import MatcherPool
from siftcast.model import Attribute, Event, Schema, Subscription
from siftcast.overlays.contract import Effects, MessageReceived, NodeId, Protocol, Stimulus
from siftcast.overlays.protocols.homed.messages import Beat
from siftcast.overlays.trace import Trace
from siftcast.runtimes.sim import Simulation
from siftcast.runtimes.sim.errors import SimulationError
from siftcast.runtimes.sim.wire import Faults, UniformNetwork
from siftcast.schemes import scheme
from siftcast.schemes.ground import Ground
from siftcast.space.digests import InterestDigests, is_within

RECEIVER = "to"
"""The attribute by which an event names the only node that is to have it."""
DELAY_MS = 10.0
"""The delay between any two nodes."""
UNDETECTED_MS = 1e12
"""No connection tells that a node is down, so that heartbeats must find it out."""
_DOUBLING_MS = 4_000.0
_STEP_MS = 200.0
_SETTLE_MS_MAX = 60_000.0


class Network:
    """Nodes that have joined, and what each of them wants."""

    def __init__(
        self,
        workload: str,
        nodes: int,
        seed: int,
        options: Mapping[str, Any],
        *,
        newcomers: int = 0,
        events: int = 0,
        each: int = 1,
        detect_ms: float = 100.0,
    ) -> None:
        self.size = nodes
        places = nodes + newcomers
        self.world: World = draw_world(workload, places * each, events, seed)
        self.filters = [self.world.filters[place * each : (place + 1) * each] for place in range(places)]
        self.publishers = [publisher % places for publisher in self.world.publishers]
        self.heard: Counter[str] = Counter()
        """What was noted of messages as they came in."""
        self.asking: dict[int, set[NodeId]] = {}
        """By the split beyond which nobody was left, both ends of beats that asked for somebody."""
        chosen = scheme("homed")
        configured = chosen.configure(options)
        rng = np.random.default_rng([seed, 3])
        named = [Attribute(RECEIVER, "int")] if configured.receivers else []
        schema = Schema([*self.world.schema, *named])
        ground = Ground(_no_latencies, rng, places=places, schema=schema)
        plan = chosen.plan(ground, configured)
        self.digests: InterestDigests = plan.digests
        self.interests = [reduce(or_, map(self.digests.of_filter, wanted)) for wanted in self.filters]
        make = chosen.nodes(plan, configured, MatcherPool().table)
        self.simulation = Simulation(
            [0],
            lambda node: _Observed(make(node), partial(self._note, node)),
            UniformNetwork(DELAY_MS),
            seed=seed,
            faults=Faults(detect_ms=detect_ms),
            trace=Trace(messages=False),
            contacts=partial(chosen.contacts, plan),
        )
        for node in range(nodes):
            self.join(node, _DOUBLING_MS * log2(node + 1))
        self.simulation.run(_DOUBLING_MS * log2(nodes + 1))
        self.settle()
        self.simulation.trace.messages = True

    def join(self, node: NodeId, at_ms: float) -> None:
        """Has a node join and subscribe."""
        if node:
            self.simulation.join(node, at_ms)
        wanted = (Subscription(id, filter_) for id, filter_ in zip(self.ids(node), self.filters[node], strict=True))
        self.simulation.subscribe(node, *wanted, at_ms=at_ms)

    def ids(self, node: NodeId) -> list[str]:
        """The subscriptions of a node."""
        return [f"s{node}/{number}" for number in range(len(self.filters[node]))]

    def settle(self) -> None:
        """Goes on until every node has the place it needs, and all know what is wanted there."""
        simulation = self.simulation
        until = simulation.now + _SETTLE_MS_MAX
        while not all(protocol.is_settled for protocol in simulation.protocols.values()):
            if simulation.now > until:
                raise SimulationError(f"{self.size} nodes have not settled after {_SETTLE_MS_MAX / 1_000:g} s")
            simulation.run(simulation.now + _STEP_MS)

    def run(self, for_ms: float) -> None:
        """Goes on for so long."""
        self.simulation.run(self.simulation.now + for_ms)

    def forget_records(self) -> None:
        """Begins the record of the run again, so that what follows stands alone."""
        trace = self.simulation.trace
        self.simulation.trace = Trace(subscriptions=trace.subscriptions)

    def sent(self) -> dict[str, int]:
        """How many messages of each name were sent since the record began."""
        found: dict[str, int] = {}
        table = self.simulation.trace.record_table()
        for kind, name in zip(table["kind"].to_pylist(), table["message"].to_pylist(), strict=True):
            if kind == "sent":
                found[name] = found.get(name, 0) + 1
        return found

    def interested(self, event: Event) -> set[NodeId]:
        """The nodes whose digest contains that of an event, of those it is for."""
        digest = self.digests.of_event(event)
        return {node for node in self._receivers(event) if is_within(digest, self.interests[node])}

    def wanting(self, event: Event) -> set[NodeId]:
        """The nodes with a filter that matches an event, of those it is for."""
        receivers = self._receivers(event)
        return {node for node in receivers if any(filter_.matches(event) for filter_ in self.filters[node])}

    def _receivers(self, event: Event) -> set[NodeId]:
        there = set(self.simulation.protocols)
        named = event.get(RECEIVER)
        return there if named is None else {node for node in there if node == named}

    def neighbours(self) -> dict[NodeId, set[NodeId]]:
        """Whom each node knows beyond its splits."""
        return {node: set(protocol.state()["neighbours"]) for node, protocol in self.simulation.protocols.items()}

    def facts(self, name: str) -> list[float]:
        """A number that each node says about itself."""
        return [float(protocol.state()[name]) for _, protocol in sorted(self.simulation.protocols.items())]

    def _note(self, node: NodeId, stimulus: Stimulus) -> None:
        if type(stimulus) is not MessageReceived or type(stimulus.message) is not Beat:
            return
        beat = stimulus.message
        self.heard["beats"] += 1
        self.heard["filters"] += len(beat.filters or ())
        for split in beat.wanted:
            self.asking.setdefault(split, set()).update((node, stimulus.sender))


class _Observed(Protocol):
    """A node whose stimuli somebody looks at."""

    def __init__(self, inner: Protocol, note: Callable[[Stimulus], None]) -> None:
        self._inner = inner
        self._note = note

    def handle(self, stimulus: Stimulus, now: float) -> Effects:
        self._note(stimulus)
        return self._inner.handle(stimulus, now)

    @property
    def is_settled(self) -> bool:
        return self._inner.is_settled

    @property
    def can_leave(self) -> bool:
        return self._inner.can_leave

    def state(self) -> Mapping[str, Any]:
        return self._inner.state()


def _no_latencies() -> Any:
    raise NotImplementedError("HOMED is not planned from latencies")
