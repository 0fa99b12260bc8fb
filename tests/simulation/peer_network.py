"""Networks of gossiping peers, for tests: joined one after another, disturbed, and looked at from above."""

import random

from siftcast.model import Event, Filter, Subscription
from siftcast.overlays.contract import LeaveRequested
from siftcast.overlays.membership import DetectorOptions, MembershipOptions, PartialViewOptions, RandomViewOptions
from siftcast.overlays.protocols.gossip import Gossip
from siftcast.overlays.tables import matcher_tables
from siftcast.overlays.trace import Trace
from siftcast.runtimes.sim import Faults, Simulation, UniformNetwork
from siftcast.runtimes.sim.checkers import membership

QUICK = MembershipOptions(
    view=PartialViewOptions(shuffle_ms=1_000.0, request_ms=400.0),
    sample=RandomViewOptions(exchange_ms=500.0),
    detection=DetectorOptions(probe_ms=400.0, answer_ms=100.0, suspicion_ms_min=600.0, suspicion_ms_max=3_000.0),
)
"""As the defaults, but ten times as fast, so that tests need not simulate minutes."""
BLIND = 1e12
"""A `detect_ms` after which no run lasts: connections never break, and only probes find out who is silent."""
TABLES = matcher_tables("brute_force")


class PeerNetwork:
    """Peers that entered through one that was there before, each at a time of its own, over `joining_ms`.

    With `messages`, the trace has a record of each message, and not only their number.
    """

    def __init__(
        self,
        nodes,
        seed,
        *,
        faults=None,
        options=QUICK,
        joining_ms=2_000.0,
        entrance=None,
        messages=False,
        network=None,
    ):
        self.nodes = nodes
        self.seed = seed
        self.random = random.Random(seed)
        self.contacts = {
            node: (self.random.randrange(node) if entrance is None else entrance,) if node else (1,)
            for node in range(nodes)
        }
        self.simulation = Simulation(
            (),
            lambda node: Gossip(node, TABLES, options),
            network if network is not None else UniformNetwork(10.0),
            seed=seed,
            faults=faults if faults is not None else Faults(detect_ms=50.0),
            trace=Trace(messages=messages),
            contacts=self.contacts.__getitem__,
            strict_introductions=True,
        )
        for node in range(nodes):
            self.simulation.join(node, at_ms=joining_ms * node / nodes)

    @property
    def now(self):
        return self.simulation.now

    @property
    def running(self):
        return sorted(self.simulation.protocols)

    @property
    def trace(self):
        return self.simulation.trace

    def run(self, ms):
        """Lets time pass; returns the views of those who run."""
        self.simulation.run(self.now + ms)
        return membership(self.simulation.protocols)

    def crash(self, share):
        """Takes a share of those who run down at once; returns who they were."""
        victims = self.random.sample(self.running, round(share * len(self.running)))
        for node in victims:
            self.simulation.crash(node, at_ms=self.now)
        return victims

    def leave(self, node):
        self.simulation.at(self.now, node, LeaveRequested())

    def subscribe_all(self):
        for node in self.running:
            self.simulation.subscribe(node, Subscription(f"s{node}", Filter.parse("TRUE")))

    def publish(self, node, id):
        self.simulation.publish(node, Event({"value": 1}, id=id))

    def delivered(self, id):
        """At which nodes an event was delivered, once for each time."""
        table = self.trace.delivery_table()
        return [
            node
            for event, node in zip(table["event"].to_pylist(), table["node"].to_pylist(), strict=True)
            if event == id
        ]

    def __str__(self):
        return f"PeerNetwork({self.nodes}, {self.seed}) at {self.now:.0f} ms"
