"""Row R3: latency and throughput of a zone with H parts, measured in the simulator beside the paper's formulas.

    publisher ──k1──▶ matcher ──k1──▶ … ──k1──▶ matcher       a walk: k1·H + Σ match(store), as printed
    publisher ══k1══▶ all H matchers                          a scatter: k1 + max match(store), and H uploads

The worst case of the paper: all subscriptions have one rendezvous value and match every event. Each matcher takes
match(store) for what it keeps: a + b·store while it fits into M, and a page fault for each one beyond. Every message
takes k1. Matchers do nothing else, and those who publish and subscribe do not match.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from siftcast.matching.pool import MatcherPool
from siftcast.model import Event, Filter, Subscription
from siftcast.overlays.contract import NodeId
from siftcast.overlays.roles import MATCHER
from siftcast.planning.ring_costs import (
    MatchTimes,
    NodeCosts,
    parts_needed,
    parts_printed,
    scatter_ms,
    throughput_s,
    wait_ms,
    walk_ms,
)
from siftcast.runtimes.sim import Costs, QueueingSimulation, UniformNetwork
from siftcast.runtimes.sim.checkers.columns import read_columns
from siftcast.schemes import Ground, scheme

Found = dict[str, Any]
HOP_MS = 0.05
_GAP_MS = 1_000.0


@dataclass(frozen=True, slots=True)
class MatchCost:
    """match(store): cheap while the store fits into `room`, dear for each subscription beyond."""

    least_ms: float = 0.02
    each_us: float = 1.0
    room: int = 1_000_000
    fault_us: float = 50.0

    def at(self, store: float) -> float:
        """The time of one match."""
        beyond = max(0.0, store - self.room)
        return self.least_ms + (self.each_us * store + self.fault_us * beyond) / 1_000

    def costs(self) -> NodeCosts:
        """The same for the formulas."""
        sizes = (0, self.room, 2 * self.room)
        times = MatchTimes(sizes, tuple(self.at(size) for size in sizes))
        return NodeCosts(times, hop_ms=HOP_MS, handling_ms=0.0)


class StoreSimulation(QueueingSimulation):
    """Matching takes as long as what a matcher keeps asks for."""

    def __init__(self, *arguments: Any, match: MatchCost, **options: Any) -> None:
        self.match = match
        super().__init__(*arguments, costs=Costs(), **options)

    def store(self, node: NodeId) -> int:
        """How many subscriptions a matcher keeps."""
        return int(self.protocols[node].state().get("entries", 0))

    def _cost_ms(self, node: NodeId, matches: int, lookups: int) -> float:
        return matches * self.match.at(self.store(node)) if matches else 0.0


class Zone:
    """One zone of H parts and R replicas, with subscribers, and as many publishers as are asked for."""

    def __init__(
        self, subscriptions: int, parts: int, match: MatchCost, seed: int, *, walk: bool, replicas: int = 1
    ) -> None:
        matchers = parts * replicas
        chosen = scheme("rendezvous")
        options = chosen.configure(
            {
                "rendezvous": "none",
                "clusters": parts,
                "replicas": replicas,
                "parts": parts,
                "visit": "walk" if walk else "scatter",
                "confirm": "none",
            }
        )
        rng = np.random.default_rng([seed, 3, parts])
        self.matchers, self.publisher, subscriber = range(matchers), matchers, matchers + 1
        places = matchers + 2
        roles = {place: frozenset({MATCHER}) for place in self.matchers}
        far = np.full((places, places), HOP_MS) - HOP_MS * np.eye(places)
        plan = chosen.plan(Ground(lambda: far, rng, places=places, roles=roles), options)
        self.simulation = StoreSimulation(
            range(places),
            chosen.nodes(plan, options, MatcherPool().table),
            UniformNetwork(HOP_MS),
            match=match,
            seed=seed,
        )
        wanted = Filter.parse("TRUE")
        ids = rng.bytes(8 * subscriptions).hex(" ", 8).split()
        self.simulation.subscribe(subscriber, *(Subscription(id, wanted) for id in ids))
        self.simulation.run()
        self.stores = [self.simulation.store(node) for node in self.matchers]

    def publish(self, times_ms: Sequence[float]) -> tuple[list[float], list[float], float]:
        """Publishes events; their latencies, when each was matched, and how many copies the publisher sent of each."""
        simulation = self.simulation
        begun = simulation.now + _GAP_MS
        for number, at_ms in enumerate(times_ms):
            simulation.publish(self.publisher, Event({"n": number}, id=f"e{number}"), at_ms=begun + at_ms)
        trace = simulation.run()
        rows = read_columns(trace, ("received", "sent"))
        done = np.zeros(len(times_ms))
        matched = rows.of("received") & (rows.matches > 0)
        for node, time, event in zip(rows.node[matched], rows.time_ms[matched], rows.event[matched], strict=True):
            number = int(rows.events[event][1:])
            done[number] = max(done[number], time + simulation.match.at(self.stores[node]))
        uploads = int((rows.of("sent") & (rows.node == self.publisher)).sum()) / len(times_ms)
        latencies = (done - begun - np.array(times_ms)).tolist()
        return latencies, sorted((done - begun).tolist()), uploads


def measure_idle(subscriptions: int, hops: Sequence[int], events: int, seed: int) -> Found:
    """Latency when all is idle, and the throughput when nothing is, for each H; walk and scatter."""
    match = MatchCost()
    costs = match.costs()
    found: Found = {}
    for parts in hops:
        for name, walk in (("walk", True), ("scatter", False)):
            zone = Zone(subscriptions, parts, match, seed, walk=walk)
            (latency, *_), _, uploads = zone.publish([0.0, 500.0])
            _, ends, _ = Zone(subscriptions, parts, match, seed, walk=walk).publish([0.0] * events)
            stores = zone.stores
            even = [subscriptions / parts] * parts
            formula = walk_ms if walk else scatter_ms
            found[f"{parts} {name}"] = {
                "latency_ms": latency,
                "formula_ms": formula(costs, stores),
                "even_ms": formula(costs, even),
                "throughput_s": 1_000 * (events - 1) / (ends[-1] - ends[0]),
                "formula_s": throughput_s(costs, stores),
                "even_s": throughput_s(costs, even),
                "uploads": uploads,
            }
    return found


def measure_replicas(subscriptions: int, parts: int, replicas: Sequence[int], events: int, seed: int) -> Found:
    """What R adds to the throughput of a zone."""
    found: Found = {}
    for each in replicas:
        zone = Zone(subscriptions, parts, MatchCost(), seed, walk=False, replicas=each)
        _, ends, _ = zone.publish([0.0] * events)
        found[str(each)] = {
            "throughput_s": 1_000 * (events - 1) / (ends[-1] - ends[0]),
            "formula_s": throughput_s(MatchCost().costs(), zone.stores[::each], each),
        }
    return found


def measure_queues(subscriptions: int, parts: int, loads: Sequence[float], events: int, seed: int) -> Found:
    """How long events wait that come at random, at shares of the throughput; the mean beside what M/D/1 says."""
    rng = np.random.default_rng([seed, 33])
    found: Found = {}
    for name, walk in (("walk", True), ("scatter", False)):
        for load in loads:
            zone = Zone(subscriptions, parts, MatchCost(), seed, walk=walk)
            costs = MatchCost().costs()
            rate_s = load * throughput_s(costs, zone.stores)
            times = np.cumsum(rng.exponential(1_000 / rate_s, events)).tolist()
            latencies, _, _ = zone.publish(times)
            waits = [wait_ms(rate_s, [(1.0, costs.service_ms(store))]) for store in zone.stores]
            formula = walk_ms if walk else scatter_ms
            found[f"{load:g} {name}"] = {
                "latency_ms": float(np.mean(latencies)),
                "p99_ms": float(np.percentile(latencies, 99)),
                "idle_ms": formula(costs, zone.stores),
                "predicted_ms": formula(costs, zone.stores, waits),
            }
    return found


def measure_best(room: int, sizes: Sequence[float], seed: int) -> Found:
    """The H with the lowest latency for stores of so many times M, beside the printed formula and ours."""
    found: Found = {}
    for size in sizes:
        subscriptions = round(size * room)
        match = MatchCost(room=room)
        printed, ours = parts_printed(subscriptions, room), parts_needed(subscriptions, room)
        row: Found = {"printed": printed, "ours": ours, "walk": {}, "scatter": {}}
        for parts in range(max(1, printed - 1), ours + 3):
            for name, walk in (("walk", True), ("scatter", False)):
                zone = Zone(subscriptions, parts, match, seed, walk=walk)
                (latency,), _, _ = zone.publish([0.0])
                row[name][str(parts)] = latency
                if parts in (printed, ours):
                    row["largest_printed" if parts == printed else "largest_ours"] = max(zone.stores)
        row.setdefault("largest_ours", row["largest_printed"])
        found[f"{size:g}"] = row
    return found
