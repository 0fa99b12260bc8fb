"""Members that only serve clients, and matchers: who gets a place in a plan, and what a plan is told."""

import pytest

from siftcast.overlays.epochs.view import PRESENT
from siftcast.runtimes.sim import ScenarioError, parse_scenario, prepare
from siftcast.schemes import scheme
from tests.simulation.changing_network import FILTERS, ChangingNetwork
from tests.simulation.test_scenarios import SMALL

SCHEMES = ("filter-based", "kyra")


@pytest.mark.parametrize("scheme", SCHEMES)
def test_an_edge_gets_and_publishes_events_without_a_place_in_any_plan(scheme):
    network = ChangingNetwork(1, scheme, 4, roles={3: ("edge",), 5: ("edge",), 1: ("matcher",)})
    for node in range(4):
        network.subscribe(node, FILTERS[node % len(FILTERS)])
    network.join(300)
    joined = network.join(350, seed_node=2)
    assert joined == 5
    network.simulation.run(2_000)
    network.subscribe(joined, "TRUE", at_ms=2_001)
    network.simulation.run(2_500)
    for number in range(120):
        network.publish(number % 6, 2_600 + 5 * number)
    network.simulation.crash(3, 2_800)
    network.simulation.restart(3, 3_000)
    network.simulation.run(6_000)
    view = network.view()
    assert view.newest.nodes == (0, 1, 2, 4)
    assert view.newest.roles == ((), ("matcher",), (), ())
    assert network.grounds[view.newest.number] == {1: {"matcher"}}
    assert {view.state(node) for node in range(6)} == {PRESENT}
    network.check(least=300)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_an_edge_leaves_and_hands_over(scheme):
    network = ChangingNetwork(1, scheme, 4, roles={3: ("edge",)})
    for node in range(4):
        network.subscribe(node, "TRUE")
    for number in range(150):
        network.publish(number % 3, 300 + 5 * number)
    network.simulation.leave(3, 600)
    network.simulation.run(4_000)
    assert 3 not in network.simulation.protocols
    assert network.check(least=400)


def roles_of(text, monkeypatch):
    found = []
    chosen = scheme("filter-based")
    plan = chosen.plan
    monkeypatch.setattr(type(chosen), "plan", lambda _, *about: found.append(about[0].roles) or plan(*about))
    prepare(parse_scenario(SMALL + text, "small.toml"), 1)
    return found[0]


def test_a_scenario_says_which_servers_are_matchers(monkeypatch):
    assert roles_of("", monkeypatch) == {}
    assert roles_of("[roles]\nmatcher = 2\n", monkeypatch) == {0: {"matcher"}, 1: {"matcher"}}
    assert roles_of("[roles]\nmatcher = [5, 3]\n", monkeypatch) == {3: {"matcher"}, 5: {"matcher"}}


@pytest.mark.parametrize("said", ["13", "[0, 12]"])
def test_a_matcher_that_is_no_server_is_an_error_with_its_line(said):
    with pytest.raises(ScenarioError, match=r"there are 12 servers, so server 12 is none of them"):
        prepare(parse_scenario(SMALL + f"[roles]\nmatcher = {said}\n", "small.toml"), 1)
