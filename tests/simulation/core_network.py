"""Networks of core-tree peers, for tests: on a Waxman map, with interests, disturbed and looked at."""

import random
from heapq import heappop, heappush
from math import inf

import numpy as np

from siftcast.model import Event, Filter, Subscription
from siftcast.overlays.contract import LeaveRequested, PeerFound, PeerGone, PeerLost, Started, Unwatch, Watch
from siftcast.overlays.membership import Neighbouring
from siftcast.overlays.protocols.core_tree import CoreTree
from siftcast.overlays.refreshing import Refreshing
from siftcast.overlays.tables import matcher_tables
from siftcast.overlays.trace import Trace
from siftcast.runtimes.sim import Faults, Simulation
from siftcast.schemes.core_tree import CoreTreeOptions
from siftcast.underlay.waxman import Waxman

TABLES = matcher_tables("brute_force")
QUICK = {"beat_ms": 400.0, "rebuild_ms": 5_000.0, "ground": "none"}


class Delays:
    """A network whose delays may change in a run."""

    def __init__(self, delays_ms):
        self.delays_ms = delays_ms

    def latency_ms(self, a, b):
        return self.delays_ms[a][b]

    def change(self, one, other, delay_ms):
        self.delays_ms[one][other] = self.delays_ms[other][one] = delay_ms


def waxman(peers, seed, routers=100):
    """Delays between peers at routers of a Waxman map."""
    rng = np.random.default_rng(seed)
    network = Waxman(routers=routers).build(rng)
    graph = np.full((routers, routers), np.inf)
    np.fill_diagonal(graph, 0.0)
    for tail, head, delay_ms in zip(network.tails, network.heads, network.latencies_ms, strict=True):
        graph[tail, head] = graph[head, tail] = min(delay_ms, graph[tail, head])
    for middle in range(routers):
        graph = np.minimum(graph, graph[:, middle, None] + graph[None, middle])
    places = rng.integers(routers, size=peers)
    last_mile = rng.uniform(0.05, 0.1, peers) * network.latencies_ms.mean()
    delays = graph[np.ix_(places, places)] + last_mile[:, None] + last_mile[None, :]
    np.fill_diagonal(delays, 0.0)
    return Delays(delays.tolist())


class Fixed:
    """An overlay that is given: the neighbours in a graph that can be reached, at the delays of the network."""

    def __init__(self, node, others, delays):
        self.news = []
        self.up = []
        self.distant = frozenset()
        self.is_settled = True
        self._node, self._others, self._delays = node, others, delays

    @property
    def neighbours(self):
        return {peer: self._delays.latency_ms(self._node, peer) for peer in self.up}

    def concerns(self, stimulus):
        return isinstance(stimulus, Started | PeerFound | PeerLost | PeerGone)

    def handle(self, stimulus, now):
        if isinstance(stimulus, Started):
            return [Watch(peer) for peer in self._others]
        if stimulus.peer in self._others and isinstance(stimulus, PeerFound) is not (stimulus.peer in self.up):
            (self.up.append if isinstance(stimulus, PeerFound) else self.up.remove)(stimulus.peer)
            change = "up" if stimulus.peer in self.up else "down"
            self.news.append(Neighbouring(change, stimulus.peer))
        return []

    def hear(self, sender, now):
        pass

    def handle_stranger(self, sender):
        return []

    def handle_leaving(self, now):
        return [Unwatch(peer) for peer in self._others]

    def members(self):
        return ()


def near_graph(delays, peers, nearest=3, seed=1):
    """Each peer with those nearest to it and one more."""
    drawn = random.Random(seed)
    graph = {peer: set() for peer in range(peers)}
    for peer in range(peers):
        others = sorted((delays.latency_ms(peer, other), other) for other in range(peers) if other != peer)
        for _, other in (*others[:nearest], drawn.choice(others)):
            graph[peer].add(other)
            graph[other].add(peer)
    return {peer: tuple(sorted(others)) for peer, others in graph.items()}


class CoreNetwork:
    """Peers that each want some values of `v`."""

    def __init__(self, peers, seed=1, *, delays=None, graph=None, faults=None, refreshes=False, **options):
        self.random = random.Random(seed)
        self.held = {}
        self.published = 0
        self.peers = peers
        self.delays = waxman(peers + 4, seed) if delays is None else delays
        self.options = CoreTreeOptions(**{**QUICK, **options})
        self.graph = graph
        self.simulation = Simulation(
            range(peers),
            (lambda node: Refreshing(self.make(node), refresh_ms=200.0)) if refreshes else self.make,
            self.delays,
            seed=seed,
            faults=faults if faults is not None else Faults(detect_ms=50.0),
            trace=Trace(messages=True),
            contacts=lambda node: ((node // 2,) if node else ()) if graph is None else graph[node],
            strict_introductions=True,
        )
        for node in range(peers):
            self.subscribe(node, f"s{node}", self.draw())

    def make(self, node):
        if self.graph is None:
            return CoreTree(node, TABLES, self.options, self.options.neighbourhood(node))
        return CoreTree(node, TABLES, self.options, Fixed(node, self.graph[node], self.delays))

    @property
    def now(self):
        return self.simulation.now

    @property
    def states(self):
        return {node: protocol.state() for node, protocol in self.simulation.protocols.items()}

    def draw(self):
        low = self.random.randrange(56)
        return f"v BETWEEN {low} AND {low + self.random.choice([2, 4, 16])}"

    def subscribe(self, node, id, text):
        wanted = Filter.parse(text)
        self.held[id] = node, wanted
        self.simulation.subscribe(node, Subscription(id, wanted))

    def unsubscribe(self, id):
        node, _ = self.held.pop(id)
        self.simulation.unsubscribe(node, id)

    def run(self, ms):
        self.simulation.run(self.now + ms)
        return self

    @property
    def trouble(self):
        """What is not yet as it is at rest; empty at rest."""
        states = self.states
        if not all(node.is_settled for node in self.simulation.protocols.values()):
            return [node for node, protocol in self.simulation.protocols.items() if not protocol.is_settled]
        found = {(state["leader"], state["cores"]) for state in states.values()}
        leaders = {state["leader"] for state in states.values()}
        if len(found) > 1 or leaders != {min(states)} or not set(states[min(states)]["cores"]) <= set(states):
            return sorted(found)
        expected = min(len(states), self.options.cores)
        return [] if len(states[min(states)]["cores"]) == expected else sorted(found)

    def settle(self, within_ms=20_000, still_ms=1_000):
        """Until the network is at rest, and has been for a while."""
        end, since = self.now + within_ms, None
        while True:
            self.run(100)
            trouble = self.trouble
            since = None if trouble else (self.now if since is None else since)
            if since is not None and self.now - since >= still_ms:
                return self
            assert self.now < end, trouble

    def crash(self, *nodes):
        for node in nodes:
            self.simulation.crash(node, at_ms=self.now)
        self.run(0)
        self.held = {id: held for id, held in self.held.items() if held[0] not in nodes}

    def leave(self, *nodes):
        for node in nodes:
            self.simulation.at(self.now, node, LeaveRequested())
        self.held = {id: held for id, held in self.held.items() if held[0] not in nodes}

    def publish(self, node=None, value=None):
        """Publishes an event now; its id and who is to get it."""
        self.published += 1
        value = self.random.randrange(64) if value is None else value
        event = Event({"v": value}, id=f"e{self.published}")
        node = self.random.choice(sorted(self.simulation.protocols)) if node is None else node
        self.simulation.publish(node, event)
        return event.id, sorted((at, id) for id, (at, filter_) in self.held.items() if filter_.matches(event))

    def got(self, event):
        """Who was handed an event, as often as they were."""
        rows = self.simulation.trace.delivery_table().to_pylist()
        return sorted((row["node"], id) for row in rows if row["event"] == event for id in row["subscriptions"])

    def expect(self, expected):
        """Each of these events must have reached exactly those who want it, once."""
        assert any(wanted for _, wanted in expected), "nothing was asked for"
        rows = self.simulation.trace.delivery_table().to_pylist()
        found = {event: [] for event, _ in expected}
        for row in rows:
            if row["event"] in found:
                found[row["event"]] += [(row["node"], id) for id in row["subscriptions"]]
        wrong = [(event, sorted(found[event]), wanted) for event, wanted in expected if sorted(found[event]) != wanted]
        assert not wrong, (len(wrong), wrong[:2])

    def expect_exact(self, events, within_ms=1_000):
        expected = [self.publish() for _ in range(events)]
        self.run(within_ms)
        self.expect(expected)

    def nearest(self):
        """For each peer how far the nearest core is, by Dijkstra's algorithm over the links there are."""
        states = self.states
        found = dict.fromkeys(states, inf)
        queue = [(0.0, core) for core in states[min(states)]["cores"]]
        while queue:
            far, peer = heappop(queue)
            if far < found[peer]:
                found[peer] = far
                for other in states[peer]["neighbours"]:
                    heappush(queue, (far + self.delays.latency_ms(peer, other), other))
        return found

    def circle(self, key="parent"):
        """Peers in a circle of links that both ends hold."""
        states = self.states
        down = {"parent": "children", "cores_parent": "cores_children", "leader_parent": None}[key]
        up = {
            node: state[key]
            for node, state in states.items()
            if state[key] in states and (down is None or node in states[state[key]][down])
        }
        for start in up:
            seen, at = set(), start
            while at in up and at not in seen:
                seen.add(at)
                at = up[at]
            if at in seen:
                return sorted(seen)
        return []
