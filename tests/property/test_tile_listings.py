"""Rows that are found by their lists: the same answers whichever way is taken, and the way that leaves less to test."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from siftcast.matching import Matcher
from siftcast.matching.tiles import boxes, listings

lists_ = st.lists(st.integers(0, 40), min_size=3, max_size=12, unique=True)
numbers = st.integers(0, 40)


@pytest.fixture(scope="module", autouse=True)
def short_lists() -> Iterator[None]:
    """Lists of three are long here, or examples would be."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(boxes, "BOXES_MAX", 2)
        yield


@st.composite
def filters(draw: st.DrawFn) -> str:
    """Lists on one or two attributes of numbers and on strings, ranges beside them, alternatives, negations."""

    def term() -> str:
        kind = draw(st.sampled_from(["list", "list", "words", "not", "range", "open", "pattern"]))
        name = draw(st.sampled_from(["a", "b"]))
        if kind in ("list", "not"):
            return f"{name} {'NOT ' if kind == 'not' else ''}IN ({', '.join(map(str, draw(lists_)))})"
        if kind == "words":
            return "s IN ({})".format(", ".join(f"'w{value:02}'" for value in draw(lists_)))
        if kind == "pattern":
            return "s LIKE '%5'"
        low, high = sorted([draw(numbers), draw(numbers)])
        return f"{name} BETWEEN {low} AND {high}" if kind == "range" else f"c > {low}"

    alternatives = [
        " AND ".join(term() for _ in range(draw(st.integers(1, 3)))) for _ in range(draw(st.integers(1, 2)))
    ]
    return " OR ".join(alternatives)


events = st.fixed_dictionaries(
    {},
    optional={
        "a": numbers | st.none(),
        "b": numbers,
        "c": numbers,
        "s": st.integers(0, 40).map(lambda value: f"w{value:02}"),
    },
)


@given(st.lists(filters(), min_size=1, max_size=12), st.lists(events, min_size=1, max_size=12), st.data())
def test_answers_do_not_depend_on_the_way_a_row_is_found(
    texts: list[str], asked: list[dict[str, object]], data: st.DataObject
) -> None:
    columns = {name: [event.get(name) for event in asked] for name in "abcs"}
    kinds = {"a": pa.int64(), "b": pa.float64(), "c": pa.int64(), "s": pa.string()}
    table = pa.table({name: pa.array(columns[name], kind) for name, kind in kinds.items()})
    dying = data.draw(st.sets(st.sampled_from(range(len(texts)))))
    oracle = Matcher("brute_force")
    for number, text in enumerate(texts):
        if number not in dying:
            oracle.add(f"s{number:02}", text)
    expected, counted = [oracle.match(event) for event in asked], oracle.count_batch(table).to_pylist()
    for cost in (0.0, listings.CANDIDATE_COST, np.inf):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(listings, "CANDIDATE_COST", cost)
            matcher = Matcher("tiles")
            for number, text in enumerate(texts):
                matcher.add(f"s{number:02}", text)
                if number == len(texts) // 2:
                    matcher.settle()
            matcher.settle()
            for number in dying:
                matcher.remove(f"s{number:02}")
            for each in (matcher, Matcher.from_bytes(matcher.to_bytes())):
                assert [each.match(event) for event in asked] == expected
                assert [each.match_any(event) for event in asked] == [bool(found) for found in expected]
                assert list(map(sorted, each.match_batch(table).to_pylist())) == expected
                assert each.count_batch(table).to_pylist() == counted


def listed_rows(texts: list[str]) -> int:
    matcher = Matcher("tiles")
    for number, text in enumerate(texts):
        matcher.add(str(number), text)
    matcher.settle()
    return sum(segment["listed"] for segment in matcher.stats()["segments"])  # type: ignore[index, attr-defined]


def some_of(count: int, domain: int, rng: np.random.Generator) -> str:
    return f"a IN ({', '.join(map(str, rng.choice(domain, count, replace=False).tolist()))})"


def test_sparse_lists_are_found_by_their_keys_and_dense_ones_beside_narrow_ranges_are_not() -> None:
    rng = np.random.default_rng(3)
    starts = rng.uniform(0, 1, 200).tolist()
    assert listed_rows([some_of(10, 1_000_000, rng) for _ in range(200)]) == 200
    assert listed_rows([f"{some_of(10, 1_000_000, rng)} AND c > {start}" for start in starts]) == 200
    assert listed_rows([f"{some_of(10, 30, rng)} AND c BETWEEN {start} AND {start + 0.01}" for start in starts]) == 0
    assert listed_rows(["a NOT IN (1, 5, 9)"] * 200) == 0  # allows more than it refuses: nothing to be found by
    assert listed_rows(["c > 5"] * 200) == 0


def test_a_row_with_two_lists_is_found_by_one_of_them() -> None:
    rng = np.random.default_rng(4)
    texts = [f"{some_of(10, 10_000, rng)} AND {some_of(10, 10_000, rng).replace('a', 'b', 1)}" for _ in range(50)]
    assert listed_rows(texts) == 50
