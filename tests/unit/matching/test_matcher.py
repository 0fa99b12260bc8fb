"""What `Matcher` promises beyond what every engine must: bulk loading, growth, saved forms, Arrow results."""

import numpy as np
import pyarrow as pa
import pytest

import siftcast as sc
from siftcast.matching import ENGINES, RESULT_TYPE
from siftcast.model import DataError, EngineError, FilterTypeError, Schema


def test_endless_adding_and_removing_does_not_grow() -> None:
    matcher = sc.Matcher("tiles")
    sizes = []
    for generation in range(12):
        for number in range(1_500):
            matcher.add(f"g{generation}-{number}", f"a BETWEEN {number} AND {number + 10} AND s = 'x{number % 7}'")
            if generation:
                matcher.remove(f"g{generation - 1}-{number}")
        assert matcher.match({"a": 700, "s": "x0"}) != []
        sizes.append(matcher.stats()["bytes"])
    assert len(matcher) == 1_500
    assert max(sizes[6:]) <= 1.5 * max(sizes[:6])  # type: ignore[type-var, operator]


@pytest.mark.parametrize("text", ["s = '{}'", "s > '{}'", "s IN ({lots})", "s = '{}' OR x = 1"])
def test_strings_that_come_and_go_leave_nothing_behind(text: str) -> None:
    matcher = sc.Matcher("tiles")
    sizes = []
    for generation in range(12):
        for number in range(300):
            word = f"{number:03}-{generation}"
            lots = ", ".join(f"'{word}-{place}'" for place in range(70 if number % 30 == 0 else 2))
            matcher.add(word, text.format(word, lots=lots))
            if generation and number:  # the first of each generation stays, and with it the segment it is in
                matcher.remove(f"{number:03}-{generation - 1}")
        matcher.match({"s": ""})
        matcher.settle()
        sizes.append(len(matcher.to_bytes()))
    assert len(matcher) == 311
    assert matcher.match({"s": "000-3" if "{}" in text else "000-3-1"})
    assert max(sizes[8:]) <= 1.5 * max(sizes[2:5])


@pytest.mark.parametrize("engine", ENGINES)
def test_a_saved_matcher_may_have_lost_its_last_subscriptions(engine: str) -> None:
    matcher = sc.Matcher(engine)
    matcher.add_many([(f"s{number}", f"x > {number}") for number in range(100)])
    matcher.settle()
    for number in range(60, 100):
        matcher.remove(f"s{number}")
    saved = matcher.to_bytes()
    events = pa.table({"x": [1000.0, 10.0]})
    for data in (saved, memoryview(saved), pa.py_buffer(saved)):
        again = sc.Matcher.from_bytes(data)
        assert list(map(len, again.match_batch(events).to_pylist())) == [60, 10]
        again.add("new", "x > 5")
        assert again.match({"x": 1000})[-1] == "new"
        assert list(map(len, again.match_batch(events).to_pylist())) == [61, 11]


def test_a_saved_matcher_without_a_body_is_refused() -> None:
    whole = sc.Matcher().to_bytes()
    for length in range(len(whole)):
        with pytest.raises(EngineError):
            sc.Matcher.from_bytes(whole[:length] + b"\0" * (4 if length < 30 else 0))


def test_a_replaced_subscription_keeps_its_place_and_forgets_its_old_filter() -> None:
    matcher = sc.Matcher()
    matcher.add_many([("first", "a = 1"), ("second", "a = 1"), ("third", "a = 1")])
    matcher.settle()
    matcher.replace("first", "a = 1 OR b = 1")
    assert matcher.match({"a": 1}) == ["first", "second", "third"]
    matcher.replace("first", "b = 1")
    assert matcher.match({"a": 1}) == ["second", "third"]
    assert matcher.match({"b": 1}) == ["first"]


@pytest.mark.parametrize("engine", ENGINES)
def test_bounds_in_columns_mean_what_the_same_filters_mean(engine: str) -> None:
    rng = np.random.default_rng(3)
    low = rng.integers(0, 50, 300)
    price_min = pa.array(low / 4, mask=rng.random(300) < 0.3)
    price_max = pa.array(low / 4 + 3, mask=rng.random(300) < 0.3)
    symbol = pa.array(rng.choice(["A", "B", "it's"], 300), mask=rng.random(300) < 0.5)
    level = pa.array([2**53 + 1 if number % 9 == 0 else number % 5 for number in range(300)], pa.int64())
    live = pa.array([number % 2 == 0 for number in range(300)], mask=rng.random(300) < 0.6)
    ids = [f"s{number}" for number in range(300)]
    table = pa.table(
        {"id": ids, "price.min": price_min, "price.max": price_max, "symbol": symbol, "level.max": level, "live": live}
    )
    matcher = sc.Matcher.from_arrow(table, engine)
    texts = []
    for row in table.to_pylist():
        terms = [f"{name} {operator} {value}" for name, operator, value in (
            ("price", ">=", row["price.min"]), ("price", "<=", row["price.max"]), ("level", "<=", row["level.max"]),
        ) if value is not None]  # fmt: skip
        if row["symbol"] is not None:
            terms.append("symbol = '" + row["symbol"].replace("'", "''") + "'")
        if row["live"] is not None:
            terms.append(f"live = {row['live']}")
        texts.append(" AND ".join(terms))
    same = sc.Matcher.from_arrow(pa.table({"id": ids, "filter": texts}), engine)
    for _ in range(40):
        event = {
            "price": float(rng.integers(0, 60)) / 4,
            "symbol": str(rng.choice(["A", "B", "it's"])),
            "level": int(rng.choice([0, 3, 2**53, 2**53 + 1, 2**53 + 2])),
            "live": bool(rng.random() < 0.5),
        }
        expected = [id for id, text in zip(ids, texts, strict=True) if sc.Filter.parse(text).matches(event)]
        assert matcher.match(event) == same.match(event) == expected


def test_tables_of_subscriptions_that_cannot_be_read_are_refused_with_the_reason() -> None:
    for table, reason in [
        (pa.table({"filter": ["a = 1"]}), "no column 'id'"),
        (pa.table({"id": pa.array(["x", None]), "filter": ["a = 1", "b = 2"]}), "nulls"),
        (pa.table({"id": ["x", "y"], "filter": ["a = 1", "b ="]}), "row 1"),
        (pa.table({"id": ["x"], "a": [1], "a.min": [0]}), "not both"),
        (pa.table({"id": ["x"], "a.min": [1.0], "a.max": ["z"]}), "a.max"),
        (pa.table({"id": ["x"], "a.min": [float("nan")]}), "NaN"),
        (pa.table({"id": ["x"], "a": [[1]]}), "bounds are"),
    ]:
        with pytest.raises(DataError, match=reason):
            sc.Matcher.from_arrow(table)


def test_a_schema_is_checked_when_subscriptions_are_added_in_any_way() -> None:
    schema = Schema.parse('[[attribute]]\nname = "price"\ntype = "float"\n')
    with pytest.raises(FilterTypeError, match="price"):
        sc.Matcher(schema=schema).add("x", "price = 'cheap'")
    with pytest.raises(DataError, match="price"):
        sc.Matcher.from_arrow(pa.table({"id": ["x"], "filter": ["price = 'cheap'"]}), schema=schema)
    with pytest.raises(DataError, match="price"):
        sc.Matcher.from_arrow(pa.table({"id": ["x"], "price": ["cheap"]}), schema=schema)


def test_a_saved_matcher_carries_its_schema_and_its_order() -> None:
    schema = Schema.parse('[[attribute]]\nname = "a"\ntype = "int"\n')
    matcher = sc.Matcher("tiles", schema)
    for number in range(600):
        matcher.add(f"s{number}", f"a >= {number}")
    for number in range(0, 600, 2):
        matcher.remove(f"s{number}")
    matcher.add("again", "a >= 0")
    loaded = sc.Matcher.from_bytes(matcher.to_bytes())
    assert loaded.schema == schema
    assert loaded.match({"a": 5}) == matcher.match({"a": 5}) == ["s1", "s3", "s5", "again"]
    loaded.add("later", "a = 5")
    loaded.remove("s3")
    assert loaded.match({"a": 5}) == ["s1", "s5", "again", "later"]


def test_batch_results_follow_changes_between_batches() -> None:
    matcher = sc.Matcher("tiles")
    matcher.add_many((f"s{number}", f"a = {number % 10}") for number in range(1_000))
    table = pa.table({"a": list(range(10)) * 300})
    assert {len(ids) for ids in matcher.match_batch(table).to_pylist()} == {100}
    matcher.remove("s3")
    matcher.add("new", "a = 3")
    result = matcher.match_batch(table)
    assert result.type == RESULT_TYPE
    third = result[3].as_py()
    assert "new" in third
    assert "s3" not in third
    assert len(third) == 100


@pytest.mark.parametrize("text", ["a < {}", "a < {} AND a != 7", "a = {} AND b = {} AND c < {} AND d > 0"])
def test_counts_of_long_batches_are_the_lengths_of_the_lists(text: str) -> None:
    """Listed or not, cut or in one go: plain filters that often match, general ones, and plain ones that rarely do."""
    matcher = sc.Matcher("tiles")
    matcher.add_many((f"s{number}", text.format(number, number % 9, number % 11)) for number in range(600))
    cells = np.arange(10_000)
    table = pa.table({"a": cells % 700, "b": cells % 9, "c": cells % 11, "d": cells % 3})
    counts = matcher.count_batch(table)
    assert counts.type == pa.int64()
    assert counts.to_pylist() == list(map(len, matcher.match_batch(table).to_pylist()))
    assert matcher.count_batch(table.slice(0, 0)).to_pylist() == []


def test_unknown_engines_are_named_with_those_that_exist() -> None:
    with pytest.raises(EngineError, match="brute_force"):
        sc.Matcher("fastest")


def test_stats_say_what_is_held_and_which_way_events_took() -> None:
    matcher = sc.Matcher("tiles")
    matcher.add_many([(f"s{number}", f"a > {number}") for number in range(500)])
    matcher.add("late", "a > b")
    matcher.match({"a": 3, "b": 1})
    matcher.match_batch(pa.table({"a": [1.0, 2.0], "b": [0.0, 5.0]}))
    stats = matcher.stats()
    assert stats["engine"] == "tiles"
    assert stats["subscriptions"] == 501
    assert stats["events"] == {"single": 1, "batch": 2}
    assert stats["verified"] == 2  # the comparison of two attributes, once for each row of the table
    segments: list[dict[str, object]] = stats["segments"]  # type: ignore[assignment]
    assert sum(segment["rows"] for segment in segments) == 501  # type: ignore[misc]
    (plain,) = (segment for segment in segments if segment["kind"] == "plain")
    assert plain["selectivities"] == {"a": pytest.approx(0.5, abs=0.01)}
    assert 501 * 60 < stats["id_bytes"] < 501 * 400  # type: ignore[operator]


def test_long_lists_are_decided_without_asking_any_filter() -> None:
    matcher = sc.Matcher("tiles")
    matcher.add_many((f"s{number}", f"a IN ({_every(3, number)}) AND b NOT IN ({_every(2, 0)})") for number in range(9))
    matcher.settle()
    assert matcher.match({"a": 31, "b": 7}) == [f"s{number}" for number in range(9) if 31 in range(number, 300, 3)]
    assert matcher.match({"a": 31, "b": 8}) == []
    assert matcher.match_batch(pa.table({"a": [1.5, 299.0], "b": [7, 7]})).to_pylist()[0] == []
    stats = matcher.stats()
    assert (stats["undecided"], stats["verified"]) == (0, 0)
    assert stats["segments"][0]["rows"] == 9  # type: ignore[index]


def test_long_lists_with_numbers_that_floats_cannot_hold_stay_exact() -> None:
    matcher = sc.Matcher("tiles")
    matcher.add("listed", f"a IN ({_every(2, 0)}, {2**53 + 1}, {2**53 + 3})")
    matcher.add("others", f"a NOT IN ({_every(2, 0)}, {2**53 + 1}, {2**53 + 3})")
    matcher.settle()
    for value in (2**53, 2**53 + 1, 2**53 + 2, 2**53 + 3, 2**53 + 4, 6, 7, 2.0**53):
        listed = value in (2**53 + 1, 2**53 + 3, 6)
        assert matcher.match({"a": value}) == (["listed"] if listed else ["others"])


def test_no_number_lies_between_neighbouring_floats() -> None:
    matcher = sc.Matcher("tiles")
    matcher.add("nothing", "a > 1 AND a < 1.0000000000000002")
    matcher.add("gaps", f"a NOT IN (1, 1.0000000000000002, {_every(2, 2)})")
    matcher.add("one", "a = 1")
    matcher.settle()
    assert matcher.match({"a": 1}) == ["one"]
    assert matcher.match({"a": 1.0000000000000004}) == ["gaps"]


def _every(step: int, start: int) -> str:
    return ", ".join(map(str, range(start, 300, step)))
