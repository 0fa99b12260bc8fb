"""The page about the simulator names every scheme, option and key; its examples run in tests/pages."""

import dataclasses
from pathlib import Path

from siftcast.runtimes.sim import checkers
from siftcast.runtimes.sim.scenario import (
    AdvertisementSpec,
    CheckSpec,
    ChurnSpec,
    CostSpec,
    FaultSpec,
    MeasuringSpec,
    Step,
    TimingSpec,
    UnderlaySpec,
    WorkloadSpec,
)
from siftcast.schemes import schemes

PAGE = Path(__file__).parents[2] / "docs" / "simulation.md"
TEXT = PAGE.read_text(encoding="utf-8")


def test_page_names_every_scheme_with_its_options():
    for scheme in schemes().values():
        assert f"`{scheme.name}`" in TEXT
        assert all(f"`{option.name}`" in TEXT for option in dataclasses.fields(scheme.options))


def test_page_names_every_key_of_a_scenario_and_every_measure():
    keys = [
        key
        for spec in (
            *(AdvertisementSpec, CheckSpec, ChurnSpec, CostSpec, FaultSpec),
            *(MeasuringSpec, Step, TimingSpec, UnderlaySpec, WorkloadSpec),
        )
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
