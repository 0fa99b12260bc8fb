"""Runs again, on the simulator, what was asked of the nodes of a recorded run, live or simulated.

A trace has all subscriptions and events, and when each was asked for at which node. These are asked of a simulation at
the same times, counted from the first; what comes of them is the simulation's. So a run that was seen live can be
looked at under other schemes, latencies and faults. Crashes and cuts of the recorded run are not among what was asked,
and are not repeated.
"""

from __future__ import annotations

from collections.abc import Mapping

from siftcast.overlays.contract import NodeId, PublishRequested, Stimulus, SubscribeRequested, UnsubscribeRequested
from siftcast.overlays.trace import Trace
from siftcast.runtimes.sim.errors import SimulationError
from siftcast.runtimes.sim.simulation import Simulation

_ASKED = ("subscribed", "unsubscribed", "published")


def replay(trace: Trace, simulation: Simulation, places: Mapping[NodeId, NodeId] | None = None) -> Trace:
    """Asks of a simulation what a trace says was asked, runs it until nothing is left to do, and returns its trace.

    `places` says which node of the simulation stands for each of a live network.
    """
    rows = [row for row in trace.record_table().to_pylist() if row["kind"] in _ASKED]
    if places is not None:
        rows = [{**row, "node": places.get(row["node"], row["node"])} for row in rows]
    strangers = {row["node"] for row in rows} - simulation.protocols.keys()
    if strangers:
        raise SimulationError(f"the trace tells of nodes {sorted(strangers)}, which this simulation does not have")
    start_ms = min((row["time_ms"] for row in rows), default=0.0)
    now_ms = simulation.now
    for row in sorted(rows, key=lambda row: row["time_ms"]):
        stimulus: Stimulus
        if row["kind"] == "published":
            stimulus = PublishRequested(trace.events[row["event"]])
        elif row["kind"] == "subscribed":
            stimulus = SubscribeRequested((trace.subscriptions[row["message"]],))
        else:
            stimulus = UnsubscribeRequested((row["message"],))
        simulation.at(now_ms + row["time_ms"] - start_ms, row["node"], stimulus)
    return simulation.run()
