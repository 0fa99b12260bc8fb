"""Networks of durable nodes for tests: a scheme, a random tree or plan, and trouble drawn from one seed."""

from dataclasses import dataclass

import numpy as np

from siftcast.model import Attribute, Event, Filter, Schema, Subscription
from siftcast.overlays.contract import PublishRequested
from siftcast.overlays.durability import Durable, Settings
from siftcast.overlays.durability.contract import DurableSubscribeRequested, QueuePolicy
from siftcast.overlays.tables import matcher_tables
from siftcast.planning import cell_loads, plan_kyra
from siftcast.runtimes.sim import DurableClient, Faults, Simulation, UniformNetwork
from siftcast.schemes import Ground, scheme
from siftcast.schemes.tree_plan import TreePlan
from siftcast.space import ContentSpace, Tree

SPACE = ContentSpace(Schema([Attribute("value", "int", (0, 9), 1)]))
SETTINGS = Settings(resend_ms=60, resend_ms_max=1_000, window=8)
ROUGH = Faults(loss=0.1, jitter_ms=8, reorder=True, detect_ms=20, disk_ms=2, write_survives=0.5)
CALM = Faults(detect_ms=20, disk_ms=2)
FILTERS = ("value < 4", "value >= 3", "TRUE", "value IN (1, 5, 9)", "value = 7", "value IS NULL")
SCHEMES = {
    "filter-based": {},
    "filter-based with merging": {"summary": "merging"},
    "filter-based with reuse": {"reuse": "partial-2"},
    "match-early": {},
    "kyra": {},
    "kyra with rings": {"clique_delivery": "ring"},
    "rendezvous": {"parts": 2, "retry_ms": 300.0},
    "rendezvous with walks": {"replicas": 1, "parts": 3, "visit": "walk", "delivery": "tree", "retry_ms": 300.0},
}
START_MS = 3_000.0
"""When the first events are published; subscriptions are known everywhere by then, also over rough links."""


@dataclass
class Network:
    """A simulation with durable subscriptions at its nodes."""

    simulation: Simulation
    tree: Tree
    random: np.random.Generator
    homes: dict[str, int]

    def publish(self, node, number, at_ms, value=None, publishers=2):
        drawn = int(self.random.integers(0, 11)) if value is None else value
        source = f"publisher {int(self.random.integers(0, publishers))}"
        event = Event({"value": drawn if drawn < 10 else None}, id=f"e{number}", source=source)
        self.simulation.at(at_ms, node, PublishRequested(event, durable=True))

    def any_node(self, among=None):
        nodes = list(self.tree.nodes) if among is None else among
        return nodes[int(self.random.integers(0, len(nodes)))]


def build(name, seed, *, nodes=6, faults=ROUGH, settings=SETTINGS, refuse=0.1, homes=None, filters=FILTERS):
    """Durable subscriptions with all the filters, at random nodes or those among `homes`."""
    random = np.random.default_rng(seed)
    tree = Tree(range(nodes), [(int(random.integers(0, node)), node) for node in range(1, nodes)])
    chosen = scheme(name.partition(" ")[0])
    options = chosen.configure(SCHEMES[name])
    make = chosen.nodes(plan_of(chosen, options, tree), options, matcher_tables("brute_force"))
    simulation = Simulation(
        tree.nodes, lambda node: Durable(node, make(node), settings), UniformNetwork(3.0), seed=seed, faults=faults
    )
    network = Network(simulation, tree, random, {})
    for number, text in enumerate(filters):
        node = network.any_node(homes)
        id = f"s{number}"
        network.homes[id] = node
        wanted = Subscription(id, Filter.parse(text))
        simulation.at(0, node, DurableSubscribeRequested(wanted, QueuePolicy(refusals_max=1_000)))
        client = DurableClient(id, window=4, refuse=refuse, random=np.random.default_rng((seed, number)))
        simulation.serve(node, client, at_ms=50)
    return network


def plan_of(chosen, options, tree):
    if chosen.name == "kyra":
        return kyra_plan(len(tree))
    if chosen.name != "rendezvous":
        return TreePlan(tree)
    ground = Ground(
        np.ones((len(tree), len(tree))) - np.eye(len(tree)), np.random.default_rng(0), schema=SPACE.schema, tree=tree
    )
    return chosen.plan(ground, options)


def kyra_plan(nodes):
    """Cliques of about three on a line of servers, as many trees as the largest clique has servers."""
    latencies = [[10.0 * abs(a - b) for b in range(nodes)] for a in range(nodes)]
    loads = cell_loads(popularity=np.full(10, 0.1), volume=np.ones(10), weight=np.ones(10))
    return plan_kyra(latencies, SPACE, np.arange(11), loads, clique_ms_max=25)


def make_trouble(network, *, crashes, cuts, until_ms):
    """Power cuts and partitions at random times; in the end all nodes run and all links stand."""
    simulation, random = network.simulation, network.random
    down: dict[int, list[tuple[float, float]]] = {}
    for _ in range(crashes):
        node = network.any_node()
        start = START_MS + float(random.uniform(0, until_ms))
        end = start + float(random.uniform(0.5, 300))
        if any(start <= last + 1 and first <= end + 1 for first, last in down.get(node, [])):
            continue
        down.setdefault(node, []).append((start, end))
        simulation.crash(node, at_ms=start)
        simulation.restart(node, at_ms=end)
    for number in range(cuts):
        start = START_MS + until_ms * (number + float(random.uniform(0, 0.5))) / cuts
        side = [node for node in network.tree.nodes if random.random() < 0.5]
        simulation.cut([side], at_ms=start)
        simulation.heal(at_ms=start + float(random.uniform(1, 0.4 * until_ms / cuts)))
