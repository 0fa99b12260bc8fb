"""Runs a scenario: builds what it names, has everybody subscribe, then publishes and lets things happen.

    1. subscribe   all subscriptions are made at time 0, and the network settles
    2. publish     events every `interval_ms` or in bursts, the schedule counted from the first; then until nothing is
                   left to do

The seed goes into independent streams (network, workload, faults, plan, churn), so that the same seed gives the same
network to every scheme. Parties of the workload live on servers by their number: `server 7` on server 6, modulo the
servers. A server that restarts or joins has its subscribers back after `resubscribe_ms`; durable subscriptions it has
itself, but for a server that joins without a disk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from siftcast.matching.pool import MatcherPool
from siftcast.model import Event, Filter, SiftcastError, Subscription
from siftcast.model.toml_files import named_option
from siftcast.overlays.contract import AdvertiseRequested, PublishRequested
from siftcast.overlays.durability import Durable
from siftcast.overlays.durability.contract import DurableSubscribeRequested, QueuePolicy
from siftcast.overlays.refreshing import Refreshing
from siftcast.overlays.roles import MATCHER
from siftcast.overlays.tables import TableFactory, matcher_tables
from siftcast.runtimes.sim.advertising import everything, first_stray, ranges_of
from siftcast.runtimes.sim.bursts import publication_times
from siftcast.runtimes.sim.churn import Change, absent_servers, change_times, draw_changes, draw_churn
from siftcast.runtimes.sim.clients import DurableClient
from siftcast.runtimes.sim.measuring import Accuracy
from siftcast.runtimes.sim.parties import server_of
from siftcast.runtimes.sim.queueing import Costs, QueueingSimulation
from siftcast.runtimes.sim.scenario import ScenarioFile, Step
from siftcast.runtimes.sim.scenario_underlay import build_underlay, planned_ms, reachable_contacts
from siftcast.runtimes.sim.schedules import check_schedule
from siftcast.runtimes.sim.simulation import Simulation
from siftcast.runtimes.sim.wire import Faults
from siftcast.schemes import Factory, Forecast, Ground, Scheme, scheme
from siftcast.underlay import Underlay
from siftcast.workloads import Workload, generate, presets

Report = Callable[[str, float], None]
_STREAMS = ("network", "workload", "faults", "plan", "churn")
_PARTIES = ("servers", "routers")
_PHASE_MS = 20_000.0  # how long nodes that never have nothing to do are given to find each other, and to finish
_POLICY = QueuePolicy(age_ms_max=float("inf"))  # a run ends when nothing is left to do, and growing old is something


@dataclass(slots=True)
class ScenarioRun:
    """A scenario that is being run, or was."""

    file: ScenarioFile
    seed: int
    underlay: Underlay
    scheme: Scheme[Any, Any]
    options: Any
    plan: Any
    workload: Workload
    simulation: Simulation
    subscriptions: dict[int, list[Subscription]]
    steps: tuple[Step, ...] = ()
    """What happens to servers: the schedule, and what churn adds to it."""
    changes: tuple[Change, ...] = ()
    """Whose interests change meanwhile."""
    state_after_subscribing: list[int] = field(default_factory=list)
    advertised: dict[int, tuple[Subscription, ...]] = field(default_factory=dict)
    """What publishers said they will publish, by server, in a scheme that asks for it."""
    remarks: tuple[str, ...] = ()
    """What in the options of the scheme does not come out as it says."""

    @property
    def edges(self) -> tuple[tuple[int, int], ...]:
        """The links of the overlay."""
        return self.scheme.edges(self.plan, range(self.underlay.servers))

    @property
    def is_durable(self) -> bool:
        """Whether everything is published and subscribed to durably."""
        return self.file.scenario.workload.durable

    @property
    def keeps_order(self) -> bool:
        """Whether the scheme promises durable events of a publisher in its order."""
        return self.scheme.keeps_order(self.options)


def prepare(file: ScenarioFile, seed: int) -> ScenarioRun:
    """Builds everything a scenario names; what cannot be built is an error about its key."""
    scenario = file.scenario
    network_seed, workload_seed, fault_seed, plan_seed, churn_seed = (
        int(each.generate_state(1)[0]) for each in np.random.SeedSequence(seed).spawn(len(_STREAMS))
    )
    folder = Path(file.path).parent
    underlay = _guard(file, "underlay", lambda: build_underlay(scenario.underlay, folder, network_seed))
    check_schedule(file, underlay.servers)
    changes_rng = np.random.default_rng((churn_seed, 1))
    times = change_times(scenario.churn, _churn_until_ms(file), changes_rng)
    workload = _guard(file, "workload", lambda: _workload(file, underlay.servers, workload_seed, reserve=len(times)))
    chosen = _guard(file, "scheme.name", lambda: scheme(scenario.scheme.name))
    options = _guard(file, "scheme.options", lambda: chosen.configure(scenario.scheme.options))
    churn_rng = np.random.default_rng(churn_seed)
    absent = set(absent_servers(scenario.churn, underlay.servers))
    rows = list(_wanted(file, workload, underlay.servers, np.random.default_rng((workload_seed, 1))))
    wanted, reserve = rows[: len(rows) - len(times)], rows[len(rows) - len(times) :]
    ground = Ground(
        partial(planned_ms, underlay),
        np.random.default_rng(plan_seed),
        places=underlay.servers,
        schema=workload.schema,
        forecast=Forecast(wanted, workload.attributes()),
        roles=_roles(file, underlay.servers),
    )
    plan = _guard(file, "scheme.options", lambda: chosen.plan(ground, options))
    tables = _guard(file, "scheme.engine", lambda: _tables(scenario.scheme.engine))
    problem = chosen.objection(options, sockets=False, durable=scenario.workload.durable)
    if problem:
        raise file.error("scheme.options", problem)
    faults = Faults(**msgspec.structs.asdict(scenario.faults))
    contacts = None
    if chosen.begins_with_contacts:
        begun = {server: chosen.contacts(plan, server) for server in range(underlay.servers)}
        contacts = reachable_contacts(underlay, begun).__getitem__
    simulation = _guard(
        file,
        "scheme.options",
        lambda: _simulation(
            file,
            [server for server in range(underlay.servers) if server not in absent],
            _nodes(chosen.nodes(plan, options, tables), file),
            underlay,
            seed=fault_seed,
            faults=faults,
            accuracy=Accuracy(**msgspec.structs.asdict(scenario.measuring)),
            contacts=contacts,
        ),
    )
    homes: dict[int, list[Subscription]] = {}
    for server, item in wanted:
        homes.setdefault(server, []).append(item)
    named = {step.node for step in scenario.schedule if step.node is not None}
    steps = draw_churn(scenario.churn, underlay.servers, named, _churn_until_ms(file), churn_rng)
    steps = (*scenario.schedule, *steps)
    spare = [(item.id, item.filter) for _, item in reserve]
    changes = draw_changes(times, spare, homes, steps, scenario.timing.resubscribe_ms, named, absent, changes_rng)
    run = ScenarioRun(file, seed, underlay, chosen, options, plan, workload, simulation, homes, steps, changes)
    run.remarks = chosen.remarks(ground, options, plan)
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
        if server in simulation.protocols:  # the others subscribe when they join
            _subscribe(run, server, items, simulation.now)
        if run.is_durable:
            for item in items:
                simulation.serve(server, DurableClient(item.id))
    until = run.file.scenario.timing.subscribe_ms
    if until is None and run.scheme.ticks:
        until = _PHASE_MS
    simulation.run(until, _progress("subscribing", report))
    run.state_after_subscribing = [
        int(simulation.protocols[node].state().get("entries", 0)) for node in sorted(simulation.protocols)
    ]


def schedule(run: ScenarioRun) -> float | None:
    """Puts the second phase before the simulation; says until when it is to run, None for until all is done."""
    simulation, scenario = run.simulation, run.file.scenario
    # Everybody had time to settle before the first event, so that all subscriptions count for it.
    start = simulation.now + scenario.checks.settle_ms
    times = _publication_times(run)
    for at_ms, (server, event) in zip(times, _events(run), strict=True):
        simulation.at(start + at_ms, server, PublishRequested(event, scenario.workload.durable))
    # In the order of time, as a server that comes back has the subscriptions that its subscribers have by then.
    happening: list[Step | Change] = [*run.steps, *run.changes]
    for step in sorted(happening, key=lambda each: each.at_ms):
        if isinstance(step, Change):
            _change(run, step, start + step.at_ms)
        else:
            _schedule(run, step, start + step.at_ms)
    until = scenario.timing.publish_ms
    if until is None and run.scheme.ticks:
        last = max((step.at_ms for step in run.steps), default=0.0)
        until = max(last, run.workload.events.num_rows * scenario.workload.interval_ms, *times[-1:]) + _PHASE_MS
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
            if node in run.advertised and node not in simulation.protocols:  # it was not there to say so before
                simulation.at(at_ms, node, AdvertiseRequested(run.advertised[node]))
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


def _change(run: ScenarioRun, change: Change, at_ms: float) -> None:
    simulation, items = run.simulation, run.subscriptions[change.server]
    items[items.index(change.given_up)] = change.made
    simulation.subscribe(change.server, change.made, at_ms=at_ms)
    simulation.unsubscribe(change.server, change.given_up.id, at_ms=at_ms)


def _publication_times(run: ScenarioRun) -> list[float]:
    spec = run.file.scenario.workload
    publishers = run.workload.events["publisher"].to_pylist()
    return publication_times(publishers, spec.interval_ms, spec.burst_ms, np.random.default_rng((run.seed, 1)))


def _subscribe(run: ScenarioRun, server: int, items: list[Subscription], at_ms: float) -> None:
    if not run.is_durable:
        run.simulation.subscribe(server, *items, at_ms=at_ms)
        return
    for item in items:
        run.simulation.at(at_ms, server, DurableSubscribeRequested(item, _POLICY))


def _tables(engine: str) -> TableFactory:
    """Where nodes get their tables; raises SiftcastError if there is no such engine."""
    if engine == "auto":
        return MatcherPool().table
    tables = matcher_tables(engine)
    tables()
    return tables


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
    """Publishers say what they may publish; servers without publishers say nothing."""
    published: dict[int, list[Event]] = {}
    for server, event in _events(run):
        published.setdefault(server, []).append(event)
    said: dict[int, list[Filter]] = {}
    for number, item in enumerate(run.file.scenario.advertisements):
        said.setdefault(item.server, []).append(
            _guard(run.file, f"advertisements[{number}]", partial(Filter.parse, item.filter))
        )
    if stray := first_stray(said, {server: published.get(server, []) for server in said}):
        server, event_id = stray
        problem = f"event '{event_id}' of server {server} matches nothing that the server advertises"
        raise run.file.error("advertisements", problem, "advertise it too, or leave the server out")
    by_ranges = run.file.scenario.workload.advertise == "ranges"
    for server in sorted(published):
        filters = said.get(server) or [ranges_of(published[server]) if by_ranges else everything()]
        names = [f"advertisement-{server}" + (f"-{number}" if number else "") for number in range(len(filters))]
        items = tuple(map(Subscription, names, filters))
        run.advertised[server] = items
        if server in run.simulation.protocols:
            run.simulation.at(0.0, server, AdvertiseRequested(items))
    run.simulation.run()


def _events(run: ScenarioRun) -> Iterator[tuple[int, Event]]:
    """The events of the workload in order, each with the server of its publisher."""
    for row in run.workload.events.to_pylist():
        publisher = row.pop("publisher") or ""
        id = str(row.pop("event_id"))
        attributes = {name: value for name, value in row.items() if value is not None}
        yield server_of(publisher, run.underlay.servers), Event(attributes, id, publisher)


def _roles(file: ScenarioFile, servers: int) -> Mapping[int, frozenset[str]]:
    """The roles of servers that have any."""
    said = file.scenario.roles.matcher
    matchers = range(said) if isinstance(said, int) else sorted(set(said))
    if matchers and matchers[-1] >= servers:
        count = f"there are {servers} servers"
        raise file.error("roles.matcher", f"{count}, so server {matchers[-1]} is none of them", "they count from 0")
    return dict.fromkeys(matchers, frozenset({MATCHER}))


def _wanted(
    file: ScenarioFile, workload: Workload, servers: int, rng: np.random.Generator
) -> Iterator[tuple[int, Subscription]]:
    """The subscriptions of the workload, each with the server of its subscriber, its bound on delay and bandwidth."""
    spec = file.scenario.workload
    for row in workload.subscriptions.to_pylist():
        wishes = [
            float(rng.uniform(wish[0], wish[1])) if isinstance(wish, list) else wish
            for wish in (spec.delay_ms_max, spec.bandwidth)
        ]
        item = Subscription(str(row["id"]), Filter.parse(row["filter"]), row["subscriber"], *wishes)
        yield server_of(row["subscriber"], servers), item


def _simulation(file: ScenarioFile, *arguments: Any, **options: Any) -> Simulation:
    costs = file.scenario.costs
    if costs is None:
        return Simulation(*arguments, **options)
    return QueueingSimulation(*arguments, costs=Costs(costs.message_ms, costs.match_ms, costs.lookup_ms), **options)


def _churn_until_ms(file: ScenarioFile) -> float:
    """Until when servers come and go: unless told, until the last publication."""
    workload, timing = file.scenario.workload, file.scenario.timing
    last = workload.events * workload.interval_ms
    until = file.scenario.churn.until_ms if file.scenario.churn.until_ms is not None else last
    return until if timing.publish_ms is None else min(until, timing.publish_ms)


def _guard(file: ScenarioFile, key: str, build: Callable[[], Any]) -> Any:
    """Tells where in the file lies what others found wrong."""
    try:
        return build()
    except (SiftcastError, TypeError, ValueError, OSError, OverflowError, MemoryError) as error:
        table = key.partition(".")[0]
        options = getattr(getattr(file.scenario, table, None), "options", {})
        named = named_option(f"{table}.options", options, str(error))
        raise file.error(key if named == f"{table}.options" else named, str(error) or "is too large") from error


def _workload(file: ScenarioFile, servers: int, seed: int, *, reserve: int) -> Workload:
    spec = file.scenario.workload
    options = dict(spec.options)
    known = presets()[spec.preset].defaults if spec.preset in presets() else {}
    for name in _PARTIES:
        if name in known:
            options.setdefault(name, servers)
    return generate(spec.preset, events=spec.events, subscriptions=spec.subscriptions + reserve, seed=seed, **options)
