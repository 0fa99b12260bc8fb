"""What lies between nodes: how long a message takes, and what may happen to it on the way.

Three things decide about a message: the network's delay, the faults (loss, jitter, reordering), and cuts, which let
messages pass only within a group of nodes. A message under way when a cut is made still arrives: it had passed. Between
servers that the underlay has as unreachable lies a cut that is never healed.

Without `reorder`, a message never overtakes another of the same link, as over a TCP connection: the arrival is put off
to that of the message before it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Protocol as Interface

import numpy as np

from siftcast.overlays.contract import NodeId
from siftcast.underlay import Underlay, Unreachable

_CELLS_MAX = 4_000_000  # a matrix of this size is worth its copy as lists, which are read four times as fast


class DelayModel(Interface):
    """How long messages take."""

    def latency_ms(self, a: int, b: int) -> float: ...


@dataclass(frozen=True, slots=True)
class UniformNetwork:
    """The same delay between any two nodes."""

    delay_ms: float = 1.0

    def latency_ms(self, a: int, b: int) -> float:
        return self.delay_ms


@dataclass(frozen=True, slots=True)
class Faults:
    """What may happen to messages and writes. Without `reorder`, jitter lets no message overtake another of its link.

    `write_survives` is the chance that a write under way at a power cut was just done.
    """

    loss: float = 0.0
    jitter_ms: float = 0.0
    reorder: bool = False
    detect_ms: float = 100.0
    disk_ms: float = 1.0
    write_survives: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.write_survives <= 1:
            raise ValueError(f"a chance lies between 0 and 1, not {self.write_survives}")
        if not 0 <= self.loss < 1:
            raise ValueError(f"a share of lost messages lies in [0, 1), not {self.loss}")
        for name in ("jitter_ms", "detect_ms", "disk_ms"):
            if not 0 <= getattr(self, name) < float("inf"):
                raise ValueError(f"{name} must be a delay of at least 0, not {getattr(self, name)}")


NO_FAULTS = Faults()


class Wire:
    """Delays, faults and cuts, for all pairs of nodes."""

    def __init__(self, network: DelayModel, faults: Faults, random: np.random.Generator) -> None:
        self.network = network
        self.latency_ms = network.latency_ms
        self._rows: list[list[float]] | None = None
        self._unreachable: Unreachable | None = None
        self._latency_from: Callable[[NodeId], Callable[[NodeId], float]] = partial(partial, network.latency_ms)
        if isinstance(network, Underlay):
            self._latency_from, self._unreachable = network.latency_from, network.unreachable
            if network.servers**2 <= _CELLS_MAX:
                self._rows = network.latencies_ms.tolist()
        self.is_calm = True
        """Whether every message arrives after the network's delay and nothing else need be asked."""
        self.faults = faults
        self._random = random
        self._sides: dict[NodeId, int] = {}
        self._last: dict[tuple[NodeId, NodeId], float] = {}
        self.divide({})

    def latency_from(self, node: NodeId) -> Callable[[NodeId], float]:
        """How long messages of one node take, by destination: the quickest way to ask for many."""
        if self._rows is not None:
            return self._rows[node].__getitem__
        return self._latency_from(node)

    def divide(self, sides: Mapping[NodeId, int]) -> None:
        """Lets messages pass between nodes of one side only; those without a side are a side together."""
        self._sides = dict(sides)
        is_whole = not self._sides and self._unreachable is None
        self.is_calm = is_whole and self.faults.loss == 0 and self.faults.jitter_ms == 0

    def change(self, faults: Faults) -> None:
        """Has other things happen to messages from now on."""
        self.faults = faults
        self.divide(self._sides)

    def joins(self, a: NodeId, b: NodeId) -> bool:
        """Whether no cut lies between two nodes."""
        if self._unreachable is not None and self._unreachable.cuts(a, b):
            return False
        return not self._sides or self._sides.get(a, 0) == self._sides.get(b, 0)

    def round_trip_ms(self, node: NodeId, other: NodeId) -> float:
        """How long a message and its answer take."""
        return self.latency_ms(node, other) + self.latency_ms(other, node)

    def arrival_ms(self, node: NodeId, other: NodeId, now: float) -> float | None:
        """When a message sent now arrives, None if never."""
        faults = self.faults
        if not self.joins(node, other) or (faults.loss and self._random.random() < faults.loss):
            return None
        arrival = now + self.latency_ms(node, other)
        if faults.jitter_ms:
            arrival += self._random.random() * faults.jitter_ms
            if not faults.reorder:
                arrival = max(arrival, self._last.get((node, other), 0.0))
                self._last[node, other] = arrival
        return arrival
