"""Row H2: the paper's example in three dimensions, and a broadcast in four, as printed and with the prose's rule."""

from __future__ import annotations

from collections import Counter
from typing import Any

from siftcast.experiments.homed.printed import Part, PrintedCube

Found = dict[str, Any]
PREFERRED = {(0b100, 0b101): 1.0, (0b100, 0b110): 2.0}
"""Figure 2: 101 is given the larger part, since it has a better cost metric than 110."""


def follow_example() -> Found:
    """Event 1** from node 000: where it is routed, and who is sent which part by whom."""
    cube = PrintedCube.settled(3, range(8))
    event = Part.parse("1**")
    hops, reached = cube.route(cube.nodes[0b000], event, by_cover=False)
    assert reached is not None
    found: Found = {"route": f"{reached.identifier:03b}", "hops": hops}
    full = PrintedCube.settled(4, range(16))
    for name, shrinks in (("printed", False), ("shrinking", True)):
        copies = cube.disseminate(reached, event, shrinks=shrinks, cost=PREFERRED)
        times = Counter(f"{copy.receiver.identifier:03b}" for copy in copies)
        found[name] = {
            "parts": sorted(
                f"{copy.sender.identifier:03b} to {copy.receiver.identifier:03b}: {copy.part.show(3)}"
                for copy in copies
            ),
            "receipts": dict(sorted(times.items())),
            "broadcast": len(full.disseminate(full.nodes[0], Part(0, 0), shrinks=shrinks)),
        }
    return found
