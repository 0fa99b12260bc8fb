"""Ids written out as strings: the same as Arrow's own decoding, whatever the ids are."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from siftcast.spark.id_texts import WORD_BYTES, WORDS_MAX, IdTexts, texts_for, texts_of

LENGTH_MAX = WORD_BYTES * (WORDS_MAX + 1)
tables = st.lists(st.text(max_size=LENGTH_MAX), min_size=1, max_size=20)


def encoded(table: pa.Array, codes: list[int]) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), table)


@given(tables, st.data())
def test_ids_are_written_out_as_arrow_does(table, data):
    codes = data.draw(st.lists(st.integers(0, len(table) - 1), max_size=60))
    start = data.draw(st.integers(0, len(codes)))
    begin = data.draw(st.integers(0, 3))
    ids = pa.array([*["left out"] * begin, *table], pa.string()).slice(begin)
    texts = IdTexts(ids)
    for _ in range(3):  # the first times by Arrow, then by words
        found = texts.decode(encoded(ids, codes).slice(start))
        found.validate(full=True)
        assert found.to_pylist() == [table[code] for code in codes[start:]]


def test_words_are_laid_out_once_a_table_was_used_as_often_as_it_is_long():
    texts = IdTexts(pa.array(["a", "bb", "c" * 36]))
    ids = encoded(texts.table, [0, 2])
    for used in range(4):
        texts.decode(ids)
        assert (texts._words is not None) == (used >= 2)


def test_a_place_without_an_id_does_no_harm():
    texts = IdTexts(pa.array(["a", None, "b"]))
    for _ in range(3):
        assert texts.decode(encoded(texts.table, [2, 0])).to_pylist() == ["b", "a"]


@pytest.mark.parametrize("table", [[], [""], ["", ""]])
def test_tables_without_letters_are_ids_too(table):
    texts = IdTexts(pa.array(table, pa.string()))
    for _ in range(3):
        assert texts.decode(encoded(texts.table, [0] * len(table))).to_pylist() == [""] * len(table)


def test_a_table_is_remembered_until_another_comes():
    one, two = pa.array(["a", "b"]), pa.array(["a", "c"])
    known = texts_for(encoded(one, [1]).dictionary)
    assert texts_of(encoded(one, [1])).to_pylist() == ["b"]
    assert texts_for(encoded(one, [0]).dictionary) is known
    assert texts_of(encoded(two, [1])).to_pylist() == ["c"]
    assert texts_for(encoded(one, [0]).dictionary) is not known
