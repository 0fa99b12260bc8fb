"""Laws of Kyra layouts and of zones as filters: one proxy a clique, one tree, and filters that agree with zones."""

from datetime import UTC, datetime, timedelta

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from siftcast.model import Attribute, Event, Filter, Schema
from siftcast.overlays.wire_messages import parse_filter
from siftcast.planning import plan_kyra, plan_kyra_in_boxes
from siftcast.space import OUTSIDE, ContentSpace, Partition, box_filter, part_within
from siftcast.space.zones import Cuts

LINE = ContentSpace(Schema([Attribute("value", "int", (0, 9), 1)]))
PLANE = ContentSpace(Schema([Attribute("a", "int", (0, 4), 1), Attribute("b", "string", ("p", "q", "r"))]))
START = datetime(2024, 1, 1, tzinfo=UTC)
WIDE = ContentSpace(
    Schema(
        [
            Attribute("whole", "int", (-5, 5), 1),
            Attribute("fine", "float", (0.0, 1.0)),
            Attribute("grid", "float", (0, 1), 0.1),
            Attribute("huge", "int", (0, 2**60), 1),
            Attribute("word", "string", ("ant", "bee", "cat", "dog")),
            Attribute("flag", "bool"),
            Attribute("time", "timestamp", (START, START + timedelta(days=1))),
        ]
    )
)


@st.composite
def latency_matrices(draw):
    servers = draw(st.integers(1, 8))
    upper = np.triu(
        draw(st.lists(st.integers(0, 6), min_size=servers**2, max_size=servers**2).map(np.array)).reshape(
            servers, servers
        ),
        1,
    )
    return (upper + upper.T).astype(float)


options = st.fixed_dictionaries(
    {"clique_ms_max": st.integers(0, 7)},
    optional={
        "clique_servers_max": st.integers(1, 8),
        "trees": st.integers(1, 12),
        "balance_factor": st.integers(1, 5),
    },
)


@st.composite
def layouts(draw):
    latencies = draw(latency_matrices())
    loads = draw(st.lists(st.integers(0, 20), min_size=15, max_size=15))
    chosen = draw(options)
    if draw(st.booleans()):
        cells = np.array([(a, b) for a in range(5) for b in range(3)], dtype=float)
        return plan_kyra_in_boxes(latencies, PLANE, cells, cells + 1, loads, **chosen)
    method = draw(st.sampled_from(["bottleneck", "shares"]))
    return plan_kyra(latencies, LINE, np.arange(11), loads[:10], method=method, **chosen)


def every_event(space):
    if space is LINE:
        return [Event({"value": value}) for value in (*range(-1, 12), None, "x")]
    return [Event({"a": a, "b": b}) for a in range(-1, 6) for b in ("p", "q", "r", "s", None)]


@given(layouts())
def test_every_event_has_one_proxy_in_each_clique_and_one_tree_that_joins_them(layout):
    for event in every_event(layout.space):
        point = layout.space.point(event)
        tree = layout.tree_of(event)
        shape = layout.outside_tree if tree == OUTSIDE else layout.trees[tree]
        assert (tree == OUTSIDE) == (point is None)
        for clique in layout.cliques:
            proxy = clique.proxy_of(event)
            assert proxy in clique.members
            assert proxy in shape.nodes
            if point is not None:
                holding = [zone.index for zone in clique.zones.partition.zones if zone.box.contains(point)]
                assert [clique.zones.owners[index] for index in holding] == [proxy]


@given(layouts())
def test_servers_are_in_one_clique_and_join_only_trees_whose_zone_overlaps_theirs(layout):
    assert sorted(layout.servers) == list(range(len(layout.servers)))
    for zone, tree in zip(layout.tree_zones.partition.zones, layout.tree_zones.owners, strict=True):
        for server in layout.trees[tree].nodes:
            own = layout.clique_of(server).zones.zone_of(server)
            assert own is not None
            assert own.box.intersects(zone.box)


@given(latency_matrices(), st.integers(0, 7))
def test_there_are_as_many_trees_as_servers_in_the_largest_clique_unless_told(latencies, clique_ms_max):
    layout = plan_kyra(latencies, LINE, np.arange(11), np.ones(10), clique_ms_max=clique_ms_max)
    assert len(layout.trees) == max(len(clique.members) for clique in layout.cliques)


@st.composite
def wide_partitions(draw):
    """Some cuts through a space with an axis of every kind."""
    places = {
        0: st.integers(-4, 5),
        1: st.floats(0.01, 0.99),
        2: st.sampled_from([0.1, 0.2, 0.3, 0.7]),
        3: st.integers(1, 2**60).map(float),
        4: st.integers(1, 3),
        5: st.just(1),
        6: st.integers(1, 86_400_000_000).map(lambda offset: START.timestamp() * 1e6 + offset),
    }
    cuts = None
    for axis in draw(st.lists(st.integers(0, 6), min_size=1, max_size=4, unique=True)):
        cuts = Cuts(axis, (float(draw(places[axis])),), (cuts, None))
    return Partition(WIDE, cuts)


wide_events = st.fixed_dictionaries(
    {
        "whole": st.integers(-5, 5),
        "fine": st.floats(0, 1),
        "grid": st.integers(0, 10).map(lambda tenth: tenth / 10),
        "huge": st.integers(0, 2**60) | st.integers(2**53 - 2, 2**53 + 2),
        "word": st.sampled_from(["ant", "bee", "cat", "dog"]),
        "flag": st.booleans(),
        "time": st.datetimes(datetime(2024, 1, 1), datetime(2024, 1, 2)).map(lambda moment: moment.replace(tzinfo=UTC)),
    }
)


@given(wide_partitions(), wide_events)
def test_the_filter_of_a_zone_matches_its_events_and_no_others(partition, attributes):
    event = Event(attributes)
    own = partition.zone_of_event(event)
    for zone in partition.zones:
        filter_ = box_filter(WIDE, zone.box)
        matches = filter_ is None or filter_.matches(event)
        if attributes["huge"] < 2**53 or zone.index == own:
            assert matches == (zone.index == own), filter_


@given(st.integers(1, 8), st.sampled_from(["value < 4", "value BETWEEN 2 AND 6", "value != 5", "kind = 'x'"]))
def test_parts_of_a_filter_in_all_zones_match_together_what_it_matches_each_event_once(place, text):
    partition, filter_ = Partition.along(LINE, 0, [place]), Filter.parse(text)
    parts = [part_within(filter_, box_filter(LINE, zone.box), LINE) for zone in partition.zones]
    for value in range(10):
        event = Event({"value": value, "kind": "x"})
        assert sum(part.matches(event) for part in parts) == filter_.matches(event)


def test_the_deepest_filter_of_a_client_can_be_cut_to_a_zone():
    text = "value < 9"
    for number in range(64):
        text = f"({text} AND value != {number} OR value = {number})"
    partition, filter_ = Partition.along(LINE, 0, [5]), Filter.parse(f"{text} OR value = 1")
    parts = [part_within(filter_, box_filter(LINE, zone.box), LINE) for zone in partition.zones]
    assert [part.matches(Event({"value": 1})) for part in parts] == [True, False]
    assert all(parse_filter(str(part)) == part for part in parts)
