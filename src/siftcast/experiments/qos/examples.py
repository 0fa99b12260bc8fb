"""The worked examples of chapter 2 (Q1, Q9), and Algorithm 4 on random subscriptions (Q2)."""

from __future__ import annotations

from typing import Any

import numpy as np

from siftcast.experiments.qos.printed_mapping import Reading, encloses, mapping
from siftcast.experiments.qos.thesis.overlay import Overlay
from siftcast.experiments.qos.thesis.peers import Subscriber
from siftcast.experiments.qos.thesis.rounds import Rounds
from siftcast.experiments.qos.thesis.rules import Acceptance, Rules
from siftcast.experiments.qos.thesis.world import grid
from siftcast.model import Attribute, Filter, Schema
from siftcast.space.dz import Dz, DzSet, DzSpace

Found = dict[str, Any]
_THETAS = (2, 4, 8, 16)
_POINTS = 20
_PUBLISHER, _S, _Q = -1, 0, 1
_DELAYS = {(_PUBLISHER, _Q): 3.0, (_PUBLISHER, _S): 5.0, (_Q, _S): 2.0, (_S, _Q): 2.0}


def follow_examples() -> Found:
    """Each example, and what comes out."""
    space = DzSpace.of(
        Schema([Attribute("pressure", "int", (0, 99)), Attribute("area", "int", (0, 99))]), elsewhere=False
    )
    f2 = space.of_filter("pressure BETWEEN 25 AND 49", 8, wildcards=False)
    figure_2_6 = space.of_filter("area BETWEEN 0 AND 24", 8, wildcards=False)
    one_level = DzSet([space.coarser(each) for each in figure_2_6])
    return {
        "f2": str(f2),
        "f2 coarsened": str(DzSet([space.coarser(each) for each in f2])),
        "figure 2.6": str(figure_2_6),
        "figure 2.6 coarsened": str(one_level),
        "figure 2.6 finer": str(DzSet([part for each in one_level for part in space.finer(each, figure_2_6)])),
        "figure 2.6 with stars": str(figure_2_6.with_stars()),
        "figure 2.6 mapped with stars": str(space.of_filter("area BETWEEN 0 AND 24", 1)),
        "printed mapping of f2": mapping(((25.0, 50.0), (0.0, 100.0)), ((0.0, 100.0), (0.0, 100.0)), 8),
        **follow_placements(),
    }


def follow_placements() -> Found:
    """The two subscribers of section 2.7, s with 5 and q with 6, placed either way under each rule of acceptance."""
    found: Found = {}
    for acceptance in Acceptance:
        for name, (upper, lower) in {"p → s → q": (_S, _Q), "p → q → s": (_Q, _S)}.items():
            overlay = Overlay(
                [(0, 0)],
                2,
                Rules(acceptance=acceptance),
                np.random.default_rng(1),
                delay=lambda sender, receiver: _DELAYS[sender, receiver],
            )
            for id, bound in ((_S, 5.0), (_Q, 6.0)):
                overlay.join(Subscriber(id, bound, (Dz.parse("0").cube,)))
            above, below = overlay.peers[upper], overlay.peers[lower]
            cube = Dz.parse("0").cube
            run = Rounds(overlay, grid(1), np.random.default_rng(1))
            overlay.connect_to_publisher(above, 0, cube)
            run.look()
            accepted = overlay.connect(below, above, cube)
            run.look()
            kept = sum(peer.experienced <= peer.bound for peer in overlay.peers.values())
            found[f"{acceptance.name} {name}"] = {"accepted": accepted, "kept": kept}
    return found


def measure_mapping(boxes: int, attributes: int, seed: int) -> Found:
    """Q2: how many expressions Algorithm 4 gives, and whether they enclose the subscription."""
    rng = np.random.default_rng([seed, attributes])
    space, sides = grid(attributes), ((1.0, 129.0),) * attributes
    names = [f"a{number}" for number in range(1, attributes + 1)]
    found: Found = {"asked": 0}
    for name in ("repaired", "printed", "some"):
        found |= {f"{name} above": 0, f"{name} excess": 0, f"{name} open": 0}
    for _ in range(boxes):
        lows = rng.integers(1, 129, attributes)
        highs = np.minimum(lows + rng.integers(0, 64, attributes), 128)
        text = " AND ".join(
            f"{name} BETWEEN {low} AND {high}" for name, low, high in zip(names, lows, highs, strict=True)
        )
        box = tuple((float(low), float(high + 1)) for low, high in zip(lows, highs, strict=True))
        points = rng.integers(lows, highs + 1, (_POINTS, attributes))
        filter_ = Filter.parse(text)
        for theta in _THETAS:
            found["asked"] += 1
            region = space.of_filter(filter_, theta, wildcards=False)
            cells = [space.of_event(dict(zip(names, point, strict=True))) for point in points.tolist()]
            _count(found, "repaired", len(region), theta, all(region.covers(cell) for cell in cells))
            for name, reading in (("printed", Reading.DIVIDED), ("some", Reading.SOME)):
                texts = mapping(box, sides, theta, reading=reading, depth_max=7 * attributes)
                whole = all(encloses(texts, [place + 0.5 for place in point], sides) for point in points.tolist())
                _count(found, name, len(texts), theta, whole)
    return found


def _count(found: Found, name: str, expressions: int, theta: int, is_whole: bool) -> None:
    found[f"{name} above"] += expressions > theta
    found[f"{name} excess"] = max(found[f"{name} excess"], expressions - theta)
    found[f"{name} open"] += not is_whole
