"""The suite of all schemes once more in the simulator: with latencies, and with loss and reordering where those heal.

`overlays.conformance` lets messages through in any order of links, and comes to rest between two steps. Here they take
time, so that steps meet each other's messages halfway. A test class comes for each scheme of the catalogue and each of
its examples, in two forms:

    latencies    Steps a while apart. Each event must reach exactly those who had subscribed for long enough.
    loss         The scheme in `Refreshing`; messages are lost and overtake each other. Events may then be missed, never
                 doubled; and when the network has calmed down and settled, each event reaches exactly its subscribers,
                 because the tables are right.

Both are strict about introductions. A subscription stays at its node for good. Examples are a sixth of the profile's,
because a run takes as long as ten of the other suite.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from siftcast.model import Event, Filter, Subscription
from siftcast.overlays.conformance import SPACE, Case, Step, steps, topologies
from siftcast.overlays.contract import AdvertiseRequested
from siftcast.overlays.refreshing import Refreshing
from siftcast.overlays.tables import matcher_tables
from siftcast.overlays.trace import Trace
from siftcast.runtimes.sim.checkers import exactly_once
from siftcast.runtimes.sim.simulation import Simulation
from siftcast.runtimes.sim.wire import Faults
from siftcast.schemes import Scheme, schemes
from siftcast.schemes.conformance import ground_of, title_of
from siftcast.space import ContentSpace, SourceTrees, Tree
from siftcast.underlay import MeasuredUnderlay

_SHARE = 6
_LATENCY_MS_MAX = 20.0
_SETTLE_MS = 400.0
_AMPLE_MS = 3_600_000.0
_WHILE_MS = 5_000.0
_CALM = Faults(detect_ms=30.0)
_ROUGH = Faults(loss=0.2, jitter_ms=60.0, reorder=True, detect_ms=30.0)
_PROBES: tuple[dict[str, object], ...] = ({"value": 3, "kind": "x"}, {"value": 8}, {"kind": "y"})


class SimulatedConformance:
    """One scheme with one choice of options, in the simulator."""

    scheme: Scheme[Any, Any]
    options: Any

    @settings(
        max_examples=max(1, settings.default.max_examples // _SHARE) if settings.default else 1,
        suppress_health_check=[HealthCheck.differing_executors, HealthCheck.too_slow],
    )
    @given(topologies(), st.lists(steps, min_size=1, max_size=20), st.integers(0, 2**32), st.booleans())
    def test_events_reach_exactly_the_matching_subscribers_once_over_latencies(
        self, topology: tuple[Tree, SourceTrees], steps: list[Step], seed: int, known: bool
    ) -> None:
        tree, simulation, held, random = self._set_up(topology, steps, seed, known=known, rough=False)
        for number, step in enumerate(steps):
            self._take(simulation, step, number, held, len(tree), simulation.now)
            simulation.run(simulation.now + float(random.choice([0.0, 5.0, 2 * _SETTLE_MS])))
        simulation.run(simulation.now + 2 * _SETTLE_MS)
        simulation.subscribe(0, Subscription("everything", Filter.parse("TRUE")))
        simulation.publish(len(tree) - 1, Event({"value": 3}, id="last"), at_ms=simulation.now + 2 * _SETTLE_MS)
        simulation.run(simulation.now + 4 * _SETTLE_MS)
        verdict = exactly_once(self._rest(simulation), settle_ms=_SETTLE_MS)
        assert verdict.ok, "\n".join(map(str, verdict.violations))

    @settings(
        max_examples=max(1, settings.default.max_examples // _SHARE) if settings.default else 1,
        suppress_health_check=[HealthCheck.differing_executors, HealthCheck.too_slow],
    )
    @given(topologies(), st.lists(steps, min_size=1, max_size=20), st.integers(0, 2**32), st.booleans())
    def test_tables_are_right_after_messages_were_lost_and_out_of_order(
        self, topology: tuple[Tree, SourceTrees], steps: list[Step], seed: int, known: bool
    ) -> None:
        tree, simulation, held, random = self._set_up(topology, steps, seed, known=known, rough=True)
        for number, step in enumerate(steps):
            self._take(simulation, step, number, held, len(tree), simulation.now)
            simulation.run(simulation.now + float(random.choice([0.0, 20.0, 300.0])))
        trace = self._rest(simulation)
        verdict = exactly_once(trace, settle_ms=_AMPLE_MS)
        assert not verdict.duplicate + verdict.wrong, "\n".join(map(str, verdict.violations))
        simulation.change_faults(_CALM, at_ms=simulation.now)
        simulation.subscribe(0, Subscription("everything", Filter.parse("TRUE")))
        held["everything"] = 0, Filter.parse("TRUE")
        self._rest(simulation)
        before = trace.delivery_table().num_rows
        probes = [Event(attributes, id=f"probe-{number}") for number, attributes in enumerate(_PROBES)]
        for event in probes:
            simulation.publish(int(random.integers(len(tree))), event)
        self._rest(simulation)
        found = Counter(
            (row["node"], row["event"], id)
            for row in trace.delivery_table().slice(before).to_pylist()
            for id in row["subscriptions"]
            if row["event"].startswith("probe-")  # what was lost before may come late, where a scheme makes up for it
        )
        assert found == Counter(
            (node, event.id, id) for event in probes for id, (node, wanted) in held.items() if wanted.matches(event)
        )

    def _set_up(
        self, topology: tuple[Tree, SourceTrees], steps: list[Step], seed: int, *, known: bool, rough: bool
    ) -> tuple[Tree, Simulation, dict[str, tuple[int, Filter]], np.random.Generator]:
        tree, graph = topology
        random = np.random.default_rng(seed)
        count = len(tree)
        drawn = random.uniform(0.1, _LATENCY_MS_MAX, (count, count))
        np.fill_diagonal(drawn, 0.0)
        wanted = [(step.node % count, Filter.parse(step.filter)) for step in steps if step.action == "subscribe"]
        case = Case(
            tree,
            graph,
            ContentSpace(SPACE),
            tuple(wanted) if known else (),
            matcher_tables("brute_force"),
            tuple(tuple(row) for row in np.minimum(drawn, drawn.T).tolist()),
        )
        plan = self.scheme.plan(ground_of(case), self.options)
        make = self.scheme.nodes(plan, self.options, case.tables)
        simulation = Simulation(
            tree.nodes,
            (lambda node: Refreshing(make(node), refresh_ms=100.0)) if rough else make,
            MeasuredUnderlay(drawn),
            seed=seed,
            faults=_ROUGH if rough else _CALM,
            contacts=partial(self.scheme.contacts, plan),
            strict_introductions=True,
        )
        self._rest(simulation)
        if self.scheme.advertises(self.options):
            for node in tree.nodes:
                everything = Subscription(f"all-{node}", Filter.parse("TRUE"))
                simulation.at(simulation.now, node, AdvertiseRequested((everything,)))
            self._rest(simulation)
        return tree, simulation, {}, random

    def _rest(self, simulation: Simulation) -> Trace:
        """Until all have settled; where nodes always have something to do, for a while."""
        if self.scheme.ticks:
            return simulation.run(simulation.now + _WHILE_MS)
        return simulation.settle(simulation.now + _AMPLE_MS)

    def _take(
        self,
        simulation: Simulation,
        step: Step,
        number: int,
        held: dict[str, tuple[int, Filter]],
        count: int,
        at_ms: float,
    ) -> None:
        # An id stays at one node: it is its own in the whole network, where two nodes' words about it may cross.
        node = (step.node if step.action == "publish" else ord(step.id)) % count
        if step.action == "subscribe":
            wanted = Filter.parse(step.filter)
            simulation.subscribe(node, Subscription(step.id, wanted), at_ms=at_ms)
            held[step.id] = node, wanted
        elif step.action == "unsubscribe":
            simulation.unsubscribe(node, step.id, at_ms=at_ms)
            held.pop(step.id, None)
        else:
            simulation.publish(node, Event(step.attributes, id=f"e{number}"), at_ms=at_ms)


def suites() -> Mapping[str, type[SimulatedConformance]]:
    """A test class for each scheme and example; put them into a test module's globals."""
    return {
        (title := title_of(scheme.name, example)): type(
            title,
            (SimulatedConformance,),
            {
                "__doc__": f"{scheme.name} with {dict(example) or 'no options'}, simulated.",
                "scheme": scheme,
                "options": scheme.configure(example),
            },
        )
        for scheme in schemes().values()
        for example in scheme.examples
    }
