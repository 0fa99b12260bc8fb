"""A schema's dotted attributes reach into nested objects."""

from datetime import UTC, datetime

import pytest

from siftcast.model import Attribute, Filter, Schema, SchemaError


def test_nested_values_are_coerced_like_flat_ones_and_the_original_is_untouched() -> None:
    schema = Schema([Attribute("meta.at", "timestamp"), Attribute("meta.size", "int", (0, 10))])
    original = {"meta": {"at": "2024-05-01T12:00:00Z", "size": 3.0, "other": "x"}}
    coerced = schema.coerce(original)
    assert coerced == {"meta": {"at": datetime(2024, 5, 1, 12, tzinfo=UTC), "size": 3, "other": "x"}}
    assert original["meta"]["at"] == "2024-05-01T12:00:00Z"
    assert Filter.parse("meta.at > TIMESTAMP '2024-05-01'").matches(coerced)
    with pytest.raises(SchemaError, match=r"meta\.size"):
        schema.coerce({"meta": {"size": 11}})
    assert schema.coerce({"meta": 5}) == {"meta": 5}
