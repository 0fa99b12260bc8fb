"""The content space of a schema: matching events lie in the boxes of their filters."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siftcast.model import Attribute, Filter, Schema, SchemaError
from siftcast.space import ContentSpace

SCHEMA = Schema(
    [
        Attribute("level", "int", (0, 10)),
        Attribute("price", "float", (0.0, 5.0)),
        Attribute("tick", "float", (0.0, 1.0), 0.1),
        Attribute("symbol", "string", ("IBM", "A", "MSFT")),
        Attribute("live", "bool"),
        Attribute("note", "string"),
        Attribute("at", "timestamp", (datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 1, 2, tzinfo=UTC))),
    ]
)
SPACE = ContentSpace(SCHEMA)
FILTERS = [
    "level > 3", "level >= 4 AND level < 7", "price <= 2.5", "price > 2.5 OR level = 1", "tick < 0.3", "tick > 0.25",
    "symbol = 'IBM'", "symbol IN ('A', 'MSFT')", "symbol LIKE 'M%'", "NOT symbol = 'A'", "live", "NOT live",
    "at > TIMESTAMP '2024-01-01 12:00:00'", "note = 'x'", "level != 5", "level BETWEEN 2 AND 4 AND live", "FALSE",
]  # fmt: skip

events = st.fixed_dictionaries(
    {
        "level": st.integers(0, 10),
        "price": st.sampled_from([0.0, 1.0, 2.5, 2.5000001, 5.0]),
        "tick": st.integers(0, 10).map(lambda step: step / 10),
        "symbol": st.sampled_from(["A", "IBM", "MSFT"]),
        "live": st.booleans(),
        "note": st.sampled_from(["x", "y"]),
        "at": st.sampled_from([datetime(2024, 1, 1, hour, tzinfo=UTC) for hour in (0, 12, 13)]),
    }
)


@given(events, st.sampled_from(FILTERS))
def test_a_matching_event_lies_in_a_box_of_its_filter(event: dict[str, object], text: str) -> None:
    filter_ = Filter.parse(text)
    point = SPACE.point(event)
    assert point is not None
    inside = any(box.contains(point) for box in SPACE.boxes(filter_))
    if filter_.matches(event):
        assert inside
    elif "note" not in text and "!=" not in text and "IN" not in text and "NOT symbol" not in text:
        assert not inside  # one range an attribute: the boxes are exact


def test_events_outside_the_space_have_no_point() -> None:
    event = {"level": 1, "price": 1.0, "tick": 0.1, "symbol": "A", "live": True, "at": datetime(2024, 1, 1, tzinfo=UTC)}
    assert SPACE.point(event) is not None
    for name, value in {"level": 11, "price": "1", "symbol": "B", "live": 1, "at": None}.items():
        assert SPACE.point({**event, name: value}) is None


def test_attributes_without_a_domain_have_no_axis() -> None:
    assert [axis.attribute.name for axis in SPACE.axes] == ["level", "price", "tick", "symbol", "live", "at"]
    with pytest.raises(SchemaError, match="no space"):
        ContentSpace(Schema([Attribute("note", "string")]))
