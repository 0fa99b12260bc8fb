"""Row H5: a node crashes, and heartbeats alone must find that out.

No connection tells of it. Nodes crash one after the other, each once nobody counts on the one before; then events are
published, and must reach all that are left. A node *takes part* in a recovery if it

- sends or receives anything but beats and their answers, or greetings,
- sends a beat to the lost node, or
- sends or receives a beat that asks for somebody, as nobody is left beyond a split.

A contact that is lost is replaced in time by one that answers of beats name, as always where there is room for one.
Tables that change so are counted apart, since events do not wait for it.
"""

from __future__ import annotations

from statistics import fmean
from typing import Any

import numpy as np

from siftcast.experiments.homed.growth import publish
from siftcast.experiments.homed.network import UNDETECTED_MS, Network
from siftcast.overlays.contract import NodeId

Found = dict[str, Any]
_PERIODIC = frozenset({"Beat", "BeatAnswer", "Greet", "Gateways"})
_IDLE_MS = 20_000.0
_STEP_MS = 500.0
_RECOVERED_MS_MAX = 120_000.0


def measure_recovery(workload: str, nodes: int, seed: int, crashes: int, events: int) -> Found:
    """Participants of each recovery, how many of them are neither neighbours nor holders of the lost node."""
    network = Network(workload, nodes, seed, {}, events=events, detect_ms=UNDETECTED_MS)
    network.run(_IDLE_MS)
    chosen = np.random.default_rng([seed, 5]).choice(np.arange(1, nodes), crashes, replace=False).tolist()
    rows = [_crash(network, lost) for lost in chosen]
    left = [node for node in range(nodes) if node not in chosen]
    publishers = [left[publisher % len(left)] for publisher in network.publishers]
    return {
        "nodes": nodes,
        "crashes": crashes,
        **{name: fmean(row[name] for row in rows) for name in rows[0]},
        "outside_max": max(row["outside"] for row in rows),
        "events": publish(network, network.world.events, publishers),
    }


def _crash(network: Network, lost: NodeId) -> dict[str, float]:
    before = network.neighbours()
    allowed = {lost} | before[lost] | {node for node, known in before.items() if lost in known}
    simulation = network.simulation
    network.forget_records()
    asked = set(network.asking)
    simulation.crash(lost, simulation.now)
    begun = simulation.now
    while simulation.now - begun < _RECOVERED_MS_MAX:
        network.run(_STEP_MS)
        if not any(lost in known for known in network.neighbours().values()):
            break
    took = simulation.now - begun
    table = simulation.trace.record_table()
    columns = (table[name].to_pylist() for name in ("kind", "node", "peer", "message"))
    # Who asks on because of an earlier crash does not do so because of this one.
    participants = {node for split, nodes in network.asking.items() if split not in asked for node in nodes}
    for kind, node, peer, message in zip(*columns, strict=True):
        if (kind == "sent" and message == "Beat" and peer == lost) or (
            kind in ("sent", "received") and message not in _PERIODIC
        ):
            participants |= {node, peer}
    changed = {node for node, known in network.neighbours().items() if known != before[node]}
    return {
        "participants": len(participants),
        "outside": len(participants - allowed),
        "allowed": len(allowed),
        "replaced_outside": len(changed - allowed),
        "took_ms": took,
    }
