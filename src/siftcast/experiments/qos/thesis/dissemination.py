"""Algorithm 2: an event on its way, hop by hop, as every peer receives it.

Line 3 is repaired: as printed it asks only whether *peers* in Fin cover what a publisher advertises, so a peer that is
connected to the publisher already asks it again with each event. `connects` counts both readings.

`q ∈ Fout(p)` is repaired as well: two peers may be each other's parents for different expressions. As printed, each
takes what comes from its parent for something from a child, and the two send it to and fro for ever.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from siftcast.experiments.qos.thesis.overlay import Overlay
from siftcast.experiments.qos.thesis.peers import Subscriber
from siftcast.space.dz.cubes import Cube, covers, meet

_SENDS_MAX = 100
"""A peer that sends one event on more often than this is caught in a circle."""


@dataclass(slots=True)
class Receipts:
    """Who received an event, how often, and how late at first."""

    times: dict[int, int] = field(default_factory=dict)
    delays: dict[int, float] = field(default_factory=dict)
    connects: int = 0
    """Requests to the publisher that Algorithm 2 would send, repaired."""
    connects_printed: int = 0


def disseminate(overlay: Overlay, event: Cube, publisher: int, *, by_expression: bool = True) -> Receipts:
    """Publishes an event, and follows it; as printed, who is a child is not asked `by_expression`."""
    found = Receipts()
    sender = -1 - publisher
    queue: deque[tuple[int, int, float]] = deque()
    for child, cubes in overlay.publishers[publisher].children.items():
        if any(covers(cube, event) for cube in cubes):
            queue.append((child, sender, 0.0))
    left = _SENDS_MAX * max(1, len(overlay.peers))
    while queue and left:
        left -= 1
        id, source, elapsed = queue.popleft()
        peer = overlay.peers[id]
        delay = elapsed + overlay.delay(source, id)
        found.times[id] = found.times.get(id, 0) + 1
        found.delays.setdefault(id, delay)
        below = peer.children.get(source, ())
        from_child = any(covers(cube, event) for cube in below) if by_expression else bool(below)
        if from_child:
            _meet_publisher(overlay, peer, event, publisher, found)
        parents = {want.parent for cube, want in peer.wants.items() if want.parent is not None and covers(cube, event)}
        if from_child or source == sender:
            queue += [(parent, id, delay) for parent in parents if parent is not None]
        if from_child or source in parents or source == sender:
            queue += [
                (child, id, delay)
                for child, cubes in peer.children.items()
                if child != source and any(covers(cube, event) for cube in cubes)
            ]
    return found


def _meet_publisher(overlay: Overlay, peer: Subscriber, event: Cube, publisher: int, found: Receipts) -> None:
    """Lines 2 to 4, in a peer that got an event from below."""
    advert = overlay.publishers[publisher].advert
    for cube, want in peer.wants.items():
        if want.parent is None and meet(cube, advert) is not None and covers(cube, event):
            found.connects_printed += 1
            found.connects += publisher not in want.direct
