"""Long random histories: subscriptions come, change and go while events are matched.

A few thousand operations for each engine in `make test`, millions in `make soak`. One seed decides a history, and a
failure names it.
"""

import os
import random

import pyarrow as pa
import pytest

from siftcast.matching import ENGINES, Matcher
from siftcast.model import Filter

SOAKING = os.environ.get("HYPOTHESIS_PROFILE") == "soak"
OPERATIONS = {"tiles": 2_000_000, "counting": 300_000, "kd_tree": 300_000} if SOAKING else {}
CHECKED = 0.01 if SOAKING else 0.03  # the share of operations that match a batch, and of those that match one event
SEEDS = [random.SystemRandom().randrange(2**32)] if SOAKING else [7]
WORDS = ["alpha", "beta", "gamma", "delta", "eps", "", "ALPHA", "zeta%"]


class History:
    """Draws filters and events whose values meet often."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def number(self) -> float | int:
        return self.random.choice([self.random.randrange(-5, 100), self.random.randrange(1000) / 8, 2**53 + 1])

    def term(self) -> str:
        name = self.random.choice("abcdef")
        match self.random.randrange(17) // 2:  # the last half as often as the others
            case 0:
                return f"{name} = {self.number()}"
            case 1:
                low = self.random.randrange(100)
                return f"{name} BETWEEN {low} AND {low + self.random.randrange(30)}"
            case 2:
                return f"{name} {self.random.choice(['<', '<=', '>', '>=', '!='])} {self.number()}"
            case 3:
                return f"s = '{self.random.choice(WORDS)}'"
            case 4:
                options = ", ".join(f"'{word}'" for word in self.random.sample(WORDS, 3))
                return f"s {self.random.choice(['IN', 'NOT IN'])} ({options})"
            case 5:
                return f"t LIKE '{self.random.choice(['a%', '%a', '%et%', 'z__a_', 'ga%a'])}'"
            case 6:
                return f"{name} IS {self.random.choice(['', 'NOT '])}NULL"
            case 8:
                values = {self.number() for _ in range(10)} | {self.random.randrange(10**6) for _ in range(70)}
                return f"{name} {self.random.choice(['IN', 'IN', 'NOT IN'])} ({', '.join(map(str, values))})"
        return f"{name} < {self.random.choice('abcdef')}"

    def conjunction(self) -> str:
        return " AND ".join(self.term() for _ in range(self.random.randint(1, 4)))

    def filter(self) -> Filter:
        parts = [self.conjunction() for _ in range(1 if self.random.random() < 0.7 else self.random.randint(2, 3))]
        text = parts[0] if len(parts) == 1 else " OR ".join(f"({part})" for part in parts)
        return Filter.parse(f"NOT ({text})" if self.random.random() < 0.1 else text)

    def event(self) -> dict[str, object]:
        event: dict[str, object] = {name: self.number() for name in "abcdef" if self.random.random() < 0.9}
        for name in "st":
            if self.random.random() < 0.9:
                event[name] = self.random.choice(WORDS)
        return event

    def table(self) -> pa.Table:
        rows = [self.event() for _ in range(self.random.randint(1, 12))]
        columns = {name: pa.array([_float(row.get(name)) for row in rows], pa.float64()) for name in "abcdef"}
        return pa.table({**columns, **{name: pa.array([row.get(name) for row in rows], pa.string()) for name in "st"}})


def _float(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None


@pytest.mark.parametrize("seed", SEEDS, ids=["drawn"] if SOAKING else None)  # workers must agree on the names of tests
@pytest.mark.parametrize("engine", [name for name in ENGINES if name != "brute_force"])
def test_a_long_history_answers_like_trying_every_filter(engine: str, seed: int) -> None:
    history, matcher = History(seed), Matcher(engine)
    alive: dict[str, Filter] = {}
    for number in range(OPERATIONS.get(engine, 4_000)):
        draw = history.random.random()
        if draw < 0.5 and len(alive) < 3_000:
            alive[f"s{number}"] = history.filter()
            matcher.add(f"s{number}", alive[f"s{number}"])
        elif draw < 0.85 and alive:
            chosen = history.random.choice(list(alive)) if number % 50 == 0 else next(iter(alive))
            del alive[chosen]
            matcher.remove(chosen)
        elif draw < 0.9 and alive:
            chosen = next(reversed(alive))
            alive[chosen] = history.filter()
            matcher.replace(chosen, alive[chosen])
        elif draw < 0.9 + CHECKED:
            table = history.table()
            rows = table.to_pylist()
            expected = [sorted(id for id, filter_ in alive.items() if filter_.matches(row)) for row in rows]
            assert list(map(sorted, matcher.match_batch(table).to_pylist())) == expected, (engine, seed, number)
            assert matcher.count_batch(table).to_pylist() == list(map(len, expected)), (engine, seed, number)
        elif draw < 0.9 + 2 * CHECKED:
            event = history.event()
            expected_ids = [id for id, filter_ in alive.items() if filter_.matches(event)]
            assert matcher.match(event) == expected_ids, (engine, seed, number)
            assert matcher.match_any(event) == bool(expected_ids), (engine, seed, number)
        elif draw > 0.999:
            matcher.settle()
        elif draw > 0.998:
            matcher = Matcher.from_bytes(matcher.to_bytes())
    assert len(matcher) == len(alive)
