"""What must hold once all are notified: the four properties of section 2.4.1, and bandwidths (Q3, Q10)."""

from __future__ import annotations

from typing import Any

import numpy as np

from siftcast.experiments.qos.networks import made, run_until_notified
from siftcast.experiments.qos.setup import degree_of
from siftcast.experiments.qos.thesis.accuracy import Bandwidths
from siftcast.experiments.qos.thesis.dissemination import disseminate
from siftcast.experiments.qos.thesis.overlay import Overlay
from siftcast.experiments.qos.thesis.rules import Acceptance, CycleCheck, Rules
from siftcast.experiments.qos.thesis.world import WORKLOADS, grid
from siftcast.space.dz.cubes import Cube, covers
from siftcast.workloads import generate

Found = dict[str, Any]
EVENT_BYTES = 100
_CALM_ROUNDS = 3
"""For so many rounds all are notified, when it is looked at what holds."""
_STEADY_ROUNDS = 10


def measure_properties(
    workload: str, wildcards: bool, real_delays: bool, peers: int, rounds: int, events: int, seed: int
) -> Found:
    """Q3, by events that are followed hop by hop (Algorithm 2)."""
    rules = Rules()
    if real_delays:
        rules = Rules(acceptance=Acceptance.EXPERIENCED, cycles=CycleCheck.REPAIRED)
    run = made(workload, peers, seed, rules=rules, theta=8, wildcards=wildcards)
    series, _, notified = run_until_notified(run, rounds)
    overlay = run.overlay
    calm = 0
    while calm < _CALM_ROUNDS and len(series) < 2 * rounds:
        series.append(run.run())
        calm = calm + 1 if series[-1].notified == peers else 0
    found = {"required": 0, "missed": 0, "unwanted": 0, "repeated": 0, "late": 0, "connects": 0, "connects_printed": 0}
    for event in draw_events(workload, events, seed):
        publisher = overlay.relevant(event)[0]
        receipts = disseminate(overlay, event, publisher)
        wanting = {peer.id for peer in overlay.peers.values() if any(covers(cube, event) for cube in peer.wants)}
        found["required"] += len(wanting)
        found["missed"] += len(wanting - receipts.times.keys())
        found["unwanted"] += len(receipts.times.keys() - wanting)
        found["repeated"] += sum(times > 1 for times in receipts.times.values())
        found["late"] += sum(delay > overlay.peers[id].bound for id, delay in receipts.delays.items())
        found["connects"] += receipts.connects
        found["connects_printed"] += receipts.connects_printed
    links = [
        (overlay.peers[want.parent], peer)
        for peer in overlay.peers.values()
        for want in peer.wants.values()
        if want.parent is not None
    ]
    return found | {
        "rounds_notified": notified,
        "real": real_delays,
        "wildcards": wildcards,
        "calm": calm == _CALM_ROUNDS,
        "links": len(links),
        "tighter_children": sum(child.bound < parent.bound for parent, child in links),
        "degree": degree_of(peers),
        "children_max": _children_max(overlay),
        "twice_supplied": sum(
            want.parent is not None and bool(want.direct)
            for peer in overlay.peers.values()
            for want in peer.wants.values()
        ),
        "rounds": len(series),
    }


def _children_max(overlay: Overlay) -> int:
    at_peers = max(len(peer.children) for peer in overlay.peers.values())
    return max(at_peers, max(len(publisher.children) for publisher in overlay.publishers))


def draw_events(workload: str, events: int, seed: int, *, move_every: int = 0) -> list[Cube]:
    """The cells of events over two attributes."""
    made = generate(WORKLOADS[workload], events=events, subscriptions=1, seed=seed, attributes=2, move_every=move_every)
    columns = [made.events.column(name).to_pylist() for name in ("a1", "a2")]
    space = grid(2)
    return [space.of_event({"a1": one, "a2": two}).cube for one, two in zip(*columns, strict=True)]


def measure_bandwidth(peers: int, rounds: int, events: int, move_every: int, seed: int) -> Found:
    """Q10: rates within bandwidths, while the hot spots of the events move and peers coarsen and refine.

    A round is a second. Each peer grants one and a half to six times what its own subscription costs in the mean.
    """
    cells = draw_events("WL2", rounds * events, seed, move_every=move_every * events)
    run = made("WL2", peers, seed)
    overlay = run.overlay
    rng = np.random.default_rng([seed, 8])
    limits: dict[int, float] = {}
    bandwidths = Bandwidths(overlay, grid(2), rng, limits, EVENT_BYTES)
    bandwidths.publish(cells)
    for peer in overlay.peers.values():
        mean = bandwidths.rate(peer.exact) / rounds
        limits[peer.id] = (mean + 2 * EVENT_BYTES) * float(rng.uniform(1.5, 6.0))
    run.allow(bandwidths.may_take)
    bandwidths.publish(cells[:events])
    total = {"within": 0, "bare": 0, "above": 0, "refined": 0, "let_go": 0, "uncovered": 0}
    coarse = steady = steady_above = brief = brief_above = 0
    received: dict[int, list[float]] = {}
    for number in range(rounds):
        bandwidths.publish(cells[number * events : (number + 1) * events])
        run.run()
        # The last rounds before hot spots move: peers have had the time to find what fits.
        place = number % move_every
        taking = {peer.id for peer in overlay.peers.values() if set(peer.wants) != set(peer.exact)}
        coarse += len(taking)
        if place >= move_every - _STEADY_ROUNDS:
            for id in taking:
                received.setdefault(id, []).append(bandwidths.rate(overlay.peers[id].wants))
        kept = bandwidths.keep()
        for name in total:
            total[name] += getattr(kept, name)
        if place == move_every - 1:
            for id, rates in received.items():
                is_steady, is_above = len(rates) == _STEADY_ROUNDS, sum(rates) > len(rates) * limits[id]
                steady += is_steady
                steady_above += is_steady and is_above
                brief += not is_steady
                brief_above += is_above and not is_steady
            received.clear()
    return {
        **total,
        "coarse": coarse,
        "steady": steady,
        "steady_above": steady_above,
        "brief": brief,
        "brief_above": brief_above,
        "peers": peers,
        "rounds": rounds,
        "notified": run.standing().notified / peers,
    }
