"""Networks that grow, shrink, crash and are planned again while events are published: a harness and its oracle.

The oracle shares nothing with the product: it knows the filters, which events were accepted and where, and what queues
hold in the end. Every accepted event must be in the queue of every matching durable subscription once, wherever that
subscription lives by then.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from siftcast.model import Attribute, Event, Filter, Schema, Subscription
from siftcast.overlays.contract import PublishRequested
from siftcast.overlays.durability import Settings
from siftcast.overlays.durability.contract import DurableSubscribeRequested
from siftcast.overlays.epochs.planned import Planned
from siftcast.overlays.epochs.settings import EpochSettings
from siftcast.overlays.epochs.view import Member, first_view
from siftcast.overlays.roles import roles_by_place
from siftcast.overlays.tables import matcher_tables
from siftcast.runtimes.sim import Faults, Simulation
from siftcast.schemes import Ground, scheme
from siftcast.schemes.planned_node import planned_node

SCHEMA = Schema([Attribute("value", "int", (0, 9), 1)], name="changing")
FILTERS = ("TRUE", "value < 5", "value >= 3", "value = 7", "value BETWEEN 2 AND 6")
PATIENCE = EpochSettings(absent_ms=600.0, tick_ms=20.0, report_ms=200.0)


@dataclass
class ChangingNetwork:
    """A simulated network of one scheme; nodes that join are numbered on."""

    seed: int
    scheme: str = "filter-based"
    nodes: int = 4
    faults: Faults = field(default_factory=lambda: Faults(detect_ms=50.0, disk_ms=1.0))
    is_durable: bool = True
    roles: dict[int, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self):
        self.draw = np.random.default_rng((self.seed, 99))
        self.members = tuple(self._member(node) for node in range(self.nodes))
        self.first = first_view(self.members, 0)
        self.running = set(range(self.nodes))
        self.contact = {}
        self.wanted = {}
        self.published = {}
        self.published_ms = {}
        self.grounds = {}
        self.simulation = Simulation(
            range(self.nodes), self.make, seed=self.seed, faults=self.faults, contacts=self._contacts
        )

    def _member(self, node):
        return Member.of(node, f"n{node:02}", "", self.roles.get(node, ()))

    def _contacts(self, node):
        return self.contact.get(node, ())

    def _survey(self, chosen):
        def survey(epoch):
            count = len(epoch.nodes)
            distances = np.abs(np.subtract.outer(np.arange(count), np.arange(count))) + 0.0
            ground = Ground(
                distances, np.random.default_rng(0), schema=SCHEMA, roles=roles_by_place(epoch.roles)
            )  # fmt: skip
            self.grounds[epoch.number] = ground.roles
            return ground, chosen.configure(self.options)

        return survey

    @property
    def options(self):
        return {"clique_ms_max": 1.5} if self.scheme == "kyra" else {}

    @property
    def patience(self):
        return PATIENCE

    def make(self, node):
        chosen = scheme(self.scheme)
        return planned_node(
            self._member(node),
            chosen,
            self._survey(chosen),
            matcher_tables("brute_force"),
            first=self.first if node < self.nodes else None,
            network="changing",
            durable=Settings(resend_ms=60, resend_ms_max=500) if self.is_durable else None,
            settings=self.patience,
        )

    # -- what happens ------------------------------------------------------------------------------------

    def subscribe(self, node, filter_, at_ms=0.0):
        id = f"s{len(self.wanted)}"
        self.wanted[id] = node, Filter.parse(filter_)
        item = Subscription(id, self.wanted[id][1])
        self.simulation.at(at_ms, node, DurableSubscribeRequested(item))
        return id

    def publish(self, node, at_ms):
        event = Event({"value": int(self.draw.integers(0, 10))}, f"e{len(self.published)}", "p")
        self.published[event.id] = node, event
        self.published_ms[event.id] = at_ms
        self.simulation.at(at_ms, node, PublishRequested(event, durable=True))

    def join(self, at_ms, seed_node=0):
        node = self.nodes + len(self.contact)
        self.contact[node] = (seed_node,)
        self.simulation.join(node, at_ms)
        return node

    def protocol(self, node) -> Planned:
        found = self.simulation.protocols[node]
        assert isinstance(found, Planned)
        return found

    # -- what must be so ---------------------------------------------------------------------------------

    def accepted(self):
        return {row[5] for row in self.simulation.trace.records if row[1] == "accepted"}

    def queues(self):
        """Each durable subscription: the nodes that have it, and the ids of the events it holds."""
        found = {}
        for node, protocol in self.simulation.protocols.items():
            queues = protocol.durable.queues
            for name in queues.names:
                found.setdefault(name, []).append((node, [event.id for event, _, _ in queues.contents(name)]))
        return found

    def check(self, *, lost=(), doubtful=(), least=1):
        """Raises unless every subscription has exactly what it must have, in one place."""
        accepted, queues, required = self.accepted(), self.queues(), 0
        for id, (home, filter_) in self.wanted.items():
            held = queues.get(id, [])
            if id in lost and not held:
                continue  # whoever could have stood in for it is gone, too
            assert len(held) == 1, f"{id} of node {home} is at {[node for node, _ in held]}"
            node, events = held[0]
            twice = [event for event, count in Counter(events).items() if count > 1]
            assert not twice, f"{id} at node {node} has {twice[:5]} more than once"
            must = {
                event.id
                for _, event in self.published.values()
                if event.id in accepted and filter_.matches(event) and event.id not in doubtful
            }
            may = {event.id for _, event in self.published.values() if filter_.matches(event)}
            assert set(events) <= may
            if id in lost:
                continue
            missing = sorted(must - set(events), key=lambda name: int(name[1:]))
            required += len(must)
            assert not missing, (
                f"{id} of node {home}, now at {node}, misses {len(missing)} of {len(must)}: {missing[:8]}"
            )
        assert required >= least, f"only {required} deliveries were required"
        return required

    def view(self):
        """The view that all running nodes agree on."""
        views = {node: protocol.view for node, protocol in self.simulation.protocols.items()}
        known = {
            node: view for node, view in views.items() if view is not None
        }  # others joined through a node that is gone
        assert len({view.version for view in known.values()}) == 1, {node: each.version for node, each in known.items()}
        return next(iter(known.values()))


def live_through(
    seed, scheme_name, *, actions=14, nodes=5, faults=None, kinds=("join", "leave", "crash", "forget", "cut")
):
    """A network under churn drawn from a seed, until all is calm again; raises if anything is lost or doubled."""
    network = ChangingNetwork(seed, scheme_name, nodes, faults or Faults(detect_ms=50.0, disk_ms=1.0, jitter_ms=2.0))
    simulation, draw = network.simulation, network.draw
    for node in range(nodes):
        network.subscribe(node, FILTERS[node % len(FILTERS)])
    simulation.run(200)
    down, doubtful, lost = {}, set(), set()
    forgotten, cut = [], False

    def up(*, besides=()):
        ready = [node for node, each in simulation.protocols.items() if each.is_ready and node not in besides]
        return sorted(ready)

    def publish(until_ms):
        at_ms = simulation.now
        while at_ms < until_ms:
            at_ms += float(draw.exponential(15.0))
            network.publish(int(draw.choice(up())), at_ms)
        simulation.run(until_ms)

    for _ in range(actions):
        publish(simulation.now + float(draw.uniform(50, 900)))
        now = simulation.now
        kind = str(draw.choice(kinds))
        present = up(besides=down)
        if kind == "join":
            network.join(now + 1, int(draw.choice(present)))
        elif kind == "leave" and len(present) > 3:
            simulation.leave(int(draw.choice(present)), now + 1)
        elif kind == "crash":
            if down and draw.random() < 0.6:
                node = int(draw.choice(sorted(down)))
                simulation.restart(node, now + 1)
                del down[node]
            elif 2 * (len(down) + 1) < len(present):
                node = int(draw.choice(present))
                simulation.run(now + 1)
                if node not in simulation.protocols:
                    continue  # it has just left
                durable = network.protocol(node).durable
                on_its_way = {event.id for _, message in durable.waiting() if (event := message.carried) is not None}
                down[node] = now, set(durable.queues.names), on_its_way
                simulation.crash(node, now + 1)
        elif kind == "forget" and down:
            node = int(draw.choice(sorted(down)))
            # What it alone had is lost: what it held for subscribers, and what it had taken and not passed on.
            crashed_ms, held, on_its_way = down[node]
            lost |= held
            doubtful |= on_its_way
            doubtful |= {id for id, at_ms in network.published_ms.items() if crashed_ms - 50 < at_ms < crashed_ms + 20}
            simulation.forget(int(draw.choice(present)), node, now + 1)
            forgotten.append(node)
            del down[node]
        elif kind == "cut":
            if cut:
                simulation.heal(now + 1)
            else:
                some = [int(node) for node in draw.choice(present, len(present) // 3 or 1, replace=False)]
                simulation.cut([some], now + 1)
            cut = not cut
        simulation.run(now + 2)
    if cut:
        simulation.heal(simulation.now + 1)
    for node in down:
        simulation.restart(node, simulation.now + 2)
    simulation.run(simulation.now + 2_000)
    for node in forgotten:  # a person says it again if whoever was told has crashed since
        simulation.forget(up()[0], node, simulation.now + 1)
    simulation.run(simulation.now + 8_000)
    publish(simulation.now + 200)
    simulation.run(simulation.now + 8_000)
    network.required = network.check(lost=lost, doubtful=doubtful, least=0)
    view = network.view()
    assert len(view.epochs) == 1, [epoch.number for epoch in view.epochs]
    return network
