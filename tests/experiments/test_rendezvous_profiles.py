"""The applications of the layering paper's table 1: all eight rows are in the scenarios, as the presets have them."""

import pytest

from siftcast.experiments.rendezvous.profiles import (
    APPLICATIONS,
    MEASURED,
    ROWS,
    found,
    load_profile,
    profile_keys,
)
from siftcast.experiments.rendezvous.runs import run_scenario
from siftcast.workloads import presets

CELLS = [(name, row) for name in APPLICATIONS for row in ROWS]
NUMBERS = {"#subscribers": "subscribers", "#publishers": "publishers"}


@pytest.mark.parametrize(("name", "row"), CELLS)
def test_every_row_is_in_the_scenario_under_the_keys_that_are_said(name, row):
    values = APPLICATIONS[name].rows[row].values
    assert values
    for key, value in values.items():
        assert key == MEASURED or found(profile_keys(name), key) == value


@pytest.mark.parametrize("name", APPLICATIONS)
def test_the_paper_s_cells_are_those_of_the_preset(name):
    application, profile = APPLICATIONS[name], presets()[APPLICATIONS[name].preset].profile
    rows = application.rows
    assert rows["expressiveness"].paper == profile.expressiveness
    assert rows["publisher bandwidth"].paper == profile.publisher_bandwidth
    assert rows["subscription clustering"].paper == profile.subscription_clustering
    assert rows["subscribe frequency"].paper == profile.subscribe_frequency
    bounds = load_profile(name).scenario.workload.delay_ms_max
    assert tuple(bounds if isinstance(bounds, list) else (bounds, bounds)) == profile.latency_ms_max


@pytest.mark.parametrize("name", APPLICATIONS)
def test_parties_and_rates_are_the_table_s(name):
    application, profile = APPLICATIONS[name], presets()[APPLICATIONS[name].preset].profile
    for row, kind in NUMBERS.items():
        low, high = getattr(profile, kind)
        parties = [value for key, value in application.rows[row].values.items() if key.startswith("workload.options")]
        assert all(low <= number <= high for number in parties)
    workload = load_profile(name).scenario.workload
    if profile.events_per_s is None:
        assert workload.burst_ms is not None
        return
    low, high = profile.events_per_s
    # Location services report so often each; see the readings.
    rate = application.each_s if name == "location-services" else 1_000 / workload.interval_ms
    assert low <= rate <= high


@pytest.mark.parametrize("name", ["games", "security-alerts"])
def test_a_scenario_runs_with_changes_of_interest_and_checks_delays(name):
    result = run_scenario(load_profile(name, scheme="broadcast", events=60), 1)
    assert result["required"] > 20
    assert result["violations"] == 0
    assert result["changes"] > 0
    assert result["judged"] >= result["required"]
    assert 0 < result["late"] < result["judged"]  # a tree of brokers is no way to keep 100 ms across a continent
    assert result["upload_bytes"] > 0
