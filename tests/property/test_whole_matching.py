"""Opening, searching and routing by credentials come to what matching in the clear does."""

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from siftcast.model import Filter
from siftcast.security import UnopenedError
from siftcast.security.whole import KeyServer, PublisherKeys
from tests.unit.security.whole_world import SIXTEEN, STOCKS, numbers, server

values = st.none() | st.integers(0, 15)
ranges = st.tuples(st.integers(0, 15), st.integers(0, 15)).map(sorted)


@cache
def world(dimensions: int) -> tuple[KeyServer, PublisherKeys]:
    made = server(numbers(dimensions))
    return made, made.publisher_keys("TRUE")


def check_decisions(made: KeyServer, publisher: PublisherKeys, filter: str, events: list[dict[str, object]]) -> None:
    subscriber, router = made.subscriber_keys(filter), made.search_keys(filter)
    for event in events:
        sealed = publisher.seal(event, b"payload")
        wanted = Filter.parse(filter).matches(event)
        assert subscriber.search(sealed) is router.search(sealed) is wanted
        if wanted:
            opened = subscriber.open(sealed)
            assert {name: value for name, value in opened.attributes.items() if value is not None} == event
            assert opened.payload == b"payload"
        else:
            with pytest.raises(UnopenedError, match="no-key"):
                subscriber.open(sealed)


def constraint(drawn: tuple[str, list[int], str]) -> str:
    name, (low, high), form = drawn
    return form.format(name=name, low=low, high=high)


forms = st.sampled_from(
    [
        "{name} BETWEEN {low} AND {high}",
        "{name} <= {high}",
        "{name} IS NULL",
        "{name} IS NOT NULL",
        "{name} IN ({low}, {high})",
    ]
)


@pytest.mark.parametrize("dimensions", [1, 2, 3])
def test_decisions_by_credentials_are_those_of_the_filter(dimensions):
    made, publisher = world(dimensions)
    names = SIXTEEN[:dimensions]
    term = st.tuples(st.sampled_from(names), ranges, forms).map(constraint)
    filters = st.lists(term, min_size=1, max_size=3).map(" AND ".join) | st.tuples(term, term).map(" OR ".join)
    events = st.fixed_dictionaries({}, optional=dict.fromkeys(names, st.integers(0, 15)))

    @settings(max_examples=18)
    @given(filters, events)
    def run(filter, event):
        if any(Filter.parse(filter).matches(each) for each in cells(names)):
            check_decisions(made, publisher, filter, [event])

    run()


@cache
def cells(names: tuple[str, ...]) -> list[dict[str, object]]:
    """All events with these attributes, or without one of them."""
    found: list[dict[str, object]] = [{}]
    for name in names:
        found = [each | more for each in found for more in [{}, *({name: value} for value in range(16))]]
    return found


@pytest.mark.full
def test_all_ranges_of_sixteen_values_open_all_values_in_them():
    made, publisher = world(1)
    sealed = [(event, publisher.seal(event)) for event in cells(("a",))]
    for low in range(16):
        for high in range(low, 16):
            keys = made.subscriber_keys(f"a BETWEEN {low} AND {high}")
            router = made.search_keys(f"a BETWEEN {low} AND {high}")
            for event, data in sealed:
                inside = low <= event.get("a", -1) <= high
                assert keys.search(data) is router.search(data) is inside
                if inside:
                    assert keys.open(data).attributes == event


TEXTS = [
    (
        {"symbol": "IBM"},
        {"symbol = 'IBM'", "symbol LIKE 'IB%'", "symbol LIKE '%BM'", "symbol LIKE 'I%M'", "symbol IS NOT NULL"},
    ),
    ({"symbol": "IBMX"}, {"symbol LIKE 'IB%'", "symbol IS NOT NULL"}),
    ({"symbol": "", "desk": "north"}, {"desk = 'north'", "symbol IS NOT NULL"}),
    ({"price": 3, "desk": "n"}, {"symbol IS NULL", "price < 5 AND symbol IS NULL"}),
]


def test_strings_open_by_beginning_end_equality_and_absence():
    made = server(STOCKS)
    publisher = made.publisher_keys("TRUE")
    keys = {filter: made.subscriber_keys(filter) for filter in set().union(*(filters for _, filters in TEXTS))}
    for event, filters in TEXTS:
        sealed = publisher.seal(event)
        assert {filter for filter, key in keys.items() if key.search(sealed)} == filters
        for filter in filters:
            assert keys[filter].open(sealed).attributes["symbol"] == event.get("symbol")
