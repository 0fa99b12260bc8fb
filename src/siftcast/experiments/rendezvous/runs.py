"""Rows R5, R6 and R7: scenarios run under many schemes, and what each run came to.

R5   every matching with every delivery, on one network
R6   the applications of the paper's table, under the ring and the schemes beside it
R7   layered schemes beside monolithic ones
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from siftcast.experiments.rendezvous.profiles import APPLICATIONS, load_profile
from siftcast.experiments.rendezvous.weighing import weigh
from siftcast.overlays.wire_messages import MessageCodec
from siftcast.runtimes.sim import judge, parse_scenario, prepare
from siftcast.runtimes.sim.checkers import Spread, delay_bounds, delays_ms, matching_load, node_stress
from siftcast.runtimes.sim.checkers.columns import read_columns
from siftcast.runtimes.sim.queueing import QueueingSimulation
from siftcast.runtimes.sim.scenario import ScenarioFile
from siftcast.runtimes.sim.scenario_run import schedule, subscribe

Found = dict[str, Any]
_SENDS = ("sent", "multicast")
_TAIL_MS = 1_000.0

LAYERS = """
title = "Layered and monolithic"
[underlay]
generator = "transit-stub"
servers = {servers}
[underlay.options]
transit_domains = 4
transit_routers = 4
stubs_per_router = 2
stub_routers = 5
links = 320
[scheme]
name = "{scheme}"
[scheme.options]
{options}
[workload]
preset = "kyra-zipf"
events = {events}
subscriptions = {servers}
interval_ms = 20
[workload.options]
interest_rate = {interest}
values = 200
[costs]
message_ms = 0.03
match_ms = 0.05
"""


def measure_application(application: str, scheme: str, events: int, seed: int, **options: Any) -> Found:
    """R6: one application under one scheme; the ring has the options that its file gives it."""
    own = scheme == "rendezvous"
    file = load_profile(application, scheme="" if own else scheme, options=options, events=events)
    found = run_scenario(file, seed)
    rate = APPLICATIONS[application].each_s
    return found | {"publisher_kbps": found["upload_bytes"] * 8 * rate / 1_000}


def measure_shared(events: int, seed: int) -> Found:
    """R4: actions of a game in three circles of their own R and H over the same servers, chosen by their kind."""
    options = {
        "key": "position.x",
        "zones": 16,
        "replicas": 2,
        "application": "kind",
        "applications": "attack: replicas=1, parts=2; chat: replicas=4, parts=1; move: replicas=2, parts=3",
        "confirm": "none",
    }
    return run_scenario(load_profile("games", scheme="rendezvous", options=options, events=events), seed)


def measure_pair(matching: str, delivery: str, servers: int, events: int, seed: int) -> Found:
    """R5: one matching with one delivery."""
    options = {"matching": matching, "delivery": delivery, "clusters": 4, "clique_ms_max": 200.0}
    return _run_layers("layered", options, servers, events, 0.1, seed)


def measure_layers(
    scheme: str, options: Mapping[str, Any], servers: int, events: int, interest: float, seed: int
) -> Found:
    """R7: one scheme on the network that all of them get."""
    return _run_layers(scheme, options, servers, events, interest, seed)


def _run_layers(
    scheme: str, options: Mapping[str, Any], servers: int, events: int, interest: float, seed: int
) -> Found:
    lines = "\n".join(f"{name} = {_toml(value)}" for name, value in options.items())
    text = LAYERS.format(scheme=scheme, options=lines, servers=servers, events=events, interest=interest)
    return run_scenario(parse_scenario(text, "layers.toml"), seed)


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(value)


def run_scenario(file: ScenarioFile, seed: int) -> Found:
    """What was delivered and missed, how late, and what it cost: messages, bytes, matches, the load of servers."""
    run = prepare(file, seed)
    simulation = run.simulation
    scales = weigh(simulation, MessageCodec(run.scheme.protocol.messages))
    subscribe(run)
    begun = simulation.now
    waited = len(simulation.waits_ms) if isinstance(simulation, QueueingSimulation) else 0
    until = schedule(run)
    simulation.run(until)
    trace, servers, events = simulation.trace, run.underlay.servers, max(1, run.workload.events.num_rows)
    deliveries, bounds = judge(run).deliveries, delay_bounds(trace)
    delays, stress = delays_ms(trace), node_stress(trace, servers)
    sent = read_columns(trace, _SENDS, control=True)
    carrying = sent.event >= 0
    published = read_columns(trace, ("published",)).time_ms
    # Peers that tick go on for ever, so what they say after the last event does not count.
    meanwhile = (sent.time_ms > begun) & (sent.time_ms <= published.max(initial=begun) + _TAIL_MS)
    waits = np.array(simulation.waits_ms[waited:]) if isinstance(simulation, QueueingSimulation) else np.zeros(0)
    state = Spread.of(np.array(run.state_after_subscribing))
    return {
        "required": deliveries.required,
        "violations": deliveries.faults,
        "deliveries": deliveries.delivered,
        "changes": len(run.changes),
        "judged": bounds.judged,
        "late": bounds.late,
        "late_by_ms": bounds.worst_ms,
        "delay_ms": {
            "mean": float(delays.mean()) if len(delays) else 0.0,
            "p99": float(np.percentile(delays, 99)) if len(delays) else 0.0,
            "max": float(delays.max(initial=0.0)),
        },
        "wait_ms_max": float(waits.max(initial=0.0)),
        "messages": int(carrying.sum()) / events,
        "control_before": int((~carrying & (sent.time_ms <= begun)).sum()) / servers,
        "control_during": int((~carrying & meanwhile).sum()) / events,
        "event_bytes": scales.event_bytes / events,
        "upload_bytes": scales.upload_bytes / events,
        "matches": float(matching_load(trace).mean()),
        "stress_mean": float(stress.mean()) / events,
        "stress_max": float(stress.max()) / events,
        "state_mean": state.mean,
        "state_max": state.max,
    }
