"""Events: attributes from JSON, identity, and use in place of a dict."""

from datetime import UTC, datetime

import pytest

from siftcast.model import Attribute, Event, EventError, Filter, Schema, SchemaError


def test_event_carries_identity_origin_time_and_an_opaque_payload():
    moment = datetime(2024, 5, 1, tzinfo=UTC)
    event = Event({"a": 1}, id="e1", source="sensor", time=moment, payload=b"\x00secret")
    assert (event.id, event.source, event.time, event.payload) == ("e1", "sensor", moment, b"\x00secret")
    assert "secret" not in repr(event)
    assert not Filter.parse("id = 'e1' OR payload IS NOT NULL").matches(event)


def test_event_reads_as_a_dict_does():
    event = Event({"a": 1, "b": None})
    assert (event["a"], event.get("b", 7), event.get("c", 7), "b" in event, len(event)) == (1, None, 7, True, 2)
    assert dict(event) == {"a": 1, "b": None}


@pytest.mark.parametrize("text", ['{"a": {"b": [1, null]}, "c": 1.5}', b'{"a": {"b": [1, null]}, "c": 1.5}'])
def test_json_object_becomes_attributes(text):
    assert Event.from_json(text) == Event({"a": {"b": [1, None]}, "c": 1.5})


def test_json_keeps_integers_exact_and_joins_surrogate_pairs():
    event = Event.from_json(r'{"a": 123456789012345678901234567890, "s": "\ud83d\ude00"}')
    assert event.attributes == {"a": 123456789012345678901234567890, "s": "\U0001f600"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not valid JSON"),
        ("{", "not valid JSON"),
        ('{"a": NaN}', "not valid JSON"),
        ("[1]", "must be a JSON object, not an array"),
        ("null", "must be a JSON object, not null"),
        ("true", "must be a JSON object, not a boolean"),
        ("5", "must be a JSON object, not a number"),
        ('"a"', "must be a JSON object, not a string"),
        (b'{"a": "\xff"}', "not valid"),
        ('{"a": "\ud800"}', "not valid"),
        ("[" * 100_000, "nested too deeply|not valid JSON"),
        ('{"a":' * 100_000, "nested too deeply|not valid JSON"),
    ],
    ids=lambda part: repr(part)[:30],
)
def test_unreadable_json_is_an_event_error(text, words):
    with pytest.raises(EventError, match=words):
        Event.from_json(text)


def test_schema_gives_json_values_their_types_at_any_depth():
    schema = Schema([Attribute("t", "timestamp"), Attribute("a.t", "timestamp"), Attribute("a.n", "int")])
    text = '{"t": "2024-05-01T10:00:00Z", "a": {"t": "2024-05-02", "n": 5.0, "other": "2024-05-02"}, "x": [1]}'
    event = Event.from_json(text, schema)
    assert event.attributes == {
        "t": datetime(2024, 5, 1, 10, tzinfo=UTC),
        "a": {"t": datetime(2024, 5, 2, tzinfo=UTC), "n": 5, "other": "2024-05-02"},
        "x": [1],
    }
    assert Filter.parse("a.t > TIMESTAMP '2024-05-01'").matches(event)


def test_flat_key_with_a_dot_is_coerced_instead_of_the_nested_one():
    schema = Schema([Attribute("a.n", "int")])
    attributes = {"a.n": 5.0, "a": {"n": "kept"}}
    assert schema.coerce(attributes) == {"a.n": 5, "a": {"n": "kept"}}
    assert attributes == {"a.n": 5.0, "a": {"n": "kept"}}


def test_coercion_leaves_the_given_event_as_it_was():
    attributes = {"a": {"t": "2024-05-01"}}
    coerced = Schema([Attribute("a.t", "timestamp")]).coerce(attributes)
    assert attributes == {"a": {"t": "2024-05-01"}}
    assert coerced["a"]["t"] == datetime(2024, 5, 1, tzinfo=UTC)


@pytest.mark.parametrize("text", ['{"n": "5"}', '{"n": 5.5}', '{"n": true}', '{"n": [1]}', '{"n": 1e400}'])
def test_value_that_does_not_fit_the_schema_is_a_schema_error_or_unreadable(text):
    with pytest.raises((SchemaError, EventError)):
        Event.from_json(text, Schema([Attribute("n", "int")]))
