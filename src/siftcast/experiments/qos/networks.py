"""Overlays of the thesis, round by round: construction, churn, and what bandwidth and degree allow (Q4 to Q8, Q11)."""

from __future__ import annotations

from time import process_time
from typing import Any

import numpy as np

from siftcast.experiments.qos.setup import MODERATE, SCENARIOS, degree_of
from siftcast.experiments.qos.thesis.overlay import Overlay
from siftcast.experiments.qos.thesis.peers import volume_of
from siftcast.experiments.qos.thesis.rounds import MayTake, Rounds, Standing, may_take_all, may_take_share
from siftcast.experiments.qos.thesis.rules import Acceptance, CycleCheck, Rules
from siftcast.experiments.qos.thesis.world import adverts, draw_subscribers, grid

Found = dict[str, Any]
RECOVERED = 0.99
_THETA = 4


def made(
    workload: str,
    peers: int,
    seed: int,
    *,
    bounds: tuple[int, int] = MODERATE,
    rules: Rules | None = None,
    degree: int | None = None,
    attributes: int = 2,
    theta: int = _THETA,
    wildcards: bool = False,
    may_take: MayTake = may_take_all,
) -> Rounds:
    """An overlay that all its peers have joined and no round was run of."""
    space, rng = grid(attributes), np.random.default_rng([seed, peers, 1])
    overlay = Overlay(adverts(), degree or degree_of(peers), rules or Rules(), rng)
    for peer in draw_subscribers(workload, peers, seed, space, bounds, theta, wildcards=wildcards):
        overlay.join(peer)
    return Rounds(overlay, space, rng, may_take=may_take)


def run_until_notified(run: Rounds, rounds: int) -> tuple[list[Standing], int | None, int | None]:
    """The standings of all rounds, and in which one all had converged, and were notified, first."""
    series: list[Standing] = []
    converged: int | None = None
    for number in range(1, rounds + 1):
        series.append(run.run())
        if converged is None and series[-1].converged == series[-1].peers:
            converged = number
        if series[-1].notified == series[-1].peers:
            return series, converged, number
    return series, converged, None


def measure_construction(workload: str, peers: int, rounds: int, seed: int, view: int = 0) -> Found:
    """Q4, Q6 and Q11: until all are notified."""
    begun = process_time()
    run = made(workload, peers, seed, rules=Rules(view_size=view))
    series, converged, notified = run_until_notified(run, rounds)
    overlay = run.overlay
    connects = np.array([peer.connects for peer in overlay.peers.values()])
    least = np.array([len(peer.exact) for peer in overlay.peers.values()])
    messages = sum(overlay.sent.values())
    return {
        "converged": [standing.converged / peers for standing in series],
        "notified": [standing.notified / peers for standing in series],
        "rounds_converged": converged,
        "rounds_notified": notified,
        "rounds_99": next(
            (number for number, each in enumerate(series, 1) if each.notified >= RECOVERED * peers), None
        ),
        "more_notified": sum(each.notified > each.converged for each in series),
        "messages": messages,
        "by_name": dict(overlay.sent),
        "connects": {
            "mean": float(connects.mean()),
            "deviation": float(connects.std()),
            "direct": float((connects <= least).mean()),
            "percentiles": np.percentile(connects, [5, 25, 50, 75, 95, 99, 100]).tolist(),
        },
        "in_degree": float(np.mean([len(peer.parents()) for peer in overlay.peers.values()])),
        "seconds": process_time() - begun,
    }


def measure_fixed_view(peers: int, view: int, workload: str, rounds: int, seed: int) -> Found:
    """Q6 with a view of so many peers whatever their number."""
    return measure_construction(workload, peers, rounds, seed, view=view)


def measure_churn(workload: str, share: float, peers: int, rounds: int, seed: int) -> Found:
    """Q5: in each round a share of the peers leaves, and as many others come."""
    run = made(workload, peers, seed)
    run_until_notified(run, 400)
    rng = np.random.default_rng([seed, 5])
    count = round(share * peers)
    fresh = draw_subscribers(workload, count * rounds, seed + 1_000, grid(2), MODERATE, _THETA, first=peers)
    notified, converged = [], []
    for number in range(rounds):
        _exchange(run, fresh[number * count : (number + 1) * count], rng)
        standing = run.run()
        notified.append(standing.notified / standing.peers)
        converged.append(standing.converged / standing.peers)
    settled = len(notified) // 3
    return {
        "notified": float(np.mean(notified[settled:])),
        "converged": float(np.mean(converged[settled:])),
        "series": notified,
    }


def measure_shock(workload: str, share: float, peers: int, rounds: int, seed: int) -> Found:
    """Q5: a share leaves at once, and as many others come."""
    run = made(workload, peers, seed)
    run_until_notified(run, 400)
    rng = np.random.default_rng([seed, 6])
    count = round(share * peers)
    _exchange(run, draw_subscribers(workload, count, seed + 2_000, grid(2), MODERATE, _THETA, first=peers), rng)
    series = [run.run().notified / peers for _ in range(rounds)]
    again = next((number for number, each in enumerate(series, 1) if each >= RECOVERED), None)
    return {"rounds_99": again, "least": min(series), "series": series}


def _exchange(run: Rounds, fresh: list[Any], rng: np.random.Generator) -> None:
    here = np.array(list(run.overlay.peers))
    for id in rng.choice(here, len(fresh), replace=False).tolist():
        run.overlay.leave(id)
    for peer in fresh:
        run.overlay.join(peer)


def measure_pieces(theta: int, peers: int, rounds: int, seed: int) -> Found:
    """Q7: in-degrees, where subscriptions are mapped to more expressions."""
    run = made("WL1", peers, seed, attributes=5, theta=theta)
    overlay = run.overlay
    asked = float(np.mean([len(peer.exact) for peer in overlay.peers.values()]))
    series, _, notified = run_until_notified(run, rounds)
    return {
        "expressions": asked,
        "in_degree": float(np.mean([len(peer.parents()) for peer in overlay.peers.values()])),
        "notified": series[-1].notified / peers,
        "rounds_notified": notified,
    }


def measure_constraints(
    scenario: str, degree: int, allowance: float, real_delays: bool, peers: int, rounds: int, seed: int
) -> Found:
    """Q8: who is notified, where bounds are tight and each peer takes on a share of the space at most."""
    rules = Rules()
    if real_delays:
        rules = Rules(acceptance=Acceptance.EXPERIENCED, cycles=CycleCheck.REPAIRED)
    run = made(
        "WL1",
        peers,
        seed,
        bounds=SCENARIOS[scenario],
        rules=rules,
        degree=degree,
        attributes=1,
        theta=64,
        may_take=may_take_share(allowance),
    )
    series, _, _ = run_until_notified(run, rounds)
    wanted = [(volume_of(peer.exact), peer.volume) for peer in run.overlay.peers.values()]
    received = sum(volume for _, volume in wanted)
    last = series[-10:]
    return {
        "notified": float(np.mean([each.notified for each in last])) / peers,
        "false": sum(volume - exact for exact, volume in wanted) / received,
        "taken_on": float(np.mean([volume - exact for exact, volume in wanted])),
        "taken_on_max": float(max(volume - exact for exact, volume in wanted)),
    }
