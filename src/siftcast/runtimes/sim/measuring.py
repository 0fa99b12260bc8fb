"""What nodes find out about the network: the delay to a peer, and the routers on the way there.

A delay is half a round trip, as live nodes measure it: no node can tell how much of it was the way there. A route has
the routers that its underlay knows, each with its delay one way. Without an underlay, or one without routers, a route
is unavailable.

By default both are exact. What makes them worse is `Accuracy`, and the seed of the run decides about it: the noise of
a measurement and whether it is answered at all are drawn for each, so measuring again helps. Which routers tell nobody
their name, and on which routes probes do not get through, is settled for the whole run, so measuring again does not
help: that is so in real networks, where settings of routers and firewalls are the cause.

An answer comes after the round trip that was measured, noise included; no answer is noticed after `detect_ms`. Nothing
is drawn where all is exact, and never from the generators of other parts, so a run does not change by being measured.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from itertools import takewhile

import numpy as np

from siftcast.overlays.contract import DelayMeasured, InferRoute, MeasureDelay, NodeId, RouteInferred
from siftcast.runtimes.sim.wire import Wire
from siftcast.underlay import Hops, Underlay

_NOISE_STREAM, _NAMES_STREAM, _ROUTES_STREAM = 3, 4, 5
_UNAVAILABLE = Hops(status="unavailable")


@dataclass(frozen=True, slots=True)
class Accuracy:
    """How well nodes measure.

    `noise` is the relative deviation of a measured delay: the logarithm of what it is multiplied with is normal, so
    that a delay stays above 0, and the median of many is exact. `loss` is the share of measurements without an answer,
    `anonymous` that of routers without a name, and `partial` that of routes that cannot be followed to their end.
    """

    noise: float = 0.0
    loss: float = 0.0
    anonymous: float = 0.0
    partial: float = 0.0

    def __post_init__(self) -> None:
        for name in ("noise", "anonymous", "partial"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} is a share from 0 to 1, not {getattr(self, name)}")
        if not 0 <= self.loss < 1:
            raise ValueError(f"a share of lost measurements lies in [0, 1), not {self.loss}")


EXACT = Accuracy()


class Measuring:
    """Answers what nodes want measured, each with how long the answer takes."""

    def __init__(self, wire: Wire, accuracy: Accuracy, running: Collection[NodeId], seed: int) -> None:
        self._wire = wire
        self._accuracy = accuracy
        self._running = running
        self._seed = seed
        self._random = np.random.default_rng((seed, _NOISE_STREAM))
        self._underlay = wire.network if isinstance(wire.network, Underlay) else None
        self._anonymous = self._draw_anonymous()

    def answer(self, node: NodeId, effect: MeasureDelay | InferRoute) -> tuple[float, DelayMeasured | RouteInferred]:
        """The answer to a node, and after how many milliseconds it has it."""
        if isinstance(effect, MeasureDelay):
            return self._measure(node, effect.peer)
        return self._infer(node, effect.peer)

    def _measure(self, node: NodeId, peer: NodeId) -> tuple[float, DelayMeasured]:
        if peer not in self._running or not self._wire.joins(node, peer) or self._is_lost():
            return self._wire.faults.detect_ms, DelayMeasured(peer, None)
        round_trip_ms = self._noisy(self._wire.round_trip_ms(node, peer))
        return round_trip_ms, DelayMeasured(peer, round_trip_ms / 2)

    def _infer(self, node: NodeId, peer: NodeId) -> tuple[float, RouteInferred]:
        hops = _UNAVAILABLE if self._underlay is None else self._underlay.hops(node, peer)
        if hops.status == "unavailable":
            return 0.0, _told(peer, _UNAVAILABLE)
        if not self._wire.joins(node, peer) or self._is_lost():
            return self._wire.faults.detect_ms, _told(peer, _UNAVAILABLE)
        seen = self._seen(self._reached(node, peer, hops))
        return self._wire.round_trip_ms(node, peer), _told(peer, seen)

    def _reached(self, node: NodeId, peer: NodeId, hops: Hops) -> Hops:
        """A route as far as probes get: to one of its routers, each as likely, on those that are cut short."""
        if not self._accuracy.partial or not hops.routers:
            return hops
        random = np.random.default_rng((self._seed, _ROUTES_STREAM, node, peer))
        if random.random() >= self._accuracy.partial:
            return hops
        last = 1 + int(random.integers(len(hops.routers)))
        return Hops(hops.routers[:last], hops.delays_ms[:last], "partial")

    def _seen(self, hops: Hops) -> Hops:
        """A route with the names that are told, and with noise in its delays."""
        routers = tuple(None if name in self._anonymous else name for name in hops.routers)
        delays_ms = tuple(
            None if name is None or delay_ms is None else self._noisy(delay_ms)
            for name, delay_ms in zip(routers, hops.delays_ms, strict=True)
        )
        if hops.status == "partial":
            # Silence behind the last name is all there is to see, be it of anonymous routers or of none.
            silent = sum(1 for _ in takewhile(lambda name: name is None, reversed(routers)))
            known = len(routers) - silent
            return Hops(routers[:known], delays_ms[:known], "partial") if known else _UNAVAILABLE
        return Hops(routers, delays_ms, hops.status)

    def _noisy(self, delay_ms: float) -> float:
        noise = self._accuracy.noise
        return delay_ms * float(self._random.lognormal(0.0, noise)) if noise else delay_ms

    def _is_lost(self) -> bool:
        loss = self._accuracy.loss
        return bool(loss) and self._random.random() < loss

    def _draw_anonymous(self) -> frozenset[str]:
        if self._underlay is None or not self._accuracy.anonymous:
            return frozenset()
        names = sorted(set(self._underlay.router_names))
        chosen = np.random.default_rng((self._seed, _NAMES_STREAM)).permutation(len(names))
        return frozenset(names[each] for each in chosen[: round(self._accuracy.anonymous * len(names))])


def _told(peer: NodeId, hops: Hops) -> RouteInferred:
    return RouteInferred(peer, hops.routers, hops.status, hops.delays_ms)
