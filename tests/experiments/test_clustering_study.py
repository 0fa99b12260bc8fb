"""The clustering study: its worlds, its model of a distributed R-tree, its replay of a round, and its judges."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from siftcast.experiments.clustering.dissemination import draw_timeline
from siftcast.experiments.clustering.judge_costs import judge_exactness, judge_reduction, judge_scale
from siftcast.experiments.clustering.judge_quality import judge_false_positives
from siftcast.experiments.clustering.measure import PARTS
from siftcast.experiments.clustering.quality import printed_kernels
from siftcast.experiments.clustering.rtree_overlay import CHILDREN_MAX, RTreeOverlay
from siftcast.experiments.clustering.setup import ROWS, configurations
from siftcast.experiments.clustering.times import LINK_MS, Round, Spent
from siftcast.experiments.clustering.world import draw_world
from siftcast.experiments.table import Table
from siftcast.planning.clustering import (
    EmbeddingPlan,
    build_hierarchy,
    connected_groups,
    matched_events,
    similarities,
)
from siftcast.planning.clustering.embedding import SIGMA, cut_weights
from siftcast.spark.sweeps import Outcome


@pytest.fixture(scope="module")
def world():
    return draw_world("WL2", 120, 80, seed=3, hot_share=1.0)


def test_a_world_matches_as_its_filters_do(world):
    rows, numbers = world.matches(10, 60)
    found = set(zip(rows.tolist(), numbers.tolist(), strict=True))
    assert found == {
        (row, number)
        for row, subscription in enumerate(world.subscriptions)
        for number in range(10, 60)
        if subscription.filter.matches(world.events[number])
    }
    assert found


def test_the_printed_kernel_is_largest_for_pairs_that_share_least(world):
    matched = world.recent()
    similarity = similarities(matched.take(np.flatnonzero(matched.matched)))
    kernels = printed_kernels(similarity)
    expected = np.exp(-similarity.toarray() / SIGMA**2)
    differs = similarity.toarray() < 1
    assert np.allclose(cut_weights(kernels["printed_all_pairs"])[differs], expected[differs], atol=1e-6)
    on_edges = differs & (similarity.toarray() > 0)
    assert np.allclose(cut_weights(kernels["printed_edges"]).toarray()[on_edges], expected[on_edges], atol=1e-6)


# -- the R-tree --------------------------------------------------------------------------------------

sides = st.tuples(st.integers(0, 9), st.integers(0, 4))
boxes = st.tuples(sides, sides)


def corners(box):
    return np.array([low for low, _ in box]), np.array([low + width for low, width in box])


@settings(max_examples=60, deadline=None)
@given(
    st.lists(boxes, min_size=2, max_size=40),
    st.lists(st.integers(0, 39), max_size=30),
    st.tuples(st.integers(0, 13), st.integers(0, 13)),
    st.booleans(),
)
def test_an_event_reaches_every_peer_whose_box_contains_it(drawn, leaving, point, anywhere):
    overlay, there = RTreeOverlay(), {}
    for peer, box in enumerate(drawn):
        contact = peer // 2 if anywhere and peer else None
        there[peer] = corners(box)
        overlay.join(peer, *there[peer], contact)
    for peer in leaving:
        if peer in there and len(there) > 1:
            overlay.leave(peer)
            del there[peer]
    publisher = min(there)
    passed = overlay.publish(publisher, np.array(point))
    reached = set(passed.receivers.tolist())
    wanting = {peer for peer, (low, high) in there.items() if (low <= point).all() and (point <= high).all()}
    assert wanting <= reached | {publisher}
    assert reached <= there.keys()
    wanted = np.isin(np.arange(len(drawn)), list(wanting))
    assert passed.false_positives(wanted) == sum(peer not in wanting for peer in passed.receivers.tolist())


@settings(max_examples=30, deadline=None)
@given(st.lists(boxes, min_size=1, max_size=40), st.lists(st.integers(0, 39), max_size=40), st.booleans())
def test_nodes_have_few_children_and_boxes_that_just_hold_them(drawn, leaving, anywhere):
    overlay, there = RTreeOverlay(), set(range(len(drawn)))
    for peer, box in enumerate(drawn):
        overlay.join(peer, *corners(box), peer // 2 if anywhere and peer else None)
    for peer in leaving:
        if peer in there:
            overlay.leave(peer)
            there.remove(peer)
    waiting = [overlay._root] if overlay._root is not None else []
    leaves = set()
    for node in waiting:
        assert len(node.children) <= CHILDREN_MAX
        waiting += node.children
        if not node.children:
            leaves.add(node.peer)
            continue
        assert (node.low == np.min([child.low for child in node.children], axis=0)).all()
        assert (node.high == np.max([child.high for child in node.children], axis=0)).all()
        assert node.peer in there
        assert all(child.parent is node for child in node.children)
    assert leaves == there


# -- times and timelines -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def four_levels(world):
    rows, numbers = world.matches()
    matched = matched_events(rows, numbers, count=len(world))
    rng = np.random.default_rng(1)
    base = connected_groups(matched, np.flatnonzero(matched.matched), 8, rng)
    hierarchy = build_hierarchy(base, rng, levels=4, landmarks=0.5, dimensions=3)
    return Round(matched, hierarchy, EmbeddingPlan(dimensions=3), clusters=4, repeats=1)


def test_a_round_takes_ten_links_and_the_work_of_its_slowest_branch(four_levels):
    least, most = (10 * link / 1_000 for link in LINK_MS)
    four_levels.spent = {place: Spent() for place in four_levels.spent}
    idle = four_levels.clustering_seconds(np.random.default_rng(2))
    assert least <= idle <= most
    for place in four_levels.spent:
        four_levels.spent[place] = Spent(local=100.0, projection=1.0, select=2.0, merge=4.0)
    busy = four_levels.clustering_seconds(np.random.default_rng(2))
    # Four levels project and select; three merge; what was embedded before does not count.
    assert busy == pytest.approx(idle + 4 * 3.0 + 3 * 4.0)
    assert four_levels.load_of_root() == pytest.approx(4 * 107.0)
    assert four_levels.load_of_base() == pytest.approx(107.0)
    assert four_levels.reduction_seconds() == pytest.approx(100.0 + 4 * 1.0)


def test_under_churn_every_place_is_held_by_one_subscription():
    timeline = draw_timeline(30, 200, 50, 50, 0.2, seed=1)
    assert len(timeline.world) == 30 + 6 * len(timeline.steps)
    for at in (50, 99, 100, 150, 199):
        held = timeline.peer[timeline.present(at)]
        assert sorted(held.tolist()) == list(range(30))
    gone = np.flatnonzero(timeline.stop <= 100)
    assert len(gone) == 6
    assert not timeline.recent(150).matched[gone].any()


# -- configurations and judges -----------------------------------------------------------------------


@pytest.mark.parametrize("quick", [True, False])
def test_every_row_has_configurations_and_every_part_a_function(quick):
    assert {each["part"] for each in configurations(quick, None)} == set(ROWS) == set(PARTS)
    for row in {row for rows in ROWS.values() for row in rows}:
        parts = {each["part"] for each in configurations(quick, row)}
        assert parts == {part for part, rows in ROWS.items() if row in rows}


def outcome(part, result, **setting):
    return Outcome({"part": part, "seed": 1, **setting}, result, 0.0)


def counted(**later):
    names = ("rassoc", "ncut", "rassoc_by_distance", "ncut_by_distance", "ck", "ov", "ov_rtree")
    return {name: {"later": later.get(name, 100), "seen": 100} for name in names}


@pytest.mark.parametrize(
    ("zipf", "uniform", "held"),
    [
        ({"rassoc": 70, "ncut": 80}, {"rassoc": 97, "ncut": 93}, [True, True]),
        ({"rassoc": 90, "ncut": 90}, {"rassoc": 97, "ncut": 93}, [False, True]),
        ({"rassoc": 70, "ncut": 101}, {"rassoc": 97, "ncut": 93}, [False, False]),
        ({"rassoc": 70, "ncut": 80}, {"rassoc": 101, "ncut": 93}, [True, False]),
        ({"rassoc": 70, "ncut": 80}, {"rassoc": 97, "ncut": 104}, [True, False]),
    ],
)
def test_false_positives_are_judged_by_what_is_saved(zipf, uniform, held):
    table = Table(
        [
            outcome("false_positives", counted(**zipf), event_distribution="hotspots"),
            outcome("false_positives", counted(**uniform), event_distribution="uniform"),
        ]
    )
    assert [verdict.holds for verdict in judge_false_positives(table)] == [*held, None]


@pytest.mark.parametrize(
    ("two", "four", "link", "held"),
    [
        (9.0, 0.5, 0.1, True),
        (9.0, 0.5, 1.1, False),  # the links of two levels
        (9.0, 0.5, 0.2, False),  # the links of four levels
        (20.0, 0.5, 0.0, False),
        (9.0, 2.0, 0.0, False),
    ],
)
def test_savings_of_time_are_judged_with_full_decompositions_and_links(two, four, link, held):
    def times(seconds, links):
        return {"full": seconds, "ours": 1.0, "projection": 0.1, "links": links * link}

    result = {"1 1.0": times(100.0, 0), "2 0.5": times(two, 1), "4 0.25": times(four, 3)}
    (verdict,) = judge_reduction(Table([outcome("reduction", result, method="ncut")]))
    assert verdict.holds is held
    assert f"Without links {100 - two:.0f} % and {100 - four:.0f} % are saved" in verdict.note


def test_scale_is_judged_at_the_largest_size():
    def found(seconds):
        quality = {"entropy": 0.1, "accuracy": 0.9, "false_positive_share": 0.5}
        return {"seconds": seconds, "root_load": 1.0, "base_load": 0.1, **quality}

    runs = [
        outcome("scale", found(seconds), method=method, subscriptions=size)
        for size, seconds in ((100, 99.0), (200, 6.0))
        for method in ("rassoc", "ncut")
    ]
    assert [verdict.holds for verdict in judge_scale(Table(runs))] == [False, True, True, None]


@pytest.mark.parametrize(
    ("runs", "held"),
    [
        ([{"violations": 0, "required": 9}, {"cost": 2.0}], True),
        ([{"violations": 1, "required": 9}], False),
        ([{"violations": 0, "required": 9}, {"violations": 0, "required": 0}], False),
        ([{"cost": 2.0}], False),
    ],
    ids=["right, beside a model", "wrong", "nothing was required once", "a model alone"],
)
def test_deliveries_are_judged_by_runs_in_which_something_was_required(runs, held):
    verdict = judge_exactness(Table([outcome("moving", run) for run in runs]))
    assert verdict.holds is held
