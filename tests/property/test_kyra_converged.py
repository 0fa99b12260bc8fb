"""Servers put where a flood of subscriptions would leave them route events as those that it has left there."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from siftcast.matching.pool import MatcherPool
from siftcast.model import Attribute, Event, Filter, Schema, Subscription, SubscriptionError
from siftcast.overlays.protocols.kyra import Kyra
from siftcast.overlays.protocols.kyra.converged import converged_servers
from siftcast.planning import cell_loads, plan_kyra
from siftcast.runtimes.sim import Simulation
from siftcast.space import ContentSpace

VALUES = 12
SPACE = ContentSpace(Schema([Attribute("value", "int", (0, VALUES - 1), 1)]))


def routed(simulation, events):
    simulation.run()
    before = simulation.trace.record_table().num_rows
    for number, (source, value) in enumerate(events):
        simulation.publish(source, Event({"value": value}, f"e{number}"), at_ms=simulation.now + 1 + 1_000 * number)
    simulation.run()
    rows = simulation.trace.record_table().slice(before).to_pylist()
    told = [(row["kind"], row["node"], row["peer"], row["message"], row["event"], row["matches"]) for row in rows]
    delivered = [
        (row["node"], row["event"], sorted(row["subscriptions"]))
        for row in simulation.trace.delivery_table().to_pylist()
    ]
    return sorted(told, key=str), sorted(delivered)


def layout_of(seed, servers, clique_ms, trees):
    places = np.random.default_rng(seed).uniform(0, 10, (servers, 2))
    distances = np.abs(places[:, None] - places[None]).sum(axis=2)
    loads = cell_loads(np.full(VALUES, 0.3), np.ones(VALUES), np.linspace(0.5, 1.5, VALUES))
    return plan_kyra(distances, SPACE, np.arange(VALUES + 1), loads, clique_ms_max=clique_ms, trees=trees)


texts = st.one_of(
    st.sets(st.integers(0, VALUES - 1), min_size=1).map(lambda some: f"value IN ({', '.join(map(str, sorted(some)))})"),
    st.tuples(st.integers(0, VALUES - 1), st.integers(0, VALUES - 1)).map(
        lambda ends: f"value BETWEEN {min(ends)} AND {max(ends)}"
    ),
)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_converged_servers_route_as_flooded_ones(data):
    servers = data.draw(st.integers(1, 9))
    layout = layout_of(
        data.draw(st.integers(0, 99)), servers, data.draw(st.sampled_from([0, 3, 6, 100])), data.draw(st.integers(1, 6))
    )
    wanted = [
        (data.draw(st.integers(0, servers - 1)), Subscription(f"s{number}", Filter.parse(text)))
        for number, text in enumerate(data.draw(st.lists(texts, max_size=8)))
    ]
    events = data.draw(st.lists(st.tuples(st.integers(0, servers - 1), st.integers(0, VALUES - 1)), max_size=8))
    flooded = Simulation(range(servers), lambda node: Kyra(node, layout, MatcherPool().table))
    for server, subscription in wanted:
        flooded.subscribe(server, subscription)
    made = converged_servers(layout, wanted, MatcherPool())
    converged = Simulation(range(servers), lambda node: made[node].protocol)
    assert routed(converged, events) == routed(flooded, events)


def test_a_subscription_that_reaches_beyond_the_space_is_refused():
    with pytest.raises(ValueError, match="reaches beyond"):
        converged_servers(layout_of(0, 4, 3, 2), [(0, Subscription("s", Filter.parse("other = 1")))], MatcherPool())


def test_a_view_of_tables_cannot_be_changed():
    pool = MatcherPool()
    one, two = pool.table(), pool.table()
    one.add("a", Filter.parse("x = 1"))
    two.add("b", Filter.parse("x = 1"))
    both = pool.view([one, two])
    assert sorted(both.match(Event({"x": 1}, "e"))) == ["a", "b"]
    assert list(pool.view([one, two], without=[one])) == ["b"]
    with pytest.raises(SubscriptionError, match="only shows"):
        both.add("c", Filter.parse("x = 2"))
    with pytest.raises(SubscriptionError, match="only shows"):
        both.remove("a")
