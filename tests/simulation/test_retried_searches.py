"""A ring asks again by timers and when neighbours come and go; what it finds then is kept as what it found at first."""

from siftcast.runtimes.sim import Faults
from tests.simulation.changing_network import ChangingNetwork


class Ring(ChangingNetwork):
    """Two clusters of two matchers, which an event walks: its zone first, then the span, which has every filter."""

    @property
    def options(self):
        return {
            "clusters": 2,
            "replicas": 2,
            "key": "value",
            "cuts": "[2, 4, 6, 8]",
            "visit": "walk",
            "retry_ms": 100.0,
        }


def test_what_is_found_for_a_lost_neighbour_when_a_matcher_is_asked_again_waits_for_it():
    network = Ring(1, "rendezvous", 4, Faults(detect_ms=50.0, disk_ms=1.0))
    simulation = network.simulation
    for node in range(4):
        network.subscribe(node, "TRUE")
    simulation.run(4_000)
    simulation.cut([[0, 3]], 4_000)
    for number in range(40):
        network.publish(0, 4_001 + number)  # before anybody is missed, so some begin their walk at who is out of reach
    simulation.run(4_500)
    simulation.heal(4_500)
    simulation.run(12_000)
    assert network.check() == 160
