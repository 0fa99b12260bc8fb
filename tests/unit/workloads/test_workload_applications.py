"""The five application presets: do they look like the applications they stand for?"""

import numpy as np
import pyarrow.compute as pc
import pytest

from siftcast.workloads import Streams, generate, presets
from siftcast.workloads.stock_quotes import symbol_names, walk_prices

APPLICATIONS = ("games", "rss", "stock-quotes", "security-alerts", "location-services")


def test_profiles_repeat_the_table_of_the_paper() -> None:
    profiles = {name: preset.profile for name, preset in presets().items() if preset.profile is not None}
    assert set(profiles) == set(APPLICATIONS)
    table = {
        name: (profile.expressiveness, profile.latency_ms_max, profile.subscribers[1], profile.events_per_s)
        for name, profile in profiles.items()
    }
    assert table == {
        "games": ("range matches", (100.0, 1_000.0), 1_000, (1_000.0, 10_000.0)),
        "rss": ("keywords", (10_000.0, 10_000.0), 1_000_000, (100.0, 100.0)),
        "stock-quotes": ("range matches", (10.0, 10.0), 1_000, (1_000.0, 1_000.0)),
        "security-alerts": ("set inclusion", (100.0, 1_000.0), 1_000_000, None),
        "location-services": ("spatial queries", (100.0, 1_000.0), 1_000_000, (0.1, 1.0)),
    }


@pytest.mark.parametrize("name", APPLICATIONS)
def test_delays_stay_within_the_latency_of_the_profile(name: str) -> None:
    profile = presets()[name].profile
    assert profile is not None
    delays = generate(name, events=0, subscriptions=500, seed=1).subscriptions["delay_ms_max"].to_numpy()
    assert profile.latency_ms_max[0] <= delays.min() <= delays.max() <= profile.latency_ms_max[1]


def test_symbols_are_distinct_and_start_with_known_ones() -> None:
    names = symbol_names(17_000)
    assert len(set(names)) == len(names) == 17_000
    assert names[0] == "IBM"


def test_stock_symbols_follow_a_zipf_law() -> None:
    quotes = generate("stock-quotes", events=50_000, subscriptions=0, seed=4)
    counts = pc.value_counts(quotes.events["symbol"]).to_pylist()
    found = {entry["values"]: entry["counts"] for entry in counts}
    assert found["IBM"] / found["AAPL"] == pytest.approx(2.0, rel=0.1)
    assert found["IBM"] / found["TSM"] == pytest.approx(8.0, rel=0.15)


def test_prices_walk_in_cents_separately_for_each_symbol() -> None:
    symbols = np.array([0, 1, 0, 1, 1, 0])
    openings = np.array([100.0, 5.0])
    prices = walk_prices(symbols, openings, volatility=0.001, rng=Streams(1).generator("walk"))
    assert prices == pytest.approx(openings[symbols], rel=0.01)
    steps = Streams(1).generator("walk").normal(0.0, 0.001, size=6)
    expected = np.empty(6)
    expected[[0, 2, 5]] = 100.0 * np.exp(np.cumsum(steps[:3]))
    expected[[1, 3, 4]] = 5.0 * np.exp(np.cumsum(steps[3:]))
    assert np.array_equal(prices, expected.round(2))


def test_stock_filters_use_every_kind_of_predicate() -> None:
    texts = generate("stock-quotes", events=0, subscriptions=2_000, seed=4).subscriptions["filter"].to_pylist()
    for word in (" < ", " > ", "BETWEEN", " IN (", "NOT symbol", "NOT IN", " OR ", "LIKE '"):
        assert 10 < sum(word in text for text in texts) < 1_500, word


def test_quotes_are_spaced_by_the_event_rate() -> None:
    quotes = generate("stock-quotes", events=101, subscriptions=0, seed=4, events_per_s=50.0).events["quoted_at"]
    assert (quotes[100].as_py() - quotes[0].as_py()).total_seconds() == pytest.approx(2.0)


def test_alerts_lack_fields_where_they_make_no_sense() -> None:
    alerts = generate("security-alerts", events=5_000, subscriptions=0, seed=4).events
    pings = alerts.filter(pc.equal(alerts["signature"], "ping-sweep"))
    assert pings.num_rows > 0
    assert pings["destination_port"].null_count == pings["source_port"].null_count == pings.num_rows
    assert alerts["account"].null_count > alerts.num_rows / 3
    assert 0 < alerts["destination_ip"].null_count < alerts.num_rows
    assert alerts["severity"].null_count == alerts["signature"].null_count == 0


def test_alerts_come_in_bursts_of_one_signature() -> None:
    def mean_run(burst_mean: float) -> float:
        alerts = generate("security-alerts", events=20_000, subscriptions=0, seed=4, burst_mean=burst_mean)
        sensors = np.array(alerts.events["sensor"].to_pylist())
        return sensors.size / (1 + np.count_nonzero(sensors[1:] != sensors[:-1]))

    assert mean_run(1.0) < 1.2
    assert mean_run(8.0) == pytest.approx(8.0, rel=0.15)


def test_titles_hold_the_words_that_readers_look_for() -> None:
    feeds = generate("rss", events=5_000, subscriptions=500, seed=4)
    titles = feeds.events["title"]
    assert pc.sum(pc.match_substring(titles, "solar")).as_py() > 1_000
    assert feeds.events["author"].null_count / 5_000 == pytest.approx(0.3, abs=0.03)
    assert any("LIKE '%" in text for text in feeds.subscriptions["filter"].to_pylist())


def test_players_crowd_and_zones_agree_with_positions() -> None:
    events = generate("games", events=2_000, subscriptions=0, seed=4).events.flatten()
    columns = np.minimum(events["position.x"].to_numpy() // 125, 7).astype(int)
    rows = np.minimum(events["position.y"].to_numpy() // 125, 7).astype(int)
    zones = [f"zone-{column}-{row}" for column, row in zip(columns, rows, strict=True)]
    assert events["zone"].to_pylist() == zones
    busiest = sorted(pc.value_counts(events["zone"]).field("counts").to_pylist())[-16:]
    assert sum(busiest) > 0.6 * 2_000


def test_people_live_around_cities_and_report_in_order() -> None:
    reports = generate("location-services", events=5_000, subscriptions=0, seed=4, cities=1).events
    near = (np.abs(reports["lat"].to_numpy() - 35.68) < 0.6) & (np.abs(reports["lon"].to_numpy() - 139.69) < 0.6)
    assert near.mean() == pytest.approx(0.9, abs=0.02)
    moments = reports["reported_at"].to_pylist()
    assert moments == sorted(moments)
