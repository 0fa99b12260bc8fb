"""One scenario under many seeds."""

import pytest

from siftcast.experiments.seeds import run_seed, sweep_seeds
from siftcast.runtimes.sim import ScenarioError, execute, load_scenario, prepare
from tests.simulation.test_scenarios import SMALL


@pytest.fixture
def scenario(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text(SMALL, encoding="utf-8")
    return path


def test_each_seed_is_the_run_that_simulate_makes_and_is_not_run_again(scenario, tmp_path):
    found = sweep_seeds(scenario, range(3), tmp_path / "results")
    assert [each.seed for each in found] == [0, 1, 2]
    assert {each.outcome for each in found} == {"passed"}
    assert len({each.digest for each in found}) == 3
    assert found[1].digest == execute(prepare(load_scenario(scenario), 1)).simulation.trace.digest()
    assert sweep_seeds(scenario, range(3), tmp_path / "results") == found  # also the seconds


def test_a_seed_that_fails_says_which_checks_did(scenario):
    scenario.write_text(SMALL.replace("settle_ms = 30", "settle_ms = 30\ndelay_ms_max = 0.001"), encoding="utf-8")
    found = run_seed({"scenario": str(scenario), "seed": 5})
    assert (found["outcome"], found["failed"], found["faults"]) == ("failed", ["delay, ms"], 0)
    assert 0 < found["delay_ms_mean"] <= found["delay_ms_max"]


def test_a_scenario_that_cannot_be_read_is_an_error_about_it(scenario, tmp_path):
    scenario.write_text("[underlay]\n", encoding="utf-8")
    with pytest.raises(ScenarioError):
        sweep_seeds(scenario, range(3), tmp_path / "results")
