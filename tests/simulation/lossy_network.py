"""Networks of ephemeral nodes over lossy links, for tests: any scheme, with changes and trouble drawn from one seed."""

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from siftcast.model import Attribute, Event, Filter, Schema, Subscription
from siftcast.overlays.contract import PublishRequested
from siftcast.overlays.loopback import Loopback
from siftcast.overlays.refreshing import Refreshing
from siftcast.overlays.tables import matcher_tables
from siftcast.planning import group_trees, plan_clusters, plan_kyra
from siftcast.runtimes.sim import Faults, Simulation, UniformNetwork
from siftcast.schemes import scheme
from siftcast.schemes.multicast_based import GroupPlan
from siftcast.schemes.tree_plan import TreePlan
from siftcast.space import ClusterAssignment, ContentGroups, ContentSpace, Partition, SourceTrees, Tree

SPACE = ContentSpace(Schema([Attribute("value", "int", (0, 9), 1)]))
FILTERS = (
    "value < 4",
    "value >= 3",
    "TRUE",
    "value IN (1, 5, 9)",
    "value = 7",
    "value BETWEEN 2 AND 8",
    "value IS NULL",
)
SCHEMES = {
    "filter-based": {},
    "filter-based with covering": {"summary": "covering"},
    "filter-based with merging": {"summary": "merging"},
    "filter-based with reuse": {"reuse": "partial-2"},
    "filter-based on a graph": {"graph": 2},
    "match-early": {},
    "unicast": {},
    "multicast-based": {},
    "multicast-based with unicast": {"unicast_below": 0.5},
    "kyra": {},
    "kyra with rings": {"clique_delivery": "ring"},
    "clustered": {},
    "clustered with filtering": {"variant": "filtering"},
}


@dataclass
class Network:
    """A simulation, and who subscribes to what at which node when everything is over."""

    simulation: Simulation
    random: np.random.Generator
    nodes: int
    held: dict[str, tuple[int, Filter]] = field(default_factory=dict)
    back_ms: dict[int, float] = field(default_factory=dict)

    def any_node(self):
        return int(self.random.integers(0, self.nodes))

    def change(self, at_ms):
        """Somebody subscribes, changes its mind or unsubscribes, unless their node is down."""
        number = int(self.random.integers(0, 12))
        id, node = f"s{number}", number % self.nodes
        if at_ms <= self.back_ms.get(node, -1.0):
            return
        if id in self.held and self.random.random() < 0.4:
            del self.held[id]
            self.simulation.unsubscribe(node, id, at_ms=at_ms)
            return
        wanted = Filter.parse(FILTERS[int(self.random.integers(0, len(FILTERS)))])
        self.simulation.subscribe(node, Subscription(id, wanted), at_ms=at_ms)
        self.held[id] = node, wanted

    def crash(self, start_ms, end_ms):
        """Takes a node down and back, unless it is down; its subscribers say shortly after what they want."""
        node = self.any_node()
        if start_ms <= self.back_ms.get(node, -1.0):
            return
        self.back_ms[node] = end_ms + 5
        self.simulation.crash(node, at_ms=start_ms)
        self.simulation.restart(node, at_ms=end_ms)
        again = [Subscription(id, wanted) for id, (home, wanted) in self.held.items() if home == node]
        if again:
            self.simulation.subscribe(node, *again, at_ms=end_ms + 5)

    def live(self, steps, *, trouble):
        """Changes at random times, with power cuts and partitions among them; then until nothing is left to do."""
        at_ms, cut_until = 0.0, 0.0
        for _ in range(steps):
            at_ms += float(self.random.exponential(20.0))
            draw = self.random.random()
            if trouble and draw < 0.12:
                self.crash(at_ms, at_ms + float(self.random.uniform(0.5, 120)))
            elif trouble and draw < 0.16 and at_ms > cut_until:
                cut_until = at_ms + float(self.random.uniform(1, 150))
                side = [node for node in range(self.nodes) if self.random.random() < 0.5]
                self.simulation.cut([side], at_ms=at_ms)
                self.simulation.heal(at_ms=cut_until)
            else:
                self.change(at_ms)
        self.simulation.run()

    def deliveries_without_loss(self, event, publisher):
        """What comes of an event if it is published now and no message is lost, and what the filters say."""
        net = Loopback((), lambda node: None)
        net.protocols = dict(self.simulation.protocols)
        net.do(publisher, PublishRequested(event))
        expected = Counter((node, event.id, id) for id, (node, wanted) in self.held.items() if wanted.matches(event))
        return Counter(net.delivered), expected, net.sent

    def verify_tables(self):
        """Every event reaches exactly those who want it, from wherever it comes; returns how many deliveries."""
        required = 0
        for value in (*range(10), None):
            publisher = self.any_node()
            event = Event({} if value is None else {"value": value}, id=f"after-{value}")
            delivered, expected, _ = self.deliveries_without_loss(event, publisher)
            assert delivered == expected, f"value {value} from {publisher}"
            required += expected.total()
        return required


def build(name, seed, *, nodes=8, faults=None, refresh_ms=50.0):
    """A network of a scheme; with `refresh_ms` 0, as the scheme by itself would be."""
    random = np.random.default_rng(seed)
    tree = Tree(range(nodes), [(int(random.integers(0, node)), node) for node in range(1, nodes)])
    chosen = scheme(name.partition(" ")[0])
    options = chosen.configure(SCHEMES[name])
    graph = graph_of(tree, random) if getattr(options, "graph", 0) else None
    make = chosen.nodes(plan_of(chosen.name, TreePlan(tree, graph)), options, matcher_tables("brute_force"))
    simulation = Simulation(
        tree.nodes,
        (lambda node: Refreshing(make(node), refresh_ms=refresh_ms)) if refresh_ms else make,
        UniformNetwork(3.0),
        seed=seed,
        faults=faults if faults is not None else Faults(),
    )
    return Network(simulation, random, nodes)


def graph_of(tree, random):
    lengths = {edge: 1.0 + float(random.random()) for edge in tree.edges}
    for node in tree.nodes:
        other = int(random.integers(0, len(tree)))
        if node != other and (node, other) not in lengths and (other, node) not in lengths:
            lengths[node, other] = 1.0 + float(random.random())
    return SourceTrees.shortest(lengths, nodes=tree.nodes)


def plan_of(name, trees):
    """Servers on a line, in cliques of about three; five groups of content; subscriptions in four clusters."""
    nodes = len(trees.tree)
    latencies = [[10.0 * abs(a - b) for b in range(nodes)] for a in range(nodes)]
    if name == "kyra":
        return plan_kyra(latencies, SPACE, np.arange(11), np.ones(10), clique_ms_max=25)
    if name == "multicast-based":
        groups = ContentGroups(Partition.along(SPACE, 0, range(1, 10)), [0, 0, 1, 1, 2, 2, 3, 3, 4, 4])
        return GroupPlan(trees, groups, group_trees(latencies), latencies)
    if name == "clustered":
        assignment = ClusterAssignment({f"s{number}": number % 4 for number in range(12)}, lambda wanted: 4)
        return plan_clusters(latencies, assignment, rendezvous=min(2, nodes), degree_max=3)
    return trees
