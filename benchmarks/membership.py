"""Peers by the ten thousand, beside what the papers say: do they hold together, and what is in their views?

- *Crashes*: 10,000 peers join one after another, each through one that is there, and shuffle for a while; then a share
  of them crashes in one moment. HyParView (DSN 2007, section 5: active views of 5, passive views of 30) recovers full
  reliability after failures of up to 80 %, and nearly so after 90 %. Here: when the survivors are one group again, and
  which share of them gets an event published then. Each share is tried on a copy of the same network (a fork).
- *Random views*: Cyclon alone (2005, section 5: views of 20 and 50), after so many exchanges that all is mixed. Its
  in-degrees lie narrowly around the size of a view; a graph of random links has a deviation of the root of that.
- *Silence*: peers that crash without a connection breaking, found by probes alone, while links lose messages.

Everything is simulated with one delay of 20 ms between any two, and decided by the seed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from multiprocessing import get_context
from multiprocessing.connection import Connection
from random import Random
from time import process_time

import numpy as np

from benchmarks.report import Report
from benchmarks.settings import Settings
from siftcast.model import Event, Filter, Subscription
from siftcast.overlays.contract import (
    NOTHING,
    Effects,
    MessageReceived,
    NodeId,
    Protocol,
    Started,
    Stimulus,
    TimerFired,
)
from siftcast.overlays.membership import RandomView, RandomViewOptions
from siftcast.overlays.membership.random_view import RANDOM_MESSAGES
from siftcast.overlays.protocols.gossip import Gossip
from siftcast.overlays.tables import matcher_tables
from siftcast.overlays.trace import Trace
from siftcast.runtimes.sim import Faults, Simulation, UniformNetwork
from siftcast.runtimes.sim.checkers import detection, membership

SHARES = (0.5, 0.8, 0.9, 0.95)
JOINING_MS, MIXING_MS, WATCHED_MS, STEP_MS = 20_000.0, 100_000.0, 60_000.0, 500.0
EXCHANGES = 100
NETWORK = UniformNetwork(20.0)
SILENT = Faults(loss=0.02, jitter_ms=20.0, reorder=True, detect_ms=1e12)


def run(settings: Settings, report: Report) -> None:
    """Measures all of it."""
    _measure_crashes(settings, report)
    for size in (20, 50):
        _measure_random_views(size, settings, report)
    _measure_silence(settings, report)


def entrances(nodes: int, seed: int) -> Callable[[NodeId], tuple[NodeId, ...]]:
    """Through whom each enters: one of those before it, the first through the second."""
    random = Random(seed)
    chosen = [(1,), *((random.randrange(node),) for node in range(1, nodes))]
    return chosen.__getitem__


def peers(nodes: int, seed: int, faults: Faults | None = None) -> Simulation:
    """Peers that are about to join, one after another, and want everything."""
    tables = matcher_tables("brute_force")
    simulation = Simulation(
        (),
        lambda node: Gossip(node, tables),
        NETWORK,
        seed=seed,
        faults=faults if faults is not None else Faults(),
        trace=Trace(messages=False),
        contacts=entrances(nodes, seed),
    )
    everything = Filter.parse("TRUE")
    for node in range(nodes):
        at_ms = JOINING_MS * node / nodes
        simulation.join(node, at_ms)
        simulation.subscribe(node, Subscription(f"s{node}", everything), at_ms=at_ms)
    return simulation


# -- crashes ---------------------------------------------------------------------------------------------


def _measure_crashes(settings: Settings, report: Report) -> None:
    nodes = settings.size(10_000, 500)
    report.progress(f"{nodes:,} peers join")
    started = process_time()
    simulation = peers(nodes, settings.seed)
    simulation.run(JOINING_MS)
    joined = process_time() - started
    simulation.run(JOINING_MS + MIXING_MS)
    views = membership(simulation.protocols)
    took = process_time() - started
    note = f"{simulation.handled:,} steps for {simulation.now / 1_000:.0f} s of their time in {took:.0f} s"
    report.add(f"{nodes:,} peers join", joined, "s", "lower", note=note)
    report.add("peers in the largest group", views.connected_share, "", "higher", goal=1.0)
    report.add("neighbours that have each other", views.symmetric_share, "", "higher", goal=0.999)
    report.add("names a peer knows, at most", views.known_max, "", "lower", goal=55, note=f"of {nodes:,}")
    _note_degrees("neighbours", views.in_degrees("neighbours"), report)
    _note_degrees("spare names", views.in_degrees("spare"), report)
    _note_degrees("random view of 20", views.in_degrees("sampled"), report)
    fork = get_context("fork")
    for share in SHARES:
        ours, theirs = fork.Pipe(duplex=False)
        process = fork.Process(target=_crash, args=(simulation, nodes, share, settings.seed, theirs))
        process.start()
        theirs.close()
        for name, value, unit, better, goal, note in iter(ours.recv, None):
            report.add(name, value, unit, better, goal=goal, note=note)
        process.join()


def _crash(simulation: Simulation, nodes: int, share: float, seed: int, report: Connection) -> None:
    """Takes a share down, and sends what comes of it; in a process of its own, which may spoil the simulation."""
    random = Random(seed + 1)
    began = simulation.now
    for node in random.sample(range(nodes), round(share * nodes)):
        simulation.crash(node, began)
    title = f"{share:.0%} crash"
    whole_ms: float | None = None
    for _ in range(int(WATCHED_MS / STEP_MS)):
        simulation.run(simulation.now + STEP_MS)
        views = membership(simulation.protocols)
        if whole_ms is None and len(views.component_sizes) == 1:
            whole_ms = simulation.now - began
            break
    views = membership(simulation.protocols)
    goal = 1.0 if share <= 0.9 else None
    sizes = ", ".join(map(str, views.component_sizes[:4].tolist()))
    report.send((f"{title}: in the largest group", views.connected_share, "", "higher", goal, f"groups of {sizes}"))
    if whole_ms is not None:
        report.send(
            (f"{title}: one group after", whole_ms / 1_000, "s", "lower", None, f"looked at every {STEP_MS} ms")
        )
    for name, wait_ms in (("then", 0.0), ("10 s later", 10_000.0)):
        simulation.run(simulation.now + wait_ms)
        got = _publish(simulation, random.choice(sorted(simulation.protocols)), f"{title} {name}")
        report.send((f"{title}: get an event {name}", got, "", "higher", goal, "a share of the survivors"))
    simulation.run(max(simulation.now, began + WATCHED_MS))
    views = membership(simulation.protocols)
    note = f"after {(simulation.now - began) / 1_000:.0f} s; neighbours {views.dead_share('neighbours'):.4f}"
    report.send((f"{title}: dead spare names", views.dead_share("spare"), "", "lower", None, note))
    report.send((f"{title}: dead names in random views", views.dead_share("sampled"), "", "lower", None, ""))
    report.send(None)


def _publish(simulation: Simulation, node: NodeId, id: str) -> float:
    """The share of running peers that get an event within three seconds."""
    simulation.trace.settle()
    before = simulation.trace.delivery_table().num_rows
    simulation.publish(node, Event({"value": 1}, id=id))
    simulation.run(simulation.now + 3_000.0)
    return (simulation.trace.delivery_table().num_rows - before) / len(simulation.protocols)


# -- random views ----------------------------------------------------------------------------------------


class Shuffler(Protocol):
    """A random view, and nothing else."""

    messages = RANDOM_MESSAGES

    __slots__ = ("_random", "_view")

    def __init__(self, node: NodeId, options: RandomViewOptions) -> None:
        self._random = Random(node)
        self._view = RandomView(node, options, self._random)

    def handle(self, stimulus: Stimulus, now: float) -> Effects:
        match stimulus:
            case MessageReceived(sender, message):
                return self._view.handle_message(sender, message)
            case TimerFired(name):
                return self._view.handle_timer(name)
            case Started(contacts=contacts, nonce=nonce):
                self._random.seed(nonce)
                return self._view.handle_started(contacts)
        return NOTHING

    def state(self) -> dict[str, tuple[NodeId, ...]]:
        return {"neighbours": (), "sampled": self._view.names}


def _measure_random_views(size: int, settings: Settings, report: Report) -> None:
    nodes = settings.size(10_000, 500)
    report.progress(f"{nodes:,} random views of {size}, {EXCHANGES} exchanges each")
    options = RandomViewOptions(size=size, exchange_ms=1_000.0)
    simulation = Simulation(
        range(nodes),
        lambda node: Shuffler(node, options),
        NETWORK,
        seed=settings.seed,
        trace=Trace(messages=False),
        contacts=entrances(nodes, settings.seed),
    )
    simulation.run(1_000.0 * EXCHANGES)
    _note_degrees(f"random view of {size} alone", membership(simulation.protocols).in_degrees("sampled"), report)


def _note_degrees(name: str, degrees: np.ndarray[tuple[int], np.dtype[np.int64]], report: Report) -> None:
    mean = float(degrees.mean())
    note = f"around {mean:.1f}, from {degrees.min()} to {degrees.max()}; random links: {mean**0.5:.1f}"
    report.add(f"in-degrees, {name}: deviation", float(degrees.std()), "", "lower", note=note)


# -- silence ---------------------------------------------------------------------------------------------


def _measure_silence(settings: Settings, report: Report) -> None:
    nodes = settings.size(1_000, 200)
    report.progress(f"{nodes:,} peers, of which every fiftieth falls silent, and every fiftieth message is lost")
    simulation = peers(nodes, settings.seed, SILENT)
    simulation.run(JOINING_MS + 20_000.0)
    for node in _every(50, nodes):
        simulation.crash(node, simulation.now)
    simulation.run(simulation.now + WATCHED_MS)
    found = detection(simulation.trace)
    delays = found.delays_ms / 1_000
    note = f"{len(delays)} of {len(delays) + len(found.undetected)}; the slowest {delays.max():.1f} s"
    report.add("a silent crash is noticed after (median)", float(np.median(delays)), "s", "lower", note=note)
    minutes = nodes * simulation.now / 60_000
    note = f"{found.false_suspicions} in {minutes:,.0f} minutes of peers"
    report.add("false suspicions", found.false_suspicions / minutes, "per minute", "lower", note=note)
    report.add("false losses", found.false_losses, "", "lower", goal=0)


def _every(step: int, nodes: int) -> Iterator[NodeId]:
    return iter(range(step // 2, nodes, step))
