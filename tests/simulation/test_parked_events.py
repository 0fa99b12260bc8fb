"""Events that wait for earlier ones of their publisher on another way: all go on once links are up."""

import os

import numpy as np
import pytest

from siftcast.model import Event
from siftcast.overlays.durability import Settings
from siftcast.overlays.durability.ledger import Ledger
from siftcast.overlays.durability.order import Landings
from siftcast.runtimes.sim.checkers import durable_delivery, progress
from tests.simulation.durable_network import CALM, ROUGH, START_MS, build, make_trouble

IS_SOAK = os.environ.get("HYPOTHESIS_PROFILE") == "soak"
MANY = 100_000 if IS_SOAK else 2_000
SEEDS = range(200) if IS_SOAK else (3, 8)
"""With these two, hundreds of events stayed where they were, when links told only what is done to go on."""


def ways_of(network):
    """A value for each way that events of node 0 take."""
    protocol = network.simulation.protocols[0]
    found = {protocol.way_of(Event({"value": value})): value for value in range(10)}
    assert len(found) > 1
    return list(found.values())


def check_all_arrived(network, at_least):
    verdict = durable_delivery(network.simulation.trace, settle_ms=10.0)
    assert verdict.required >= at_least
    assert verdict.ok, verdict.violations[:2]
    found = progress(network.simulation.trace, network.simulation.protocols)
    assert found.ok, found.stuck


def test_many_events_that_are_parked_behind_one_node_go_on_when_it_is_back():
    network = build("kyra", 1, faults=CALM, settings=Settings(), refuse=0, filters=("TRUE",) * 3, homes=[5, 4, 3])
    simulation = network.simulation
    simulation.run(START_MS)
    values = ways_of(network)
    simulation.crash(network.homes["s2"], at_ms=START_MS + 1)
    for number in range(MANY):
        network.publish(0, number, START_MS + 300 + 0.05 * number, value=values[number % len(values)], publishers=1)
    simulation.run(START_MS + 2_000 + 0.05 * MANY)
    states = [protocol.state() for protocol in simulation.protocols.values()]
    assert max(state["events_parked"] for state in states) > MANY / 3
    simulation.restart(network.homes["s2"], at_ms=simulation.now + 1)
    simulation.run()
    check_all_arrived(network, at_least=3 * MANY)


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_stays_parked_once_links_are_up(seed):
    """Publishers that change their way all the time, small windows, crashes: what lies beyond a window is sent, too."""
    settings = Settings(resend_ms=60, resend_ms_max=1_000, window=8)
    network = build("kyra", seed, faults=ROUGH, settings=settings, refuse=0, filters=("TRUE",) * 3)
    values = ways_of(network)
    draw = np.random.default_rng((seed, 5))
    for number in range(600):
        value = values[int(draw.integers(0, len(values)))]
        network.publish(network.any_node(), number, START_MS + 0.7 * number, value=value, publishers=2)
    make_trouble(network, crashes=24, cuts=2, until_ms=400)
    network.simulation.run()
    check_all_arrived(network, at_least=600)


def test_releasing_many_of_one_publisher_needs_no_recursion_and_no_second_look():
    ledger = Ledger()
    landings = Landings(ledger, 0)
    first, _ = landings.begin_own("p", "way a")
    landings.charge(first, [(1, 1)])
    tickets = []
    for number in range(2, 20_002):
        duty, ticket = landings.begin_own("p", "way b")
        tickets.append(ticket)
        landings.charge(duty, [(2, number)])
        landings.land(duty, (2, number))
    assert all(ticket is not None for ticket in tickets)
    assert landings.outcomes == []
    landings.finish(first, (1, 1))
    released = [place for outcome in landings.outcomes for place in outcome.places]
    assert released == [(2, number) for number in range(2, 20_002)]
