"""The page about the simulator: its examples run as they stand, and it names every scheme, option and key."""

import dataclasses
import re
from pathlib import Path

import pytest

from siftcast.overlays.schemes import schemes
from siftcast.runtimes.sim import checkers
from siftcast.runtimes.sim.scenario import CheckSpec, FaultSpec, Step, TimingSpec, UnderlaySpec, WorkloadSpec

PAGE = Path(__file__).parents[2] / "docs" / "simulation.md"
TEXT = PAGE.read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```python\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_examples_of_the_page_hold(number, capsys):
    names: dict = {}
    exec(compile(EXAMPLES[number], str(PAGE), "exec"), names)
    assert "execute" in names or "delivers it to cheap" in capsys.readouterr().out


def test_page_names_every_scheme_with_its_options():
    for scheme in schemes().values():
        assert f"`{scheme.name}`" in TEXT
        assert all(f"`{option.name}`" in TEXT for option in dataclasses.fields(scheme.options))


def test_page_names_every_key_of_a_scenario_and_every_measure():
    keys = [
        key
        for spec in (CheckSpec, FaultSpec, Step, TimingSpec, UnderlaySpec, WorkloadSpec)
        for key in spec.__struct_fields__
    ]
    assert not [key for key in keys if f"`{key}`" not in TEXT and key != "options"]
    measures = (
        "exactly_once",
        "node_stress",
        "link_stress",
        "resource_usage",
        "matching_load",
        "routing_state",
        "delays_ms",
    )
    assert all(name in checkers.__all__ and f"`{name}`" in TEXT for name in measures)
