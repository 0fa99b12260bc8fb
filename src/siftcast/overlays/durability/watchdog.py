"""Notices what makes no progress although nothing keeps it from going on, and says so with its age.

Watched are a link whose neighbour is there and does not answer, a write that the disk does not answer, and parked
events of which none is released while all neighbours are there. What waits for a neighbour that is lost is no news: it
is listed as missing. A report comes after `stall_ms`, again at twice the age and so on, and once more when it goes on.

Cost: nothing while nothing waits; otherwise one timer, and a look at each link when it fires.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from siftcast.overlays.contract import Effect, NodeId, Report, SetTimer
from siftcast.overlays.durability.ledger import Ledger
from siftcast.overlays.durability.order import Landings
from siftcast.overlays.durability.relaying import Relaying
from siftcast.overlays.durability.roster import Roster

WATCH_TIMER = "durable/watch"
_REPORTS_MAX = 16
"""A run of the simulator that never goes on must end all the same; at twice the age each time, these are days."""

Facts = Mapping[str, str | int | float]


class Suspect(NamedTuple):
    """Something that waits: what it is, since when nothing moved, and what to say about it."""

    what: str
    since: float
    facts: Facts
    peer: NodeId | None = None


class Watchdog:
    """Looks at the parts of one node."""

    def __init__(self, relaying: Relaying, landings: Landings, ledger: Ledger, roster: Roster, stall_ms: float) -> None:
        self._relaying = relaying
        self._landings = landings
        self._ledger = ledger
        self._roster = roster
        self._stall_ms = stall_ms
        self._timer_set = False
        self._now = 0.0
        self._write = (0, 0.0)
        self._parked = (0, 0.0)
        self._said: dict[str, tuple[float, int]] = {}

    def watch(self, now: float) -> list[Effect]:
        """Keeps the times, and sets the timer while something waits; to be called after each stimulus."""
        self._now = now
        if self._write[0] != self._ledger.writes:
            self._write = self._ledger.writes, now
        if self._parked[0] != self._landings.released or not self._landings.parked:
            self._parked = self._landings.released, now
        if self._timer_set or not any(True for _ in self._suspects()):
            return []
        if all(count >= _REPORTS_MAX for _, count in self._said.values()) and self._said:
            return []
        self._timer_set = True
        return [SetTimer(WATCH_TIMER, self._stall_ms)]

    def look(self, now: float) -> tuple[list[Report], list[NodeId]]:
        """The timer fired: what to report, and the neighbours whose links should be opened again."""
        self._timer_set = False
        self._now = now
        reports: list[Report] = []
        stuck: list[NodeId] = []
        suspects = {each.what: each for each in self._suspects()}
        for what in [what for what in self._said if what not in suspects or suspects[what].since > self._said[what][0]]:
            del self._said[what]
            reports.append(Report("goes on again", {"what": what}, routine=True))
        for what, suspect in suspects.items():
            age_ms = now - suspect.since
            _, count = self._said.get(what, (0.0, 0))
            if age_ms < self._stall_ms:
                continue
            if suspect.peer is not None:
                stuck.append(suspect.peer)
            if count < _REPORTS_MAX and age_ms >= self._stall_ms * 2**count:
                self._said[what] = suspect.since, count + 1
                reports.append(Report("makes no progress", {"what": what, "age_s": age_ms / 1_000, **suspect.facts}))
        return reports, stuck

    def stalled(self) -> list[dict[str, str | int | float]]:
        """What makes no progress, for people."""
        return [
            {"what": each.what, "age_s": (self._now - each.since) / 1_000, **each.facts}
            for each in self._suspects()
            if self._now - each.since >= self._stall_ms
        ]

    def _suspects(self) -> Iterable[Suspect]:
        if self._ledger.is_writing:
            yield Suspect("write to disk", self._write[1], {})
            if self._now - self._write[1] >= self._stall_ms:
                return  # whatever else waits, waits for the disk
        links = self._relaying.links
        for peer, link in links.items():
            if link.moved_at is not None and link.depends_on_peer:
                name = self._roster.name(peer)
                waiting = len(link.relays_out.waiting)
                yield Suspect(f"link to {name}", link.moved_at, {"peer": name, "messages": waiting}, peer)
        if self._landings.parked and not any(link.lost for link in links.values()):
            yield Suspect("parked events", self._parked[1], {"events": self._landings.parked})
