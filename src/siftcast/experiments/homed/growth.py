"""Rows H3 and H4: what it costs to subscribe, to unsubscribe and to publish, in networks of many sizes.

A subscription's messages are all that it causes: the way of `Join`, the path that is handed over, the first beat over
each split of it with its answer, and what is told to those who lack a bit. Beats that go on for ever are left out.
Everything else that a node sends while nobody asks for anything is a beat or a greeting, so that the rest is counted by
name.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log2
from statistics import fmean
from typing import Any

import numpy as np

from siftcast.experiments.homed.network import Network
from siftcast.experiments.homed.trips import Trip, read_trips
from siftcast.model import Event

Found = dict[str, Any]
CARRIERS = ("Cast",)
JOINING = ("Join", "Accept", "Widen", "Widened")
PARTING = ("Farewell", "Parted", "Astray")
GROUPS = (1, 2, 5, 17, 65, 257)
"""Where groups of interested nodes of one size begin."""
_SPACING_MS = 400.0
_APART_MS = 20.0
_QUIET_MS = 3_000.0


def measure_growth(workload: str, nodes: int, seed: int, options: dict[str, Any], probes: int, events: int) -> Found:
    """A network of one size: newcomers one by one, events, and nodes that want nothing any more."""
    network = Network(workload, nodes, seed, options, newcomers=probes, events=events)
    grown: Found = {
        "workload": workload,
        "nodes": nodes,
        "bits": network.digests.bits,
        "entries": fmean(network.facts("entries")),
        "splits": fmean(network.facts("depth")),
    }
    subscribing = _subscribe(network, nodes, probes)
    published = publish(network, network.world.events, network.publishers)
    return {**grown, "subscribe": subscribing, "events": published, "unsubscribe": _unsubscribe(network, probes, seed)}


def _subscribe(network: Network, first: int, probes: int) -> Found:
    """Messages per newcomer, by name; hops of `Join`, the first of which goes to a contact that is known."""
    network.forget_records()
    for number in range(probes):
        network.join(first + number, network.simulation.now + _SPACING_MS * number)
    network.run(_SPACING_MS * probes + _QUIET_MS)
    network.settle()
    sent = network.sent()
    found = {name: sent.get(name, 0) / probes for name in JOINING}
    protocols = network.simulation.protocols
    # A beat over each split that was handed over, and its answer.
    found["Beat"] = 2 * fmean(float(protocols[first + number].state()["depth"]) for number in range(probes))
    return {"messages": sum(found.values()), "by_name": found, "hops": found["Join"] - 1}


def _unsubscribe(network: Network, probes: int, seed: int) -> Found:
    """Messages per node that wants nothing any more, by name."""
    network.forget_records()
    chosen = np.random.default_rng([seed, 4]).choice(np.arange(1, network.size), probes, replace=False).tolist()
    for number, node in enumerate(chosen):
        network.simulation.unsubscribe(node, *network.ids(node), at_ms=network.simulation.now + _SPACING_MS * number)
    network.run(_SPACING_MS * probes + _QUIET_MS)
    sent = network.sent()
    found = {name: sent.get(name, 0) / probes for name in PARTING}
    return {"messages": sum(found.values()), "by_name": found}


def publish(network: Network, events: Sequence[Event], publishers: Sequence[int]) -> Found:
    """Everything about events: who was sent them, who wanted them, how deep, and whether all was right."""
    network.forget_records()
    for number, (event, publisher) in enumerate(zip(events, publishers, strict=True)):
        network.simulation.publish(publisher, event, at_ms=network.simulation.now + _APART_MS * number)
    network.run(_APART_MS * len(events) + _QUIET_MS)
    trips = read_trips(network.simulation.trace, CARRIERS)
    return summarise(network, events, trips)


def summarise(network: Network, events: Sequence[Event], trips: dict[str, Trip]) -> Found:
    """Means over events, counts of what is wrong, and the table by the number of interested nodes."""
    rows = []
    depths: list[int] = []
    undelivered = unreached = wrong = repeated = required = 0
    for event in events:
        trip = trips[event.id]
        interested = network.interested(event) - {trip.publisher}
        wanting = network.wanting(event)
        undelivered += len(wanting - trip.delivered)
        unreached += len(interested - trip.participants)
        wrong += len(trip.delivered - wanting)
        repeated += trip.repeated
        required += len(wanting)
        depths += [trip.depths[node] for node in interested & trip.participants]
        others = trip.participants - interested
        rows.append((len(interested), trip.sent, len(others), len(trip.participants - wanting)))
    deep = log2(network.size) + 2
    return {
        "interested": fmean(row[0] for row in rows),
        "messages": fmean(row[1] for row in rows),
        "uninterested": fmean(row[2] for row in rows),
        "false": fmean(row[3] for row in rows),
        "depth_mean": fmean(depths),
        "depth_99": float(np.quantile(depths, 0.99)),
        "depth_max": max(depths),
        "depth_share": fmean(depth <= deep for depth in depths),
        "undelivered": undelivered,
        "unreached": unreached,
        "wrong": wrong,
        "repeated": repeated,
        "repeated_share": repeated / max(sum(row[1] for row in rows), 1),
        "required": required,
        "by_group": _by_group(rows),
    }


def _by_group(rows: Sequence[tuple[int, int, int, int]]) -> Found:
    """By the least number of interested nodes in a group: events, and their sums."""
    found: Found = {}
    for least, beyond in zip((0, *GROUPS), (*GROUPS, None), strict=True):
        group = [row for row in rows if least <= row[0] and (beyond is None or row[0] < beyond)]
        if group:
            names = ("interested", "messages", "uninterested")
            sums = (sum(row[place] for row in group) for place in range(len(names)))
            found[str(least)] = {"events": len(group), **dict(zip(names, sums, strict=True))}
    return found
