"""The matchers of the lookup-reuse paper, in what is special to them; the suite of the contract covers the rest.

Forms: find-all, up-to-n and exists. Work: violations fall with density, early stops save visits. Change: rows that
wait, die and move keep the answers. The table under both: places keep order, and bounds are exact or left open.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise
from math import inf, isfinite, nan
from typing import TypeVar

import numpy as np
import pytest

from siftcast.matching import end_points
from siftcast.matching.alternatives import boxes_of, place_of
from siftcast.matching.brute_force import BruteForce
from siftcast.matching.contract import Attributes, Engine
from siftcast.matching.counting import Counting
from siftcast.matching.kd_tree import KdTree
from siftcast.model import Filter
from siftcast.model.expression import COMPARATORS, Comparison, Literal, Reference

E = TypeVar("E", bound=Engine)

each_engine = pytest.mark.parametrize("make", [Counting, KdTree])


def check_forms(engine: Engine, oracle: BruteForce, event: Attributes) -> None:
    """All three forms agree with the oracle; a limit gives that many distinct matches, whichever they are."""
    expected = set(oracle.find(event))
    found = engine.find(event)
    assert len(found) == len(set(found))
    assert set(found) == expected
    assert engine.exists(event) == bool(expected)
    for limit in (0, 1, 2, 7, len(expected), len(expected) + 1):
        some = engine.find(event, limit)
        assert len(some) == len(set(some)) == min(limit, len(expected))
        assert set(some) <= expected


def unit_filters(count: int, *, density: float, seed: int = 1, attributes: int = 5) -> list[Filter]:
    """Section 3.1: a random sub-interval of [0, 1] for every attribute."""
    length = density ** (1 / attributes)
    lows = np.random.default_rng(seed).random((count, attributes)) * (1 - length)
    return [
        Filter.parse(" AND ".join(f"a{k} BETWEEN {low:.9f} AND {low + length:.9f}" for k, low in enumerate(row)))
        for row in lows.tolist()
    ]


def unit_events(count: int, *, seed: int = 2, attributes: int = 5) -> list[dict[str, float]]:
    points = np.random.default_rng(seed).random((count, attributes))
    return [{f"a{k}": place for k, place in enumerate(row)} for row in points.tolist()]


def filled(engine: E, chosen: Sequence[Filter]) -> E:
    for slot, filter_ in enumerate(chosen):
        engine.add(slot, filter_)
    return engine


@each_engine
@pytest.mark.parametrize("seed", range(3))
def test_growth_deletion_and_rebuilding_keep_the_answers(make: type[Engine], seed: int) -> None:
    """Sizes at which rows are inserted, die, and are rebuilt away, with every step seen by a search."""
    rng = np.random.default_rng(seed)
    pool = unit_filters(900, density=0.05, attributes=2, seed=seed)
    happened = unit_events(4, attributes=2, seed=seed)
    engine, oracle = make(), BruteForce()
    free, taken = list(range(900)), list[int]()
    rebuilds, shrunk = 0, 0
    for step in range(60):
        before = int(engine.stats()["rows_held"])  # type: ignore[call-overload]
        if step % 20 < 12:
            chosen = [free.pop(int(rng.integers(len(free)))) for _ in range(min(len(free), int(rng.integers(1, 60))))]
            for slot in chosen:
                engine.add(slot, pool[slot])
                oracle.add(slot, pool[slot])
            taken += chosen
        else:
            for _ in range(int(rng.integers(1, 60))):
                slot = taken.pop(int(rng.integers(len(taken))))
                engine.remove(slot)
                oracle.remove(slot)
                free.append(slot)
        for event in happened:
            check_forms(engine, oracle, event)
        after = int(engine.stats()["rows_held"])  # type: ignore[call-overload]
        rebuilds += after < before
        shrunk += after == len(taken)
    assert rebuilds, "no dead row was ever dropped, so this test shows nothing"
    assert shrunk < 60, "no dead row was ever held, so this test shows nothing"


@each_engine
def test_equal_subscriptions_are_all_found_after_single_additions(make: type[Engine]) -> None:
    engine = make()
    for slot in range(500):
        engine.add(slot, Filter.parse("a < 5"))
        assert len(engine.find({"a": 1})) == slot + 1
        assert engine.find({"a": 5}) == []


def test_equal_points_do_not_form_a_chain() -> None:
    tree = KdTree()
    for slot in range(1_000):
        tree.add(slot, Filter.parse("a < 5"))
        assert tree.exists({"a": 1})
        assert int(tree.stats()["depth"]) < 30  # type: ignore[call-overload]


@each_engine
def test_dead_rows_are_dropped_once_they_prevail(make: type[Engine]) -> None:
    chosen = unit_filters(300, density=0.3, attributes=2)
    engine, oracle = filled(make(), chosen), filled(BruteForce(), chosen)
    engine.settle()
    for slot in range(300):
        engine.remove(slot)
        oracle.remove(slot)
        check_forms(engine, oracle, {"a0": 0.5, "a1": 0.5})
        assert int(engine.stats()["rows_held"]) <= 2 * (299 - slot)  # type: ignore[call-overload]


def test_violations_fall_as_density_rises() -> None:
    happened = unit_events(40)
    counted: list[int] = []
    for density in (0.001, 0.01, 0.05, 0.2):
        engine = filled(Counting(), unit_filters(1_000, density=density))
        for event in happened:
            engine.find(event)
        counted.append(engine.violations)
        # One of the five ranges is violated with probability 1 - density^(1/5).
        assert engine.violations == pytest.approx(40 * 1_000 * 5 * (1 - density**0.2), rel=0.15)
        assert engine.stats()["operations"] == engine.violations + engine.comparisons + engine.scanned
    assert all(more > fewer for more, fewer in pairwise(counted))


def test_counting_does_the_same_work_in_all_forms() -> None:
    engine = filled(Counting(), unit_filters(1_000, density=0.05))
    event = unit_events(1)[0]
    engine.settle()
    work = []
    for limit in (None, 5, 1):
        before = engine.violations, engine.comparisons, engine.scanned
        engine.find(event, limit)
        after = engine.violations, engine.comparisons, engine.scanned
        work.append([new - old for new, old in zip(after, before, strict=True)])
    assert work[0] == work[1] == work[2]


def test_the_tree_visits_a_part_and_stops_early() -> None:
    tree = filled(KdTree(), unit_filters(2_000, density=0.05))
    tree.settle()
    happened = unit_events(50)
    visited = []
    for limit in (None, 20, 1):
        before = tree.visits
        for event in happened:
            tree.find(event, limit)
        visited.append(tree.visits - before)
    everything, some, first = visited
    assert first < some < everything < 0.6 * 50 * 2_000


def test_the_tree_goes_on_where_candidates_fail_verification() -> None:
    """`!=` keeps only a hull, so that most candidates of `exists` are no match."""
    tree, oracle = KdTree(), BruteForce()
    for slot in range(300):
        filter_ = Filter.parse("a != 3" if slot != 271 else "a = 3")
        tree.add(slot, filter_)
        oracle.add(slot, filter_)
    for event in ({"a": 3}, {"a": 4}, {"a": None}):
        check_forms(tree, oracle, event)
    assert int(tree.stats()["verifications"]) > 0  # type: ignore[call-overload]


@each_engine
def test_decided_rows_are_not_verified(make: type[Engine]) -> None:
    texts = ["a BETWEEN 1 AND 3", "a > 2.5 AND s = 'IBM'", "s LIKE 'ab%'", "f", "a IS NULL", "a < 1 OR s IS NOT NULL"]
    chosen = [Filter.parse(text) for text in texts]
    engine, oracle = filled(make(), chosen), filled(BruteForce(), chosen)
    for event in ({"a": 3}, {"a": 2.6, "s": "IBM"}, {"s": "abc", "f": True}, {"a": -inf}, {}):
        check_forms(engine, oracle, event)
    assert engine.stats()["verifications"] == 0


@each_engine
def test_bounds_that_are_no_numbers_match_as_the_oracle_says(make: type[Engine]) -> None:
    """No text has such literals, but columns of bounds may."""
    a = Reference(("a",))
    comparisons = [Comparison(operator, a, Literal(bound)) for operator in COMPARATORS for bound in (inf, -inf)]
    chosen = [Filter.of(comparison) for comparison in comparisons] + [~Filter.of(one) for one in comparisons]
    assert all(isfinite(end) for one in chosen for box in boxes_of(one) for ends in box.bounds.values() for end in ends)
    engine, oracle = filled(make(), chosen), filled(BruteForce(), chosen)
    for value in (-inf, -(10**400), -1e308, 0, 1e308, 10**400, inf, nan, None, "nan"):
        check_forms(engine, oracle, {"a": value})


@each_engine
def test_axes_beyond_the_most_are_verified(make: type[Engine], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(end_points, "AXES_MAX", 3)
    chosen = [Filter.parse(f"a{number} > 0 AND a{number + 1} < 5") for number in range(10)]
    engine, oracle = filled(make(), chosen), filled(BruteForce(), chosen)
    for value in (-1, 3, 7):
        for first in range(10):
            check_forms(engine, oracle, {f"a{number}": value for number in range(first, 11)})
    assert engine.stats()["axes"] == 3


ASCENDING: list[list[object]] = [
    [-inf, -(10**400), -1e300, -(2**53) - 1, -1, -0.5, 0, 5e-324, 1, 1.5, 2**53, 2**53 + 1, 10**400, inf],
    ["", "\0", "a", "a\0", "aa", "abcde", "abcdef", "abcdefg", "b", "é", "日本", "\ud7ff", "\ud800", "\ue000", "𝄞"],
    [False, True],
    [datetime.min, datetime(1969, 12, 31, tzinfo=UTC), datetime(2024, 5, 1), datetime.max],
]  # fmt: skip


@pytest.mark.parametrize("values", ASCENDING)
def test_places_never_reverse_the_order_of_values(values: list[object]) -> None:
    places = [place_of(value) for value in values]
    assert all(low <= high for low, high in pairwise(places))  # type: ignore[operator]
    assert len(set(places)) >= len(set(values)) - 6


@pytest.mark.parametrize("value", [None, nan, [], {"x": 1}, b"a"])
def test_what_compares_with_nothing_has_no_place(value: object) -> None:
    assert place_of(value) is None


@pytest.mark.parametrize(
    ("text", "decided"),
    [
        ("a < 5", True),
        ("a < 9007199254740991", True),
        ("a < 9007199254740992", False),
        ("a = 1e17", False),
        ("a != 5", False),
        ("a IN (1, 2)", False),
        ("s = 'abcde'", True),
        ("s = 'abcdef'", False),
        ("s >= 'abcdef'", True),
        ("s LIKE 'a%b'", False),
        ("t < TIMESTAMP '2024-05-01 00:00:00'", True),
        ("t < TIMESTAMP '2500-01-01 00:00:00'", False),
        ("a < b", False),
        ("TRUE", True),
    ],
)
def test_boxes_say_what_they_decide(text: str, decided: bool) -> None:
    assert [box.decided for box in boxes_of(Filter.parse(text))] == [decided]
