"""The result of a run of `match`, for a person and for a program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from siftcast.files import RejectedFile
from siftcast.interfaces.cli.matching_stage import Tally
from siftcast.interfaces.cli.pipeline import Profile
from siftcast.interfaces.cli.terminal import bar, facts, percent, shorten
from siftcast.model import Subscription

_BUSIEST = 10


@dataclass(slots=True)
class MatchReport:
    """Everything worth saying after a run."""

    engine: str
    subscriptions: Sequence[Subscription]
    subscriptions_rejected: RejectedFile
    events_rejected: RejectedFile
    tally: Tally
    profile: Profile = field(default_factory=lambda: Profile(0.0, {"reading": 0.0}))
    output: Path | None = None
    column_types: dict[str, str] = field(default_factory=dict)

    @property
    def rejected(self) -> int:
        """How many rows of both inputs were refused."""
        return self.subscriptions_rejected.count + self.events_rejected.count

    def to_json(self) -> str:
        """The report as one JSON object on one line."""
        tally, profile = self.tally, self.profile
        rejected = (self.subscriptions_rejected, self.events_rejected)
        content = {
            "engine": self.engine,
            "subscriptions": {"used": len(self.subscriptions), "rejected": rejected[0].count},
            "events": {"used": tally.events, "rejected": rejected[1].count, "matched": tally.events_matched},
            "matches": tally.pairs,
            "seconds": round(profile.wall_s, 3),
            "events_per_s": round(tally.events / profile.wall_s) if profile.wall_s else None,
            "limited_by": profile.limiting,
            "busy_s": {name: round(busy, 3) for name, busy in profile.busy_s.items()},
            "output": None if self.output is None else str(self.output),
            "rejected_files": [str(each.path) for each in rejected if each.count],
            "column_types": self.column_types,
            "busiest": [
                {"id": self.subscriptions[index].id, "matches": count} for index, count in tally.busiest(_BUSIEST)
            ],
        }
        return msgspec.json.encode(content).decode()

    def show(self, console: Console) -> None:
        """The report as a few lines and a table."""
        console.print(facts(self._facts()))
        busiest = self.tally.busiest(_BUSIEST)
        if busiest:
            console.print()
            console.print(busiest_table(self.subscriptions, busiest, self.tally.events, console.width))

    def _facts(self) -> list[tuple[str, str]]:
        tally = self.tally
        rows = [
            ("subscriptions", _used(len(self.subscriptions), self.subscriptions_rejected)),
            ("events", _used(tally.events, self.events_rejected)),
            ("matches", f"{tally.pairs:,}; {percent(tally.events_matched, tally.events)} of the events matched any"),
            ("time", self._time()),
        ]
        if self.column_types:
            rows.append(("read as", shorten(", ".join(f"{n} {t}" for n, t in self.column_types.items()), 200)))
        if self.output is not None:
            rows.append(("output", str(self.output)))
        for rejected in (self.subscriptions_rejected, self.events_rejected):
            if rejected.first is not None:
                line, first = rejected.first
                reason = shorten(f"{first.code}: {first.reason.splitlines()[0]}", 160)
                rows.append(("rejected", f"{rejected.path} ({rejected.count:,}; first: line {line}, {reason})"))
        return rows

    def _time(self) -> str:
        profile = self.profile
        rate = self.tally.events / profile.wall_s if profile.wall_s else 0.0
        shares = ", ".join(f"{name} {profile.share(name):.0%}" for name in profile.busy_s)
        return (
            f"{profile.wall_s:.2f} s, {rate:,.0f} events/s with {self.engine}; "
            f"limited by {profile.limiting} (busy: {shares})"
        )


def busiest_table(
    subscriptions: Sequence[Subscription], busiest: Sequence[tuple[int, int]], events: int, width: int = 100
) -> Table:
    """The subscriptions that matched most, with their filters and a bar each."""
    table = Table(title="Busiest subscriptions", title_justify="left", title_style="bold", box=None, pad_edge=False)
    table.add_column("subscription", no_wrap=True)
    table.add_column("matches", justify="right", no_wrap=True)
    table.add_column("of events", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("filter", no_wrap=True, overflow="ellipsis", ratio=1)
    most = busiest[0][1]
    for index, count in busiest:
        subscription = subscriptions[index]
        table.add_row(
            Text(shorten(subscription.id, 24)),
            f"{count:,}",
            percent(count, events),
            Text(bar(count / most, 12), "cyan"),
            Text(shorten(str(subscription.filter), max(30, width - 60))),
        )
    return table


def _used(count: int, rejected: RejectedFile) -> str:
    return f"{count:,} used" + (f", {rejected.count:,} rejected" if rejected.count else "")
