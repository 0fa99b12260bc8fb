"""HOMED by the ten thousand: time to join and to publish, and what events cost beside how many want them.

Each node has one interest, a rectangle of 2 to 30 % of each of two attributes, and takes its place with it; one delay
of 10 ms between any two, beats every 30 s. Nodes join one every 2 ms through one that is there. Then 1,000 events are
published one after the other at random nodes. Everyone who wants an event must get it, once: that is checked against
the filters. The time is that of the process, checking not counted.

Nodes whose digest contains the event's are *concerned*: no digest could spare them. Messages beyond these are what the
summaries cost.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from time import process_time

import numpy as np
import numpy.typing as npt

from benchmarks.report import Report
from benchmarks.settings import Settings
from siftcast.model import Attribute, Event, Filter, Schema, Subscription
from siftcast.overlays.contract import NodeId
from siftcast.overlays.protocols.homed import Homed, HomedSettings
from siftcast.overlays.tables import matcher_tables
from siftcast.overlays.trace import Trace
from siftcast.runtimes.sim import Simulation, UniformNetwork
from siftcast.space.digests import InterestDigests

GOAL_S = 180.0
JOINING_MS, QUIET_MS, ARRIVING_MS, DELAY_MS = 2.0, 2_000.0, 150.0, 10.0
SCHEMA = Schema([Attribute("x", "int", (0, 999), 1), Attribute("y", "int", (0, 999), 1)])
WIDTHS = (20, 50, 100, 300)
GROUPS = ((1, 1), (2, 4), (5, 9), (10, 99), (100, 1_000_000))


class _Network:
    """Nodes with an interest each, and the sides of their rectangles."""

    def __init__(self, nodes: int, seed: int) -> None:
        self.random = Random(seed)
        self.digests = InterestDigests.of(SCHEMA, bits=64)
        self.boxes: npt.NDArray[np.int64] = np.array([self._box() for _ in range(nodes)])
        tables, settings = matcher_tables("brute_force"), HomedSettings(heartbeat_ms=30_000.0)
        entrances = [(), *((self.random.randrange(node),) for node in range(1, nodes))]
        self.simulation = Simulation(
            (),
            lambda node: Homed(node, self.digests, tables, settings),
            UniformNetwork(DELAY_MS),
            seed=seed,
            trace=Trace(messages=False),
            contacts=entrances.__getitem__,
        )
        self.concerned: npt.NDArray[np.uint64] = np.zeros(nodes, dtype=np.uint64)
        for node, (left, right, low, high) in enumerate(self.boxes.tolist()):
            wanted = Filter.parse(f"x BETWEEN {left} AND {right} AND y BETWEEN {low} AND {high}")
            self.concerned[node] = self.digests.of_filter(wanted)
            self.simulation.join(node, at_ms=node * JOINING_MS)
            self.simulation.subscribe(node, Subscription(f"s{node}", wanted), at_ms=node * JOINING_MS)

    def _box(self) -> tuple[int, int, int, int]:
        width = self.random.choice(WIDTHS)
        left, low = self.random.randrange(1_000 - width), self.random.randrange(1_000 - width)
        return left, left + width, low, low + width

    def interested(self, x: int, y: int) -> list[NodeId]:
        """Who wants an event."""
        left, right, low, high = self.boxes.T
        found: list[NodeId] = np.flatnonzero((left <= x) & (x <= right) & (low <= y) & (y <= high)).tolist()
        return found

    def count_concerned(self, event: Event) -> int:
        """How many nodes have digests that contain the event's."""
        digest = np.uint64(self.digests.of_event(event))
        return int(((self.concerned & digest) == digest).sum())


def run(settings: Settings, report: Report) -> None:
    """Measures all of it."""
    nodes, events = settings.size(10_000, 500), settings.size(1_000, 100)
    report.progress(f"{nodes:,} HOMED nodes join")
    network = _Network(nodes, settings.seed)
    simulation = network.simulation
    started = process_time()
    simulation.run(nodes * JOINING_MS + QUIET_MS)
    joining_s = process_time() - started
    control = Counter({name: count for (kind, name), count in simulation.trace.counts.items() if kind == "sent"})
    report.add(f"{nodes:,} HOMED nodes join", joining_s, "s", "lower", note=f"{simulation.handled:,} steps")
    asked = sum(control[name] for name in ("Join", "Accept", "Widen", "Widened", "Greet", "Gateways")) / nodes
    report.add("messages of a join", asked, "", "lower", note="without beats")
    report.add(
        "hops of a join", control["Join"] / nodes, "", "lower", note=f"half of log2 N is {np.log2(nodes) / 2:.1f}"
    )
    states = [protocol.state() for protocol in simulation.protocols.values()]
    depths = np.array([state["depth"] for state in states])
    report.add(
        "splits on a path",
        float(depths.mean()),
        "",
        "lower",
        note=f"at most {depths.max()}; log2 N + 1 is {np.log2(nodes) + 1:.1f}",
    )
    report.add("contacts of a node", float(np.mean([state["entries"] for state in states])), "", "lower")
    publishing_s = _publish(network, events, report)
    goal = None if settings.quick else GOAL_S
    report.add("joining and publishing", joining_s + publishing_s, "s", "lower", goal=goal)


def _publish(network: _Network, events: int, report: Report) -> float:
    """Publishes, checks who got what, and says what it cost; returns the seconds."""
    simulation, random = network.simulation, network.random
    seconds, faults = 0.0, 0
    rows: list[tuple[int, int, int]] = []
    depths: list[int] = []
    for number in range(events):
        x, y = random.randrange(1_000), random.randrange(1_000)
        event = Event({"x": x, "y": y}, id=f"e{number}")
        begun_ms, known = simulation.now, len(simulation.trace.deliveries)
        sent = simulation.trace.counts["sent", "Cast"]
        started = process_time()
        simulation.publish(random.randrange(len(network.boxes)), event)
        simulation.run(begun_ms + ARRIVING_MS)
        seconds += process_time() - started
        if len(simulation.trace.deliveries) < known:
            known = 0
        delivered = [(row[1], row[0]) for row in simulation.trace.deliveries[known:] if row[2] == event.id]
        faults += sorted(node for node, _ in delivered) != network.interested(x, y)
        carried = simulation.trace.counts["sent", "Cast"] - sent
        rows.append((len(delivered), network.count_concerned(event), carried))
        depths += [round((at_ms - begun_ms) / DELAY_MS) for _, at_ms in delivered]
    report.add("events that did not reach exactly who wants them", faults, "", "lower", goal=0)
    report.add(f"{events:,} events published", seconds, "s", "lower")
    wanted, concerned, carried = np.array(rows).T
    bound = 1.25 * concerned.mean() + 1.5 * np.log2(len(network.boxes))
    report.add(
        "messages of an event",
        float(carried.mean()),
        "",
        "lower",
        goal=float(bound),
        note=f"{wanted.mean():.1f} nodes want it, {concerned.mean():.1f} are concerned",
    )
    report.add(
        "hops to 99 % of receivers",
        float(np.percentile(depths, 99)),
        "",
        "lower",
        goal=float(np.log2(len(network.boxes)) + 2),
    )
    for low, high in GROUPS:
        chosen = (concerned >= low) & (concerned <= high)
        if chosen.any():
            group = f"{low}" if low == high else f"{low} to {high}" if high < 1_000_000 else f"{low} and more"
            each = carried[chosen].sum() / concerned[chosen].sum()
            report.add(
                f"messages for each node concerned, of {group}", float(each), "", "lower", note=f"{chosen.sum()} events"
            )
    return seconds
