"""A proposed ring: what `siftcast plan ring` prints, and the options that `siftcast network apply` installs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from math import inf

from siftcast.planning.ring_costs import parts_printed
from siftcast.planning.ring_loads import RingLoads
from siftcast.space.hash_axis import HashAxis
from siftcast.space.ring_plan import Circle, RingPlan

RANGE, HASH, NO_RENDEZVOUS = "range", "hash", "none"
PLANNED = frozenset({
    "clusters", "replicas", "parts", "span_parts", "rendezvous", "visit", "key", "zones", "cuts", "zone_parts",
    "cluster_weights", "node_weights",
})  # fmt: skip
"""The options of the scheme `rendezvous` that a proposal decides, whether it has a word about them or not."""
_MIB = 2.0**20


@dataclass(frozen=True, slots=True)
class RingBounds:
    """What a ring must keep to, and for what it is planned.

    Without `nodes` as few as suffice are proposed. No node shall be busier than `busy`: beyond that queues grow fast.
    At least `replicas` nodes hold each subscription, so that all but one of them may fail.
    """

    subscriptions: int
    memory_bytes: float
    latency_ms: float = inf
    rate_s: float = 0.0
    nodes: int | None = None
    node_weights: tuple[float, ...] = ()
    replicas: int = 2
    busy: float = 0.7


@dataclass(frozen=True, slots=True)
class Tried:
    """A number of clusters that was tried, in figures."""

    clusters: int
    nodes: int
    parts: int
    memory_bytes: float
    worst_ms: float
    throughput_s: float
    breaks: tuple[str, ...]
    """The bounds that it does not keep, in words."""


@dataclass(frozen=True)
class RingProposal:
    """A circle with its predictions, and the others that were tried."""

    bounds: RingBounds
    loads: RingLoads
    cluster_shares: tuple[int, ...]
    """How the weight of all nodes is shared out among the clusters."""
    tried: tuple[Tried, ...]
    reason: str
    """How the key was chosen."""

    @property
    def circle(self) -> Circle:
        return self.loads.circle

    @property
    def nodes(self) -> int:
        """N."""
        return sum(map(len, self.circle.clusters))

    @property
    def rendezvous(self) -> str:
        """How events find their zone."""
        axes = self.circle.shards.axes
        return NO_RENDEZVOUS if not axes else HASH if isinstance(axes[0], HashAxis) else RANGE

    def ring_plan(self) -> RingPlan:
        """The plan for nodes in the order of their places."""
        return RingPlan((self.circle,))

    def options(self) -> dict[str, int | str | bool]:
        """The options of the scheme `rendezvous` that lay the same ring out."""
        shards, clusters = self.circle.shards, self.circle.clusters
        zone_parts, sizes = shards.parts[:-1], [len(cluster) for cluster in clusters]
        found: dict[str, int | str | bool] = {
            "clusters": len(clusters),
            "replicas": min(sizes),
            "parts": max(1, *zone_parts) if zone_parts else shards.parts[-1],
            "span_parts": shards.parts[-1],
            "rendezvous": self.rendezvous,
            "visit": "scatter" if self.loads.latency_ms(walk=False) <= self.loads.latency_ms(walk=True) else "walk",
        }
        for axis in shards.axes:
            found |= {"key": axis.attribute, "zones": len(axis)}
            if not isinstance(axis, HashAxis):
                found["cuts"] = json.dumps(axis.cuts, ensure_ascii=False)
        if len(set(zone_parts)) > 1:
            found["zone_parts"] = json.dumps(zone_parts)
        if self.bounds.node_weights:
            found["node_weights"] = json.dumps(self.bounds.node_weights)
        if len(set(self.cluster_shares)) > 1:
            found["cluster_weights"] = json.dumps(self.cluster_shares)
        return found

    # -- in words ------------------------------------------------------------------------------------

    def facts(self) -> Mapping[str, str]:
        """The proposal and its predictions, a line each."""
        loads, bounds, shards = self.loads, self.bounds, self.circle.shards
        sizes = [len(cluster) for cluster in self.circle.clusters]
        least, most = min(shards.parts), max(shards.parts)
        fullest, busy = max(load.memory_bytes for load in loads.clusters), loads.busiest
        waiting = max(load.wait_ms for load in loads.clusters)
        room = max(1, loads.costs.room(bounds.memory_bytes))
        idle_ms = (loads.latency_ms(walk=walk, idle=True) for walk in (False, True))
        return {
            "ring": f"N = {self.nodes} nodes in X = {len(sizes)} clusters; R = {_span(min(sizes), max(sizes))} "
            f"replicas of each subscription, H = {_span(least, most)} parts of a zone",
            "key": self._key(),
            "memory": f"at most {fullest / _MIB:,.0f} MiB on a node, of {bounds.memory_bytes / _MIB:,.0f}; "
            f"there is room for M = {room:,} subscriptions, and the paper's best H for all of them would be "
            f"{parts_printed(bounds.subscriptions, room)}",
            "latency": f"scatter {loads.latency_ms(walk=False):.2f} ms, walk {loads.latency_ms(walk=True):.2f} ms on "
            f"average; in the slowest zone {loads.worst_ms(walk=False):.2f} and {loads.worst_ms(walk=True):.2f} ms",
            "of that": f"{' and '.join(f'{each:.2f}' for each in idle_ms)} ms if all nodes are idle; the longest queue "
            f"adds {waiting:.2f} ms",
            "throughput": f"{loads.throughput_s:,.0f} events/s, when the busiest node has no time left"
            + (f"; at {bounds.rate_s:,.0f} events/s it is {busy:.0%} busy" if bounds.rate_s else ""),
            "visits": f"an event is sent to {loads.copies:.2f} nodes on average",
            "balance": f"I of subscriptions {loads.imbalance(of_events=False):.2f}, of events "
            f"{loads.imbalance(of_events=True):.2f}; 1 is perfect",
        }

    def _key(self) -> str:
        shards = self.circle.shards
        spans = f"{shards.counts[-1] / max(1, shards.total):.1%} of the subscriptions span"
        if not shards.axes:
            return f"none: {spans}, and every event visits all {shards.parts[-1]} parts"
        axis = shards.axes[0]
        how = "hashed to" if isinstance(axis, HashAxis) else "cut into"
        return f"{axis.attribute}, {how} {len(axis)} zones; {spans}"

    def explain(self) -> str:
        """Everything in words: the proposal, its zones, its clusters, and what else was tried."""
        width = max(map(len, self.facts()))
        lines = [f"{name:<{width}}  {value}" for name, value in self.facts().items()]
        return "\n".join([*lines, "", self.tables()])

    def tables(self) -> str:
        """Its zones, its clusters, and what else was tried."""
        return "\n".join([*self._zone_lines(), "", *self._cluster_lines(), "", *self._tried_lines()])

    def _zone_lines(self) -> list[str]:
        shards = self.circle.shards
        lines = ["zone   H  subscriptions  events  scatter   clusters     content"]
        described = [axis.describe(zone) for axis in shards.axes for zone in range(len(axis))] + ["those that span"]
        latencies = self.loads.latencies_ms(walk=False)
        for zone, content in enumerate(described):
            where = ",".join(map(str, self.circle.clusters_of(zone)))
            lines.append(
                f"{zone:>4}  {shards.parts[zone]:>2}  {shards.counts[zone]:>13,}  {shards.event_shares[zone]:>6.1%}  "
                f"{latencies[zone]:>4.2f} ms   {_cut(where, 11):<11}  {content}"
            )
        return lines

    def _cluster_lines(self) -> list[str]:
        lines = ["cluster  nodes  subscriptions each      memory    busy   queue"]
        for number, load in enumerate(self.loads.clusters):
            lines.append(
                f"{number:>7}  {load.nodes:>5}  {load.store:>18,.0f}  {load.memory_bytes / _MIB:>6,.0f} MiB  "
                f"{load.busy:>6.1%}  {load.wait_ms:>4.2f} ms"
            )
        return lines

    def _tried_lines(self) -> list[str]:
        lines = [line for line in (self.reason,) if line]
        lines.append("clusters  nodes   H  memory, most  slowest zone       events/s")
        chosen = len(self.circle.clusters), self.nodes, max(self.circle.shards.parts)
        for each in self.tried:
            mark = "→" if (each.clusters, each.nodes, each.parts) == chosen and not each.breaks else " "
            lines.append(
                f"{mark}{each.clusters:>7}  {each.nodes:>5}  {each.parts:>2}  {each.memory_bytes / _MIB:>8,.0f} MiB  "
                f"{each.worst_ms:>9.2f} ms  {each.throughput_s:>13,.0f}  {'; '.join(each.breaks)}".rstrip()
            )
        return lines

    def __str__(self) -> str:
        return self.explain()


def _span(least: int, most: int) -> str:
    return f"{least}" if least == most else f"{least} to {most}"


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"
