"""Runs a scenario: builds what it names, has everybody subscribe, then publishes and lets things happen.

    1. subscribe   all subscriptions are made at time 0, and the network settles
    2. publish     events every `interval_ms`, the schedule counted from the first; then until nothing is left to do

The seed goes into independent streams (network, workload, faults, plan), so that the same seed gives the same network
to every scheme. Parties of the workload live on servers by their number: `server 7` on server 6, modulo the servers. A
server that restarts or joins has its subscribers back after `resubscribe_ms`; durable subscriptions it has itself, but
for a server that joins without a disk.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from siftcast.matching.pool import MatcherPool
from siftcast.model import Event, Filter, SiftcastError, Subscription
from siftcast.model.errors import UnderlayError
from siftcast.model.toml_files import named_option
from siftcast.overlays.contract import AdvertiseRequested, PublishRequested
from siftcast.overlays.durability import Durable
from siftcast.overlays.durability.contract import DurableSubscribeRequested, QueuePolicy
from siftcast.overlays.refreshing import Refreshing
from siftcast.runtimes.sim.clients import DurableClient
from siftcast.runtimes.sim.parties import server_of
from siftcast.runtimes.sim.scenario import ScenarioFile, Step
from siftcast.runtimes.sim.schedules import check_schedule
from siftcast.runtimes.sim.simulation import Simulation
from siftcast.runtimes.sim.wire import Faults
from siftcast.schemes import Factory, Forecast, Ground, Scheme, scheme
from siftcast.underlay import (
    BalancedTree,
    Network,
    TransitStub,
    Underlay,
    Waxman,
    read_brite,
    read_latency_matrix,
    read_rocketfuel,
    read_topology_zoo,
)
from siftcast.workloads import Workload, generate, presets

Report = Callable[[str, float], None]
_STREAMS = ("network", "workload", "faults", "plan")
_PARTIES = ("servers", "routers")
_POLICY = QueuePolicy(age_ms_max=float("inf"))  # a run ends when nothing is left to do, and growing old is something


@dataclass(slots=True)
class ScenarioRun:
    """A scenario that is being run, or was."""

    file: ScenarioFile
    seed: int
    underlay: Underlay
    scheme: Scheme[Any, Any]
    plan: Any
    workload: Workload
    simulation: Simulation
    subscriptions: dict[int, list[Subscription]]
    state_after_subscribing: list[int] = field(default_factory=list)

    @property
    def edges(self) -> tuple[tuple[int, int], ...]:
        """The links of the overlay."""
        return self.scheme.edges(self.plan, range(self.underlay.servers))

    @property
    def is_durable(self) -> bool:
        """Whether everything is published and subscribed to durably."""
        return self.file.scenario.workload.durable


def prepare(file: ScenarioFile, seed: int) -> ScenarioRun:
    """Builds everything a scenario names; what cannot be built is an error about its key."""
    scenario = file.scenario
    network_seed, workload_seed, fault_seed, plan_seed = (
        int(each.generate_state(1)[0]) for each in np.random.SeedSequence(seed).spawn(len(_STREAMS))
    )
    underlay = _guard(file, "underlay", lambda: _underlay(file, np.random.default_rng(network_seed)))
    check_schedule(file, underlay.servers)
    workload = _guard(file, "workload", lambda: _workload(file, underlay.servers, workload_seed))
    chosen = _guard(file, "scheme.name", lambda: scheme(scenario.scheme.name))
    options = _guard(file, "scheme.options", lambda: chosen.configure(scenario.scheme.options))
    wanted = [
        (
            server_of(row["subscriber"], underlay.servers),
            Subscription(str(row["id"]), Filter.parse(row["filter"]), row["subscriber"]),
        )
        for row in workload.subscriptions.to_pylist()
    ]
    ground = Ground(
        underlay.latencies_ms,
        np.random.default_rng(plan_seed),
        schema=workload.schema,
        forecast=Forecast(wanted, workload.attributes()),
    )
    plan = _guard(file, "scheme.options", lambda: chosen.plan(ground, options))
    faults = Faults(**{name: getattr(scenario.faults, name) for name in scenario.faults.__struct_fields__})
    simulation = _guard(
        file,
        "scheme.options",
        lambda: Simulation(
            range(underlay.servers),
            _nodes(chosen.nodes(plan, options, MatcherPool().table), file),
            underlay,
            seed=fault_seed,
            faults=faults,
        ),
    )
    homes: dict[int, list[Subscription]] = {}
    for server, item in wanted:
        homes.setdefault(server, []).append(item)
    run = ScenarioRun(file, seed, underlay, chosen, plan, workload, simulation, homes)
    if chosen.advertises(options):
        _advertise(run)
    return run


def execute(run: ScenarioRun, report: Report | None = None) -> ScenarioRun:
    """Runs both phases."""
    subscribe(run, report)
    until = schedule(run)
    run.simulation.run(until, _progress("publishing", report))
    return run


def subscribe(run: ScenarioRun, report: Report | None = None) -> None:
    """The first phase: everybody subscribes, and the network settles."""
    simulation = run.simulation
    for server, items in sorted(run.subscriptions.items()):
        _subscribe(run, server, items, simulation.now)
        if run.is_durable:
            for item in items:
                simulation.serve(server, DurableClient(item.id))
    simulation.run(run.file.scenario.timing.subscribe_ms, _progress("subscribing", report))
    run.state_after_subscribing = [
        int(simulation.protocols[node].state().get("entries", 0)) for node in sorted(simulation.protocols)
    ]


def schedule(run: ScenarioRun) -> float | None:
    """Puts the second phase before the simulation; says until when it is to run, None for until all is done."""
    simulation, scenario = run.simulation, run.file.scenario
    # Everybody had time to settle before the first event, so that all subscriptions count for it.
    start = simulation.now + scenario.checks.settle_ms
    for number, row in enumerate(run.workload.events.to_pylist()):
        publisher = row.pop("publisher") or ""
        server = server_of(publisher, run.underlay.servers)
        id = str(row.pop("event_id"))
        event = Event({name: value for name, value in row.items() if value is not None}, id, publisher)
        at_ms = start + number * scenario.workload.interval_ms
        simulation.at(at_ms, server, PublishRequested(event, scenario.workload.durable))
    for step in scenario.schedule:
        _schedule(run, step, start + step.at_ms)
    until = scenario.timing.publish_ms
    return None if until is None else start + until


def _progress(phase: str, report: Report | None) -> Callable[[Simulation], None] | None:
    return None if report is None else lambda simulation: report(phase, simulation.handled)


def _schedule(run: ScenarioRun, step: Step, at_ms: float) -> None:
    simulation, node = run.simulation, step.node if step.node is not None else 0
    items = run.subscriptions.get(node, [])
    match step.do:
        case "crash":
            simulation.crash(node, at_ms)
        case "leave":
            simulation.leave(node, at_ms)
        case "restart" | "join":
            (simulation.restart if step.do == "restart" else simulation.join)(node, at_ms)
            if step.do == "join" or not run.is_durable:
                _subscribe(run, node, items, at_ms + run.file.scenario.timing.resubscribe_ms)
        case "cut":
            simulation.cut(step.groups or [], at_ms)
        case "heal":
            simulation.heal(at_ms)
        case "subscribe":
            _subscribe(run, node, items, at_ms)
        case "unsubscribe":
            simulation.unsubscribe(node, *(item.id for item in items), at_ms=at_ms)


def _subscribe(run: ScenarioRun, server: int, items: list[Subscription], at_ms: float) -> None:
    if not run.is_durable:
        run.simulation.subscribe(server, *items, at_ms=at_ms)
        return
    for item in items:
        run.simulation.at(at_ms, server, DurableSubscribeRequested(item, _POLICY))


def _nodes(make: Factory, file: ScenarioFile) -> Factory:
    """Durable nodes see to lost messages themselves; where others can lose some, control messages are sent again."""
    scenario = file.scenario
    if scenario.workload.durable:
        return lambda node: Durable(node, make(node))
    refresh_ms = scenario.timing.refresh_ms
    if scenario.faults.loss and refresh_ms:
        return lambda node: Refreshing(make(node), refresh_ms=refresh_ms)
    return make


def _advertise(run: ScenarioRun) -> None:
    """Publishers say that they may publish anything; servers without publishers say nothing."""
    names = run.workload.events["publisher"].to_pylist()
    for server in sorted({server_of(name, run.underlay.servers) for name in names}):
        everything = Subscription(f"advertisement-{server}", Filter.parse("TRUE"))
        run.simulation.at(0.0, server, AdvertiseRequested((everything,)))
    run.simulation.run()


def _guard(file: ScenarioFile, key: str, build: Callable[[], Any]) -> Any:
    """Tells where in the file lies what others found wrong."""
    try:
        return build()
    except (SiftcastError, TypeError, ValueError, OSError, OverflowError, MemoryError) as error:
        table = key.partition(".")[0]
        named = named_option(f"{table}.options", getattr(file.scenario, table).options, str(error))
        raise file.error(key if named == f"{table}.options" else named, str(error) or "is too large") from error


def _underlay(file: ScenarioFile, rng: np.random.Generator) -> Underlay:
    spec = file.scenario.underlay
    if spec.generator is not None:
        made = _generator(spec.generator, spec.options)
        network = made.build() if isinstance(made, BalancedTree) else made.build(rng)
    else:
        # A path in the file is relative to it, so that a scenario can be run from anywhere.
        path = Path(file.path).parent / str(spec.file)
        if spec.format == "latency-matrix":
            return read_latency_matrix(path, **spec.options)
        network = _read_network(path, spec.format, spec.name).largest_component()
    if spec.servers is None:
        return network.routers_as_servers()
    return network.attach(spec.servers, rng, spec.access_ms)


def _generator(name: str, options: Mapping[str, Any]) -> TransitStub | Waxman | BalancedTree:
    kind = {"transit-stub": TransitStub, "waxman": Waxman, "balanced-tree": BalancedTree}[name]
    known = [each.name for each in dataclasses.fields(kind)]
    for option in options:
        if option not in known:
            raise UnderlayError(f"generator '{name}' has no option '{option}' (options: {', '.join(known)})")
    made: TransitStub | Waxman | BalancedTree = kind(**options)
    return made


def _read_network(path: Path, format: str | None, name: str | None) -> Network:
    if format == "brite":
        return read_brite(path)
    if format == "rocketfuel":
        return read_rocketfuel(path)
    return read_topology_zoo(path, name) if name else read_topology_zoo(path)


def _workload(file: ScenarioFile, servers: int, seed: int) -> Workload:
    spec = file.scenario.workload
    options = dict(spec.options)
    known = presets()[spec.preset].defaults if spec.preset in presets() else {}
    for name in _PARTIES:
        if name in known:
            options.setdefault(name, servers)
    return generate(spec.preset, events=spec.events, subscriptions=spec.subscriptions, seed=seed, **options)
