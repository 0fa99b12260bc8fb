"""A filter of very many attributes is found by a few of them, and costs nobody else more than that."""

import pyarrow as pa
import pytest

from siftcast.matching import Matcher

TERMS = {
    "values": "{} = 1",
    "ranges": "{} < 5",
    "others": "{} != 0",
    "lists": "{} IN (1, 3)",
    "nulls": "{} IS NOT NULL",
    "pairs": "({0} = 1 OR {0} = 4)",
}
COUNT = 300


def filters() -> dict[str, str]:
    names = [f"a{number}" for number in range(COUNT)]
    ands = {f"{kind} AND": " AND ".join(term.format(name) for name in names) for kind, term in TERMS.items()}
    ors = {f"{kind} OR": " OR ".join(term.format(name) for name in names) for kind, term in TERMS.items()}
    mixed = " AND ".join(list(TERMS.values())[place % 6].format(name) for place, name in enumerate(names))
    two = " AND ".join(f"({name} = 1 AND b = 1 OR {name} = 2)" for name in names)
    return ands | ors | {"mixed": mixed, "two": two, "plain": "a0 = 1"}


def events() -> list[dict[str, object]]:
    ones: dict[str, object] = {f"a{number}": 1 for number in range(COUNT)}
    spoilt = [{**ones, f"a{place}": value} for place in (0, 7, 8, 150, COUNT - 1) for value in (0, 4, 9, None)]
    return [ones, {**ones, "b": 1}, dict.fromkeys(ones, 2), {}, {"a299": 1}, *spoilt]


@pytest.mark.parametrize("together", [False, True])
def test_it_is_matched_like_any_other(together: bool) -> None:
    ours, oracle = Matcher(), Matcher("brute_force")
    for matcher in (ours, oracle):
        if together:
            matcher.add_many(filters().items())
        else:
            for id, text in filters().items():
                matcher.add(id, text)
    for _ in range(2):
        found = [ours.match(event) for event in events()]
        assert found == [oracle.match(event) for event in events()]
        assert [ours.match_any(event) for event in events()] == list(map(bool, found))
        ours.settle()
    names = [f"a{number}" for number in range(COUNT)] + ["b"]
    table = pa.Table.from_pylist([{name: event.get(name) for name in names} for event in events()])
    assert list(map(sorted, ours.match_batch(table).to_pylist())) == list(map(sorted, found))
    again = Matcher.from_bytes(ours.to_bytes())
    assert [again.match(event) for event in events()] == found
    assert {"values AND", "values OR", "mixed", "two", "plain"} <= {id for ids in found for id in ids}


def test_it_brings_few_dimensions_along() -> None:
    matcher = Matcher()
    for number in range(20):
        matcher.add(f"s{number}", " AND ".join(f"a{number}_{place} > {place}" for place in range(COUNT)))
    matcher.settle()
    (segment,) = matcher.stats()["segments"]  # type: ignore[misc]
    assert len(segment["dimensions"]) == 20 * 8


def test_one_that_is_asked_often_is_compiled_and_answers_the_same() -> None:
    matcher = Matcher("brute_force")
    matcher.add("all", " AND ".join(f"a{place} = 1" for place in range(COUNT)))
    matcher.add("any", " OR ".join(f"a{place} = 1" for place in range(COUNT)))
    for _ in range(60):
        assert [matcher.match(event) for event in events()[:5]] == [["all", "any"], ["all", "any"], [], [], ["any"]]
