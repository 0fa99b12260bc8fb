"""Events: attributes from JSON, identity, and use in place of a dict."""

from datetime import UTC, date, datetime
from enum import StrEnum
from uuid import UUID

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


def test_nested_values_are_coerced_like_flat_ones_and_the_given_event_stays_as_it_was():
    schema = Schema([Attribute("a.t", "timestamp"), Attribute("a.n", "int", (0, 10))])
    attributes = {"a": {"t": "2024-05-01"}}
    coerced = schema.coerce(attributes)
    assert attributes == {"a": {"t": "2024-05-01"}}
    assert coerced["a"]["t"] == datetime(2024, 5, 1, tzinfo=UTC)
    assert schema.coerce({"a": 5}) == {"a": 5}
    with pytest.raises(SchemaError, match=r"a\.n"):
        schema.coerce({"a": {"n": 11}})


@pytest.mark.parametrize("text", ['{"n": "5"}', '{"n": 5.5}', '{"n": true}', '{"n": [1]}', '{"n": 1e400}'])
def test_value_that_does_not_fit_the_schema_is_a_schema_error_or_unreadable(text):
    with pytest.raises((SchemaError, EventError)):
        Event.from_json(text, Schema([Attribute("n", "int")]))


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"attributes": None}, r"the attributes of an event are a mapping, not None \(of type NoneType\)"),
        ({"attributes": [("a", 1)]}, r"the attributes .* not \[\('a', 1\)\] \(of type list\)"),
        ({"attributes": Event({"a": 1})}, r"the attributes .* \(of type Event\)"),
        ({"id": 5}, r"the id of an event is a string, not 5 \(of type int\); convert it: str\(id\)"),
        ({"id": UUID(int=5)}, r"the id .* \(of type UUID\); convert it: str\(id\)"),
        ({"id": b"e1"}, r"the id of an event is a string, not b'e1' \(of type bytes\)$"),
        ({"id": None}, r"the id of an event is a string, not None \(of type NoneType\)$"),
        ({"source": 5}, r"the source of an event is a string, not 5 \(of type int\); convert it: str\(source\)"),
        ({"time": "yesterday"}, r"the time of an event is a datetime or None, not 'yesterday' \(of type str\)"),
        ({"time": date(2024, 5, 1)}, r"the time .* \(of type date\)"),
        ({"time": 1_700_000_000.0}, r"the time .* \(of type float\)"),
        ({"payload": "text"}, r"the payload of an event is bytes, not 'text' .*; convert it: payload.encode\(\)"),
        ({"payload": [1, 2]}, r"the payload of an event is bytes, not \[1, 2\] \(of type list\)$"),
        ({"payload": "x" * 1_000}, r"not 'x{58}… \(of type str\)"),
    ],
    ids=lambda part: str(part)[:40] if isinstance(part, dict) else "",
)
def test_field_of_another_type_is_refused_by_name(fields, words):
    with pytest.raises(EventError, match=words):
        Event(**{"attributes": {}, **fields})


def test_fields_of_subclasses_and_buffers_become_the_plain_ones():
    class Id(StrEnum):
        FIRST = "e1"

    class Moment(datetime):
        pass

    event = Event({}, Id.FIRST, Id.FIRST, Moment(2024, 5, 1, tzinfo=UTC), bytearray(b"raw"))
    assert event == Event({}, "e1", "e1", datetime(2024, 5, 1, tzinfo=UTC), b"raw")
    assert [type(part) for part in (event.id, event.source, event.time, event.payload)] == [str, str, datetime, bytes]
    assert Event({}, payload=memoryview(b"raw")).payload == b"raw"


def test_time_that_is_missing_in_pandas_is_refused():
    pandas = pytest.importorskip("pandas")
    with pytest.raises(EventError, match=r"datetime or None, not NaT"):
        Event({}, time=pandas.NaT)
    assert type(Event({}, time=pandas.Timestamp("2024-05-01")).time) is datetime


@pytest.mark.parametrize("value", [r"\ud800", r"\udc00", r"\ud800 and more", r"\ud800\ud800", r"\\\ud83d"])
def test_half_a_surrogate_pair_is_named_wherever_it_stands(value):
    for text in (f'{{"a": "{value}"}}', f'{{"a": "{value}"}}'.encode(), f'{{"{value}": 1, "b": "far from the end"}}'):
        with pytest.raises(EventError, match=r"half a surrogate pair \(byte \d+\); escapes from \\ud800"):
            Event.from_json(text)


@pytest.mark.parametrize("text", ["", "{", '{"a": "', '{"a": "\\\\ud800', '{"a": 1'])
def test_what_ends_too_early_is_called_truncated(text):
    with pytest.raises(EventError, match="not valid JSON: Input data was truncated"):
        Event.from_json(text)
