"""Clustered dissemination with time: while clusters change, while nodes come and go, and what it costs."""

import numpy as np
import pytest

from siftcast.model import Event, Filter, Subscription
from siftcast.overlays.protocols.clustered import Clustered, ClustersPlanned
from siftcast.overlays.tables import matcher_tables
from siftcast.planning import assign_clusters, interest_clusters, matched_matrix, plan_clusters
from siftcast.runtimes.sim import Faults, Simulation, execute, judge, parse_scenario, prepare
from siftcast.runtimes.sim.checkers import exactly_once, notification_cost, routing_state
from siftcast.space import ClusterAssignment, ClusterLayout
from siftcast.underlay import Waxman
from siftcast.workloads import generate

NODES = 16
KINDS = 4  # of interest; node n likes values of the kind n % 4
UNDERLAY = Waxman(routers=40).build(np.random.default_rng(5)).attach(NODES, np.random.default_rng(6), 1.0)
GOOD = {f"s{node}": node % KINDS for node in range(NODES)}
BAD = {f"s{node}": node // KINDS for node in range(NODES)}


def wanted(node):
    return Subscription(
        f"s{node}", Filter.parse(f"value >= {10 * (node % KINDS)} AND value < {10 * (node % KINDS) + 9}")
    )


def by_kind(filter_):
    return next(kind for kind in range(KINDS) if filter_.matches({"value": 10 * kind}))


def started(cluster_of, variant, *, rendezvous=2, **options):
    layout = plan_clusters(
        UNDERLAY.latencies_ms, ClusterAssignment(cluster_of, by_kind), rendezvous=rendezvous, degree_max=2
    )
    tables = matcher_tables("brute_force")
    sim = Simulation(range(NODES), lambda node: Clustered(node, layout, tables, variant=variant), UNDERLAY, **options)
    for node in range(NODES):
        sim.subscribe(node, wanted(node))
    sim.run()
    return sim, layout


def publish(sim, count, start_ms, every_ms=3.0):
    for number in range(count):
        event = Event({"value": (7 * number) % 40}, id=f"e{start_ms}-{number}")
        sim.publish(number % NODES, event, at_ms=start_ms + every_ms * number)


def assert_exactly_once(sim, **options):
    found = exactly_once(sim.trace, **options)
    assert found.required > 100
    assert found.ok, "\n".join(map(str, found.violations))
    return found


variants = pytest.mark.parametrize("variant", ["multicast", "filtering"])


@variants
def test_no_event_is_lost_while_new_clusters_are_installed(variant):
    """Standing subscriptions are owed every event: there is no time to settle."""
    sim, layout = started(BAD, variant, faults=Faults(jitter_ms=30.0), seed=3)
    begun = sim.now + 2_000
    publish(sim, 400, begun)
    for number, cluster_of in enumerate((GOOD, BAD, {**BAD, "s3": 2}, GOOD, BAD)):
        stimulus = ClustersPlanned(ClusterAssignment(cluster_of, by_kind))
        sim.at(begun + 150 + 120 * number, layout.coordinator, stimulus)
    sim.run()
    assert_exactly_once(sim)
    assert sim.protocols[layout.coordinator].state()["moves"] > 30


@variants
def test_better_clusters_bring_fewer_false_positives(variant):
    costs = {}
    for name, cluster_of in (("good", GOOD), ("bad", BAD)):
        sim, _ = started(cluster_of, variant)
        publish(sim, 200, sim.now + 2_000)
        sim.run()
        assert_exactly_once(sim)
        costs[name] = notification_cost(sim.trace)
    assert costs["good"].false_positives < costs["bad"].false_positives
    assert costs["good"].cost < costs["bad"].cost


def test_filtering_sends_fewer_events_and_keeps_more():
    found = {}
    for variant in ("multicast", "filtering"):
        sim, _ = started(BAD, variant)
        publish(sim, 200, sim.now + 2_000)
        sim.run()
        found[variant] = notification_cost(sim.trace), routing_state(sim.protocols).sum()
    (multicast, few), (filtering, many) = found["multicast"], found["filtering"]
    assert filtering.event_messages < multicast.event_messages
    assert filtering.false_positives < multicast.false_positives
    assert filtering.control_messages >= multicast.control_messages
    assert many > few


@variants
def test_an_installation_shows_as_control_traffic(variant):
    sim, layout = started(BAD, variant)
    before = notification_cost(sim.trace).control_messages
    sim.at(sim.now, layout.coordinator, ClustersPlanned(ClusterAssignment(GOOD, by_kind)))
    sim.run()
    assert notification_cost(sim.trace).control_messages > before
    assert notification_cost(sim.trace).event_messages == 0


def disturb(sim, layout, whom):
    """A node of this kind: in the middle of a tree, a root, or one at which events enter."""
    trees = sim.protocols[layout.coordinator]._coordinator._tables._trees
    entering = set(layout.rendezvous)
    middle = [node for tree in trees.values() for node in tree.parents if tree.children[node] and node != tree.root]
    roots = [tree.root for tree in trees.values()]
    return {
        "middle": next(node for node in middle if node not in entering),
        "root": next(node for node in roots if node not in entering),
        "rendezvous": layout.rendezvous[1],
        "coordinator": layout.coordinator,
    }[whom]


@variants
@pytest.mark.parametrize("whom", ["middle", "root", "rendezvous", "coordinator"])
def test_a_node_that_crashes_and_comes_back_is_served_again(variant, whom):
    sim, layout = started(BAD, variant, faults=Faults(detect_ms=20))
    node, begun = disturb(sim, layout, whom), sim.now + 2_000
    publish(sim, 100, begun)
    sim.crash(node, begun + 100)
    sim.restart(node, begun + 200)
    sim.subscribe(node, wanted(node), at_ms=begun + 210)
    publish(sim, 200, begun + 3_000)
    sim.at(begun + 3_100, layout.coordinator, ClustersPlanned(ClusterAssignment(GOOD, by_kind)))
    sim.run()
    assert_exactly_once(sim, settle_ms=1_000)


@variants
@pytest.mark.parametrize("whom", ["middle", "root"])
def test_a_node_that_leaves_for_good_is_replaced_in_its_trees(variant, whom):
    sim, layout = started(BAD, variant, faults=Faults(detect_ms=20))
    node, begun = disturb(sim, layout, whom), sim.now + 2_000
    sim.leave(node, begun)
    for number in range(200):
        publisher = (node + 1 + number % (NODES - 1)) % NODES
        sim.publish(publisher, Event({"value": (7 * number) % 40}, id=f"e{number}"), at_ms=begun + 3_000 + number)
    sim.run()
    assert_exactly_once(sim, settle_ms=500, repair_ms=1_000)


@variants
@pytest.mark.parametrize("down_ms", [1, 15, 100])
def test_subscribers_that_do_not_come_back_after_a_crash_are_forgotten(variant, down_ms):
    sim, layout = started(BAD, variant, faults=Faults(detect_ms=20))
    node, begun = disturb(sim, layout, "middle"), sim.now + 2_000
    sim.crash(node, begun)
    sim.restart(node, begun + down_ms)
    publish(sim, 200, begun + 3_000)
    sim.run()
    assert_exactly_once(sim, settle_ms=1_000)
    assert f"s{node}" not in sim.protocols[layout.coordinator]._coordinator._tables.accounts
    assert all(len(sim.protocols[each]._rendezvous) == NODES - 1 for each in layout.rendezvous)


@variants
def test_subscribers_and_nodes_come_and_go_while_clusters_are_installed(variant):
    """In every step a node leaves and comes back, a subscriber changes its mind, and clusters change."""
    sim, layout = started(BAD, variant, faults=Faults(detect_ms=20))
    rng, begun = np.random.default_rng(4), sim.now + 2_000
    others = [node for node in range(NODES) if node not in layout.rendezvous]
    for step in range(6):
        at = begun + 4_000 * step
        left, fickle = rng.choice(others, 2, replace=False).tolist()
        sim.leave(left, at)
        sim.unsubscribe(fickle, f"s{fickle}", at_ms=at)
        chosen = (GOOD, BAD)[step % 2]
        sim.at(at + 100, layout.coordinator, ClustersPlanned(ClusterAssignment(chosen, by_kind)))
        sim.join(left, at + 500)
        sim.subscribe(left, wanted(left), at_ms=at + 510)
        sim.subscribe(fickle, wanted(fickle), at_ms=at + 520)
        publish(sim, 100, at + 2_500)
    sim.run()
    assert_exactly_once(sim, settle_ms=1_000)


@variants
def test_both_sides_of_a_cut_find_together_again(variant):
    sim, layout = started(BAD, variant, faults=Faults(detect_ms=20))
    begun = sim.now + 2_000
    others = [node for node in range(NODES) if node not in layout.rendezvous]
    sim.cut([others[:6]], begun)
    sim.unsubscribe(others[0], f"s{others[0]}", at_ms=begun + 300)
    sim.heal(begun + 600)
    publish(sim, 200, begun + 4_000)
    sim.run()
    assert_exactly_once(sim, settle_ms=1_000)


def test_a_scenario_runs_on_clusters_of_its_workload():
    text = """
        [underlay]
        generator = "waxman"
        servers = 20
        [underlay.options]
        routers = 40
        [scheme]
        name = "clustered"
        [scheme.options]
        clusters = 5
        variant = "VARIANT"
        rendezvous = 2
        [workload]
        preset = "clustering-hotspots"
        events = 120
        subscriptions = 60
        [checks]
        notification_cost = 100
    """
    verdicts = {}
    for variant in ("multicast", "filtering"):
        done = execute(prepare(parse_scenario(text.replace("VARIANT", variant)), 3))
        verdicts[variant] = judge(done)
        assert verdicts[variant].ok
        assert isinstance(done.plan, ClusterLayout)
        assert set(range(5)) <= set(done.plan.assignment.clusters) <= set(range(6))
    assert verdicts["multicast"].deliveries.required == verdicts["filtering"].deliveries.required > 100
    strict = text.replace("VARIANT", "multicast").replace("notification_cost = 100", "false_positives_mean = 0.01")
    lines = judge(execute(prepare(parse_scenario(strict), 3))).lines
    assert [line.name for line in lines if line.ok is False] == ["false positives an event"]


def test_clusters_that_follow_the_traffic_bring_false_positives_down_again():
    """Hot spots move; clusters found in the new traffic serve it better than those of the old."""
    workload = generate(
        "clustering-hotspots", events=600, subscriptions=120, seed=2, move_every=300, hot_spot_sets=2, hot_share=1.0
    )
    rows = workload.subscriptions.to_pylist()
    filters = {row["id"]: Filter.parse(row["filter"]) for row in rows}
    events = [Event(row, id=f"e{number}") for number, row in enumerate(workload.attributes().to_pylist())]

    def clusters(seen):
        matched = matched_matrix(filters, seen)
        return assign_clusters(
            list(filters), interest_clusters(matched, 6, np.random.default_rng(1)), seen, matched, silent=6
        )

    def run(install):
        layout = plan_clusters(UNDERLAY.latencies_ms, clusters(events[:100]), degree_max=3)
        sim = Simulation(range(NODES), lambda node: Clustered(node, layout, matcher_tables()), UNDERLAY)
        for number, (id, filter_) in enumerate(filters.items()):
            sim.subscribe(number % NODES, Subscription(id, filter_))
        sim.run()
        begun = sim.now + 2_000
        for number, event in enumerate(events):
            sim.publish(number % NODES, event, at_ms=begun + 5 * number)
        if install:
            sim.at(begun + 5 * 400, layout.coordinator, ClustersPlanned(clusters(events[300:400])))
        sim.run()
        assert_exactly_once(sim)
        return notification_cost(sim.trace)

    assert run(install=True).false_positives < run(install=False).false_positives
