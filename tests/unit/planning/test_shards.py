"""Shard plans: every subscription is met by every event it can match, once, and the cut is the one that pays."""

import random
from datetime import datetime

import pytest

from siftcast import Filter
from siftcast.model.values import Kind, kind_of, microseconds, normalise
from siftcast.planning.shard_choice import choose_shards
from siftcast.space.shard_axes import InterestReader, ShardAxis
from siftcast.space.shard_plan import REPLICAS_MAX, Placement, ShardPlan
from tests.spark.oracle_filters import make_events, make_filters

AXES = [
    ShardAxis("s", Kind.STRING, ("a", "ab", "b", "é")),
    ShardAxis("x", Kind.NUMBER, (-2.5, 0, 0.5, 3)),
    ShardAxis("i", Kind.NUMBER, (-(2**53) - 1, 0, 2, 2**53 + 1)),
    ShardAxis("n.x", Kind.NUMBER, (0, 1, 2)),
    ShardAxis("b", Kind.BOOLEAN, (1,)),
    ShardAxis("t", Kind.TIMESTAMP, (0, 1_714_521_600_000_001)),
]


def plan_of(*axes, asked=4, counts=None):
    zones = sum(map(len, axes)) + 1
    counts = counts or (1,) * zones
    return ShardPlan(axes, asked, counts, (1.0,) * zones, total=sum(counts))


def zone_of(axis, event):
    value = event
    for part in axis.path:
        value = value.get(part) if isinstance(value, dict) else None
    known = normalise(value)
    if known is None or kind_of(known) is not axis.kind:
        return None
    place = microseconds(known) if isinstance(known, datetime) else known
    return sum(cut <= place for cut in axis.cuts)


@pytest.mark.parametrize("axes", [*((axis,) for axis in AXES), (AXES[0], AXES[1]), (AXES[3], AXES[5])])
def test_an_event_meets_each_subscription_it_satisfies_exactly_once(axes):
    rng = random.Random(5)
    placement = Placement(plan_of(*axes))
    first = plan_of(*axes).first_zones
    events = make_events(rng, 150).to_pylist()
    met_in_zones = 0
    for text in make_filters(rng, 220):
        filter_ = Filter.parse(text)
        kept = placement.zones(filter_)
        assert len(kept) == len(set(kept)) <= REPLICAS_MAX or kept == [placement.span]
        for event in events:
            own = {
                start + zone
                for axis, start in zip(axes, first, strict=False)
                if (zone := zone_of(axis, event)) is not None
            }
            met = len(own.intersection(kept)) + (placement.span in kept)
            assert met <= 1
            if filter_.matches(event):
                assert met == 1, (text, event)
                met_in_zones += placement.span not in kept
    assert met_in_zones > 100


@pytest.mark.parametrize(
    ("text", "zones"),
    [
        ("p = 5", [1]),
        ("p < 4", [0]),
        ("p <= 4", [0, 1]),
        ("p >= 4 AND p < 7", [1]),
        ("p BETWEEN 4 AND 7 AND q LIKE '%x%'", [1, 2]),
        ("p IN (1, 8)", [0, 2]),
        ("p = 1 OR p = 2 AND q = 'x'", [0]),
        ("NOT (p < 7)", [2]),
        ("p > 7 AND p < 5", []),
        ("p = 5 OR q = 'x'", [3]),
        ("p IS NULL", [3]),
        ("p IS NOT NULL", [3]),
        ("p = 'text'", [3]),
        ("p < q", [3]),
        ("q = 'x'", [3]),
        ("TRUE", [3]),
    ],
)
def test_a_filter_is_kept_in_the_zones_it_can_be_true_in(text, zones):
    placement = Placement(plan_of(ShardAxis("p", Kind.NUMBER, (4, 7))))
    assert placement.zones(Filter.parse(text)) == zones


def test_the_short_way_through_templates_gives_what_the_careful_way_gives():
    reader = InterestReader(("p",), Kind.NUMBER)
    for text in ("p = 5", "p > 5 AND p <= 9.5", "p BETWEEN 2 AND 3 AND q = 1", "p >= -3 AND p < -1"):
        filter_ = Filter.parse(text)
        assert reader.ranges(filter_) == reader.ranges(Filter.of(filter_.expression)) is not None


def test_a_subscription_that_wants_many_zones_spans():
    axis = ShardAxis("p", Kind.NUMBER, tuple(range(10)))
    placement = Placement(plan_of(axis))
    assert placement.zones(Filter.parse(f"p >= 0 AND p < {REPLICAS_MAX}")) == [1, 2, 3, 4]
    assert placement.zones(Filter.parse(f"p >= 0 AND p <= {REPLICAS_MAX}")) == [placement.span]


def test_crowded_zones_and_the_span_are_divided_by_id():
    plan = plan_of(ShardAxis("p", Kind.NUMBER, (4,)), asked=4, counts=(10, 60, 30))
    assert plan.parts == (1, 3, 2)
    assert plan.shards == 6
    placement = Placement(plan)
    assert placement.shards("any", Filter.parse("p = 1")) == [0]
    homes = {tuple(placement.shards(f"s{number}", Filter.parse("p = 9"))) for number in range(50)}
    assert homes == {(1,), (2,), (3,)}
    assert {tuple(placement.shards(f"s{number}", Filter.parse("TRUE"))) for number in range(50)} == {(4,), (5,)}


def test_what_a_plan_has_no_shard_for_is_an_error_and_not_lost():
    plan = plan_of(ShardAxis("p", Kind.NUMBER, (4,)), counts=(10, 10, 0))
    with pytest.raises(LookupError, match="'late'"):
        Placement(plan).shards("late", Filter.parse("TRUE"))


def drawn(rng, count):
    """Narrow wishes for a symbol, wide ones for a price."""
    return [
        Filter.parse(f"symbol = 'S{min(int(rng.expovariate(0.1)), 99):02}' AND price < {rng.randint(50, 100)}")
        for _ in range(count)
    ]


def test_the_attribute_that_separates_is_cut_so_that_no_zone_is_much_larger_than_its_share():
    rng = random.Random(3)
    filters = drawn(rng, 2_000)
    symbols = [f"S{min(int(rng.expovariate(0.1)), 99):02}" for _ in range(2_000)]
    events = {("price", Kind.NUMBER): [rng.uniform(0, 100) for _ in symbols], ("symbol", Kind.STRING): symbols}
    plan = choose_shards(filters, events, total=100_000, shards=8)
    assert [axis.attribute for axis in plan.axes] == ["symbol"]
    assert plan.counts[-1] == 0
    assert plan.shards == 8
    assert max(plan.counts) <= 2 * 100_000 / 8
    assert max(plan.event_shares[:-1]) <= 2 / 8
    assert plan.copies == pytest.approx(1.0)
    text = plan.explain()
    assert "cut along symbol" in text
    assert "→ symbol" in text
    assert "price: no subscription fits" in text
    assert all(repr(cut) in text for cut in plan.axes[0].cuts)
    assert "0 (0.0%) span" in text


def test_a_second_attribute_takes_those_that_span_the_first_if_there_are_many():
    rng = random.Random(4)
    prices = [Filter.parse(f"price BETWEEN {low} AND {low + 1}") for low in (rng.randint(0, 99) for _ in range(2_000))]
    events = {
        ("price", Kind.NUMBER): [rng.uniform(0, 100) for _ in range(2_000)],
        ("symbol", Kind.STRING): [f"S{rng.randint(0, 99):02}" for _ in range(2_000)],
    }
    plan = choose_shards([*drawn(rng, 2_000), *prices], events, total=1_000_000, shards=16)
    assert {axis.attribute for axis in plan.axes} == {"price", "symbol"}
    assert plan.counts[-1] < 0.05 * plan.total
    assert "that span" in plan.explain()


def test_where_nothing_separates_everything_spans_in_parts():
    filters = [Filter.parse(f"a < {number} OR b > {number}") for number in range(100)]
    events = {("a", Kind.NUMBER): [*range(100)], ("b", Kind.NUMBER): [*range(100)]}
    plan = choose_shards(filters, events, total=1_000, shards=5)
    assert plan.axes == ()
    assert plan.parts == (5,)
    assert "no attribute" in plan.explain()
    assert choose_shards([], {}, total=0, shards=3).shards == 0


def test_values_without_order_among_each_other_and_missing_ones_do_not_matter():
    filters = [Filter.parse(f"a = {number}") for number in range(50)] + [Filter.parse("a = 'x'")] * 5
    events = {("a", Kind.NUMBER): [None, None, *range(48)]}
    plan = choose_shards(filters, events, total=55_000, shards=4)
    assert plan.counts[-1] == 5_000
    assert sum(plan.event_shares[:-1]) == pytest.approx(48 / 50)
