"""Nothing that goes wrong loses a subscription: mistakes, interruptions, and threads that match at the same time."""

import signal
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import numpy as np
import pyarrow as pa
import pytest

from siftcast.matching import ENGINES, Matcher
from siftcast.matching.tiles import engine as tiles_engine
from siftcast.matching.tiles.engine import Tiles
from siftcast.matching.tiles.segment import PlainSegment
from siftcast.model import DataError, SubscriptionError

EVENT = {"x": 1e9}


def filled(count: int, engine: str = "tiles") -> Matcher:
    matcher = Matcher(engine)
    for number in range(count):
        matcher.add(f"s{number}", f"x >= {number}")
    return matcher


@pytest.mark.usefixtures("hasty")
def test_threads_that_match_while_one_of_them_indexes_see_every_subscription() -> None:
    table = pa.table({"x": [1e9] * 3})
    for _ in range(3):
        matcher = filled(400)
        with ThreadPoolExecutor(4) as threads:
            singles = [threads.submit(matcher.match, EVENT) for _ in range(4)]
            assert [len(single.result()) for single in singles] == [400] * 4
            matcher.add("last", "x > 0")
            batches = [threads.submit(matcher.match_batch, table) for _ in range(4)]
            for batch in batches:
                assert batch.result().to_pylist() == [[*(f"s{number}" for number in range(400)), "last"]] * 3
            assert all(threads.map(matcher.match_any, [EVENT] * 4))


@pytest.mark.parametrize("step", ["add_many", "flush", "merge"])
def test_what_is_interrupted_leaves_all_as_it_was(step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    matcher = filled(400)
    if step != "flush":
        matcher.settle()
    if step == "merge":
        matcher.add_many([("one more", "x > 0")])

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(tiles_engine, "PlainSegment" if step != "merge" else "merge_rows", interrupted)
        more = [(f"t{number}", "x > 0") for number in range(30)]
        with pytest.raises(KeyboardInterrupt):
            matcher.add_many(more) if step == "add_many" else matcher.settle()
    expected = [*(f"s{number}" for number in range(400)), *(["one more"] if step == "merge" else [])]
    assert matcher.match(EVENT) == expected
    assert list(matcher) == expected
    matcher.remove("s7")
    matcher.settle()
    assert len(matcher.match(EVENT)) == len(expected) - 1


class Stopped(Exception):
    """Raised by a signal."""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs timers")
def test_a_signal_during_a_flush_loses_nothing() -> None:
    matcher, armed = filled(3_000), False

    def interrupt(*_: object) -> None:
        if armed:
            raise Stopped

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        for delay in (0.001, 0.002, 0.004):
            with suppress(Stopped):
                armed = True
                signal.setitimer(signal.ITIMER_REAL, delay)
                matcher.settle()
                armed = False
            armed = False
            signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert len(matcher.match(EVENT)) == 3_000


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("wrong", [None, 5, b"x = 1", ["x = 1"], {"filter": "x = 1"}])
def test_what_is_no_filter_is_refused_and_changes_nothing(engine: str, wrong: object) -> None:
    matcher = filled(10, engine)
    for attempt in (
        lambda: matcher.add("bad", wrong),  # type: ignore[arg-type]
        lambda: matcher.replace("s3", wrong),  # type: ignore[arg-type]
        lambda: matcher.add_many([("good", "x = 1"), ("bad", wrong)]),  # type: ignore[list-item]
    ):
        with pytest.raises(SubscriptionError, match="a subscription has a filter or its text"):
            attempt()
        assert len(matcher) == 10
        assert matcher.match(EVENT) == [f"s{number}" for number in range(10)]
        assert matcher.count_batch(pa.table({"x": np.full(3_000, 5.0)})).to_pylist() == [6] * 3_000


@pytest.mark.parametrize("engine", ENGINES)
def test_an_id_that_no_result_could_hold_is_refused(engine: str) -> None:
    matcher = filled(2, engine)
    with pytest.raises(SubscriptionError, match="of Unicode characters"):
        matcher.add("\ud800", "x = 1")
    with pytest.raises(SubscriptionError, match="of Unicode characters"):
        matcher.add_many([("é", "x = 1"), ("a\udfff", "x = 1")])
    matcher.add("é", "s = '\ud800'")  # a value may be anything
    again = Matcher.from_bytes(matcher.to_bytes())
    assert again.match({"s": "\ud800"}) == ["é"]


@pytest.mark.parametrize("engine", ENGINES)
def test_events_that_make_values_up_are_taken_for_what_they_hold(engine: str) -> None:
    matcher = Matcher(engine)
    matcher.add_many([("a", "x >= 0 AND y >= 0"), ("b", "x IS NULL")])
    for event in (defaultdict(float), Counter[str]()):
        assert matcher.match(event) == ["b"]
        assert dict(event) == {}
    assert matcher.match(defaultdict(float, x=1.0, y=2.0)) == ["a"]


@pytest.mark.parametrize("engine", ENGINES)
def test_two_columns_of_one_name_are_refused(engine: str) -> None:
    table = pa.Table.from_arrays([pa.array([1.0]), pa.array([2.0])], ["x", "x"])
    for ask in (filled(3, engine).match_batch, filled(3, engine).count_batch):
        with pytest.raises(DataError, match="two columns of the events have the same name"):
            ask(table)


def test_more_attributes_than_an_index_can_have_are_kept_in_several(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiles_engine, "DIMS_MAX", 50)
    matcher = Matcher()
    matcher.add_many([(f"s{number}", f"a{number} > 1") for number in range(300)])
    matcher.add_many([(f"t{number}", f"a{number} > 1 OR b{number} > 1") for number in range(300)])
    matcher.settle()
    for number in range(0, 300, 7):
        assert matcher.match({f"a{number}": 2}) == [f"s{number}", f"t{number}"]
    assert matcher.match_batch(pa.table({"a5": [2], "b6": [2]})).to_pylist() == [["s5", "t5", "t6"]]
    assert max(len(part["dimensions"]) for part in matcher.stats()["segments"]) <= 50  # type: ignore[attr-defined]


def test_many_small_loads_are_joined() -> None:
    matcher = Matcher()
    for number in range(100):
        matcher.add_many([(f"s{number}", f"x >= {number}")])
    assert len(matcher.stats()["segments"]) < 10  # type: ignore[arg-type]
    for number in range(100):
        matcher.remove(f"s{number}")
        matcher.add_many([("one", "x > 0")])
        matcher.remove("one")
    assert len(matcher.stats()["segments"]) < 10  # type: ignore[arg-type]
    assert isinstance(matcher._engine, Tiles)
    assert not any(isinstance(part, PlainSegment) and part.live for part in matcher._engine._parts[0].values())
