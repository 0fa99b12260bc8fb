"""Networks of QoS peers, for tests: some that publish, the rest with an interest each, disturbed and looked at."""

import random

from siftcast.model import Attribute, Event, Filter, Schema, Subscription
from siftcast.overlays.contract import AdvertiseRequested, LeaveRequested
from siftcast.overlays.protocols.qos import Qos, QosSettings
from siftcast.overlays.tables import matcher_tables
from siftcast.overlays.trace import Trace
from siftcast.runtimes.sim import Faults, Simulation, UniformNetwork
from siftcast.space.dz import DzSpace
from siftcast.underlay import MeasuredUnderlay

SCHEMA = Schema([Attribute("x", "int", (0, 63), 1), Attribute("y", "int", (0, 63), 1)])
TABLES = matcher_tables("brute_force")
QUICK = {"round_ms": 200.0, "request_ms": 60.0, "grace_ms": 400.0, "forget_ms": 1_000.0}
"""Five times as fast as the defaults, so that tests need not simulate minutes."""
HOP_MS = 10.0


def plane(nodes, seed, *, near_ms=1.0, far_ms=14.0):
    """Nodes in a square, as far from each other as they lie apart."""
    drawn = random.Random(seed)
    points = [complex(drawn.random(), drawn.random()) for _ in range(nodes)]
    return MeasuredUnderlay(
        [[0.0 if one == other else near_ms + far_ms * abs(one - other) for other in points] for one in points]
    )


class QosNetwork:
    """Nodes 0 … `publishers` - 1 advertise everything; each of the others has an interest in a rectangle."""

    def __init__(self, nodes, publishers=2, seed=1, *, faults=None, underlay=None, interests=True, **settings):
        self.random = random.Random(seed)
        self.held = {}
        self.published = 0
        self.publishers = publishers
        self.underlay = UniformNetwork(HOP_MS) if underlay is None else underlay
        space = DzSpace.of(SCHEMA)
        chosen = QosSettings(**{**QUICK, **settings})
        self.simulation = Simulation(
            range(nodes),
            lambda node: Qos(node, space, TABLES, chosen),
            self.underlay,
            seed=seed,
            faults=faults if faults is not None else Faults(detect_ms=50.0),
            trace=Trace(messages=True),
            contacts=lambda node: (node // 2,) if node else (),
            strict_introductions=True,
        )
        for node in range(nodes):
            if node < publishers:
                self.advertise(node, "TRUE")
            elif interests:
                self.subscribe(node, f"s{node}", self.draw())

    @property
    def now(self):
        return self.simulation.now

    @property
    def places(self):
        return [place for node in self.simulation.protocols.values() for place in node.places.values()]

    def delay_ms(self, one, other):
        """How long a message takes between two nodes."""
        return 0.0 if one == other else self.underlay.latency_ms(one, other)

    def place(self, node):
        """The only place of a node."""
        (found,) = self.simulation.protocols[node].places.values()
        return found

    def draw(self):
        width, height = self.random.choice([4, 8, 20]), self.random.choice([4, 8, 20])
        low, left = self.random.randrange(64 - width), self.random.randrange(64 - height)
        return f"x BETWEEN {low} AND {low + width} AND y BETWEEN {left} AND {left + height}"

    def advertise(self, node, text):
        self.simulation.at(self.now, node, AdvertiseRequested((Subscription(f"ad{node}", Filter.parse(text)),)))

    def subscribe(self, node, id, text, bound_ms=None):
        wanted = Filter.parse(text)
        self.held[id] = node, wanted
        self.simulation.subscribe(node, Subscription(id, wanted, delay_ms_max=bound_ms))

    def unsubscribe(self, id):
        node, _ = self.held.pop(id)
        self.simulation.unsubscribe(node, id)

    def run(self, ms):
        self.simulation.run(self.now + ms)
        return self

    def settle(self, within_ms=30_000):
        """Until every place has what it wants, and has had it for a round."""
        end = self.now + within_ms
        while True:
            self.run(200)
            if all(node.is_settled for node in self.simulation.protocols.values()):
                return self
            assert self.now < end, [place.id for place in self.places if place.parents.supply.unserved]

    def crash(self, *nodes):
        for node in nodes:
            self.simulation.crash(node, at_ms=self.now)
        self.held = {id: held for id, held in self.held.items() if held[0] not in nodes}

    def links(self):
        """Who gets events from whom."""
        return {(place.id, peer) for place in self.places for peer, link in place.parents.links.items() if link.granted}

    def leave(self, *nodes):
        for node in nodes:
            self.simulation.at(self.now, node, LeaveRequested())
        self.held = {id: held for id, held in self.held.items() if held[0] not in nodes}

    def publish(self, node=None, **attributes):
        """Publishes an event now; its id and who is to get it."""
        if not attributes:
            attributes = {"x": self.random.randrange(64), "y": self.random.randrange(64)}
        self.published += 1
        event = Event(attributes, id=f"e{self.published}")
        node = self.random.randrange(self.publishers) if node is None else node
        self.simulation.publish(node, event)
        wanted = sorted((node, id) for id, (node, filter_) in self.held.items() if filter_.matches(event))
        return event.id, wanted

    def got(self, event):
        """Who was handed an event, as often as they were."""
        rows = self.simulation.trace.delivery_table().to_pylist()
        return sorted((row["node"], id) for row in rows if row["event"] == event for id in row["subscriptions"])

    def recorded(self, kind):
        """The events of records of a kind."""
        rows = self.simulation.trace.record_table().to_pylist()
        return [row["event"] for row in rows if row["kind"] == kind and row["event"] is not None]

    def expect_exact(self, events, node=None, within_ms=500):
        """Publishes events; each must reach exactly those who want it, once."""
        expected = [self.publish(node) for _ in range(events)]
        self.run(within_ms)
        assert any(wanted for _, wanted in expected), "nothing was asked for"
        for event, wanted in expected:
            assert self.got(event) == wanted

    def check_overlay(self, degree):
        """What must be true of the links at rest (properties 1 to 4 of the thesis)."""
        nodes = self.simulation.protocols
        for node in nodes.values():
            for place in (node.publishing, *node.places.values()):
                assert sum(child.until_ms is None for child in place.children.links.values()) <= degree
                for peer, child in place.children.links.items():
                    if place.profile is not None:
                        assert place.wanted.covers(child.region)
                    assert nodes[peer[0]].places[peer[1]].wanted.covers(child.region)
        for place in self.places:
            regions = [link.granted for peer, link in place.parents.links.items() if peer[1]]
            assert not any(one.overlaps(other) for i, one in enumerate(regions) for other in regions[:i])
            direct = [link.granted for peer, link in place.parents.links.items() if not peer[1]]
            assert not any(one.overlaps(other) for one in regions for other in direct)
            if direct:
                assert len(direct) == self.publishers
                assert all(each == direct[0] for each in direct)
