"""Pure Python: every filter compiled to a Python function, every function called for every event."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from benchmarks.boxes import BoxWorkload
from benchmarks.exactness import Rows
from benchmarks.peers.contract import LeftOut, Peer
from siftcast import Filter
from siftcast.model.predicate import CompiledPredicate, compile_predicate

FILTERS_MAX = 20_000
Event = Mapping[str, object]


class PredicateLoop(Peer):
    """The loop that everybody starts with, without the call of `Filter.matches` around each predicate."""

    name = "predicate loop"

    def __init__(self, workload: BoxWorkload) -> None:
        if len(workload) > FILTERS_MAX:
            raise LeftOut(f"{len(workload):,} calls of Python functions for each event")
        filters = (Filter.parse(workload.filter_text(row)) for row in range(len(workload)))
        self._predicates = [compile_predicate(filter_.expression) for filter_ in filters]
        self._events = workload.event_dicts(len(workload.events))

    def ask(self, count: int) -> Callable[[], list[list[int]]]:
        events = self._events[:count]
        return lambda: [call_all(self._predicates, event) for event in events]

    def rows(self, answer: list[list[int]]) -> list[Rows]:
        return [np.array(found, np.int64) for found in answer]


def call_all(predicates: Sequence[CompiledPredicate], event: Event) -> list[int]:
    """The numbers of the predicates that hold."""
    return [number for number, predicate in enumerate(predicates) if predicate(event)]
