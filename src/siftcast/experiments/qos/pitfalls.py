"""What becomes of an overlay whose rules are as printed, or as one might read them, beside the repaired ones.

The crowd has few different subscriptions and few different bounds, so that many peers want the same equally soon. There
circles form, and peers that compete for places need one order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from siftcast.experiments.qos.networks import run_until_notified
from siftcast.experiments.qos.setup import degree_of
from siftcast.experiments.qos.thesis.overlay import Overlay
from siftcast.experiments.qos.thesis.peers import Subscriber
from siftcast.experiments.qos.thesis.rounds import Rounds, may_take_share
from siftcast.experiments.qos.thesis.rules import Acceptance, Choice, CycleCheck, Order, Rules
from siftcast.experiments.qos.thesis.world import adverts, draw_subscribers, grid

Found = dict[str, Any]
KINDS = 25
BOUNDS = (6, 9)
RULES = {
    "as repaired": Rules(),
    "no search for cycles": Rules(cycles=CycleCheck.NONE),
    "line 41 as printed": Rules(cycles=CycleCheck.LINE_41),
    "equal bounds only, with section 2.7": Rules(acceptance=Acceptance.EXPERIENCED),
    "repaired search, with section 2.7": Rules(acceptance=Acceptance.EXPERIENCED, cycles=CycleCheck.REPAIRED),
    "parents whatever their bounds": Rules(choice=Choice.COARSEST),
    "compared by what is asked": Rules(order=Order.ASKED),
    "the tighter bound goes": Rules(evicts_tighter=True),
}


def crowd(peers: int, seed: int, theta: int = 4) -> list[Subscriber]:
    """Peers of few kinds."""
    rng = np.random.default_rng([seed, peers, 9])
    kinds = draw_subscribers("WL2", KINDS, seed, grid(2), BOUNDS, theta)
    bounds = rng.integers(BOUNDS[0], BOUNDS[1], peers, endpoint=True).tolist()
    chosen = rng.integers(0, KINDS, peers).tolist()
    return [
        Subscriber(number, float(bound), kinds[kind].exact)
        for number, (kind, bound) in enumerate(zip(chosen, bounds, strict=True))
    ]


def circles(overlay: Overlay) -> int:
    """How many wants are supplied by themselves, over others."""
    count = 0
    for peer in overlay.peers.values():
        for cube in peer.wants:
            seen, at = set[tuple[int, object]](), (peer.id, cube)
            while at not in seen:
                seen.add(at)
                want = overlay.peers[at[0]].wants[at[1]]
                if want.parent is None or want.through is None:
                    break
                at = (want.parent, want.through)
            else:
                count += at == (peer.id, cube)
    return count


def measure_pitfall(pitfall: str, peers: int, rounds: int, seed: int) -> Found:
    """One reading, and how far it gets."""
    space, rng = grid(2), np.random.default_rng([seed, peers, 1])
    overlay = Overlay(adverts(), degree_of(peers), RULES[pitfall], rng)
    for peer in crowd(peers, seed):
        overlay.join(peer)
    run = Rounds(overlay, space, rng, may_take=may_take_share(0.25))
    series, _, notified = run_until_notified(run, rounds)
    last = series[-min(10, len(series)) :]
    return {
        "notified": float(np.mean([each.notified for each in last])) / peers,
        "converged": float(np.mean([each.converged for each in last])) / peers,
        "rounds_notified": notified,
        "circles": circles(overlay),
    }
