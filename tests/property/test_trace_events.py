"""The events of a saved trace match what they matched before it was saved."""

import math
from datetime import UTC, date, datetime
from decimal import Decimal
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siftcast.model import Event
from siftcast.overlays.trace import Trace
from siftcast.overlays.wire_events import encode_event

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
names = texts | st.sampled_from(["a", "$timestamp", "$bytes", "$number", "$object"])
numbers = st.floats().map(lambda number: number if number == number else math.nan)  # one NaN of the many there are
moments = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.just(UTC))
leaves = (
    st.none() | st.booleans() | st.integers() | numbers | texts | st.binary(max_size=5) | moments
    | st.sampled_from([date(2024, 5, 1), Decimal("1.5"), UUID(int=5), math.inf, math.nan])
)  # fmt: skip
values = st.recursive(leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3))


@pytest.mark.full
@given(attributes=st.dictionaries(names, values, max_size=4))
def test_events_of_a_trace_come_back_as_they_were(tmp_path_factory, attributes):
    event = Event(attributes, "e1")
    folder = tmp_path_factory.mktemp("trace")
    Trace(events={"e1": event}).save(folder)
    assert encode_event(Trace.load(folder).events["e1"]) == encode_event(event)
