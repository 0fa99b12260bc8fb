"""Who was told that a durable subscription is active gets what its node accepts from then on, whatever the scheme."""

import pytest

from siftcast.runtimes.sim import Faults
from siftcast.schemes import scheme, scheme_names
from tests.simulation.changing_network import ChangingNetwork

SCHEMES = [name for name in scheme_names() if scheme(name).is_durable and not scheme(name).simulated_only]
SUBSCRIBERS = 8


def is_accepted(network, id):
    return any(row[1] == "accepted" and row[4] == id for row in network.simulation.trace.records)


def accepted_at_once(name, faults, seed=1, nodes=5):
    """A network in which each subscriber publishes at its node in the moment in which its subscription is accepted."""
    network = ChangingNetwork(seed, name, nodes, faults)
    simulation = network.simulation
    simulation.run(2_000)  # links are open, and guardians chosen
    for number in range(SUBSCRIBERS):
        id = network.subscribe(number % nodes, "TRUE", simulation.now + 1)
        until = simulation.now + 30_000
        while not is_accepted(network, id):
            assert simulation.now < until, f"{id} is never accepted"
            simulation.run(simulation.now + 1)
        network.publish(number % nodes, simulation.now)
    simulation.run(simulation.now + 10_000)
    return network


def missed(network):
    """The subscriptions without the event that was published after they were accepted."""
    queues = network.queues()
    return [f"s{number}" for number in range(SUBSCRIBERS) if f"e{number}" not in queues[f"s{number}"][0][1]]


@pytest.mark.parametrize("name", SCHEMES)
def test_a_subscription_that_was_accepted_gets_what_its_node_accepts_next(name):
    network = accepted_at_once(name, Faults(detect_ms=50.0, disk_ms=1.0, jitter_ms=2.0))
    assert missed(network) == []


@pytest.mark.parametrize("name", SCHEMES)
def test_it_gets_it_although_messages_are_lost(name):
    network = accepted_at_once(name, Faults(loss=0.1, jitter_ms=20.0, reorder=True, detect_ms=50.0, disk_ms=1.0))
    assert missed(network) == []


@pytest.mark.parametrize("name", ["rendezvous", "filter-based"])
def test_a_guardian_that_goes_keeps_nobody_from_being_answered(name):
    network = ChangingNetwork(3, name, 4, Faults(detect_ms=200.0, disk_ms=1.0))
    simulation = network.simulation
    simulation.run(1_000)
    guardian = network.protocol(2).state()["guardian"]
    simulation.crash(int(guardian[1:]), simulation.now)
    id = network.subscribe(2, "TRUE", simulation.now + 1)
    simulation.run(simulation.now + 100)
    assert not is_accepted(network, id), "nobody else would stand up for it yet"
    simulation.run(simulation.now + 1_000)
    assert is_accepted(network, id)
