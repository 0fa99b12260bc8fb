"""How fast the simulator is, beside SimPy doing as many empty events, and how much memory ten thousand nodes take.

Routing is measured on 500 servers of a transit-stub network with 10,000 subscriptions (Kyra's zipf model, interest
10 %), the trace kept in memory: handled messages a second while events are published, after everybody has subscribed.
What was delivered is checked by the checker that reads the trace. SimPy's events do nothing at all, so it shows what an
event-driven simulator in Python costs before anything is simulated.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from time import process_time
from typing import Any

import simpy

from benchmarks.exactness import check_equal
from benchmarks.report import Report
from benchmarks.settings import Settings
from siftcast.model import Event
from siftcast.runtimes.sim import Simulation, execute, parse_scenario, prepare
from siftcast.runtimes.sim.checkers import arc_stress, exactly_once
from siftcast.runtimes.sim.scenario_run import schedule, subscribe

GOAL_BROADCAST, GOAL_FILTER_BASED, GOAL_GOSSIP, GOAL_GIB = 100_000, 40_000, 70_000, 0.5
SLICE_MESSAGES = 50_000
SCENARIO = """
[underlay]
generator = "transit-stub"
servers = {servers}
[scheme]
name = "{scheme}"
[workload]
preset = "kyra-zipf"
events = {events}
subscriptions = {subscriptions}
interval_ms = 1.0
[workload.options]
interest_rate = 0.1
[checks]
settle_ms = 5000
"""


def run(settings: Settings, report: Report) -> None:
    """Measures all of it."""
    # Once in small, so that everything is compiled that is compiled once.
    execute(prepare(parse_scenario(SCENARIO.format(servers=20, scheme="broadcast", events=20, subscriptions=600)), 1))
    handled = {
        "broadcast": _measure("broadcast", GOAL_BROADCAST, settings, report),
        "filter-based": _measure("filter-based", GOAL_FILTER_BASED, settings, report),
    }
    _measure_simpy(handled["broadcast"], report)
    _measure_memory(settings, report)


def _measure(scheme: str, goal: int, settings: Settings, report: Report) -> int:
    """Messages a second of one scheme; returns how many were handled."""
    servers, wanted, events = settings.size(500, 50), settings.size(10_000, 500), settings.size(1_000, 100)
    report.progress(f"simulation: {scheme} on {servers} servers, {wanted:,} subscriptions, {events:,} events")
    text = SCENARIO.format(servers=servers, scheme=scheme, events=events, subscriptions=wanted)
    run = prepare(parse_scenario(text), settings.seed)
    started = process_time()
    subscribe(run)
    report.add(f"simulator, {scheme}, subscribing", process_time() - started, "s", "lower", note=f"{wanted:,}")
    # The first event has the matcher build its index, once for all that follow.
    started = process_time()
    run.simulation.publish(0, Event({"value": 0}, id="first"))
    run.simulation.run()
    report.add(f"simulator, {scheme}, first event", process_time() - started, "s", "lower", note="builds the index")
    schedule(run)
    before, started = run.simulation.handled, process_time()
    rates = _rates(run.simulation)
    rate = (run.simulation.handled - before) / (process_time() - started)
    note = f"over the whole run; slices of it from {min(rates):,.0f} to {max(rates):,.0f}"
    report.add(f"simulator, {scheme}", rate, "messages/s", "higher", goal=goal, note=note)
    verdict = exactly_once(run.simulation.trace, settle_ms=5_000)
    found = verdict.events, verdict.missing, verdict.duplicate, verdict.wrong
    check_equal(f"simulation, {scheme}", found, (events + 1, 0, 0, 0))
    started = process_time()
    crossed = int(arc_stress(run.simulation.trace, run.underlay).sum())
    report.add(
        f"link stress, {scheme}", process_time() - started, "s", "lower", note=f"{crossed:,} crossings from the trace"
    )
    return run.simulation.handled


def _rates(simulation: Simulation) -> list[float]:
    """Messages a second of processor time, slice by slice; the last slice only if there is no other."""
    rates: list[float] = []
    marks = [(process_time(), simulation.handled)]

    def mark(running: Simulation) -> None:
        if running.handled - marks[-1][1] >= SLICE_MESSAGES:
            marks.append((process_time(), running.handled))

    simulation.run(report=mark)
    if len(marks) == 1:
        marks.append((process_time(), simulation.handled))
    for (before, first), (after, last) in pairwise(marks):
        rates.append((last - first) / max(after - before, 1e-9))
    return rates


def _measure_simpy(events: int, report: Report) -> None:
    """As many events as the broadcast handled, each a timeout of a process that does nothing."""
    report.progress(f"SimPy: {events:,} empty events")
    environment = simpy.Environment()
    processes = 500

    def idle() -> Iterator[Any]:
        for _ in range(events // processes):
            yield environment.timeout(1.0)

    for _ in range(processes):
        environment.process(idle())
    started = process_time()
    environment.run()
    rate = events / (process_time() - started)
    report.add("SimPy, empty events", rate, "events/s", "higher", note="nothing sent, matched or recorded")


def _measure_memory(settings: Settings, report: Report) -> None:
    nodes = settings.size(10_000, 1_000)
    for detail, options in (("messages counted", []), ("messages recorded", ["records"])):
        report.progress(f"{nodes:,} gossiping nodes in a process of their own, {detail}")
        command = [sys.executable, "-m", "benchmarks.simulated_gossip", str(nodes), *options]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found = json.loads(done.stdout)
        name = f"{nodes:,} gossiping nodes, {detail}"
        note = f"{found['handled']:,} steps, prepared in {found['prepared_s']:.1f} s"
        report.add(f"simulator, {name}", found["rate"], "messages/s", "higher", goal=GOAL_GOSSIP, note=note)
        note = f"{found['records']:,} records in memory"
        report.add(f"memory of {name}", found["peak_bytes"] / 2**30, "GiB", "lower", goal=GOAL_GIB, note=note)
