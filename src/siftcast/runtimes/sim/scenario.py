"""A scenario: the set-up of a run, its workload, what happens meanwhile, and what must hold. Read from TOML.

Everything in the file is checked when it is read, and a mistake is told with file, line, key and remedy. What belongs
to others (the options of a generator, a preset, a scheme) is handed on as it is and checked there. The seed is not part
of a scenario: it comes from whoever runs it, and decides everything that is random.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from siftcast.model.toml_files import line_of, parse_toml, read_text
from siftcast.runtimes.sim.errors import ScenarioError
from siftcast.underlay.catalogue import FORMATS, GENERATORS, MEASURED_FORMATS, FormatName, GeneratorName

Count = Annotated[int, Meta(ge=0)]
Positive = Annotated[int, Meta(ge=1)]
Rows = Annotated[int, Meta(ge=0, le=100_000_000)]
Milliseconds = Annotated[float, Meta(ge=0)]
Share = Annotated[float, Meta(ge=0, le=1)]
ShareLost = Annotated[float, Meta(ge=0, lt=1)]
Bound = Annotated[float, Meta(ge=0)]
Action = Literal["crash", "restart", "leave", "join", "cut", "heal", "subscribe", "unsubscribe"]


_EXAMPLE = "siftcast simulate --example"


class Spec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of a scenario file."""


class UnderlaySpec(Spec, frozen=True, kw_only=True):
    """The physical network: drawn by a generator, or read from a file.

    `asymmetry` is the share of links whose two directions differ, `unreachable` that of pairs of servers that cannot
    reach each other.
    """

    generator: GeneratorName | None = None
    file: str | None = None
    format: FormatName | None = None
    name: str | None = None
    servers: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None
    access_ms: Milliseconds = 1.0
    asymmetry: Share = 0.0
    unreachable: Share = 0.0
    options: dict[str, Any] = {}


class SchemeSpec(Spec, frozen=True, kw_only=True):
    """How events are delivered, and by which engine servers match; `auto` shares the work of one process."""

    name: str
    engine: str = "auto"
    options: dict[str, Any] = {}


class WorkloadSpec(Spec, frozen=True, kw_only=True):
    """Who wants what, and what is published when; with `durable`, all of it durably, to clients that acknowledge."""

    preset: str
    events: Rows
    subscriptions: Rows
    interval_ms: Milliseconds = 10.0
    burst_ms: Milliseconds | None = None
    durable: bool = False
    advertise: Literal["everything", "ranges"] = "everything"
    delay_ms_max: Bound | list[Bound] | None = None  # a tuple of constrained numbers crashes msgspec 0.22
    bandwidth: Bound | list[Bound] | None = None
    options: dict[str, Any] = {}


class AdvertisementSpec(Spec, frozen=True, kw_only=True):
    """What the publishers of a server say they will publish, instead of what `workload.advertise` says."""

    server: Count
    filter: str


class ChurnSpec(Spec, frozen=True, kw_only=True):
    """What changes at random (see `churn`): servers that come, go and crash, and subscriptions, so many a second."""

    absent: Count | list[Count] = 0
    arrivals_per_s: Milliseconds = 0.0
    departures_per_s: Milliseconds = 0.0
    crashes_per_s: Milliseconds = 0.0
    changes_per_s: Milliseconds = 0.0
    down_ms: Milliseconds | None = None
    until_ms: Milliseconds | None = None


class CostSpec(Spec, frozen=True, kw_only=True):
    """How long servers are busy with what they handle (see `queueing`)."""

    message_ms: Milliseconds = 0.0
    match_ms: Milliseconds = 0.0
    lookup_ms: Milliseconds = 0.0


class FaultSpec(Spec, frozen=True, kw_only=True):
    """What may happen to messages and nodes at any time (see `Faults`)."""

    loss: ShareLost = 0.0
    jitter_ms: Milliseconds = 0.0
    reorder: bool = False
    detect_ms: Milliseconds = 100.0
    disk_ms: Milliseconds = 1.0
    write_survives: Share = 0.0


class MeasuringSpec(Spec, frozen=True, kw_only=True):
    """How well servers measure delays and routes (see `Accuracy`)."""

    noise: Share = 0.0
    loss: ShareLost = 0.0
    anonymous: Share = 0.0
    partial: Share = 0.0


class RoleSpec(Spec, frozen=True, kw_only=True):
    """Which servers have a role (see `overlays.roles`): those listed, or the first of so many."""

    matcher: Count | list[Count] = 0


class Step(Spec, frozen=True, kw_only=True):
    """Something that happens at a time, counted from the first publication."""

    at_ms: Milliseconds
    do: Action
    node: Count | None = None
    groups: list[list[Count]] | None = None


class TimingSpec(Spec, frozen=True, kw_only=True):
    """How long the two phases last (without numbers, until nothing is left to do), and how soon things are repaired.

    `refresh_ms` is how long a control message may go without an answer before it is sent again, where messages can be
    lost; 0 leaves what is lost unrepaired.
    """

    subscribe_ms: Milliseconds | None = None
    publish_ms: Milliseconds | None = None
    resubscribe_ms: Milliseconds = 50.0
    refresh_ms: Milliseconds = 200.0


class CheckSpec(Spec, frozen=True, kw_only=True):
    """What must hold. A bound that is not given is not checked."""

    exactly_once: bool = True
    at_most_once: bool = True
    delay_bounds: bool = True
    settle_ms: Milliseconds = 1_000.0
    repair_ms: Milliseconds | None = None
    delay_ms_max: Bound | None = None
    node_stress_max: Bound | None = None
    link_stress_mean: Bound | None = None
    resource_usage: Bound | None = None
    matching_load_mean: Bound | None = None
    state_max: Bound | None = None
    notification_cost: Bound | None = None
    false_positives_mean: Bound | None = None
    queueing_ms_max: Bound | None = None
    utilisation_max: Bound | None = None


class Scenario(Spec, frozen=True, kw_only=True):
    """A whole file."""

    title: str = ""
    underlay: UnderlaySpec
    scheme: SchemeSpec
    workload: WorkloadSpec
    advertisements: list[AdvertisementSpec] = []
    costs: CostSpec | None = None
    faults: FaultSpec = FaultSpec()
    measuring: MeasuringSpec = MeasuringSpec()
    roles: RoleSpec = RoleSpec()
    churn: ChurnSpec = ChurnSpec()
    schedule: list[Step] = []
    timing: TimingSpec = TimingSpec()
    checks: CheckSpec = CheckSpec()


class ScenarioFile(msgspec.Struct, frozen=True):
    """A scenario with its text, so that whoever finds a mistake later can say where it is."""

    scenario: Scenario
    path: str
    text: str

    def error(self, key: str, problem: str, remedy: str = "") -> ScenarioError:
        """An error about a key, with its line."""
        return ScenarioError(self.path, problem, key=key, line=line_of(self.text, key), remedy=remedy)


def load_scenario(path: str | Path) -> ScenarioFile:
    """Reads a scenario file; raises ScenarioError."""
    return parse_scenario(read_text(path, ScenarioError, _EXAMPLE), str(path))


def parse_scenario(text: str, path: str = "scenario") -> ScenarioFile:
    """Reads a scenario from its text; `path` is what errors call it."""
    file = ScenarioFile(parse_toml(text, path, Scenario, ScenarioError, _EXAMPLE), path, text)
    _check(file)
    return file


def _check(file: ScenarioFile) -> None:
    """What concerns more than one key."""
    underlay = file.scenario.underlay
    if (underlay.generator is None) == (underlay.file is None):
        raise file.error(
            "underlay", "needs a generator or a file, and not both", f"generators: {', '.join(GENERATORS)}"
        )
    if underlay.file is not None and underlay.format is None:
        raise file.error("underlay.file", "needs a format beside it", f"formats: {', '.join(FORMATS)}")
    if underlay.asymmetry and underlay.format in MEASURED_FORMATS:
        raise file.error(
            "underlay.asymmetry", "the directions of a measured network differ as they were measured", "leave it out"
        )
    if file.scenario.workload.durable and file.scenario.churn.changes_per_s:
        raise file.error(
            "churn.changes_per_s", "durable subscriptions do not change", "workload.durable = false, or no changes"
        )
    workload = file.scenario.workload
    for name, wish, ends in (
        ("delay_ms_max", workload.delay_ms_max, "bound, or the shortest and the longest"),
        ("bandwidth", workload.bandwidth, "bandwidth, or the smallest and the largest"),
    ):
        if isinstance(wish, list) and (len(wish) != 2 or wish[0] > wish[1]):
            raise file.error(f"workload.{name}", f"is one {ends}", "as in [50, 200]")
    for number, step in enumerate(file.scenario.schedule):
        key = f"schedule[{number}]"
        if step.do == "cut" and not step.groups:
            raise file.error(key, "a cut needs groups", "as in groups = [[0, 1, 2]]; the others are one more group")
        if step.do not in ("cut", "heal") and step.node is None:
            raise file.error(key, f"'{step.do}' needs a node", "as in node = 3")
