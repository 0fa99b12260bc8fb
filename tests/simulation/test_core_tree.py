"""Core trees under the simulator: events are exact at rest, whatever happened before, and no circle forms meanwhile.

Every network runs with `strict_introductions`.
"""

import pytest

from siftcast.experiments.underlay.core_discovery import discover
from siftcast.runtimes.sim import Faults
from tests.simulation.core_network import CoreNetwork, near_graph, waxman

LINKS = ("parent", "cores_parent")


def check_rest(net):
    """Everybody is as far from a core as can be, and goes by the nearest."""
    states, nearest = net.states, net.nearest()
    for node, state in states.items():
        assert state["weight_ms"] == pytest.approx(nearest[node])
        if state["parent"] is not None:
            above = states[state["parent"]]
            assert above["relay"] == state["relay"]
            assert node in above["children"]
            link_ms = net.delays.latency_ms(node, state["parent"])
            assert above["weight_ms"] + link_ms == pytest.approx(state["weight_ms"])


def publish_during(net, events, step_ms=50):
    """Publishes while something else goes on; links make no circle at any time."""
    expected = []
    for _ in range(events):
        expected.append(net.publish())
        net.run(step_ms)
        assert not any(net.circle(links) for links in LINKS)
    return expected


def busiest(net):
    """The peer with most children that is neither a core nor the leader."""
    states = net.states
    others = [node for node in states if node not in states[0]["cores"] and node]
    return max(others, key=lambda node: (len(states[node]["children"]), node))


@pytest.mark.parametrize(
    "options",
    [
        {"cores": 3},
        pytest.param({"cores": 1}, marks=pytest.mark.full),
        pytest.param({"cores": 5, "joined": "all-pairs"}, marks=pytest.mark.full),
        pytest.param({"cores": 3, "strategy": "CNeigh"}, marks=pytest.mark.full),
        pytest.param({"cores": 3, "strategy": "MaxPath"}, marks=pytest.mark.full),
        pytest.param({"cores": 3, "ground": "measured"}, marks=pytest.mark.full),
    ],
    ids=str,
)
def test_at_rest_events_are_exact_and_ways_to_cores_are_the_shortest_there_are(options):
    net = CoreNetwork(40, **options).settle()
    check_rest(net)
    net.expect_exact(50)


@pytest.mark.full
@pytest.mark.parametrize("strategy", ["Sim", "SPotent"])
def test_where_interests_count_links_to_other_interests_are_longer_and_events_are_exact_all_the_same(strategy):
    net = CoreNetwork(30, strategy=strategy, beta=2.0).settle()
    for _ in range(100):
        net.publish()
        net.run(100)
    net.settle()
    nearest = net.nearest()
    assert any(state["weight_ms"] > 1.5 * nearest[node] > 0 for node, state in net.states.items())
    net.expect_exact(30)


def test_each_core_gets_an_event_once_where_each_two_are_joined_by_their_own_ways():
    delays = waxman(24, 3)
    net = CoreNetwork(24, 3, delays=delays, graph=near_graph(delays, 24), cores=5, joined="all-pairs").settle()
    states = net.states
    assert all(states[core]["table_bytes"] > 0 for core in states[0]["cores"])
    net.simulation.trace.records.clear()
    events = [net.publish(value=20) for _ in range(5)]
    net.run(500)
    net.expect(events)
    sent = [(row["event"], row["peer"]) for row in records(net, "CoreParcel") if row["peer"] in states[0]["cores"]]
    for event, _ in events:
        ends = [core for of, core in sent if of == event]
        assert len(ends) >= 2
    again = {row["event"] for row in records(net, "Passed")}
    assert again == {event for event, _ in events}
    for event, _ in events:
        passed = [row["peer"] for row in records(net, "Passed") if row["event"] == event]
        assert len(passed) == len(set(passed))


def records(net, name):
    """What was sent under a name."""
    rows = net.simulation.trace.record_table().to_pylist()
    return [row for row in rows if row["kind"] == "sent" and row["message"] == name]


@pytest.mark.parametrize(
    "victim",
    ["root core", *(pytest.param(each, marks=pytest.mark.full) for each in ("core", "inner peer", "leader"))],
)
@pytest.mark.parametrize("joined", ["one-tree", pytest.param("all-pairs", marks=pytest.mark.full)])
def test_a_crash_costs_nobody_else_an_event(victim, joined):
    net = CoreNetwork(25, joined=joined).settle()
    cores = net.states[0]["cores"]
    found = {"root core": cores[0], "core": cores[-1], "inner peer": busiest(net), "leader": 0}
    net.crash(found[victim])
    expected = publish_during(net, 15)
    net.settle()
    net.expect(expected)
    check_rest(net)
    net.expect_exact(20)


@pytest.mark.parametrize("joined", ["one-tree", pytest.param("all-pairs", marks=pytest.mark.full)])
def test_who_leaves_in_peace_costs_nobody_an_event_and_who_joins_gets_theirs(joined):
    net = CoreNetwork(25, joined=joined).settle()
    leavers = net.states[0]["cores"][0], busiest(net), 0
    net.leave(*leavers)
    net.simulation.join(25, net.now)
    net.run(300)
    net.subscribe(25, "s25", "TRUE")
    net.run(50)
    expected = publish_during(net, 15)
    net.settle()
    assert not set(leavers) & set(net.simulation.protocols)
    net.expect(expected)
    net.expect_exact(20)


def test_nobody_gets_what_was_published_before_they_subscribed_although_it_is_still_kept():
    delays = waxman(12, 2)
    net = CoreNetwork(12, 2, delays=delays, graph=near_graph(delays, 12), cores=2).settle()
    mover = next(node for node in range(11, 0, -1) if net.states[node]["parent"] is not None)
    net.unsubscribe(f"s{mover}")
    for node in range(12):
        if node != mover:
            net.subscribe(node, f"all{node}", "TRUE")
    net.run(500)
    before, wanted = net.publish(mover - 1)
    net.run(500)
    assert net.got(before) == wanted
    net.subscribe(mover, "late", "TRUE")
    net.run(100)
    net.crash(net.states[mover]["parent"])
    net.run(100).settle()
    assert net.got(before) == wanted
    after, _ = net.publish(mover)
    net.run(500)
    assert (mover, "late") in net.got(after)


@pytest.mark.full
@pytest.mark.parametrize("joined", ["one-tree", "all-pairs"])
def test_both_sides_of_a_partition_go_on_and_become_one_again(joined):
    net = CoreNetwork(30, joined=joined).settle()
    sides = [range(15), range(15, 30)]
    net.simulation.cut(sides, net.now)
    net.run(8_000)
    for side in sides:
        states = [net.states[node] for node in side]
        assert {state["leader"] for state in states} == {side[0]}
        assert all(state["relay"] in side and set(state["cores"]) <= set(side) for state in states)
    expected = [net.publish(node) for node in (*sides[0], *sides[1])]
    net.run(1_000)
    for (event, wanted), node in zip(expected, (*sides[0], *sides[1]), strict=True):
        side = sides[0] if node in sides[0] else sides[1]
        assert net.got(event) == [each for each in wanted if each[0] in side]
    net.simulation.heal(net.now)
    net.settle()
    check_rest(net)
    net.expect_exact(30)


@pytest.mark.full
@pytest.mark.parametrize("options", [{}, {"joined": "all-pairs"}, {"ground": "measured"}], ids=str)
def test_losses_and_reordering_leave_trees_that_are_right_when_they_end_and_no_circle_meanwhile(options):
    faults = Faults(loss=0.1, jitter_ms=20.0, reorder=True, detect_ms=50.0)
    net = CoreNetwork(30, faults=faults, refreshes=True, **options)
    publish_during(net, 60, step_ms=100)
    net.simulation.change_faults(Faults(detect_ms=50.0), at_ms=net.now)
    net.settle()
    check_rest(net)
    net.expect_exact(30)


def test_no_circle_forms_while_delays_change_and_peers_come_and_go_and_trees_are_right_afterwards():
    delays = waxman(14, 5)
    net = CoreNetwork(14, 5, delays=delays, graph=near_graph(delays, 14), cores=2, beat_ms=200.0).settle()
    drawn = net.random
    for turn in range(8):
        one, other = drawn.sample(range(14), 2)
        delays.change(one, other, drawn.choice([1.0, 100.0]))
        if turn % 4 == 1:
            net.simulation.crash(turn, net.now)
            net.simulation.restart(turn, net.now + 300.0)
        for _ in range(20):
            net.run(10)
            assert not any(net.circle(links) for links in (*LINKS, "leader_parent"))
    net.held.pop("s1"), net.held.pop("s5")  # their subscribers were lost with them
    net.settle()
    check_rest(net)
    net.expect_exact(20)


def test_cores_find_to_the_root_core_through_the_cells_of_others_whose_ways_are_pruned_there():
    graph = {peer: tuple(other for other in (peer - 1, peer + 1) if 0 <= other < 12) for peer in range(12)}
    net = CoreNetwork(12, 3, graph=graph, cores=4).settle()
    states = net.states
    root, *others = states[0]["cores"]
    near = {one: {other: net.delays.latency_ms(one, other) for other in others} for one, others in graph.items()}
    pruned = discover(near, near, (root, *others), kept=())
    beyond = [core for core in others if any(min(core, root) < other < max(core, root) for other in others)]
    assert beyond
    assert not set(beyond) & set(pruned.parents[root])
    for core in others:
        at = core
        while at != root:
            at = net.states[at]["cores_parent"]
        assert states[core]["relay"] == core
    net.expect_exact(20)


def test_the_tree_follows_when_a_delay_changes():
    delays = waxman(20, 4)
    net = CoreNetwork(20, 4, delays=delays, graph=near_graph(delays, 20), cores=1, rebuild_ms=60_000.0).settle()
    check_rest(net)
    cores = net.states[0]["cores"]
    slow = next(node for node, state in net.states.items() if state["parent"] in cores and state["children"])
    delays.change(slow, net.states[slow]["parent"], 500.0)
    expected = publish_during(net, 10)
    net.run(3_000).settle()
    check_rest(net)
    assert net.states[slow]["parent"] not in cores
    net.expect(expected)
    net.expect_exact(20)
