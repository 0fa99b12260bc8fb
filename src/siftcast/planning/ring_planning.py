"""Proposing a ring: how many nodes, clusters, replicas and parts, and where to cut (layering paper, 4.2 and caveats).

    for X clusters, from one to as many as there may be
        cut the key into about X zones of even load          `choose_shards`, which may find that no cut pays
        H parts for each zone, by what it holds              no cluster above a node's memory, with the hash's margin
        R replicas for each cluster, by what events cost     at least as many as may fail, and none too busy
        predict latency, memory, queues                      `ring_loads`
    take the one with the fewest nodes that keeps to all bounds; of equals the fastest

So replicas follow the popularity of content, and an application is given the nodes that it needs and not all there
are. The paper names both as what its ring lacks.

Where the number of nodes is given, all are used: the clusters whose nodes have most to do get those that are left over,
and the ring that bears most events is taken.

Rejected: to solve for X from the formulas. What a cut does to the load is known only when it is made, and there are
fewer than thirty X worth trying.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from heapq import heapify, heapreplace
from math import ceil, log2
from typing import NamedTuple

from siftcast.model import DataError, Filter
from siftcast.model.values import Kind
from siftcast.planning.ring_costs import NodeCosts, parts_needed
from siftcast.planning.ring_loads import RingLoads, stores_of
from siftcast.planning.ring_proposal import HASH, NO_RENDEZVOUS, RANGE, RingBounds, RingProposal, Tried
from siftcast.planning.shard_choice import AxisName, EventSample, choose_shards
from siftcast.space.hash_axis import HashAxis
from siftcast.space.ring_plan import Circle, cut_by_rank
from siftcast.space.shard_axes import CutValue
from siftcast.space.shard_plan import Placement, ShardPlan

AUTO = "auto"
NODES_MAX = 1_000
"""So many nodes are proposed at most."""
NODES_GIVEN_MAX = 20_000
"""So many may be given: each is put into a cluster for each ring that is tried, which then takes seconds."""
_CLUSTERS_MAX = 256
_SAMPLE = 4_000
_THROUGHPUT_MAX = 1e15  # it is infinite where times are given as 0
_CUT_KINDS = frozenset({Kind.NUMBER, Kind.STRING})  # what options can name; other kinds have no cuts there


def plan_ring(
    filters: Sequence[Filter],
    events: EventSample,
    bounds: RingBounds,
    costs: NodeCosts,
    *,
    rendezvous: str = AUTO,
    key: str = "",
    progress: Callable[[str], None] = lambda doing: None,
) -> RingProposal:
    """The ring for subscriptions of which the filters are a sample, and events with these values.

    Raises DataError, in words and with the nearest figures, where no ring keeps to the bounds.
    """
    room = costs.room(bounds.memory_bytes)
    if room < 1:
        raise DataError(f"a node needs {costs.memory_bytes(1) / 2**20:,.0f} MiB before it holds any subscription")
    filters = filters[:: 1 + len(filters) // _SAMPLE]
    sample = _chosen(events, rendezvous, key)
    tried: list[tuple[Tried, _Staffed, str]] = []
    wanted: list[int] = []
    fewest = NODES_MAX + 1
    for clusters in _cluster_counts(bounds):
        if bounds.nodes is None and clusters * bounds.replicas > fewest:
            break  # with more clusters there are only more nodes
        progress(f"{clusters} clusters")
        shards = _shards(filters, sample, bounds, clusters, rendezvous)
        for parts in _ways_to_divide(shards, clusters, room):
            dealt = _dealt(shards, parts)
            sizes = _sizes(dealt, clusters, bounds, costs)
            if bounds.nodes is None and sum(sizes) > NODES_MAX:
                wanted.append(sum(sizes))
                continue
            staffed = _staffed(dealt, sizes, bounds, costs)
            tried.append((_judged(staffed.loads, bounds), staffed, shards.reason))
            if not tried[-1][0].breaks:
                fewest = min(fewest, tried[-1][0].nodes)
    good = [each for each in tried if not each[0].breaks]
    if not good:
        raise DataError(_refusal([each for each, _, _ in tried], bounds, costs, wanted))
    _, best, reason = min(good, key=lambda each: _rank(each[0], each[1].loads, bounds))
    shown = list(dict.fromkeys(each for each, _, _ in tried))
    return RingProposal(bounds, best.loads, best.shares, tuple(shown), reason)


def _rank(tried: Tried, loads: RingLoads, bounds: RingBounds) -> tuple[float, ...]:
    """Fewest nodes first; where their number is given, most events first, in steps of a twentieth."""
    if bounds.nodes is None:
        return tried.nodes, loads.latency_ms(walk=False), tried.clusters
    throughput_s = min(max(1.0, loads.throughput_s), _THROUGHPUT_MAX)
    return -round(20 * log2(throughput_s)), loads.latency_ms(walk=False), tried.clusters


# -- zones -------------------------------------------------------------------------------------------


def _cluster_counts(bounds: RingBounds) -> Iterator[int]:
    """All small numbers of clusters, then larger ones in steps of a quarter."""
    nodes = NODES_MAX if bounds.nodes is None else bounds.nodes
    most = min(_CLUSTERS_MAX, nodes // bounds.replicas)
    if most < 1:
        raise DataError(f"{nodes:,} nodes are too few for {bounds.replicas:,} replicas; accept fewer replicas")
    if nodes > NODES_GIVEN_MAX:
        raise DataError(f"a ring is planned for at most {NODES_GIVEN_MAX:,} nodes, and these are {nodes:,}")
    clusters = 1
    while clusters <= most:
        yield clusters
        clusters = max(clusters + 1, clusters * 5 // 4)


def _chosen(events: EventSample, rendezvous: str, key: str) -> EventSample:
    """The attributes that may be the key."""
    if rendezvous not in (AUTO, RANGE, HASH, NO_RENDEZVOUS):
        raise DataError(f"a rendezvous is {AUTO}, {RANGE}, {HASH} or {NO_RENDEZVOUS}, not '{rendezvous}'")
    if rendezvous == NO_RENDEZVOUS:
        return {}
    usable = {name: values for name, values in events.items() if name[1] in _CUT_KINDS}
    named = {name: values for name, values in usable.items() if key in ("", name[0])}
    if key and not named:
        known = ", ".join(sorted({name[0] for name in usable})) or "none"
        raise DataError(f"'{key}' cannot be the key: no event has a number or a string there (these have: {known})")
    if rendezvous != AUTO and not named:
        raise DataError("nothing can be the key: no event has a number or a string")
    return named


def _shards(
    filters: Sequence[Filter], events: EventSample, bounds: RingBounds, clusters: int, rendezvous: str
) -> ShardPlan:
    """The zones for so many clusters, without parts."""
    if rendezvous != HASH:
        return choose_shards(filters, events, total=bounds.subscriptions, shards=clusters, axes_max=1)
    names = [name for name in events if name[1] is Kind.STRING]
    if not names:
        raise DataError("only names are hashed, and no event has a string there; cut the key into ranges instead")
    plans = [_hashed(name, filters, events[name], bounds.subscriptions, max(2, clusters)) for name in names]
    return min(plans, key=lambda plan: (plan.counts[-1], plan.met))


def _hashed(
    name: AxisName, filters: Sequence[Filter], values: Sequence[CutValue | None], total: int, zones: int
) -> ShardPlan:
    """A key that is hashed, with what the samples put into each zone."""
    axis = HashAxis(*name, zones)
    placement = Placement(ShardPlan((axis,), zones, (0,) * (zones + 1), (0.0,) * (zones + 1), dealt=(1,) * (zones + 1)))
    counts, shares = [0.0] * (zones + 1), [0.0] * zones
    idle = 0
    for filter_ in filters:
        found = placement.zones(filter_)
        idle += not found
        for zone in found:
            counts[zone] += total / len(filters)
    for value in values:
        if value is not None:
            shares[axis.zone_of(value)] += 1 / len(values)
    whole = tuple(round(count) for count in counts)
    reason = f"{axis.attribute} is hashed, as it was asked for."
    return ShardPlan(
        (axis,), zones, whole, (*shares, 1.0), round(idle * total / max(1, len(filters))), total, reason=reason
    )


# -- parts, replicas ---------------------------------------------------------------------------------


def _ways_to_divide(shards: ShardPlan, clusters: int, room: int) -> Iterator[tuple[int, ...]]:
    """The parts of each zone: as few as fit, so that events visit few clusters; and so that clusters hold alike."""
    few = _fitting([1] * len(shards.counts), shards, clusters, room)
    if few is not None:
        yield few
    even = max(1.0, sum(shards.counts) / clusters)
    alike = [min(clusters, max(1, ceil(count / even / 1.5))) for count in shards.counts]
    dealt = _fitting(alike, shards, clusters, room)
    if dealt is not None and dealt != few:
        yield dealt


def _fitting(parts: list[int], shards: ShardPlan, clusters: int, room: int) -> tuple[int, ...] | None:
    """More parts for the zones of clusters that hold too much, until none does; None if that cannot be."""
    for zone, count in enumerate(shards.counts):
        if count > clusters * room:
            return None
        parts[zone] = min(clusters, max(parts[zone], parts_needed(count, room)))
    while True:
        circle = _circle(_dealt(shards, parts), [(place,) for place in range(clusters)])
        stores = stores_of(circle, most=True)
        full = max(range(clusters), key=stores.__getitem__)
        if stores[full] <= room:
            return tuple(parts)
        here = [zone for zone, count in enumerate(parts) if count < clusters and full in circle.clusters_of(zone)]
        if not here:
            return None
        zone = max(here, key=lambda zone: shards.counts[zone] / parts[zone])
        parts[zone] = min(clusters, max(parts[zone] + 1, parts[zone] * 5 // 4))


def _dealt(shards: ShardPlan, parts: Sequence[int]) -> ShardPlan:
    return replace(shards, dealt=tuple(parts))


def _circle(shards: ShardPlan, clusters: Sequence[Sequence[int]]) -> Circle:
    """Zones laid around the clusters, each beginning half its parts before its place, as the paper's walk does."""
    count, zones = len(clusters), len(shards.parts) - 1
    starts = [(zone * count // max(1, zones) - shards.parts[zone] // 2) % count for zone in range(zones)]
    return Circle(shards, tuple(map(tuple, clusters)), (*starts, 0))


class _Staffed(NamedTuple):
    """A circle with its predictions, and the shares by which its nodes were cut into clusters."""

    loads: RingLoads
    shares: tuple[int, ...]


def _sizes(shards: ShardPlan, clusters: int, bounds: RingBounds, costs: NodeCosts) -> list[int]:
    """The nodes of each cluster, by what its events cost."""
    alone = RingLoads(_circle(shards, [(place,) for place in range(clusters)]), costs)
    work = [load.work_ms for load in alone.clusters]
    if bounds.nodes is not None:
        return _spread([bounds.replicas] * clusters, work, bounds.nodes)
    return [max(bounds.replicas, ceil(bounds.rate_s * each / 1_000 / bounds.busy)) for each in work]


def _staffed(shards: ShardPlan, sizes: Sequence[int], bounds: RingBounds, costs: NodeCosts) -> _Staffed:
    """The circle with so many nodes in each cluster."""
    nodes, clusters = sum(sizes), len(sizes)
    weights = bounds.node_weights or (1.0,) * nodes
    if len(weights) != nodes:
        raise DataError(f"there are {len(weights)} weights for {nodes} nodes")
    cut = cut_by_rank(range(nodes), clusters, weights.__getitem__, sizes)
    copies = [len(cluster) for cluster in cut]
    homes = map(_circle(shards, cut).clusters_of, range(len(shards.parts)))
    replicas = tuple(min(copies[cluster] for cluster in of_zone) for of_zone in homes)
    mean = sum(weights) / nodes
    speeds = tuple(tuple(weights[node] / mean for node in cluster) for cluster in cut)
    circle = _circle(replace(shards, replicas=replicas), cut)
    return _Staffed(RingLoads(circle, costs, bounds.rate_s, speeds), tuple(sizes))


def _spread(sizes: list[int], work: Sequence[float], nodes: int) -> list[int]:
    """The nodes that are left over go where nodes have most to do."""
    heap = [(-load / size, number) for number, (load, size) in enumerate(zip(work, sizes, strict=True))]
    heapify(heap)
    for _ in range(nodes - sum(sizes)):
        number = heap[0][1]
        sizes[number] += 1
        heapreplace(heap, (-work[number] / sizes[number], number))
    return sizes


# -- judging -----------------------------------------------------------------------------------------


def _judged(loads: RingLoads, bounds: RingBounds) -> Tried:
    """How a ring keeps to its bounds."""
    memory = max(load.memory_bytes for load in loads.clusters)
    worst, busiest = min(loads.worst_ms(walk=False), loads.worst_ms(walk=True)), loads.busiest
    sizes = [len(cluster) for cluster in loads.circle.clusters]
    breaks = []
    if busiest > bounds.busy * (1 + 1e-9):
        breaks.append(f"a node is {busiest:.0%} busy")
    if worst > bounds.latency_ms:
        breaks.append("too slow")
    if min(sizes) < bounds.replicas:
        breaks.append(f"a cluster of {min(sizes)}")
    return Tried(
        len(sizes), sum(sizes), max(loads.circle.shards.parts), memory, worst, loads.throughput_s, tuple(breaks)
    )


def _refusal(tried: Sequence[Tried], bounds: RingBounds, costs: NodeCosts, wanted: Sequence[int]) -> str:
    """Why there is no ring, and what would help; `wanted` are the nodes of rings that would have too many."""
    if not tried and wanted:
        return (
            f"{bounds.rate_s:,.0f} events/s want at least {min(wanted):,} nodes that are {bounds.busy:.0%} busy, with "
            f"{bounds.replicas} replicas, and no more than {NODES_MAX:,} are proposed; plan for fewer events, or say "
            "with --nodes how many nodes there are"
        )
    if not tried:
        room = costs.room(bounds.memory_bytes)
        nodes = f"{bounds.nodes} nodes" if bounds.nodes is not None else f"{NODES_MAX:,} nodes"
        return (
            f"{bounds.subscriptions:,} subscriptions do not fit: a node has room for {room:,}, and {nodes} with "
            f"{bounds.replicas} replicas are too few; allow more memory or nodes, or fewer replicas"
        )
    lines = ["no ring keeps to the bounds:"]
    fastest = min(tried, key=lambda each: each.worst_ms)
    if fastest.worst_ms > bounds.latency_ms:
        lines.append(
            f"latency: at best {fastest.worst_ms:.2f} ms, with {fastest.clusters} clusters, and not "
            f"{bounds.latency_ms:g}; nodes that are nearer or have less to hold would help"
        )
    strongest = max(tried, key=lambda each: each.throughput_s)
    if bounds.rate_s > bounds.busy * strongest.throughput_s:
        lines.append(
            f"rate: at best {bounds.busy * strongest.throughput_s:,.0f} events/s, with {strongest.nodes:,} nodes that "
            f"are {bounds.busy:.0%} busy, and not {bounds.rate_s:,.0f}; more nodes would help"
        )
    if len(lines) == 1:
        lines.append("each bound can be kept, but not all at once; loosen one of them")
    return "\n".join(lines)
