"""What a node of a network may be for, beside what all nodes are for.

EDGE       serves clients only: no plan gives it a place, and another node stands in for it
MATCHER    runs the matching layer of a scheme that divides it among some of its nodes

A node without a role may do everything. People say the roles of a node in its configuration, in the list of nodes or in
a scenario; they are fixed when the node becomes a member. Only a scheme's plan reads `MATCHER`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

Role = Literal["edge", "matcher"]
EDGE: Role = "edge"
MATCHER: Role = "matcher"


def roles_by_place(roles: Sequence[Iterable[str]]) -> Mapping[int, frozenset[str]]:
    """The roles of each place that has any; nothing, if nobody said."""
    return {place: frozenset(each) for place, each in enumerate(roles) if each}
