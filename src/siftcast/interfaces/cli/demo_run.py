"""The data behind `siftcast demo`: a generated market, its matches, and examples worth showing."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from siftcast.files import ROWS_PER_BLOCK, EventBlock, Numbers
from siftcast.interfaces.cli.matching_stage import BlockMatcher, MatchedBlock, Tally
from siftcast.matching import Matcher
from siftcast.model import Subscription
from siftcast.workloads import generate


class DemoRun:
    """Quotes, subscriptions, and what matching them gave."""

    def __init__(self, events: pa.Table, subscriptions: Sequence[Subscription]) -> None:
        self.events = events
        self.subscriptions = subscriptions
        self.tally = Tally([subscription.id for subscription in subscriptions])
        self.engine = ""
        self._matched: list[MatchedBlock] = []

    @classmethod
    def generate(cls, *, events: int, subscriptions: int, seed: int) -> DemoRun:
        """A market from a seed."""
        workload = generate("stock-quotes", events=events, subscriptions=subscriptions, seed=seed)
        known = ("id", "filter", "subscriber", "delay_ms_max")
        columns = [name for name in known if name in workload.subscriptions.column_names]
        rows = workload.subscriptions.select(columns).to_pylist()
        return cls(workload.attributes(), [Subscription.from_fields(row) for row in rows])

    def match(self, engine: str, seconds_max: float) -> None:
        """Matches all quotes, or as many as the time allows."""
        deadline = perf_counter() + seconds_max
        matcher = Matcher(engine)
        matcher.add_many(self.subscriptions)
        matcher.settle()
        self.engine = str(matcher.stats()["engine"])
        match_block = BlockMatcher(matcher)
        for start in range(0, self.events.num_rows, ROWS_PER_BLOCK):
            table = self.events.slice(start, ROWS_PER_BLOCK)
            numbers = np.arange(start, start + table.num_rows, dtype=np.int64)
            for matched in match_block(EventBlock(numbers, table)):
                self._matched.append(matched)
                self.tally.add(matched)
                if perf_counter() > deadline:
                    return

    @property
    def reached(self) -> Numbers:
        """For each matched quote the number of subscriptions it reached."""
        lengths = [pc.list_value_length(chunk).to_numpy() for each in self._matched for chunk in each.ids.chunks]
        return np.concatenate(lengths).astype(np.int64) if lengths else np.zeros(0, np.int64)

    def event(self, number: int) -> dict[str, Any]:
        """One quote."""
        found: dict[str, Any] = self.events.slice(number, 1).to_pylist()[0]
        return found

    def describe_event(self, number: int) -> str:
        """One quote on one line."""
        if number >= self.events.num_rows:
            return "none"
        shown = ((name, value) for name, value in self.event(number).items() if value is not None)
        return ", ".join(f"{name} {value:,}" if isinstance(value, int) else f"{name} {value}" for name, value in shown)

    def ids(self, number: int) -> list[str]:
        """The subscriptions a quote reached."""
        for matched in self._matched:
            row = number - int(matched.block.numbers[0])
            if row < len(matched.block):
                found: list[str] = matched.ids[row].as_py()
                return found
        return []

    def pick_example(self) -> tuple[int, Subscription, Subscription | None]:
        """A quote that reached few, one it reached, and one that asks for the same symbol and got nothing."""
        reached = self.reached
        some = np.flatnonzero(reached > 0)
        by_reach = some[np.argsort(reached[some], kind="stable")]
        best: tuple[int, Subscription, Subscription | None] | None = None
        for number in by_reach[:50].tolist():
            ids = set(self.ids(number))
            matching = next(each for each in self.subscriptions if each.id in ids)
            symbol = f"symbol = '{self.event(number)['symbol']}' AND"
            missing = next(
                (each for each in self.subscriptions if each.id not in ids and str(each.filter).startswith(symbol)),
                None,
            )
            best = best or (number, matching, missing)
            if missing is not None:
                return number, matching, missing
        if best is None:
            raise LookupError("no quote reached anybody")
        return best

    def compare_with_every_filter(self, events_max: int) -> tuple[int, int]:
        """How many quotes were compared with trying every filter, and how many differ."""
        count = self.tally.events
        numbers: list[int] = sorted(set(np.linspace(0, count - 1, min(events_max, count)).astype(int).tolist()))
        differing = 0
        for number in numbers:
            event = self.event(number)
            wanted = {each.id for each in self.subscriptions if each.filter.matches(event)}
            differing += wanted != set(self.ids(number))
        return len(numbers), differing
