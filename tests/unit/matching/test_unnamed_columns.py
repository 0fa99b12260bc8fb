"""A batch ends at no column that no filter names, and at no nested cell that Python cannot hold."""

import pyarrow as pa
import pytest

from siftcast import DataError, Matcher
from siftcast.matching.registry import ENGINES

FAR = pa.array([[2**62], [0]], pa.list_(pa.int64())).cast(pa.list_(pa.timestamp("us")))  # beyond the year 9999
NO_TEXT = pa.Array.from_buffers(pa.string(), 2, [None, *pa.array([b"\xff\xfe", b"ok"]).buffers()[1:]])
HOSTILE = {"far": FAR, "no text": NO_TEXT, "nested": pa.StructArray.from_arrays([FAR, NO_TEXT], ["far", "text"])}

FILTERS = {
    "plain": "a = 1",
    "several": "a = 1 OR b LIKE '%x_y%'",
    "doubtful": "a < c AND a != 7",
    "inside": "n.x > 1",
}


def unreadable(name: str) -> pa.Table:
    inside = pa.StructArray.from_arrays([pa.array([2, 0]), HOSTILE[name]], ["x", "unnamed"])
    columns = {"a": [1, 2], "b": ["axbyc", "xay"], "c": [5, 0], "n": inside, name: HOSTILE[name]}
    return pa.table(columns)


@pytest.mark.parametrize("settled", [False, True])
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", HOSTILE)
def test_columns_that_no_filter_names_are_not_looked_at(engine, name, settled):
    matcher = Matcher(engine)
    for id, text in FILTERS.items():
        matcher.add(id, text)
    if settled:
        matcher.settle()
    with pytest.raises((ValueError, OverflowError)):
        unreadable(name).to_pylist()
    found = [sorted(ids) for ids in matcher.match_batch(unreadable(name)).to_pylist()]
    assert found == [["doubtful", "inside", "plain", "several"], ["several"]]


@pytest.mark.parametrize("settled", [False, True])
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", ["far", "nested"])
def test_a_cell_that_python_cannot_hold_is_there_and_compares_with_nothing(engine, name, settled):
    matcher = Matcher(engine)
    matcher.add("there", "v IS NOT NULL")
    matcher.add("missing", "v IS NULL")
    matcher.add("any", "v >= '' OR v < ''")
    matcher.add("doubtful", "v = w OR v != w")
    if settled:
        matcher.settle()
    found = matcher.match_batch(pa.table({"v": HOSTILE[name], "w": ["ok", "ok"]})).to_pylist()
    assert found == [["there"], ["there"]]


@pytest.mark.parametrize("settled", [False, True])
@pytest.mark.parametrize("engine", ENGINES)
def test_texts_that_are_none_are_refused(engine, settled):
    matcher = Matcher(engine)
    matcher.add("any", "v >= '' OR v < ''")
    matcher.add("doubtful", "v = w OR v != w")
    if settled:
        matcher.settle()
    with pytest.raises(DataError, match="not valid UTF-8"):
        matcher.match_batch(pa.table({"v": NO_TEXT, "w": ["ok", "ok"]}))
