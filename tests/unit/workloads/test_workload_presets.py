"""Every preset: one seed gives one result, columns fit the schema, filters parse, bad input is refused."""

import math

import numpy as np
import pyarrow as pa
import pytest

from siftcast.model import Filter, WorkloadError
from siftcast.workloads import Workload, generate, presets
from siftcast.workloads.tables import ARROW_TYPES

NAMES = tuple(presets())
EVENTS, SUBSCRIPTIONS = 400, 300


@pytest.fixture(scope="module", params=NAMES)
def workload(request: pytest.FixtureRequest) -> Workload:
    return generate(request.param, events=EVENTS, subscriptions=SUBSCRIPTIONS, seed=3)


def test_the_same_seed_gives_the_same_tables(workload: Workload) -> None:
    again = generate(workload.name, events=EVENTS, subscriptions=SUBSCRIPTIONS, seed=3)
    assert again.events.equals(workload.events)
    assert again.subscriptions.equals(workload.subscriptions)
    assert again.schema == workload.schema
    assert again.parameters == workload.parameters


def test_another_seed_gives_other_tables(workload: Workload) -> None:
    other = generate(workload.name, events=EVENTS, subscriptions=SUBSCRIPTIONS, seed=4)
    assert not other.events.equals(workload.events)
    assert not other.subscriptions.equals(workload.subscriptions)


def test_the_number_of_events_does_not_change_the_subscriptions(workload: Workload) -> None:
    other = generate(workload.name, events=EVENTS * 2, subscriptions=SUBSCRIPTIONS, seed=3)
    assert other.subscriptions.equals(workload.subscriptions)


def test_the_number_of_subscriptions_does_not_change_the_events(workload: Workload) -> None:
    other = generate(workload.name, events=EVENTS, subscriptions=7, seed=3)
    assert other.events.equals(workload.events)


def test_columns_are_identifiers_and_the_attributes_of_the_schema(workload: Workload) -> None:
    flat = workload.events.flatten()
    assert tuple(flat.column_names) == ("event_id", "publisher", *workload.schema.names)
    assert tuple(workload.attributes().flatten().column_names) == workload.schema.names
    assert workload.events["event_id"].to_pylist() == list(range(1, EVENTS + 1))
    assert workload.events["publisher"].null_count == 0
    for attribute in workload.schema.attributes:
        assert flat[attribute.name].type == ARROW_TYPES[attribute.type]


def test_values_lie_in_their_domains(workload: Workload) -> None:
    flat = workload.events.flatten()
    for attribute in workload.schema.attributes:
        values = [value for value in flat[attribute.name].to_pylist() if value is not None]
        assert values
        for value in values:
            attribute.coerce(value)


def test_subscriptions_have_unique_ids_and_named_subscribers(workload: Workload) -> None:
    table = workload.subscriptions
    assert table.column_names[:3] == ["id", "filter", "subscriber"]
    assert table.num_rows == SUBSCRIPTIONS
    assert len(set(table["id"].to_pylist())) == SUBSCRIPTIONS
    for name in ("id", "filter", "subscriber"):
        assert table[name].type == pa.string()
        assert table[name].null_count == 0


def test_every_filter_parses_and_uses_attributes_of_the_schema(workload: Workload) -> None:
    for text in workload.subscriptions["filter"].to_pylist():
        parsed = Filter.parse(text)
        parsed.check(workload.schema)
        assert set(parsed.attributes) <= set(workload.schema.names)
        assert Filter.parse(str(parsed)) == parsed


def test_some_events_match_and_some_do_not(workload: Workload) -> None:
    filters = [Filter.parse(text) for text in workload.subscriptions["filter"].to_pylist()[:100]]
    events = workload.attributes().slice(0, 200).to_pylist()
    matches = sum(one.matches(event) for one in filters for event in events)
    assert 0 < matches < len(filters) * len(events)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("events", "subscriptions"), [(0, 0), (0, 5), (5, 0), (1, 1)])
def test_empty_tables_keep_their_columns(name: str, events: int, subscriptions: int) -> None:
    small = generate(name, events=events, subscriptions=subscriptions, seed=1)
    full = generate(name, events=3, subscriptions=3, seed=1)
    assert (small.events.num_rows, small.subscriptions.num_rows) == (events, subscriptions)
    assert small.events.schema == full.events.schema
    assert small.subscriptions.schema == full.subscriptions.schema


@pytest.mark.parametrize("name", NAMES)
def test_a_preset_says_what_it_is(name: str) -> None:
    preset = presets()[name]
    assert preset.name == name
    assert preset.title
    assert preset.paper
    assert preset.description.endswith(".")
    assert all(isinstance(value, int | float | str) for value in preset.defaults.values())


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"events": -1}, "events"),
        ({"events": 1.5}, "events"),
        ({"subscriptions": -1}, "subscriptions"),
        ({"subscriptions": True}, "subscriptions"),
        ({"seed": -3}, "seed"),
        ({"seed": "one"}, "seed"),
        ({"colour": 3}, "colour"),
    ],
)
@pytest.mark.parametrize("name", ["kyra-zipf", "qos-hotspots", "games"])
def test_bad_arguments_are_refused_by_name(name: str, arguments: dict[str, object], named: str) -> None:
    with pytest.raises(WorkloadError, match=f"'{named}'"):
        generate(name, **{"events": 1, "subscriptions": 1, "seed": 1, **arguments})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "option", "value"),
    [
        ("kyra-uniform", "interest_rate", 0.0),
        ("kyra-uniform", "interest_rate", math.nan),
        ("kyra-zipf", "exponent", -1.0),
        ("kyra-multimodal", "peaks", 1),
        ("kyra-multimodal", "peak_distance", "far"),
        ("kyra-regional", "servers", 0),
        ("lookup-reuse", "density", 1.01),
        ("lookup-reuse", "attributes", 0),
        ("qos-uniform", "event_distribution", "flat"),
        ("qos-hotspots", "hot_spots_least", 9),
        ("clustering-hotspots", "hot_share", 1.2),
        ("clustering-hotspots", "move_every", -1),
        ("underlay", "domain_low", 99),
        ("underlay", "domain_low", 0.5),
        ("underlay", "domain_high", "ten"),
        ("qos-uniform", "delay_ms_high", "long"),
        ("kyra-zipf", "scattered", "yes"),
        ("underlay", "match_rate", "5%"),
        ("games", "sight", 0.0),
        ("rss", "words", 3),
        ("stock-quotes", "symbols", 2),
        ("stock-quotes", "volatility", math.inf),
        ("security-alerts", "burst_mean", 0.5),
        ("location-services", "cities", 99),
    ],
)
def test_bad_options_are_refused_by_name(name: str, option: str, value: object) -> None:
    with pytest.raises(WorkloadError, match=f"'{option}'"):
        generate(name, events=1, subscriptions=1, seed=1, **{option: value})


def test_an_unknown_preset_lists_the_known_ones() -> None:
    with pytest.raises(WorkloadError, match=r"'preset'.*kyra-zipf.*stock-quotes"):
        generate("stocks", events=1, subscriptions=1, seed=1)


def test_options_are_read_from_text_by_the_type_of_their_default() -> None:
    preset = presets()["qos-uniform"]
    assert preset.parse_option("attributes", "3") == 3
    assert preset.parse_option("match_rate", "0.5") == 0.5
    assert preset.parse_option("event_distribution", "hotspots") == "hotspots"
    assert preset.parse_option("delays", "False") is False
    for name, text in (("attributes", "3.5"), ("match_rate", "much"), ("delays", "1"), ("colour", "red")):
        with pytest.raises(WorkloadError, match=f"'{name}'"):
            preset.parse_option(name, text)


@pytest.mark.parametrize(
    ("preset", "options"),
    [
        ("clustering-uniform", {}),
        ("clustering-hotspots", {}),
        ("clustering-hotspots", {"subscription_distribution": "uniform"}),
        ("clustering-uniform", {"subscription_distribution": "hotspots"}),
        ("clustering-uniform", {"attributes": 1}),
        ("underlay", {}),
        ("underlay", {"event_distribution": "uniform", "subscription_distribution": "uniform"}),
        ("qos-uniform", {}),
        ("qos-hotspots", {}),
    ],
)
def test_an_event_of_the_thesis_matches_five_percent(preset: str, options: dict[str, object]) -> None:
    workload = generate(preset, events=2_000, subscriptions=2_000, seed=8, **options)
    names = workload.schema.names
    bounds = np.array([text.replace(" AND ", " ").split() for text in workload.subscriptions["filter"].to_pylist()])
    low = bounds[:, 2::4].astype(int)
    high = bounds[:, 3::4].astype(int)
    hits = np.ones((2_000, 2_000), dtype=bool)
    for axis, name in enumerate(names):
        column = workload.events[name].to_numpy()
        hits &= (low[:, axis, None] <= column) & (column <= high[:, axis, None])
    assert hits.mean() == pytest.approx(0.05, rel=0.15)


@pytest.mark.parametrize("name", ["kyra-uniform", "kyra-zipf", "kyra-multimodal", "kyra-regional"])
@pytest.mark.parametrize("rate", [0.01, 0.1, 0.5])
def test_kyra_subscriptions_want_the_asked_share_of_values(name: str, rate: float) -> None:
    workload = generate(name, events=1, subscriptions=500, seed=2, interest_rate=rate)
    wanted = [text.count(",") + 1 if " IN " in text else 0 for text in workload.subscriptions["filter"].to_pylist()]
    assert np.mean(wanted) / 1_000 == pytest.approx(rate, rel=0.06)


def test_a_kyra_server_that_wants_nothing_matches_nothing() -> None:
    workload = generate("kyra-uniform", events=50, subscriptions=300, seed=2, interest_rate=0.01, values=20)
    texts = workload.subscriptions["filter"].to_pylist()
    empty = Filter.parse("value < 0")
    assert "value < 0" in texts
    assert not any(empty.matches(event) for event in workload.attributes().to_pylist())


def test_regional_values_come_from_their_home_only() -> None:
    workload = generate("kyra-regional", events=5_000, subscriptions=0, seed=6, values=50, servers=10)
    pairs = set(zip(workload.events["value"].to_pylist(), workload.events["publisher"].to_pylist(), strict=True))
    assert len(pairs) == 50


def test_hot_spot_presets_label_subscriptions_and_delays_are_for_quality_of_service() -> None:
    skewed = generate("qos-hotspots", events=0, subscriptions=2_000, seed=9).subscriptions
    assert skewed["hot_spot"].null_count / 2_000 == pytest.approx(0.2, abs=0.04)
    assert 4 <= len(set(skewed["hot_spot"].drop_null().to_pylist())) <= 6
    delays = skewed["delay_ms_max"].to_numpy()
    assert 400 <= delays.min() < delays.max() <= 4_000
    assert generate("underlay", events=0, subscriptions=5, seed=9).subscriptions.column_names == [
        "id",
        "filter",
        "subscriber",
        "hot_spot",
    ]
