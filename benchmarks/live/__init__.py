"""How fast nodes are on loopback, beside RabbitMQ and NATS where they are installed.

    load.py            the load, the same for all     brokers.py     what a broker must do
    siftcast_nodes.py  rabbitmq.py  nats_server.py    the brokers
    kept_events.py     a node that starts with much to keep
    libraries.py       programs in Python, with our client and with nats-py

A thousand connections have one filter each, and an event matches ten of them. Filters are equalities, because a headers
exchange and a subject know nothing else. Every delivery is counted and checked. Events a second are by the wall clock,
so they depend on who else uses the machine; ratios and processor time an event do so less.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from statistics import median
from typing import Any

from benchmarks.live.brokers import Broker
from benchmarks.live.kept_events import exponent, smaller, start_with
from benchmarks.live.load import MATCHES, Load, Rate
from benchmarks.live.siftcast_nodes import DurableNode, SiftcastNodes, ready_s
from benchmarks.report import Report
from benchmarks.settings import Settings
from siftcast.runtimes.live.node.node import run as run_loop

GOAL_READY_S = 2.0
GOAL_RABBIT, GOAL_RABBIT_CPU, GOAL_RABBIT_DURABLE = 10.0, 25.0, 5.0
GOAL_NATS, GOAL_ONE_TOPIC = 3.0, 1.0
GOAL_DURABLE_S, GOAL_P99_MS, GOAL_P99_BUSY_MS = 20_000.0, 10.0, 50.0
GOAL_KEPT_S, GOAL_KEPT_GROWTH, GOAL_COUNTED = 30.0, 1.3, 1.0
ROUNDS, OVERLAY_NODES = 3, 8
WINDOW = 1_000


def run(settings: Settings, report: Report) -> None:
    """Measures nodes that are ready, and how long they take until they are."""
    subscribers, seconds = settings.size(1_000, 100), settings.size(4, 1)
    what = f"{subscribers:,} filters and connections, {MATCHES} matches"
    report.progress(f"live: {what}")
    report.add("live node, until it is ready", ready_s(), "s", "lower", goal=GOAL_READY_S, note="as a process")
    _measure_starts(report, settings.size(1_000_000, 60_000))
    ours = _measure_ours(report, subscribers, seconds, what)
    with DurableNode() as node:
        durable = run_loop(_rate(node, subscribers, seconds))
        publishes = [run_loop(_durable_publishes(node, settings.size(60_000, 3_000))) for _ in range(ROUNDS)]
    _add_rate(report, "live node, durable, with tokens", durable, "all acknowledged, before and after delivery")
    report.add("live node, durable publishes", median(publishes), "/s", "higher", goal=GOAL_DURABLE_S, note="fsync")
    _compare_with_rabbitmq(report, subscribers, seconds, ours, durable)
    _compare_with_nats(settings, report, subscribers, seconds, ours)
    with SiftcastNodes(OVERLAY_NODES) as overlay:
        held = run_loop(_rate(overlay, subscribers, seconds))
    _add_rate(report, f"live overlay of {OVERLAY_NODES} nodes", held, "filter-based, subscribers at all nodes")


def _measure_starts(report: Report, events: int) -> None:
    report.progress(f"live: a node that starts with {events:,} kept events")
    empty, small, large = (start_with(count) for count in (0, smaller(events), events))
    what = f"{events:,} events of 200 bytes wait"
    taken = large.resident_bytes - empty.resident_bytes
    report.add("live node, kept events, until it is ready", large.ready_s, "s", "lower", goal=GOAL_KEPT_S, note=what)
    report.add("live node, kept events, CPU of the start", large.cpu_s, "s", "lower", note=what)
    report.add(
        "live node, kept events, growth of that CPU", exponent(large, small, empty), "", "lower", goal=GOAL_KEPT_GROWTH,
        note="exponent; 1 is in proportion",
    )  # fmt: skip
    report.add("live node, kept events, memory an event", taken / events, "bytes", "lower", note=what)
    report.add(
        "live node, kept events, peak an event", (large.peak_bytes - empty.peak_bytes) / events, "bytes", "lower"
    )
    report.add(
        "live node, kept events, kept_bytes beside memory", large.kept_bytes / taken, "x", "higher", goal=GOAL_COUNTED,
        note="what kept_bytes_max counts",
    )  # fmt: skip


def _measure_ours(report: Report, subscribers: int, seconds: float, what: str) -> Rate:
    async def measured(load: Load) -> tuple[Rate, list[float], list[float]]:
        rate = await _rounds(load, seconds)
        idle = await load.latencies_ms(100.0, 2 * seconds)
        return rate, idle, await load.latencies_ms(rate.events_s / 2, 2 * seconds)

    with SiftcastNodes() as node:
        rate, idle, busy = run_loop(_loaded(node, subscribers, measured))
    _add_rate(report, "live node", rate, what)
    for name, found, goal in (("at 100 events/s", idle, GOAL_P99_MS), ("at half load", busy, GOAL_P99_BUSY_MS)):
        note = ", ".join(f"p{percent:g} {_percentile(found, percent):.2f}" for percent in (50, 90, 99.9))
        report.add(f"live node, p99 {name}", _percentile(found, 99), "ms", "lower", goal=goal, note=note)
    return rate


def _compare_with_rabbitmq(report: Report, subscribers: int, seconds: float, ours: Rate, durable: Rate) -> None:
    from benchmarks.live.rabbitmq import RabbitMQ

    if reason := RabbitMQ.missing():
        report.progress(f"  RabbitMQ left out: {reason}")
        return
    with RabbitMQ() as broker:
        theirs = run_loop(_rate(broker, subscribers, seconds))
    _add_rate(report, "RabbitMQ, headers exchange", theirs, "nothing durable, nothing acknowledged")
    for name, ratio, goal in (
        ("events/s", ours.events_s / theirs.events_s, GOAL_RABBIT),
        ("CPU an event", theirs.cpu_us / ours.cpu_us, GOAL_RABBIT_CPU),
        ("events/s, we durable with tokens", durable.events_s / theirs.events_s, GOAL_RABBIT_DURABLE),
    ):
        report.add(f"live node and RabbitMQ, {name}", ratio, "x", "higher", goal=goal)


def _compare_with_nats(settings: Settings, report: Report, subscribers: int, seconds: float, ours: Rate) -> None:
    from benchmarks.live import libraries
    from benchmarks.live.nats_server import Nats

    if reason := Nats.missing():
        report.progress(f"  NATS left out: {reason}")
        return
    many, one = settings.size(20_000, 1_000), settings.size(100_000, 5_000)
    with Nats() as broker:
        theirs = run_loop(_rate(broker, subscribers, seconds))
        their_many = run_loop(libraries.many_clients_of_nats(broker, subscribers, many // 4))
        their_one = median(run_loop(libraries.one_topic_of_nats(broker, one)) for _ in range(ROUNDS))
    with SiftcastNodes() as node:
        our_many = run_loop(libraries.many_clients(node, subscribers, many))
        our_one = median(run_loop(libraries.one_topic(node, one)) for _ in range(ROUNDS))
    _add_rate(report, "NATS, subjects", theirs, "equality only; clients that count bytes")
    report.add("live node and NATS, events/s", ours.events_s / theirs.events_s, "x", "higher", note="counting bytes")
    for name, our, their, goal in (
        ("clients in Python, events/s", our_many, their_many, GOAL_NATS),
        ("one topic, one subscriber in Python", our_one, their_one, GOAL_ONE_TOPIC),
    ):
        note = f"{our:,.0f} and {their:,.0f} events/s (nats-py)"
        report.add(f"live node and NATS, {name}", our / their, "x", "higher", goal=goal, note=note)


async def _durable_publishes(node: DurableNode, events: int) -> float:
    from benchmarks.live import libraries

    return await libraries.durable_publishes(node.urls[0], node.secret, events)


async def _rate(broker: Broker, subscribers: int, seconds: float) -> Rate:
    async def measured(load: Load) -> Rate:
        return await _rounds(load, seconds)

    return await _loaded(broker, subscribers, measured)


async def _loaded(broker: Broker, subscribers: int, measured: Callable[[Load], Coroutine[Any, Any, Any]]) -> Any:
    load = Load(broker, subscribers, WINDOW)
    try:
        await load.open()
        return await measured(load)
    finally:
        load.close()
        await asyncio.sleep(0.1)


async def _rounds(load: Load, seconds: float) -> Rate:
    found = [await load.run(seconds) for _ in range(ROUNDS)]
    return Rate(median(each.events_s for each in found), median(each.cpu_us for each in found))


def _add_rate(report: Report, name: str, rate: Rate, note: str) -> None:
    report.add(f"{name}, events a second", rate.events_s, "events/s", "higher", note=note)
    report.add(f"{name}, its CPU an event", rate.cpu_us, "µs", "lower", note=note)


def _percentile(values: list[float], percent: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * percent / 100))]
