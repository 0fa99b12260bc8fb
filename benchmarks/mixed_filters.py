"""Workloads whose subscriptions are any filters the language knows: W4, and the random mixes of the search for cliffs.

A filter is an OR of conjunctions. The first term of a conjunction is selective, the others are broad, and every
operator occurs: comparisons, BETWEEN, IN, LIKE, IS NULL, each also under NOT. Attributes are numbers, symbols (Zipf),
titles of three words and booleans, and one value in fifty is missing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

import numpy as np
import pyarrow as pa

from benchmarks.boxes import TOP, id_column, zipf_weights
from benchmarks.exactness import Rows
from siftcast import Filter

KINDS = "tnsnnbnn"  # of the attributes, round and round: title, number, symbol, boolean; so LIKE occurs at all sizes
SYMBOLS = 2_000
WORDS = tuple(first + second for first in "bdfgklmprstvz" for second in ("alan", "emik", "irot", "osel", "utun"))


@dataclass(frozen=True, slots=True)
class TextWorkload:
    """Subscriptions as texts, and events."""

    name: str
    filters: list[str]
    events: pa.Table

    def __len__(self) -> int:
        return len(self.filters)

    def filter_table(self) -> pa.Table:
        """The subscriptions, for `Matcher.from_arrow`."""
        return pa.table({"id": id_column(0, len(self)), "filter": pa.array(self.filters, pa.string())})

    def event_dicts(self, count: int) -> list[dict[str, object]]:
        """The first events as Python dicts."""
        rows: list[dict[str, object]] = self.events.slice(0, count).to_pylist()
        return rows

    def matching_rows(self, events: int) -> list[Rows]:
        """The brute force: the definition of every filter evaluated on each of the first events."""
        trees = [Filter.parse(text).expression for text in self.filters]
        return [
            np.array([row for row, tree in enumerate(trees) if tree.evaluate(event) is True], np.int64)
            for event in self.event_dicts(events)
        ]


def make_w4(seed: int, count: int = 100_000, events: int = 1000) -> TextWorkload:
    """ORs of two to four conjunctions over 16 attributes."""
    return make_mixed(seed, count, attributes=16, alternatives=(2, 4), events=events, name="W4")


def make_mixed(
    seed: int,
    count: int,
    *,
    attributes: int,
    alternatives: tuple[int, int] = (1, 3),
    events: int = 1000,
    name: str = "mixed",
) -> TextWorkload:
    """Random filters over any number of attributes."""
    writer = _FilterWriter(Random(seed), attributes)
    filters = [writer.write(alternatives) for _ in range(count)]
    return TextWorkload(name, filters, _draw_events(np.random.default_rng([seed, 4]), events, attributes))


def _kind(number: int) -> str:
    return KINDS[number % len(KINDS)]


def _name(number: int) -> str:
    return f"{_kind(number)}{number}"


class _FilterWriter:
    """Writes filters, one draw after the other from one generator."""

    def __init__(self, random: Random, attributes: int) -> None:
        self._random = random
        self._attributes = range(attributes)
        self._selective: dict[str, Callable[[str], str]] = {
            "n": self._narrow_number,
            "s": self._symbol,
            "t": self._title,
            "b": self._boolean,
        }
        self._broad: dict[str, Callable[[str], str]] = {
            "n": self._broad_number,
            "s": self._other_symbol,
            "t": self._other_title,
            "b": self._boolean,
        }
        self._ranks = np.random.default_rng(random.getrandbits(32)).choice(SYMBOLS, 100_000, p=zipf_weights(SYMBOLS))

    def write(self, alternatives: tuple[int, int]) -> str:
        count = self._random.randint(*alternatives)
        parts = [self._conjunction() for _ in range(count)]
        return parts[0] if count == 1 else " OR ".join(f"({part})" for part in parts)

    def _conjunction(self) -> str:
        width = min(self._random.randint(2, 4), len(self._attributes))
        chosen = self._random.sample(self._attributes, width)
        chosen.sort(key=lambda number: _kind(number) == "b")  # a boolean is never selective, so it is not the first
        terms = [self._selective[_kind(chosen[0])](_name(chosen[0]))]
        terms += [self._broad[_kind(number)](_name(number)) for number in chosen[1:]]
        return " AND ".join(terms)

    def _narrow_number(self, name: str) -> str:
        low = self._random.randrange(TOP)
        width = self._random.randrange(TOP // 50)
        others = (
            f"NOT ({name} < {low} OR {name} > {low + width})",
            f"{name} > {low} AND {name} <= {low + width}",
            f"{name} >= {TOP - width}.5",
        )
        form = self._random.randrange(6)
        return others[form] if form < len(others) else f"{name} BETWEEN {low} AND {low + width}"

    def _broad_number(self, name: str) -> str:
        value = self._random.randrange(TOP)
        others = (
            f"NOT {name} > {value}",
            f"{name} NOT BETWEEN {value} AND {value + TOP // 10}",
            f"{name} IS NOT NULL",
            f"{name} != {value}",
        )
        form = self._random.randrange(7)
        return others[form] if form < len(others) else f"{name} {self._random.choice(('<', '<=', '>', '>='))} {value}"

    def _symbol(self, name: str) -> str:
        if self._random.randrange(3) == 0:
            options = ", ".join(f"'{self._draw_symbol()}'" for _ in range(self._random.randint(2, 5)))
            return f"{name} IN ({options})"
        return f"{name} = '{self._draw_symbol()}'"

    def _other_symbol(self, name: str) -> str:
        form = self._random.randrange(4)
        if form == 0:
            return f"{name} <> '{self._draw_symbol()}'"
        if form == 1:
            return f"NOT {name} IN ('{self._draw_symbol()}', '{self._draw_symbol()}')"
        if form == 2:
            return f"{name} LIKE 'S{self._random.randrange(1, 10)}%'"
        return f"{name} NOT IN ('{self._draw_symbol()}', '{self._draw_symbol()}', '{self._draw_symbol()}')"

    def _title(self, name: str) -> str:
        word = self._random.choice(WORDS)
        patterns = (f"{word}%", f"%{word}", f"{word[0]}_{word[2:]} %", f"%{word}%")
        return f"{name} LIKE '{patterns[self._random.randrange(4)]}'"

    def _other_title(self, name: str) -> str:
        return f"{name} NOT LIKE '%{self._random.choice(WORDS)}%'"

    def _boolean(self, name: str) -> str:
        return self._random.choice((name, f"NOT {name}", f"{name} = TRUE", f"{name} IS NOT NULL"))

    def _draw_symbol(self) -> str:
        return f"S{self._ranks[self._random.randrange(len(self._ranks))]}"


def _draw_events(rng: np.random.Generator, count: int, attributes: int) -> pa.Table:
    columns: dict[str, pa.Array] = {}
    for number in range(attributes):
        kind, missing = _kind(number), rng.random(count) < 0.02
        if kind == "n":
            columns[_name(number)] = pa.array(rng.integers(0, TOP, count), mask=missing)
        elif kind == "b":
            columns[_name(number)] = pa.array(rng.random(count) < 0.5, mask=missing)
        elif kind == "s":
            ranks = rng.choice(SYMBOLS, count, p=zipf_weights(SYMBOLS))
            columns[_name(number)] = pa.array(np.array([f"S{rank}" for rank in ranks], object), mask=missing)
        else:
            words = np.array(WORDS, object)[rng.integers(0, len(WORDS), (count, 3))]
            columns[_name(number)] = pa.array(np.array([" ".join(row) for row in words], object), mask=missing)
    return pa.table(columns)
