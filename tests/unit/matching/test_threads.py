"""A matcher is changed by some threads while others match; see `matching.slots` for why that works.

An event that changes the matcher while it is read makes the meeting certain: no clock and no luck is needed.
"""

import threading
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from siftcast.matching import ENGINES, Matcher

TABLE = pa.table({"a": [5.0] * 300})


class Meeting(dict[str, Any]):
    """An event during whose first reading something happens."""

    def __init__(self, happening: Callable[[], None], **attributes: Any) -> None:
        super().__init__(attributes)
        self._happening: Callable[[], None] | None = happening

    def get(self, key: str, default: Any = None) -> Any:
        happening, self._happening = self._happening, None
        if happening is not None:
            happening()
        return super().get(key, default)


@pytest.fixture(params=[True, False], ids=["indexed", "staged"])
def matcher(request: pytest.FixtureRequest) -> Matcher:
    made = Matcher()
    made.add_many([("first", "a > 0"), ("second", "a > 1 AND a < 100 OR b = 3"), ("third", "a > 2")])
    if request.param:
        made.settle()
    else:
        made.add("fourth", "a > 3")
        made.add("fifth", "a > 3 AND s LIKE '%x_y%' OR a = 5")
    return made


def test_a_slot_given_away_while_somebody_matches_names_nobody_else(matcher: Matcher) -> None:
    def change() -> None:
        matcher.remove("first")
        matcher.add("another", "a < 0")  # takes the slot of the one that went

    found = matcher.match(Meeting(change, a=5))
    assert "another" not in found
    assert None not in found
    assert [id for id in found if id != "first"] == [id for id in matcher if id not in ("first", "another")]


def test_whoever_comes_meanwhile_hides_nobody(matcher: Matcher) -> None:
    before = list(matcher)
    found = matcher.match(Meeting(lambda: matcher.add("new", "a > 0"), a=5))
    assert [id for id in found if id != "new"] == before


def test_with_a_limit_enough_are_named_although_some_went(matcher: Matcher) -> None:
    def change() -> None:
        matcher.remove("first")
        matcher.add("another", "a < 0")

    assert matcher.match(Meeting(change, a=5), 1) in (["second"], ["third"], ["fourth"], ["fifth"])


def test_a_replaced_filter_is_the_old_one_or_the_new_one(matcher: Matcher) -> None:
    before = list(matcher)
    assert matcher.match(Meeting(lambda: matcher.replace("second", "a > 4"), a=5)) == before
    only = Matcher()
    only.add("it", "a > 0")
    assert only.match_any(Meeting(lambda: only.replace("it", "a > 1"), a=5))


def test_many_who_come_at_once_disturb_no_match(matcher: Matcher) -> None:
    before = list(matcher)

    def change() -> None:
        matcher.add_many((f"more {number}", f"a > -{number}") for number in range(600))
        matcher.settle()

    found = matcher.match(Meeting(change, a=5))
    assert [id for id in found if not id.startswith("more")] == before


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize("engine", ENGINES)
def test_threads_that_match_and_change_at_once_answer_right(engine: str) -> None:
    matcher = Matcher(engine)
    matcher.add_many((f"keep {number}", f"a > {number}") for number in range(9))
    matcher.add("swapped", "a > 0")
    expected = [f"keep {number}" for number in range(5)] + ["swapped"]
    wrong: list[object] = []
    finished = threading.Event()

    def guarded(work: Callable[[int], None], number: int) -> None:
        try:
            work(number)
        except BaseException as error:
            wrong.append(error)

    def change(number: int) -> None:
        for turn in range(150 if engine == "tiles" else 40):
            for kept in range(3):
                matcher.add(f"{number} {turn} {kept}", f"a < -{kept + 1}" if kept else "a < -1 AND s LIKE '%x_y%'")
            matcher.remove(f"{number} {turn} 1")
            matcher.replace("swapped", f"a > {turn % 4}")
            if turn % 20 == 0:
                matcher.settle()
        matcher.add_many((f"{number} more {kept}", f"a = -{kept + 1}") for kept in range(300))

    def look(number: int) -> None:
        while not finished.is_set():
            found = matcher.match({"a": 5})
            if found != expected or not matcher.match_any({"a": 5}):
                wrong.append(found)
            (row,) = {tuple(sorted(ids)) for ids in matcher.match_batch(TABLE[:9]).to_pylist()}
            if row != tuple(sorted(expected)) or set(matcher.count_batch(TABLE[:9]).to_pylist()) != {6}:
                wrong.append(row)

    looking = [threading.Thread(target=guarded, args=(look, number)) for number in range(2)]
    changing = [threading.Thread(target=guarded, args=(change, number)) for number in range(2)]
    for thread in looking + changing:
        thread.start()
    for thread in changing:
        thread.join()
    finished.set()
    for thread in looking:
        thread.join()
    assert not wrong, wrong[0]
    assert len(Matcher.from_bytes(matcher.to_bytes())) == len(matcher)
