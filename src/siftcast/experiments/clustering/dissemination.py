"""What notifying costs while hot spots move and while peers come and go: row C8.

Every peer has one subscription and publishes, too. Our two variants run as protocol objects in the simulator.
Clusters are found again every so many events from what subscriptions matched last, over two levels, and installed
when their centres have moved. OV-RTree is a model that counts messages (`rtree_overlay.py`). The same R-tree clusters
also run in our scheme, to tell what is due to the clusters and what to the scheme.

Traffic counts from the first event on: events, the scheme's own control traffic, and what the simulator does not see
(`round_messages`): a round of embedding and k-means, and the two messages by which a newcomer learns its coordinates.

Churn: in each step some peers leave and as many take their places, with other subscriptions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from siftcast.experiments.clustering.rtree_overlay import RTreeOverlay
from siftcast.experiments.clustering.world import CLUSTERS, Flags, Integers, World, draw_world
from siftcast.overlays.protocols.clustered import Clustered, ClustersPlanned
from siftcast.overlays.tables import matcher_tables
from siftcast.planning import assign_clusters, plan_clusters
from siftcast.planning.clustering import MatchedEvents, SubscriptionClusters, matched_events, rtree_clusters
from siftcast.runtimes.sim import Simulation
from siftcast.runtimes.sim.checkers import exactly_once, notification_cost, notification_costs
from siftcast.space import ClusterAssignment
from siftcast.underlay import Underlay, Waxman

Found = dict[str, Any]
SCHEMES = ("multicast", "filtering", "ov_clusters", "ov_rtree")
WINDOW = 50
_GAP_MS = 2_000.0
_GROUP_SIZE = 250
_PROFILE_EVENTS = 200
NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class Timeline:
    """Who is there when, in numbers of events: subscription s from `start[s]` to before `stop[s]`, at `peer[s]`."""

    world: World
    start: Integers
    stop: Integers
    peer: Integers
    publishers: Integers
    warm: int
    """Events before the first that counts; the first clusters are made from them."""
    step: int
    """Events between steps of churn, and between rounds of clustering."""
    rows: Integers
    numbers: Integers
    """All matching pairs of subscriptions and events, whoever is there."""

    def present(self, at: int) -> Flags:
        """Whose subscriptions are there when an event is published."""
        flags: Flags = (self.start <= at) & (at < self.stop)
        return flags

    def recent(self, at: int) -> MatchedEvents:
        """What everyone who is there has matched last; those who are not have an empty row."""
        since = np.where(self.start == self.warm, 0, self.start)[self.rows]
        seen = (self.numbers < at) & (self.numbers >= since) & self.present(at)[self.rows]
        return matched_events(self.rows[seen], self.numbers[seen], count=len(self.world))

    @property
    def steps(self) -> range:
        return range(self.warm + self.step, len(self.world.events), self.step)


def draw_timeline(peers: int, events: int, warm: int, step: int, churn: float, seed: int, **options: Any) -> Timeline:
    """A workload, and who leaves and comes at each step."""
    rng = np.random.default_rng([seed, 10])
    steps = range(warm + step, events, step)
    changing = round(churn * peers)
    total = peers + changing * len(steps)
    world = draw_world("WL2", total, events, seed, **options)
    start, stop = np.full(total, warm), np.full(total, NEVER)
    peer = np.arange(total)
    holder = np.arange(peers)
    for number, at in enumerate(steps):
        fresh = np.arange(peers + number * changing, peers + (number + 1) * changing)
        leaving = rng.choice(peers, changing, replace=False)
        stop[holder[leaving]] = at
        start[fresh], peer[fresh] = at, leaving
        holder[leaving] = fresh
    publishers = rng.integers(0, peers, events)
    rows, numbers = world.matches()
    return Timeline(world, start, stop, peer, publishers, warm, step, rows, numbers)


def measure_dissemination(
    scheme: str, peers: int, events: int, warm: int, step: int, churn: float, move_every: int, seed: int, **options: Any
) -> Found:
    """One scheme on one timeline: its cost as a whole and window by window."""
    moves = {"move_every": move_every, "hot_spot_sets": 4} if move_every else {}
    timeline = draw_timeline(peers, events, warm, step, churn, seed, **moves, **options)
    if scheme.startswith("ov_rtree"):
        return _model_rtree(timeline, np.random.default_rng([seed, 13]) if scheme == "ov_rtree_anywhere" else None)
    return _simulate(timeline, peers, scheme, seed)


def round_messages(subscriptions: int, groups: int) -> int:
    """A round over two levels: matches to coordinators, landmarks up, frame and centres down, centres up and down
    again, coordinates and clusters to everyone."""
    return 2 * subscriptions + 4 * groups


# -- OV-RTree ----------------------------------------------------------------------------------------


def _model_rtree(timeline: Timeline, contacts: np.random.Generator | None) -> Found:
    """Newcomers descend from the root, or come to a random peer if there is a generator to draw one."""
    world, overlay = timeline.world, RTreeOverlay()
    for row in np.flatnonzero(timeline.present(timeline.warm)).tolist():
        overlay.join(row, world.low[row], world.high[row])
    building, overlay.control = overlay.control, 0
    counts = np.zeros((len(world.events) - timeline.warm, 4), dtype=np.int64)
    steps, here = set(timeline.steps), timeline.present(timeline.warm)
    for at in range(timeline.warm, len(world.events)):
        if at in steps:
            now = timeline.present(at)
            for row in np.flatnonzero(here & ~now).tolist():
                overlay.leave(row)
            stayed = np.flatnonzero(now & here)
            for row in np.flatnonzero(now & ~here).tolist():
                contact = None if contacts is None else int(contacts.choice(stayed))
                overlay.join(row, world.low[row], world.high[row], contact)
            here = now
        first, last = np.searchsorted(timeline.numbers, [at, at + 1])
        wanted = np.zeros(len(world), dtype=np.bool_)
        wanted[timeline.rows[first:last]] = True
        wanted &= here
        publisher = int(np.flatnonzero(here & (timeline.peer == timeline.publishers[at]))[0])
        passed = overlay.publish(publisher, world.points[at])
        counts[at - timeline.warm] = passed.messages, overlay.control, wanted.sum(), passed.false_positives(wanted)
        overlay.control = 0
    messages, control, delivered, false = counts.sum(axis=0).tolist()
    windows = [counts[first : first + WINDOW].sum(axis=0).tolist() for first in range(0, len(counts), WINDOW)]
    return {
        "cost": (messages + control) / max(delivered, 1),
        "control_share": control / max(messages + control, 1),
        "false_positive_share": false / max(messages, 1),
        "windows": [(sent + told) / max(got, 1) for sent, told, got, _ in windows],
        "building": building,
        "installed": 0,
    }


# -- clusters in the simulator -----------------------------------------------------------------------


def _simulate(timeline: Timeline, peers: int, scheme: str, seed: int) -> Found:
    planner = _Planner(timeline, scheme, seed)
    underlay = network(peers, seed)
    layout = plan_clusters(underlay.latencies_ms, planner.first(), degree_max=4)
    variant = "filtering" if scheme == "filtering" else "multicast"
    tables = matcher_tables("brute_force")
    simulation = Simulation(
        range(peers), lambda node: Clustered(node, layout, tables, variant=variant), underlay, seed=seed
    )
    subscriptions = timeline.world.subscriptions
    for row in np.flatnonzero(timeline.present(timeline.warm)).tolist():
        simulation.subscribe(int(timeline.peer[row]), subscriptions[row])
    simulation.run()
    begun = simulation.now + _GAP_MS
    more: list[tuple[float, int]] = []
    for number in range(timeline.warm, len(timeline.world.events)):
        publisher = int(timeline.publishers[number])
        at_ms = begun + _GAP_MS * (number - timeline.warm)
        simulation.publish(publisher, timeline.world.events[number], at_ms=at_ms)
    for at in timeline.steps:
        # Halfway between two events, so that what changes is in place before the next.
        at_ms = begun + _GAP_MS * (at - timeline.warm) - 0.75 * _GAP_MS
        for row in np.flatnonzero(timeline.stop == at).tolist():
            simulation.unsubscribe(int(timeline.peer[row]), subscriptions[row].id, at_ms=at_ms)
        fresh = np.flatnonzero(timeline.start == at).tolist()
        for row in fresh:
            simulation.subscribe(int(timeline.peer[row]), subscriptions[row], at_ms=at_ms + 1.0)
        assignment = planner.again(at)
        more.append((at_ms, 2 * len(fresh) + planner.round_messages))
        if assignment is not None:
            simulation.at(at_ms + 0.25 * _GAP_MS, layout.coordinator, ClustersPlanned(assignment))
    before = notification_cost(simulation.trace)
    trace = simulation.run()
    verdict = exactly_once(trace, settle_ms=_GAP_MS)
    whole, windows = notification_cost(trace, more_control=more), notification_costs(trace, WINDOW, more_control=more)
    control = whole.control_messages - before.control_messages
    return {
        "cost": (whole.event_messages + control) / max(whole.deliveries, 1),
        "control_share": control / max(whole.event_messages + control, 1),
        "false_positive_share": whole.false_positive_share,
        "windows": [each.cost if each.deliveries else 0.0 for each in windows],
        "building": before.control_messages,
        "installed": planner.installed,
        "violations": verdict.faults,
        "required": verdict.required,
    }


def network(peers: int, seed: int) -> Underlay:
    """Peers on a Waxman graph."""
    drawn = Waxman(routers=max(50, peers // 2)).build(np.random.default_rng([seed, 11]))
    return drawn.attach(peers, np.random.default_rng([seed, 12]), 1.0)


class _Planner:
    """Clusters round by round."""

    def __init__(self, timeline: Timeline, scheme: str, seed: int) -> None:
        self._timeline = timeline
        self._by_shape = scheme == "ov_clusters"
        there = int(timeline.present(timeline.warm).sum())
        self._clusters = min(CLUSTERS, there // 4)
        groups = max(2, round(there / _GROUP_SIZE))
        self.round_messages = 0 if self._by_shape else round_messages(there, groups)
        self.installed = 0
        self._found = SubscriptionClusters(
            self._clusters, dimensions=min(20, self._clusters), levels=2, groups=groups, landmarks=0.5, seed=seed
        )

    def first(self) -> ClusterAssignment:
        """The clusters before the first event."""
        warm = self._timeline.warm
        if not self._by_shape:
            self._found.fit(self._timeline.recent(warm))
            return self._assignment(warm, self._found.labels_)
        world, here = self._timeline.world, self._timeline.present(warm)
        labels = np.full(len(world), -1, dtype=np.int64)
        labels[here] = rtree_clusters(world.low[here], world.high[here], self._clusters)
        return self._assignment(warm, labels)

    def again(self, at: int) -> ClusterAssignment | None:
        """Clusters from the latest traffic, None if the old ones will do."""
        if self._by_shape:
            return None
        _, renamed = self._found.update(self._timeline.recent(at))
        if renamed is None:
            return None
        self.installed += 1
        return self._assignment(at, self._found.labels_)

    def _assignment(self, at: int, labels: Integers) -> ClusterAssignment:
        timeline = self._timeline
        # Who comes just now has matched nothing because of that, and is placed by the events it would have matched.
        newcomers = (timeline.start == at) & (at > timeline.warm)
        here = np.flatnonzero(timeline.present(at) & ~newcomers)
        first = max(0, at - _PROFILE_EVENTS)
        window = slice(*np.searchsorted(timeline.numbers, [first, at]).tolist())
        flags = np.zeros((len(timeline.world), at - first), dtype=np.bool_)
        flags[timeline.rows[window], timeline.numbers[window] - first] = True
        ids = [timeline.world.subscriptions[row].id for row in here.tolist()]
        events = timeline.world.events[first:at]
        return assign_clusters(ids, labels[here], events, flags[here], silent=self._clusters)
