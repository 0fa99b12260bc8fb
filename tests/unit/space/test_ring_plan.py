"""Rings: every event meets every subscription that it can satisfy, once, whatever the circles, zones and clusters."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siftcast.model import Filter
from siftcast.model.values import Kind
from siftcast.space import Circle, HashAxis, RingPlacement, RingPlan, ShardAxis, ShardPlan, cut_by_rank

AXES = (
    ShardAxis("price", Kind.NUMBER, (10, 20, 30)),
    ShardAxis("symbol", Kind.STRING, ("F", "N")),
    HashAxis("symbol", Kind.STRING, 5),
    HashAxis("price", Kind.NUMBER, 3),
)
FILTERS = (
    "price = 12",
    "price BETWEEN 5 AND 18",
    "price IN (1, 11, 21, 31, 41)",
    "price > 3 AND symbol = 'IBM'",
    "symbol = 'SAP' OR price = 20",
    "symbol IN ('A', 'IBM')",
    "symbol LIKE 'I%'",
    "price != 12",
    "price IS NULL",
    "app = 'games' AND price < 15",
    "app IN ('games', 'alerts') AND symbol = 'IBM'",
    "app <> 'games'",
    "NOT app = 'alerts' OR price = 31",
    "app IS NULL AND price = 12",
    "TRUE",
)
events = st.fixed_dictionaries(
    {},
    optional={
        "price": st.sampled_from([5, 10, 12, 12.0, 20, 31, float("nan"), None, "12"]),
        "symbol": st.sampled_from(["A", "IBM", "SAP", None, 3]),
        "app": st.sampled_from(["games", "alerts", "other", None, 1]),
    },
)


@st.composite
def circles(draw: st.DrawFn, name: str, nodes: int) -> Circle:
    axes = tuple(draw(st.lists(st.sampled_from(AXES), max_size=2)))
    count = draw(st.integers(1, nodes))
    clusters = cut_by_rank(range(nodes), count)
    zones = sum(map(len, axes)) + 1
    parts = tuple(draw(st.lists(st.integers(1, count), min_size=zones, max_size=zones)))
    starts = tuple(draw(st.lists(st.integers(0, count - 1), min_size=zones, max_size=zones)))
    shards = ShardPlan(axes, 1, (0,) * zones, (0.0,) * zones, dealt=parts)
    return Circle(shards, clusters, starts, name)


@st.composite
def plans(draw: st.DrawFn) -> RingPlan:
    nodes = draw(st.integers(1, 9))
    names = draw(st.sampled_from([("",), ("", "games"), ("games", "alerts")]))
    return RingPlan(tuple(draw(circles(name, nodes)) for name in names), "app")


@given(plans(), st.lists(st.sampled_from(FILTERS), min_size=1, max_size=6), events)
def test_an_event_meets_what_it_satisfies_exactly_once(
    plan: RingPlan, texts: list[str], attributes: dict[str, Any]
) -> None:
    placement = RingPlacement(plan)
    visits = placement.visits(attributes)
    kept = plan.labels_of()
    for cluster, labels in visits.items():
        assert set(labels) <= set(kept[cluster])
    for number, text in enumerate(texts):
        filter_ = Filter.parse(text)
        places = placement.places(f"s{number}", filter_)
        assert len(set(places)) == len(places)
        met = [place for place in places if place[0] in visits.get(place[1], ())]
        if filter_.matches(attributes):
            assert len(met) == 1
        else:
            assert len(met) <= 1


@given(st.lists(st.floats(0, 5), min_size=1, max_size=30), st.data())
def test_clusters_are_cut_by_rank_and_none_is_empty(weights: list[float], data: st.DataObject) -> None:
    count = data.draw(st.integers(1, len(weights)))
    found = cut_by_rank(range(len(weights)), count, weights.__getitem__)
    assert [node for cluster in found for node in cluster] == list(range(len(weights)))
    assert len(found) == count
    assert all(found)


def test_equal_weights_give_clusters_of_equal_size() -> None:
    assert [len(cluster) for cluster in cut_by_rank(range(12), 4)] == [3, 3, 3, 3]
    assert max(map(len, cut_by_rank(range(13), 4))) == 4


def test_a_heavy_node_is_a_cluster_by_itself() -> None:
    weights = [1.0, 1.0, 6.0, 1.0, 1.0, 1.0, 1.0]
    found = cut_by_rank(range(7), 3, weights.__getitem__)
    assert (2,) in found or (1, 2) in found


def test_identities_stand_for_places_and_labels_stay() -> None:
    shards = ShardPlan((ShardAxis("price", Kind.NUMBER, (10,)),), 1, (0,) * 3, (0.0,) * 3, dealt=(1, 2, 1))
    plan = RingPlan((Circle(shards, ((0, 1), (2,)), (0, 1, 0)),)).renamed((70, 80, 90))
    assert plan.clusters == ((70, 80), (90,))
    assert plan.matchers == (70, 80, 90)
    assert RingPlacement(plan).visits({"price": 4}) == {0: (0, 2)}
    assert RingPlacement(plan).visits({"price": 14}) == {1: (1,), 0: (1, 2)}


def test_a_ring_that_cannot_be_is_refused() -> None:
    shards = ShardPlan((), 1, (0,), (0.0,), dealt=(3,))
    with pytest.raises(ValueError, match="one for each cluster"):
        Circle(shards, ((0,), (1,)), (0,))
    with pytest.raises(ValueError, match="has a node"):
        Circle(shards, ((0,), ()), (0,))
    with pytest.raises(ValueError, match="cannot be cut"):
        cut_by_rank((1, 2), 3)
