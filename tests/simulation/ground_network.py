"""Peers on the routers of a drawn network, for tests of what they find out about it."""

import itertools
from dataclasses import replace

import numpy as np

from siftcast.experiments.underlay.quality import measure
from siftcast.experiments.underlay.world import World
from siftcast.overlays.discovery import DiscoveryOptions
from siftcast.overlays.membership import DetectorOptions, RandomViewOptions
from siftcast.underlay import Underlay
from tests.simulation.peer_network import PeerNetwork

SCALE = 0.1
TIMES = {
    "walk_ms": 8_000.0,
    "request_ms": 400.0,
    "sample": RandomViewOptions(exchange_ms=500.0),
    "detection": DetectorOptions(probe_ms=400.0, answer_ms=100.0, suspicion_ms_min=600.0, suspicion_ms_max=3_000.0),
}
"""Ten times as fast as by default, so that tests need not simulate minutes."""


class Routed(Underlay):
    """The network of a world; some of its routers tell no name.

    With `invents_names`, they are given a new one each time, as whoever takes them for different routers sees them.
    """

    anonymous = frozenset()
    invented = itertools.repeat(None)

    @classmethod
    def of(cls, world, *, scale, anonymous=(), invents_names=False):
        network = world.network
        made = cls.over_routers(
            network.routers,
            network.tails,
            network.heads,
            network.latencies_ms * scale,
            world.places,
            world.last_miles_ms * scale,
        )
        made.anonymous = frozenset(f"router-{each}" for each in anonymous)
        if invents_names:
            made.invented = map("new-{}".format, itertools.count())
        return made

    def hops(self, a, b):
        found = super().hops(a, b)
        return replace(found, routers=tuple(next(self.invented) if r in self.anonymous else r for r in found.routers))


class Delays:
    """The delays of a world, and no routes; they may change."""

    def __init__(self, world, scale):
        self.scale = scale
        self.world = world

    def latency_ms(self, a, b):
        return float(self.world.delays_ms[a, b] * self.scale)


class GroundNetwork(PeerNetwork):
    """Peers that discover the ground they stand on: a small network of the underlay chapter, with short delays."""

    def __init__(self, peers=60, seed=1, *, ground="waxman", routers=200, world=None, network=None, **kinds):
        self.world = World.draw(ground, peers, seed, routers=routers) if world is None else world
        hidden = {name: kinds.pop(name) for name in ("anonymous", "invents_names") if name in kinds}
        self.ground = Routed.of(self.world, scale=SCALE, **hidden) if network is None else network
        discovery = {name: kinds.pop(name) for name in tuple(kinds) if name in DiscoveryOptions.__slots__}
        options = DiscoveryOptions(**{**TIMES, "degree": 5, "ttl": 30, **discovery})
        super().__init__(peers, seed, options=options, network=self.ground, **kinds)

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
