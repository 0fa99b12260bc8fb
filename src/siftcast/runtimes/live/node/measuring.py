"""Measures how far other nodes are, connected or not: the median of `PROBES` heartbeats that come back.

    asked ──▶ budget ──▶ connected? ── yes ──▶ heartbeat, heartbeat, heartbeat ──▶ median
                            └── no ──▶ called, for up to DEMAND_S ──┘

One heartbeat may have waited behind much else, so there are several, `APART_S` from each other: what delays one does
not delay all. A node that is asked about again while it is measured is measured once, and all who asked are answered.
Each is answered exactly once: with None where the node is not known, is not reached in time, or goes while it is
measured. A connection that is replaced meanwhile begins the measurement again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from statistics import median

from siftcast.overlays.contract import NodeId
from siftcast.runtimes.live.node.echoes import Echoes, Heard
from siftcast.runtimes.live.node.guests import DEMAND_S
from siftcast.runtimes.live.node.probe_budget import Asker, ProbeBudget
from siftcast.runtimes.live.wire.connection import Connection

PROBES = 3
APART_S = 0.02


class _Measurement:
    """One of a node, for all who asked."""

    __slots__ = ("connection", "delays_ms", "hearers", "is_called", "timer")

    def __init__(self) -> None:
        self.hearers: list[Heard] = []
        self.is_called = False
        """Whether it waits for the node to be reached."""
        self.connection: Connection | None = None
        """Over which it is measured."""
        self.delays_ms: list[float] = []
        self.timer: asyncio.TimerHandle | None = None


class Measuring:
    """A node's measurements.

    `connection_of` is the connection to a node that stands, `can_call` whether one without may be called, and `call`
    calls it.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        budget: ProbeBudget,
        echoes: Echoes,
        *,
        connection_of: Callable[[NodeId], Connection | None],
        can_call: Callable[[NodeId], bool],
        call: Callable[[NodeId], None],
    ) -> None:
        self._loop = loop
        self._budget = budget
        self._echoes = echoes
        self._connection_of = connection_of
        self._can_call = can_call
        self._call = call
        self._open: dict[NodeId, _Measurement] = {}

    def __contains__(self, number: NodeId) -> bool:
        """Whether a node is to be called so that it can be measured."""
        measurement = self._open.get(number)
        return measurement is not None and measurement.is_called

    def __iter__(self) -> Iterator[NodeId]:
        return iter([number for number, each in self._open.items() if each.is_called])

    def ask(self, number: NodeId, heard: Heard, asker: Asker) -> None:
        """Measures a node; `heard` is given the delay in a later turn."""
        measurement = self._open.get(number)
        if measurement is not None:
            measurement.hearers.append(heard)
            return
        measurement = self._open[number] = _Measurement()
        measurement.hearers.append(heard)
        self._budget.ask(asker, PROBES, lambda: self._begin(number))  # it may begin, and end, at once

    def stop(self) -> None:
        """Measures nothing any more; nobody is answered."""
        for measurement in self._open.values():
            self._halt(measurement)
        self._open.clear()

    def joined(self, number: NodeId, connection: Connection) -> None:
        """A node is connected, for the first time or once more."""
        measurement = self._open.get(number)
        if measurement is not None and (measurement.is_called or measurement.connection is not None):
            self._start(number, measurement, connection)

    def lost(self, number: NodeId) -> None:
        """A node is not connected any more; one that is called still may be."""
        measurement = self._open.get(number)
        if measurement is not None and measurement.connection is not None:
            self._finish(number, None)

    def _begin(self, number: NodeId) -> bool:
        """It is this node's turn; nothing is spent on one that cannot be called."""
        measurement, connection = self._open[number], self._connection_of(number)
        if connection is not None:
            self._start(number, measurement, connection)
        elif self._can_call(number):
            measurement.is_called = True
            measurement.timer = self._loop.call_later(DEMAND_S, self._finish, number, None)
            self._call(number)
        else:
            self._finish(number, None)
            return False
        return True

    def _start(self, number: NodeId, measurement: _Measurement, connection: Connection) -> None:
        self._halt(measurement)
        measurement.is_called = False
        measurement.connection = connection
        measurement.delays_ms.clear()
        self._probe(number, measurement, connection, PROBES)

    def _probe(self, number: NodeId, measurement: _Measurement, connection: Connection, left: int) -> None:
        self._echoes.ask(number, connection, lambda delay_ms: self._heard(number, measurement, connection, delay_ms))
        measurement.timer = None
        if left > 1:
            measurement.timer = self._loop.call_later(APART_S, self._probe, number, measurement, connection, left - 1)

    def _heard(self, number: NodeId, measurement: _Measurement, connection: Connection, delay_ms: float | None) -> None:
        """A heartbeat came back; None says that it will not, which the connection's end or successor deals with."""
        if self._open.get(number) is not measurement or measurement.connection is not connection or delay_ms is None:
            return
        measurement.delays_ms.append(delay_ms)
        if len(measurement.delays_ms) == PROBES:
            self._finish(number, median(measurement.delays_ms))

    def _finish(self, number: NodeId, delay_ms: float | None) -> None:
        measurement = self._open.pop(number)
        self._halt(measurement)
        for heard in measurement.hearers:
            self._loop.call_soon(heard, delay_ms)

    def _halt(self, measurement: _Measurement) -> None:
        if measurement.timer is not None:
            measurement.timer.cancel()
            measurement.timer = None
