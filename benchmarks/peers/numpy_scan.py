"""Plain NumPy: compare whole columns of bounds with the event.

Bounds are contiguous columns of 32-bit integers. Reusing the temporary arrays was tried and brought nothing. Where a
workload has symbols, subscriptions are grouped by symbol and an event scans its group.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.boxes import FREE_LOW, Array, BoxWorkload
from benchmarks.exactness import Rows
from benchmarks.peers.contract import LeftOut, Peer


class NumPyScan(Peer):
    """Every attribute of every subscription, one comparison of columns after the other."""

    name = "NumPy scan"

    def __init__(self, workload: BoxWorkload) -> None:
        self._lows = [np.ascontiguousarray(column) for column in workload.lows]
        self._highs = [np.ascontiguousarray(column) for column in workload.highs]
        self._events = workload.events

    def ask(self, count: int) -> Callable[[], list[Rows]]:
        events = list(self._events[:count])
        return lambda: [np.flatnonzero(self.scan(event)) for event in events]

    def ask_any(self, count: int) -> Callable[[], list[bool]]:
        """The same for `match_any`: whether anything matches."""
        events = list(self._events[:count])
        return lambda: [bool(self.scan(event).any()) for event in events]

    def scan(self, event: Array) -> Array:
        """A mask of the subscriptions that match."""
        keep = (self._lows[0] <= event[0]) & (event[0] <= self._highs[0])
        for low, high, value in zip(self._lows[1:], self._highs[1:], event[1:], strict=True):
            keep &= (low <= value) & (value <= high)
        found: Array = keep
        return found


class NumPySparseScan(Peer):
    """Only the subscriptions that constrain an attribute are compared with it: less work, but scattered.

    Narrowing instead, which looks only at what passed the attributes so far, was slower than both on W1 and W2.
    """

    name = "NumPy sparse scan"

    def __init__(self, workload: BoxWorkload) -> None:
        if (workload.lows != FREE_LOW).all():
            raise LeftOut("every subscription constrains every attribute")
        self._count = len(workload)
        self._columns = []
        for low, high in zip(workload.lows, workload.highs, strict=True):
            rows = np.flatnonzero(low != FREE_LOW)
            self._columns.append((rows, low[rows], high[rows]))
        self._events = workload.events

    def ask(self, count: int) -> Callable[[], list[Rows]]:
        events = list(self._events[:count])
        return lambda: [self._scan(event) for event in events]

    def _scan(self, event: Array) -> Rows:
        keep = np.ones(self._count, bool)
        for (rows, low, high), value in zip(self._columns, event, strict=True):
            inside = low <= value
            inside &= high >= value
            keep[rows] &= inside
        return np.flatnonzero(keep)


class NumPySymbolScan(Peer):
    """One scan for each symbol: what a person does who knows that every subscription names one."""

    name = "NumPy scan"

    def __init__(self, workload: BoxWorkload) -> None:
        if not workload.symbols:
            raise LeftOut("there is no symbol to group by")
        symbol = workload.lows[0]
        self._order = np.argsort(symbol, kind="stable")
        self._starts = np.searchsorted(symbol[self._order], np.arange(int(symbol.max()) + 2))
        self._lows = [column[self._order] for column in workload.lows[1:]]
        self._highs = [column[self._order] for column in workload.highs[1:]]
        self._events = workload.events

    def ask(self, count: int) -> Callable[[], list[Rows]]:
        events = self._events[:count].tolist()
        return lambda: [self._scan_group(event) for event in events]

    def _scan_group(self, event: list[int]) -> Rows:
        symbol = event[0]
        if symbol + 1 >= len(self._starts):
            return np.zeros(0, np.int64)
        group = slice(self._starts[symbol], self._starts[symbol + 1])
        keep = np.ones(group.stop - group.start, bool)
        for low, high, value in zip(self._lows, self._highs, event[1:], strict=True):
            keep &= low[group] <= value
            keep &= high[group] >= value
        found: Rows = self._order[group][keep]
        return found
