"""The index of a long text finds what looking through the text finds."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siftcast.model import Filter
from siftcast.model.like import LikePattern
from siftcast.model.long_text import LONG, PATIENCE, TEXTS_MAX, TextIndex, _recent, index_of

texts = st.text("ab", max_size=60) | st.text("abc一\ud800", max_size=40)
pieces = st.text("ab", max_size=6) | st.text("abc一\ud800", max_size=4)


@given(texts, st.lists(st.tuples(pieces, st.integers(0, 60), st.integers(0, 60)), max_size=8))
def test_pieces_are_found_where_they_stand(text, asked):
    index = TextIndex(text)
    for piece, start, end in asked:
        end = min(end, len(text))
        assert index.find(piece, start, end) == text.find(piece, start, end)


@given(texts, st.lists(st.text("ab_", min_size=1, max_size=6), max_size=6), st.integers(0, 10), st.integers(0, 60))
def test_runs_with_wildcards_are_found_where_they_stand(text, runs, start, end):
    index, end = TextIndex(text), min(end, len(text))
    for run in runs:
        parts = tuple((each.start(), each[0]) for each in re.finditer("[^_]+", run))
        found = re.compile(run.replace("_", "."), re.DOTALL).search(text, start, max(start, end))
        expected = -1 if found is None or end < start else found.start()
        assert index.find_run(len(run), parts, start, end) == expected
        if parts and end - len(run) >= start:
            assert index._find_by_bits(parts, start, end - len(run)) == expected


@given(st.lists(st.text("ab%_", min_size=1, max_size=7), min_size=1, max_size=6), st.integers(1, 9), st.data())
def test_patterns_answer_alike_on_a_long_text_before_it_is_indexed_and_after(sources, period, data):
    text = (data.draw(st.text("ab", min_size=period, max_size=period)) * LONG)[:LONG] + data.draw(
        st.text("abc", max_size=9)
    )
    patterns = [LikePattern(source) for source in sources]
    _recent.clear()
    before = [pattern.matches(text) for pattern in patterns]
    for _ in range(PATIENCE + 1):
        index = index_of(text)
    assert index is not None
    assert [pattern.matches(text) for pattern in patterns] == before


def test_a_filter_of_many_patterns_indexes_a_long_text_once_and_forgets_it_after_others():
    text = "".join("ab" if number % 7 else "ba" for number in range(LONG))
    wanted = Filter.parse(" OR ".join(f"t LIKE '%x{number}y%'" for number in range(4 * PATIENCE)))
    _recent.clear()
    assert not wanted.matches({"t": text})
    (asked,) = _recent
    assert asked.index is not None
    for number in range(TEXTS_MAX):
        index_of(f"{number}" * LONG)
    assert all(each.text is not text for each in _recent)


@pytest.mark.parametrize("text", ["", "a", "aaaaaaa", "banana", "\ud800\ud800", "一" * 9])
def test_suffixes_are_in_order(text):
    assert TextIndex(text)._order.tolist() == sorted(range(len(text)), key=lambda place: text[place:])
