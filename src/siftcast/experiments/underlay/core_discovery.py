"""Algorithm 8: how peers find their core, message by message.

Each core sends CORE_SPT to its neighbours; a peer that hears of a nearer core joins it through whoever told it, and
passes the message on with the weight of the next link added.

    printed    joins if w(c) < w(t) for *all* cores t, c among them: never. Passed on to those from whom no message of
               this core came yet.
    repaired   t ≠ c; only a strict improvement of w(c) counts, and is passed on to all but the sender. Messages of the
               root core are never dropped, because all other cores must hear of it.

Between the two stands the printed rule with t ≠ c (`Rule.OTHERS`): a peer that hears the second-best way last keeps
that as its own, so parents form circles.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from heapq import heappop, heappush
from math import inf

Near = Mapping[int, Mapping[int, float]]


class Rule(Enum):
    """When a peer joins, and to whom it passes a message on."""

    PRINTED = "as printed"
    OTHERS = "as printed, compared with other cores only"
    REPAIRED = "strict improvements, to all but the sender"


@dataclass(slots=True)
class Found:
    """For each core and peer the weight and the parent, and how many messages it took."""

    weights: dict[int, dict[int, float]] = field(default_factory=dict)
    parents: dict[int, dict[int, int]] = field(default_factory=dict)
    relays: dict[int, int] = field(default_factory=dict)
    """The core of each peer that has joined one."""
    messages: int = 0
    joins: int = 0

    def circles(self) -> int:
        """Peers whose parents lead back to them."""
        count = 0
        for peer, core in self.relays.items():
            seen, at = set[int](), peer
            while at != core and at not in seen:
                seen.add(at)
                at = self.parents[core].get(at, core)
            count += at != core and at == peer
        return count


def discover(
    weights: Near,
    delays: Near,
    cores: Sequence[int],
    rule: Rule = Rule.REPAIRED,
    *,
    kept: Collection[int] | None = None,
) -> Found:
    """Floods from all cores at once; messages take the delay of their link. The first core is the root.

    Messages of the cores that are `kept` go on where they make nobody join: by default the root's. Paths between any
    two cores need those of all.
    """
    kept = (cores[0],) if kept is None else frozenset(kept)
    found = Found({core: {} for core in cores}, {core: {} for core in cores})
    queue: list[tuple[float, int, int, int, int, float]] = []
    number = 0
    heard: dict[tuple[int, int], set[int]] = {}

    def send(now: float, core: int, sender: int, weight: float, others: Sequence[int]) -> None:
        nonlocal number
        for other in others:
            number += 1
            found.messages += 1
            item = now + delays[sender][other], number, core, sender, other, weight + weights[sender][other]
            heappush(queue, item)

    for core in cores:
        found.weights[core][core] = 0.0
        found.relays[core] = core
        send(0.0, core, core, 0.0, list(weights[core]))
    while queue:
        now, _, core, sender, peer, weight = heappop(queue)
        known = found.weights[core]
        heard.setdefault((core, peer), set()).add(sender)
        if rule is Rule.REPAIRED and weight >= known.get(peer, inf):
            continue
        if peer in cores and peer == core:
            continue
        known[peer] = weight
        others = min((found.weights[each].get(peer, inf) for each in cores if each != core), default=inf)
        joins = weight < (min(others, known[peer]) if rule is Rule.PRINTED else others)
        if joins and peer not in cores:
            found.joins += 1
            found.relays[peer] = core
        if joins or core in kept:
            found.parents[core][peer] = sender
            if rule is Rule.REPAIRED:
                onward = [other for other in weights[peer] if other != sender]
            else:
                onward = [other for other in weights[peer] if other not in heard[core, peer]]
            send(now, core, peer, weight, onward)
    return found
