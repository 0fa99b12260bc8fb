"""A dry run: which subscriptions of a node an event would reach, and why the others not.

Each subscription's own filter is asked, so the answer says what routing promises; whether a node on the way is missing
is told by the nodes that do not answer (`inquiries`). Rows are limited, since a node may have many subscriptions: the
first LISTED_MAX of either kind are listed and the others counted, and only those that are listed are explained.

Cost: a match for each subscription, about 1 µs, during which the node does nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from siftcast.model import Event, Filter

LISTED_MAX = 50
_TEXT_MAX = 1_000


@dataclass(frozen=True, slots=True)
class Reached:
    """A subscription and whether an event would reach it; `why` has the verdicts on the parts of its filter."""

    node: str
    client: str
    id: str
    filter: str
    why: str


@dataclass(frozen=True, slots=True)
class Reach:
    """What would become of an event: `reached` and `missed` are listed up to a limit and counted in full."""

    nodes: tuple[str, ...]
    reached: tuple[Reached, ...]
    missed: tuple[Reached, ...]
    reached_count: int
    missed_count: int
    silent: tuple[str, ...]
    """Nodes that did not answer: what they would do nobody knows."""
    reached_nodes: tuple[str, ...]
    """The nodes at which somebody would get it, by their counts: rows may have been left out."""


def judge(event: Event, subscriptions: Iterable[tuple[str, str, Filter]]) -> dict[str, Any]:
    """A node's answer about an event, from the id, client and filter of each of its subscriptions."""
    found: dict[bool, list[dict[str, str]]] = {True: [], False: []}
    counts = {True: 0, False: 0}
    for id, client, filter_ in subscriptions:
        verdict = filter_.matches(event)
        counts[verdict] += 1
        if len(found[verdict]) < LISTED_MAX:
            why = str(filter_.explain(event))[:_TEXT_MAX]
            found[verdict].append({"client": client, "id": id, "filter": str(filter_)[:_TEXT_MAX], "why": why})
    return {
        "reached": found[True],
        "missed": found[False],
        "reached_count": counts[True],
        "missed_count": counts[False],
    }


def reach_of(answers: Iterable[dict[str, Any]], silent: Iterable[str]) -> Reach:
    """The answers of all nodes as one."""
    listed = sorted(answers, key=lambda answer: str(answer["node"]))

    def rows(kind: str) -> tuple[Reached, ...]:
        return tuple(Reached(answer["node"], **row) for answer in listed for row in answer[kind])

    return Reach(
        tuple(answer["node"] for answer in listed),
        rows("reached"),
        rows("missed"),
        sum(answer["reached_count"] for answer in listed),
        sum(answer["missed_count"] for answer in listed),
        tuple(silent),
        tuple(answer["node"] for answer in listed if answer["reached_count"]),
    )
