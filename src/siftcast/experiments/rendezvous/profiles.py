"""The applications of the paper's table 1 as scenarios: all eight rows of it, and where each is in the scenario.

The scenarios are files beside this one (`profiles/games.toml` and so on) and run with `siftcast simulate`. `SETTINGS`
says for each application and row which key of its file says it, with what value; a test holds the files to that. Two
rows cannot be set: what publishers may send (bandwidth) is measured, and the latency is checked by the subscriptions
themselves (`workload.delay_ms_max`).

Scale. Rates of events are the table's, at its lower end; so are parties, as far as names go (a million subscribers are
named). What is smaller is who is there at once: 1,000 subscriptions on 128 servers, where the table says up to 10⁶, and
a thousand devices of location services, where it says 10⁶. A run lasts as long as 600 events do, 400 in the study. So
costs per event and delays are as they would be, for so many servers; tables are up to a thousand times smaller.

Readings, 18 November 2026, before any of it was run at full size:

- "High" frequency of subscribing: once in 2 s each (a player moves). "Medium": once a minute. "Low": so rarely that a
  run of a few seconds would see nothing; 2 changes a second among 1,000 subscriptions, once in eight minutes each.
- Bandwidth of publishers "small, irregular" and "very small" is no number: printed, not judged. "Irregular" is read as
  events at random times, "bursts" as alerts of one sensor a millisecond apart, eight on average.
- The table's 0.1–1 events a second of location services is per device (10⁶ publishers): every two seconds.
- A latency from 0.1 to 1 s is drawn for each subscription; "~10 s" and "~0.01 s" bind all alike. 10 ms can only be kept
  in one city; games, alerts and location services are of one continent, feeds of the world.
- A message costs a server 0.03 ms and a match 0.05 ms: what a node of ours takes on loopback, rounded up
  (docs/benchmarks.md). Sending costs nothing. Who publishes does not wait for its own server.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

import msgspec

from siftcast.runtimes.sim import parse_scenario
from siftcast.runtimes.sim.scenario import ScenarioFile, SchemeSpec

ROWS = (
    "expressiveness",
    "publisher bandwidth",
    "maximum latency",
    "subscription clustering",
    "#subscribers",
    "subscribe frequency",
    "#publishers",
    "publish frequency",
)
MEASURED = "measured"


@dataclass(frozen=True, slots=True)
class Setting:
    """A cell of the table, the keys of the scenario that stand for it, and their values."""

    paper: str
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Application:
    """A column of the table: what each row is in the scenario, and what cannot be said there."""

    preset: str
    rows: Mapping[str, Setting]
    each_s: float
    """Events a second of one publisher."""
    kbps_max: float | None = None
    """The table's bandwidth of a publisher, where it is a number."""
    single_key: str = ""
    """The attribute that the ring cuts or hashes."""
    options: Mapping[str, Any] = field(default_factory=dict)


def _rows(*settings: tuple[str, dict[str, Any]]) -> dict[str, Setting]:
    return {row: Setting(paper, values) for row, (paper, values) in zip(ROWS, settings, strict=True)}


APPLICATIONS: Mapping[str, Application] = {
    "games": Application(
        "games",
        _rows(
            ("range matches", {"workload.preset": "games"}),
            ("30 kbps", {MEASURED: "publisher_kbps"}),
            ("0.1–1 s", {"workload.delay_ms_max": [100, 1000]}),
            ("multimodal", {"workload.options.crowds": 5}),
            ("10²–10³", {"workload.subscriptions": 1_000}),
            ("high", {"churn.changes_per_s": 500.0}),
            ("10²–10³", {"workload.options.players": 1_000}),
            ("10³–10⁴/s", {"workload.interval_ms": 1.0}),
        ),
        each_s=1.0,
        kbps_max=30.0,
    ),
    "rss": Application(
        "rss",
        _rows(
            ("keywords", {"workload.preset": "rss"}),
            ("small, irregular", {MEASURED: "publisher_kbps", "workload.burst_ms": 1.0}),
            ("10 s", {"workload.delay_ms_max": 10_000}),
            ("power law", {"workload.options.words": 1_000}),
            ("10⁶", {"workload.subscriptions": 1_000, "workload.options.subscribers": 1_000_000}),
            ("low", {"churn.changes_per_s": 2.0}),
            ("10⁴", {"workload.options.feeds": 10_000}),
            ("10²/s", {"workload.interval_ms": 10.0}),
        ),
        each_s=0.01,
    ),
    "stock-quotes": Application(
        "stock-quotes",
        _rows(
            ("range matches", {"workload.preset": "stock-quotes"}),
            ("about 100 Mbps", {MEASURED: "publisher_kbps"}),
            ("0.01 s", {"workload.delay_ms_max": 10}),
            ("power law", {"workload.options.symbol_exponent": 1.0}),
            ("10³", {"workload.subscriptions": 1_000, "workload.options.subscribers": 1_000}),
            ("medium", {"churn.changes_per_s": 17.0}),
            ("1–10", {"workload.options.publishers": 10}),
            ("10³/s", {"workload.interval_ms": 1.0}),
        ),
        each_s=100.0,
        kbps_max=100_000.0,
    ),
    "security-alerts": Application(
        "security-alerts",
        _rows(
            ("set inclusion", {"workload.preset": "security-alerts"}),
            ("very small", {MEASURED: "publisher_kbps"}),
            ("0.1–1 s", {"workload.delay_ms_max": [100, 1000]}),
            ("power law", {"workload.options.networks": 256}),
            ("10⁶", {"workload.subscriptions": 1_000, "workload.options.subscribers": 1_000_000}),
            ("low", {"churn.changes_per_s": 2.0}),
            ("10³", {"workload.options.sensors": 1_000}),
            (
                "irregular bursts",
                {"workload.interval_ms": 20.0, "workload.burst_ms": 1.0, "workload.options.burst_mean": 8.0},
            ),
        ),
        each_s=0.05,
    ),
    "location-services": Application(
        "location-services",
        _rows(
            ("spatial queries", {"workload.preset": "location-services"}),
            ("1 kbps", {MEASURED: "publisher_kbps"}),
            ("0.1–1 s", {"workload.delay_ms_max": [100, 1000]}),
            ("multimodal", {"workload.options.cities": 8}),
            ("10⁶", {"workload.subscriptions": 1_000, "workload.options.subscribers": 1_000_000}),
            ("low", {"churn.changes_per_s": 2.0}),
            ("10⁶", {"workload.options.users": 1_000_000}),
            ("0.1–1/s", {"workload.interval_ms": 2.0}),
        ),
        each_s=0.5,
        kbps_max=1.0,
    ),
}


def profile_text(name: str) -> str:
    """The scenario file of an application."""
    return (files("siftcast.experiments.rendezvous") / "profiles" / f"{name}.toml").read_text(encoding="utf-8")


def profile_keys(name: str) -> Mapping[str, Any]:
    """The file as it is, for whoever looks for a key."""
    return tomllib.loads(profile_text(name))


def load_profile(
    name: str, *, scheme: str = "", options: Mapping[str, Any] | None = None, events: int = 0
) -> ScenarioFile:
    """The scenario of an application, with another scheme and with fewer events if asked."""
    file = parse_scenario(profile_text(name), f"{name}.toml")
    scenario = file.scenario
    if scheme:
        scenario = msgspec.structs.replace(scenario, scheme=SchemeSpec(name=scheme, options=dict(options or {})))
    if events:
        workload = msgspec.structs.replace(scenario.workload, events=events)
        scenario = msgspec.structs.replace(scenario, workload=workload)
    return ScenarioFile(scenario, file.path, file.text)


def found(keys: Mapping[str, Any], key: str) -> Any:
    """The value at a dotted key; KeyError if the file does not say it."""
    at: Any = keys
    for name in key.split("."):
        at = at[name]
    return at
