"""Filters against schemas: mistakes are reported when a subscription is added, not when an event comes."""

import pytest

from siftcast import Matcher
from siftcast.model import Attribute, Filter, FilterTypeError, Schema

SCHEMA = Schema(
    [
        Attribute("symbol", "string"),
        Attribute("price", "float"),
        Attribute("volume", "int"),
        Attribute("halted", "bool"),
        Attribute("time", "timestamp"),
        Attribute("place.city", "string"),
    ]
)

MISFITS = [
    ("price = 'high'", "'price' is of type float, but 'high' is a string; numbers are written without quotes"),
    ("'high' = price", "'high' is a string, but 'price' is of type float"),
    ("time > '2024-05-01'", "write TIMESTAMP before the string"),
    ("symbol = 5", "'symbol' is of type string, but 5 is a number"),
    ("halted = 1", "'halted' is of type bool, but 1 is a number"),
    ("price", "'price' is of type float, not a boolean"),
    ("NOT (halted OR symbol)", "'symbol' is of type string, not a boolean"),
    ("price LIKE '9%'", "'price' is of type float, not a string"),
    ("price BETWEEN 1 AND symbol", "'symbol' is of type string"),
    ("volume IN ('a')", "'volume' is of type int"),
    ("price < time", "'time' is of type timestamp"),
    ("prise < 5", "no attribute 'prise'; did you mean 'price'?"),
    ("xyz IS NULL", "no attribute 'xyz'; it has symbol, price"),
    ("place = 'Bern'", "no attribute 'place'"),
    ("place.city = 5", "'place.city' is of type string"),
    ("halted AND (price > 5 OR NOT volume = 'x')", "'volume' is of type int"),
]


@pytest.mark.parametrize(("text", "words"), MISFITS)
def test_misfit_is_reported_when_the_subscription_is_added(text, words):
    matcher = Matcher(engine="brute_force", schema=SCHEMA)
    with pytest.raises(FilterTypeError) as caught:
        matcher.add("sub-1", text)
    assert words in str(caught.value)
    assert len(matcher) == 0
    with pytest.raises(FilterTypeError):
        Filter.parse(text).check(SCHEMA)


@pytest.mark.parametrize(
    "text",
    [
        "price = 5 AND volume = 5.5 AND price < volume",
        "symbol LIKE 'I%' OR symbol IN ('a', NULL)",
        "halted AND NOT halted = TRUE",
        "time BETWEEN TIMESTAMP '2024-05-01' AND time",
        "price = NULL OR price IS NOT NULL OR TRUE OR 1 = 1",
        "place.city = 'Bern' AND `place.city` < 'Z'",
    ],
)
def test_filter_that_fits_is_added(text):
    matcher = Matcher(engine="brute_force", schema=SCHEMA)
    matcher.add("sub-1", text)
    assert list(matcher) == ["sub-1"]


@pytest.mark.parametrize(("text", "_words"), MISFITS)
def test_without_a_schema_the_same_filter_is_accepted(text, _words):
    matcher = Matcher(engine="brute_force")
    matcher.add("sub-1", text)
    assert "sub-1" in matcher
