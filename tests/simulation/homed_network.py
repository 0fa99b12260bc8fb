"""Networks of HOMED nodes, for tests: joined one after another with an interest each, disturbed and looked at."""

import random

from siftcast.model import Attribute, Event, Filter, Schema, Subscription
from siftcast.overlays.contract import LeaveRequested
from siftcast.overlays.protocols.homed import Homed, HomedSettings
from siftcast.overlays.tables import matcher_tables
from siftcast.overlays.trace import Trace
from siftcast.runtimes.sim import Faults, Simulation, UniformNetwork
from siftcast.space.digests import InterestDigests

SCHEMA = Schema([Attribute("x", "int", (0, 99), 1), Attribute("y", "int", (0, 99), 1)])
TABLES = matcher_tables("brute_force")
QUICK = {"heartbeat_ms": 200.0, "request_ms": 100.0, "move_ms": 20.0, "linger_ms": 3_000.0}
"""Ten times as fast as the defaults, so that tests need not simulate minutes."""
BLIND = 1e12
"""A `detect_ms` after which no run lasts: connections never break, and only beats find out who is silent."""


class HomedNetwork:
    """Nodes that entered through one that was there before, each at a time of its own, over `joining_ms`."""

    def __init__(self, nodes, seed=1, *, faults=None, joining_ms=1_000.0, interests=True, entrances=None, **settings):
        self.random = random.Random(seed)
        self.digests = InterestDigests.of(SCHEMA, bits=32)
        self.held = {}
        self.published = 0
        known = {node: (self.random.randrange(node),) if node else () for node in range(nodes)}
        chosen = HomedSettings(**{**QUICK, **settings})
        self.simulation = Simulation(
            (),
            lambda node: Homed(node, self.digests, TABLES, chosen),
            UniformNetwork(10.0),
            seed=seed,
            faults=faults if faults is not None else Faults(detect_ms=50.0),
            trace=Trace(messages=True),
            contacts=known.__getitem__ if entrances is None else entrances,
            strict_introductions=True,
        )
        for node in range(nodes):
            at_ms = joining_ms * node / nodes
            self.simulation.join(node, at_ms=at_ms)
            if interests:
                self.subscribe(node, f"s{node}", self.draw(), at_ms=at_ms)

    @property
    def now(self):
        return self.simulation.now

    @property
    def running(self):
        return sorted(self.simulation.protocols)

    def draw(self, width=None):
        """An interest in a rectangle."""
        width = self.random.choice([5, 10, 30]) if width is None else width
        low, left = self.random.randrange(100 - width), self.random.randrange(100 - width)
        return Filter.parse(f"x BETWEEN {low} AND {low + width} AND y BETWEEN {left} AND {left + width}")

    def subscribe(self, node, id, wanted, *, at_ms=None):
        wanted = Filter.parse(wanted) if isinstance(wanted, str) else wanted
        self.held[id] = node, wanted
        self.simulation.subscribe(node, Subscription(id, wanted), at_ms=at_ms)

    def unsubscribe(self, id):
        node, _ = self.held.pop(id)
        self.simulation.unsubscribe(node, id)

    def run(self, ms):
        self.simulation.run(self.now + ms)
        return self

    def crash(self, *nodes):
        for node in nodes:
            self.simulation.crash(node, at_ms=self.now)
        self.held = {id: held for id, held in self.held.items() if held[0] not in nodes}

    def leave(self, *nodes):
        for node in nodes:
            self.simulation.at(self.now, node, LeaveRequested())
        self.held = {id: held for id, held in self.held.items() if held[0] not in nodes}

    def publish(self, node=None, **attributes):
        """Publishes an event, and lets it arrive; who got it, who should have, and how many messages carried it."""
        if not attributes:
            attributes = {"x": self.random.randrange(100), "y": self.random.randrange(100)}
        self.published += 1
        event = Event(attributes, id=f"e{self.published}")
        trace = self.simulation.trace
        delivered, sent = len(trace.deliveries), len(trace.records)
        self.simulation.publish(self.random.choice(self.running) if node is None else node, event)
        self.run(400)
        got = [(row[1], id) for row in trace.deliveries[delivered:] if row[2] == event.id for id in row[3]]
        expected = [(at, id) for id, (at, wanted) in self.held.items() if wanted.matches(event)]
        carried = sum(1 for row in trace.records[sent:] if row[1] == "sent" and row[4] == "Cast")
        return sorted(got), sorted(expected), carried

    def expect_exact(self, events=12):
        """Each event must reach everyone who wants it, once."""
        for _ in range(events):
            got, expected, _ = self.publish()
            missed, wrong = set(expected) - set(got), set(got) - set(expected)
            assert got == expected, f"at {self.now:.0f} ms: missed {missed}, wrong {wrong}"

    def homes(self, node):
        return self.simulation.protocols[node].homes

    def sent(self, since_ms=0.0):
        """Who sent what to whom since a time."""
        rows = self.simulation.trace.record_table().to_pylist()
        return [
            (row["node"], row["peer"], row["message"])
            for row in rows
            if row["kind"] == "sent" and row["time_ms"] >= since_ms
        ]
