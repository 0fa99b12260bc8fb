"""Subscriptions: an id, a filter, a subscriber and perhaps a bound on delay."""

import pytest

from siftcast.model import Filter, FilterError, FilterSyntaxError, Subscription, SubscriptionError


def test_subscription_is_read_from_json():
    text = '{"id": "s1", "filter": "price < 95", "subscriber": "ann", "delay_ms_max": 250, "dialect": "sql"}'
    assert Subscription.from_json(text) == Subscription("s1", Filter.parse("price < 95"), "ann", 250)


def test_fields_that_are_null_or_missing_take_their_defaults():
    text = '{"id": "s1", "filter": "a", "subscriber": null, "delay_ms_max": null, "dialect": null}'
    expected = Subscription("s1", Filter.parse("a"), "", None)
    assert Subscription.from_json(text) == expected
    assert Subscription.from_json(b'{"id": "s1", "filter": "a"}') == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "not valid JSON"),
        ("[]", "must be a JSON object"),
        ("{}", "'id' must be given"),
        ('{"id": 5, "filter": "a"}', "'id' must be given as a string"),
        ('{"id": "s"}', "'filter' must be given as a string"),
        ('{"id": "", "filter": "a"}', "needs an id"),
        ('{"id": "s", "filter": "a", "colour": 1}', "unknown field 'colour'"),
        ('{"id": "s", "filter": "a", "dialect": [1]}', "'dialect' must be given as a string"),
        ('{"id": "s", "filter": "a", "subscriber": {"x": 1}}', "'subscriber' must be given as a string"),
        ('{"id": "s", "filter": "a", "delay_ms_max": 0}', "must be positive"),
        ('{"id": "s", "filter": "a", "delay_ms_max": "5"}', "must be positive"),
        ('{"id": "s", "filter": "a", "delay_ms_max": true}', "must be positive"),
    ],
)
def test_malformed_subscription_is_refused_with_the_reason(text, words):
    with pytest.raises(SubscriptionError, match=words):
        Subscription.from_json(text)


def test_mistake_in_the_filter_keeps_its_own_error():
    with pytest.raises(FilterSyntaxError, match="line 1, column 4"):
        Subscription.from_json('{"id": "s", "filter": "a ="}')
    with pytest.raises(FilterError, match="unknown dialect 'xpath'"):
        Subscription.from_json('{"id": "s", "filter": "a", "dialect": "xpath"}')


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ((5, Filter.parse("a")), "needs an id"),
        (("s", "price < 95"), r"'s': filter must be a Filter, not a text; write Filter.parse\('price < 95'\)"),
        (("s", None), "'s': filter must be a Filter, not None"),
        (("s", Filter.parse("a"), 7), "'s': subscriber must be a string, not 7"),
        (("s", Filter.parse("a"), None), "'s': subscriber must be a string, not None"),
    ],
    ids=["id", "text for a filter", "no filter", "number for a subscriber", "no subscriber"],
)
def test_field_of_another_type_is_refused_by_name(fields, words):
    with pytest.raises(SubscriptionError, match=words):
        Subscription(*fields)
