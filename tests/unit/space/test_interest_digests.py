import numpy as np
import pytest

from siftcast.model import ArgumentError, Attribute, Event, Filter, Schema, SchemaError
from siftcast.space.digests import InterestDigests, batches, is_within

SCHEMA = Schema(
    [
        Attribute("price", "int", (0, 99), 1),
        Attribute("symbol", "string", ("A", "B", "C")),
        Attribute("note", "string"),
    ]
)


def digest(text, digests):
    return digests.of_filter(Filter.parse(text))


def shown(value, digests):
    return f"{value:0{digests.bits}b}"[::-1]


def test_segments_divide_ranges_and_keep_a_bit_for_what_is_elsewhere():
    digests = InterestDigests.of(SCHEMA, ("price",), bits=11)  # ten prices a bit
    assert shown(digests.of_event({"price": 35}), digests) == "00010000000"
    assert shown(digest("price >= 30 AND price < 50", digests), digests) == "00011000000"
    assert shown(digest("price > 29 AND price <= 49", digests), digests) == "00011000000"
    assert shown(digest("price IN (5, 99)", digests), digests) == "10000000010"
    assert shown(digest("NOT price < 90", digests), digests) == "00000000010"
    assert shown(digest("price IS NULL", digests), digests) == "00000000001"
    assert shown(digest("note = 'x'", digests), digests) == "11111111111"
    assert shown(digests.of_event(Event({"note": "x"})), digests) == "00000000001"


def test_the_outer_cells_are_open_and_values_off_the_grid_have_none():
    digests = InterestDigests.of(SCHEMA, ("price",), bits=11)
    assert digests.of_event({"price": -4}) == digests.of_event({"price": 0})
    assert digests.of_event({"price": 10**30}) == digests.of_event({"price": 99})
    assert digests.of_event({"price": 49.5}) == 0
    between = Filter.parse("price > 49 AND price < 50")
    assert between.matches({"price": 49.5})
    assert is_within(digests.of_event({"price": 49.5}), digests.of_filter(between))


def test_bits_that_an_attribute_of_few_values_does_not_need_go_to_the_others():
    digests = InterestDigests.of(SCHEMA, ("price", "symbol"), bits=24)
    assert [part.attribute.name for part in digests.parts] == ["price", "symbol"]
    assert [part.whole.bit_count() for part in digests.parts] == [20, 4]


def test_alternatives_are_united_attribute_by_attribute():
    digests = InterestDigests.of(SCHEMA, ("price", "symbol"), bits=24)
    either = digest("price < 5 AND symbol = 'A' OR price > 94 AND symbol = 'C'", digests)
    # Digests are no rectangles of filters: a cheap C is within, although no alternative wants it.
    assert is_within(digests.of_event({"price": 1, "symbol": "C"}), either)
    assert not is_within(digests.of_event({"price": 1, "symbol": "B"}), either)


def test_hashed_values_need_no_domain_and_know_equality_only():
    digests = InterestDigests.of(SCHEMA, ("note",), bits=32, kind="hashed")
    assert digest("note = 'x'", digests).bit_count() == 1
    assert digest("note = 'x'", digests) == digests.of_event({"note": "x"})
    assert digest("note LIKE 'x%'", digests).bit_count() == 31
    assert digest("note IN ('a', 'b', 'c')", digests).bit_count() in (2, 3)


def test_numbers_that_are_equal_have_one_hash():
    digests = InterestDigests.of(Schema([Attribute("n", "float")]), bits=32, kind="hashed")
    assert digests.of_event({"n": 3}) == digests.of_event({"n": 3.0}) == digest("n = 3", digests)


def test_bloom_digests_are_narrow_only_if_every_attribute_is_fixed():
    digests = InterestDigests.of(SCHEMA, ("price", "symbol"), bits=64, kind="bloom")
    fixed = digest("price = 7 AND symbol = 'A'", digests)
    assert fixed.bit_count() <= 4
    assert digest("symbol = 'A'", digests).bit_count() > 30  # all prices


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"attributes": ("size",)}, "no attribute 'size'"),
        ({"attributes": ("note",)}, "no domain"),
        ({"attributes": ("price", "price")}, "twice"),
        ({"bits": 129}, "to 128 bits"),
        ({"bits": 3}, "4 to 128 bits"),
        ({"kind": "fuzzy"}, "segments, hashed, bloom"),
        ({"kind": "bloom", "hashes": 0}, "sets 1 to"),
    ],
)
def test_digests_that_cannot_be_made_are_refused(arguments, words):
    with pytest.raises(SchemaError, match=words):
        InterestDigests.of(SCHEMA, **arguments)


def test_a_schema_without_domains_is_refused_unless_values_are_hashed():
    schema = Schema([Attribute("note", "string")])
    with pytest.raises(SchemaError, match="hashed"):
        InterestDigests.of(schema)
    assert InterestDigests.of(schema, kind="hashed").bits == 64


def test_columns_of_literals_stand_for_filters():
    digests = InterestDigests.of(SCHEMA, ("price",), bits=11)
    rows = digests.of_columns(Filter.parse("price >= 0 AND price < 0"), [np.array([0, 30, 60]), np.array([10, 50, 60])])
    assert [shown(row, digests) for (row,) in rows.tolist()] == ["10000000000", "00011000000", "00000000000"]
    with pytest.raises(ArgumentError, match="2 literals"):
        digests.of_columns(Filter.parse("price >= 0 AND price < 0"), [np.array([1])])
    with pytest.raises(ArgumentError, match="joined by AND"):
        digests.of_columns(Filter.parse("price = 0 OR note = 'x'"), [np.array([1]), np.array(["y"])])


def test_a_batch_of_many_forms_keeps_its_order(monkeypatch):
    """Some at once are of one form and others of three; some have literals so long that each has its own template."""
    monkeypatch.setattr(batches, "_AT_ONCE", 32)
    texts = [f"price > {place % 90}" for place in range(40)]
    texts += [f"price < {place}.{'0' * (place % 25)}1 AND symbol = '{'ABC'[place % 3]}'" for place in range(60)]
    texts[50::7] = [f"price = {place} OR note = 'x'" for place in range(len(texts[50::7]))]
    filters = [Filter.parse(text) for text in texts]
    assert len({id(filter_.template) for filter_ in filters}) > 10
    digests = InterestDigests.of(SCHEMA, ("price", "symbol"), bits=24)
    assert [row for (row,) in digests.of_filters(filters).tolist()] == [digests.of_filter(each) for each in filters]
    assert len(digests.of_filters([])) == 0
