"""Tables of a pool answer as matchers of their own do, whatever is added, removed and asked in between."""

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from siftcast.matching import Matcher
from siftcast.matching.pool import MatcherPool
from siftcast.model import Event, Filter, SubscriptionError

TABLES = 3
FILTERS = [
    Filter.parse(text)
    for text in (
        "value = 3", "value < 4", "value IN (1, 5, 9)", "value != 5",
        "kind = 'x' OR value > 7", "value IS NULL", "TRUE",
    )
]  # fmt: skip
tables = st.integers(0, TABLES - 1)
ids = st.sampled_from([f"s{number}" for number in range(12)])
events = st.fixed_dictionaries({}, optional={"value": st.integers(0, 10), "kind": st.sampled_from("xy")})


class PoolBesideMatchers(RuleBasedStateMachine):
    """The same requests to the tables of one pool and to matchers that know nothing of each other."""

    def __init__(self):
        super().__init__()
        self.pool = MatcherPool("brute_force")
        self.tables = [self.pool.table() for _ in range(TABLES)]
        self.matchers = [Matcher("brute_force") for _ in range(TABLES)]

    @rule(table=tables, id=ids, filter=st.sampled_from(FILTERS))
    def add(self, table, id, filter):
        if id in self.matchers[table]:
            with pytest.raises(SubscriptionError):
                self.tables[table].add(id, filter)
        else:
            self.tables[table].add(id, filter)
            self.matchers[table].add(id, filter)

    @rule(table=tables, id=ids)
    def remove(self, table, id):
        if id in self.matchers[table]:
            self.tables[table].remove(id)
            self.matchers[table].remove(id)
        else:
            with pytest.raises(SubscriptionError):
                self.tables[table].remove(id)

    @rule(table=tables, start=st.integers(0, 3), filter=st.sampled_from(FILTERS))
    def add_more_than_a_few(self, table, start, filter):
        for number in range(70):
            id = f"many-{start}-{number}"
            if id not in self.matchers[table]:
                self.tables[table].add(id, filter)
                self.matchers[table].add(id, filter)

    @rule(attributes=events, limit=st.none() | st.integers(1, 80))
    def match(self, attributes, limit):
        event = Event(attributes, id="e")
        for table, matcher in zip(self.tables, self.matchers, strict=True):
            found, expected = table.match(event, limit), matcher.match(event)
            assert len(found) == len(set(found)) == min(len(expected), len(expected) if limit is None else limit)
            assert set(found) <= set(expected)
            assert table.match_any(event) == bool(expected)

    @invariant()
    def holds_the_same(self):
        for table, matcher in zip(self.tables, self.matchers, strict=True):
            assert len(table) == len(matcher)
            assert set(table) == set(matcher)
            assert all(id in table for id in matcher)
        assert bool(len(self.pool)) == any(len(matcher) for matcher in self.matchers)


TestPoolBesideMatchers = PoolBesideMatchers.TestCase


def test_an_entry_is_indexed_once_however_many_tables_hold_it_and_goes_with_the_last():
    pool = MatcherPool()
    one, other = pool.table(), pool.table()
    one.add("s", FILTERS[0])
    other.add("s", Filter.parse("value = 3"))
    assert len(pool) == 1
    one.remove("s")
    assert other.match(Event({"value": 3})) == ["s"]
    assert "s" not in one
    other.remove("s")
    assert len(pool) == 0


def test_tables_may_know_an_id_by_different_filters():
    pool = MatcherPool()
    one, other = pool.table(), pool.table()
    one.add("s", FILTERS[0])
    other.add("s", FILTERS[1])
    assert (one.match(Event({"value": 1})), other.match(Event({"value": 1}))) == ([], ["s"])
    assert (list(one), list(other)) == (["s"], ["s"])
