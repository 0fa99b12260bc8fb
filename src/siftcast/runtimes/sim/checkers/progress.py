"""Did durable nodes get rid of everything they owed, or does something wait that will never go on?

`durable_delivery` says what is missing; this says where it is stuck. When a run is over, all nodes run and no cut
stands, no relay may wait in an outbox and no event may be parked: whoever had them would have sent them again, so what
still lies there lies there for ever. This holds also for what nobody misses, such as a relay that waits for a release
long after its event was offered, and keeps its node's disk from being cleared.

While a node is down or a cut stands, others rightly keep what is for it, and events that came later stay parked behind
that, at nodes which are no neighbours of it. So nobody can be called stuck then; those who wait are named, and those
they may wait for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from siftcast.overlays.contract import NodeId, Protocol
from siftcast.overlays.trace import Trace
from siftcast.runtimes.sim.checkers.disturbances import Disturbance, disturbances
from siftcast.runtimes.sim.checkers.outcomes import Outcome, outcome_of


@dataclass(frozen=True, slots=True)
class Waiting:
    """What one node has not got rid of."""

    node: NodeId
    relays: int
    parked: int

    def __str__(self) -> str:
        return f"node {self.node} ({self.relays:,} relays, {self.parked:,} parked events)"


@dataclass(frozen=True, slots=True)
class Progress:
    """Nodes that are stuck, or, where something was still broken in the end, `excused`, and by what.

    `judged` counts the nodes that could have been found stuck.
    """

    judged: int
    stuck: tuple[Waiting, ...]
    excused: tuple[Waiting, ...]
    broken: tuple[Disturbance, ...]

    @property
    def outcome(self) -> Outcome:
        """Vacuous where no node could be judged."""
        return outcome_of(faults=len(self.stuck), required=self.judged)

    @property
    def ok(self) -> bool:
        """Whether nodes were judged and none is stuck."""
        return self.outcome == "passed"


def progress(trace: Trace, protocols: Mapping[NodeId, Protocol]) -> Progress:
    """What the durable nodes that run at the end of a run still wait with; other protocols are not looked at."""
    broken = tuple(each for each in disturbances(trace) if not each.is_over)
    states = {node: protocols[node].state() for node in sorted(protocols)}
    durable = {node: state for node, state in states.items() if "relays_waiting" in state}
    waiting = tuple(
        Waiting(node, state["relays_waiting"], state["events_parked"])
        for node, state in durable.items()
        if state["relays_waiting"] or state["events_parked"]
    )
    if broken:
        return Progress(len(durable) - len(waiting), (), waiting, broken)
    return Progress(len(durable), waiting, (), ())
