"""Peers on the routers of a drawn network, for tests of what they find out about it."""

import itertools

import numpy as np

from siftcast.experiments.underlay.quality import measure
from siftcast.experiments.underlay.world import World
from siftcast.overlays.discovery import DiscoveryOptions
from siftcast.overlays.membership import DetectorOptions, RandomViewOptions
from tests.simulation.peer_network import PeerNetwork

TIMES = {
    "walk_ms": 8_000.0,
    "request_ms": 400.0,
    "sample": RandomViewOptions(exchange_ms=500.0),
    "detection": DetectorOptions(probe_ms=400.0, answer_ms=100.0, suspicion_ms_min=600.0, suspicion_ms_max=3_000.0),
}
"""Ten times as fast as by default, so that tests need not simulate minutes."""


class Routed:
    """The delays and routes of a world, as the simulator asks for them; routers that are anonymous tell no name.

    With `invents_names`, they are given a new one each time, as whoever takes them for different routers sees them.
    """

    def __init__(self, world, *, scale=1.0, anonymous=(), invents_names=False):
        self.world = world
        self.routers = world.network.routers
        self.delays_ms = world.delays_ms * scale
        self.anonymous = frozenset(anonymous)
        self.invented = itertools.count() if invents_names else itertools.repeat(None)

    def latency_ms(self, a, b):
        return float(self.delays_ms[a, b])

    def routers_between(self, a, b):
        return tuple(self.name(each) for each in self.world.route(a, b))

    def name(self, router):
        if router not in self.anonymous:
            return f"r{router}"
        invented = next(self.invented)
        return None if invented is None else f"new{invented}"


class GroundNetwork(PeerNetwork):
    """Peers that discover the ground they stand on: a small network of the underlay chapter, with short delays."""

    def __init__(
        self,
        peers=60,
        seed=1,
        *,
        ground="waxman",
        routers=200,
        world=None,
        scale=0.1,
        anonymous=(),
        invents_names=False,
        **kinds,
    ):
        self.world = World.draw(ground, peers, seed, routers=routers) if world is None else world
        self.ground = Routed(self.world, scale=scale, anonymous=anonymous, invents_names=invents_names)
        discovery = {name: kinds.pop(name) for name in tuple(kinds) if name in DiscoveryOptions.__slots__}
        options = DiscoveryOptions(**{**TIMES, "degree": 5, "ttl": 30, **discovery})
        super().__init__(self.world.peers, seed, options=options, network=self.ground, **kinds)

    def states(self):
        return {node: protocol.state() for node, protocol in self.simulation.protocols.items()}

    def links(self):
        """The links between those who run, each once."""
        states = self.states()
        return {
            (min(node, other), max(node, other))
            for node, state in states.items()
            for other in state["neighbours"]
            if other in states
        }

    def quality(self):
        """What becomes of messages between those who run (`Quality`)."""
        return measure(self.world, self.links(), self.running)

    def total(self, fact):
        return sum(state[fact] for state in self.states().values())


def generator(seed=1):
    return np.random.default_rng(seed)
