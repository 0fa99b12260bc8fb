"""How fast filters are read, and how fast one is asked about one event.

Distinct filters are judged twice: four plain comparisons, and four terms of all operators joined by AND and OR, over
a thousand attributes each. Texts are new in each piece; terms repeat, as wherever attributes are fewer than filters.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from random import Random
from statistics import median
from time import process_time
from typing import Any

from benchmarks.exactness import check_equal
from benchmarks.measuring import Contender, take_turns
from benchmarks.report import Report
from benchmarks.settings import Settings
from siftcast import Filter

GOAL_DISTINCT, GOAL_TEMPLATE, GOAL_MATCHES = 30_000, 300_000, 3
Predicate = Callable[[Any], bool]


def run(settings: Settings, report: Report) -> None:
    """Measures parsing and `Filter.matches`."""
    _measure_parsing(settings, report)
    _measure_matches(settings, report)


# -- reading -----------------------------------------------------------------------------------------


def _measure_parsing(settings: Settings, report: Report) -> None:
    count = settings.size(30_000, 6_000)
    random = Random(settings.seed)
    report.progress(f"language: {count:,} distinct filters, {count:,} of one template, {count:,} of all operators")
    distinct = [write_distinct(random) for _ in range(count)]
    alike = [write_alike(random) for _ in range(count)]
    mixed = [write_mixed(random) for _ in range(count)]
    for text in distinct[:250] + mixed[:250]:
        filter_ = Filter.parse(text)
        check_equal(f"language, {text}", Filter.parse(str(filter_)), filter_)
    _check_alike(alike[:500], random)
    # The shared form first: with tens of thousands of other forms remembered, finding it takes a third longer.
    rate = {"template": _rate(alike, settings), "distinct": _rate(distinct, settings), "mixed": _rate(mixed, settings)}
    note = "four comparisons each, of other attributes"
    report.add("parse distinct filters", rate["distinct"], "/s", "higher", goal=GOAL_DISTINCT, note=note)
    note = "four comparisons each, other literals"
    report.add("parse filters of one template", rate["template"], "/s", "higher", goal=GOAL_TEMPLATE, note=note)
    note = "four terms each: IN, LIKE, BETWEEN, NOT, OR"
    report.add("parse distinct filters of all operators", rate["mixed"], "/s", "higher", goal=GOAL_DISTINCT, note=note)


def _rate(texts: list[str], settings: Settings) -> float:
    """Filters parsed a second: the median over as many pieces as there are rounds, after one to warm up.

    A text read before may be remembered, so each piece has texts of its own. Garbage of others is collected before.
    """
    share = len(texts) // (settings.rounds + 1)
    rates = []
    for start in range(0, share * (settings.rounds + 1), share):
        piece = texts[start : start + share]
        gc.collect()
        begun = process_time()
        read = [Filter.parse(text) for text in piece]
        rates.append(len(read) / (process_time() - begun))
    return median(rates[1:])


def write_distinct(random: Random) -> str:
    """Four comparisons whose attributes and operators vary, so that hardly two texts share a template."""
    terms = []
    for place in range(4):
        name = f"attribute{random.randrange(1000)}"
        number = random.randrange(1_000_000)
        value = f"'v{number}'" if place == 0 else str(number)
        terms.append(f"{name} {random.choice(('<', '<=', '>', '>=', '=', '!='))} {value}")
    return " AND ".join(terms)


def write_mixed(random: Random) -> str:
    """Four terms whose attributes, operators and connections all vary."""
    terms = []
    for _ in range(4):
        name = f"attribute{random.randrange(1000)}"
        number = random.randrange(1_000_000)
        terms.append(
            random.choice(
                (
                    f"{name} {random.choice(('<', '<=', '>', '>=', '=', '!='))} {number}",
                    f"{name} BETWEEN {number} AND {number + 500}",
                    f"{name} = 'v{number}'",
                    f"{name} IN ('a{number}', 'b{number}')",
                    f"NOT {name} LIKE 'v{number}%'",
                    f"{name} IS NOT NULL",
                )
            )
        )
    joints = [random.choice((" AND ", " AND ", " OR ")) for _ in range(3)]
    return terms[0] + "".join(joint + term for joint, term in zip(joints, terms[1:], strict=True))


def write_alike(random: Random) -> str:
    """Four comparisons of one form."""
    low = random.randrange(900_000) / 100
    return (
        f"symbol = 'SYM{random.randrange(5000)}' AND price >= {low} "
        f"AND volume > {random.randrange(1_000_000)} AND exchange != 'X{random.randrange(20)}'"
    )


def _check_alike(texts: list[str], random: Random) -> None:
    """Each filter, read through the template, matches an event made for it and not the same without a symbol."""
    for text in texts:
        words = text.split()
        low, volume = float(words[6]), int(words[10])
        event = {"symbol": words[2].strip("'"), "price": low + 1, "volume": volume + 1, "exchange": "none"}
        check_equal(f"language, {text}", Filter.parse(text).matches(event), True)
        spoilt = event | random.choice(({"symbol": None}, {"price": low - 1}, {"volume": volume}))
        check_equal(f"language, {text}, spoilt", Filter.parse(text).matches(spoilt), False)


# -- one filter, one event ---------------------------------------------------------------------------

NUMBERS = (int, float)  # not bool, which no number compares with

# What a careful person writes instead of the text. A missing value or one of another type makes a term unknown,
# and then neither the term nor its negation holds; a NaN does so by itself, as all its comparisons are false.
BY_HAND: dict[str, Predicate] = {
    "symbol = 'ACME' AND price BETWEEN 10 AND 95 AND volume > 1000 AND NOT exchange IN ('X', 'Y')": lambda e: (
        e.get("symbol") == "ACME"
        and type(p := e.get("price")) in NUMBERS
        and 10 <= p <= 95
        and type(v := e.get("volume")) in NUMBERS
        and v > 1000
        and type(x := e.get("exchange")) is str
        and x not in ("X", "Y")
    ),
    "price < 20 OR price > 90 OR NOT (volume >= 5000 AND open = TRUE)": lambda e: (
        (type(p := e.get("price")) in NUMBERS and (p < 20 or p > 90))
        or (type(v := e.get("volume")) in NUMBERS and v < 5000)
        or e.get("open") is False
    ),
    "symbol LIKE 'AC%' AND exchange IS NOT NULL AND volume != 7": lambda e: (
        type(s := e.get("symbol")) is str
        and s.startswith("AC")
        and e.get("exchange") is not None
        and type(v := e.get("volume")) in NUMBERS
        and (v < 7 or v > 7)
    ),
}


def draw_events(random: Random, count: int) -> list[dict[str, object]]:
    """Quotes, some of them with missing values or values of other types."""
    odd = (None, True, float("nan"), "50")
    events: list[dict[str, object]] = []
    for _ in range(count):
        event: dict[str, object] = {
            "symbol": random.choice(("ACME", "ACDC", "OTHER")),
            "price": random.uniform(0, 100),
            "volume": random.choice((7, random.randrange(10_000))),
            "exchange": random.choice("WXYZ"),
            "open": random.random() < 0.8,
        }
        if random.random() < 0.1:
            event[random.choice(list(event))] = random.choice(odd)
        if random.random() < 0.1:
            del event[random.choice(list(event))]
        events.append(event)
    return events


def _measure_matches(settings: Settings, report: Report) -> None:
    events = draw_events(Random(settings.seed), 1000)
    worst, slowest = 0.0, ""
    for text, by_hand in BY_HAND.items():
        filter_ = Filter.parse(text)
        for event in events:
            check_equal(f"language, {text} on {event}", filter_.matches(event), bool(by_hand(event)))
        contenders = [
            Contender("ours", _ask_all(filter_.matches, events), len(events), len(events)),
            Contender("by hand", _ask_all(by_hand, events), len(events), len(events)),
        ]
        timings, _ = take_turns(contenders, rounds=settings.rounds, round_s=settings.round_s)
        ours, peer = (timing.us_per_event for timing in timings)
        if ours / peer > worst:
            worst, slowest = ours / peer, text
    note = f"times as slow as a lambda; the worst of {len(BY_HAND)}: {slowest[:40]}…"
    report.add("Filter.matches", worst, "×", "lower", goal=GOAL_MATCHES, note=note)


def _ask_all(call: Predicate, events: list[dict[str, object]]) -> Callable[[int], Callable[[], object]]:
    return lambda _: lambda: [call(event) for event in events]
