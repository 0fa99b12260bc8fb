"""A durable ring's matcher that has not caught up: what it was asked meanwhile is not lost with anybody's memory.

The matcher's node crashes; a node subscribes meanwhile, and cannot say so to the matcher when that is back (a cut that
nobody notices). What is published then waits at the matcher until it knows what the silent node wants.
"""

import msgspec
import pytest

from siftcast.overlays.contract import ApplyRequested
from siftcast.overlays.epochs.progress import progress_of
from siftcast.overlays.epochs.settings import EpochSettings
from siftcast.runtimes.sim import Faults
from tests.simulation.changing_network import ChangingNetwork

UNNOTICED = Faults(detect_ms=60_000.0, disk_ms=1.0)
NOTICED = Faults(detect_ms=5.0, disk_ms=1.0)
PUBLISHER, MATCHER, SUBSCRIBER, SILENT = 0, 1, 2, 3
BEGIN_MS = 2_000.0
"""When trouble begins; the matcher has been back for 1.6 of the 3 s in which it waits for others."""


class SlowRing(ChangingNetwork):
    """One matcher, which waits 3 s for what it is to keep; a publisher's node asks again after 20 s."""

    @property
    def options(self):
        return {"clusters": 1, "replicas": 1, "key": "value", "cuts": "[5]", "retry_ms": 20_000.0}

    @property
    def patience(self):
        return EpochSettings(absent_ms=60_000.0, tick_ms=20.0, report_ms=200.0)


class TwoMatchers(ChangingNetwork):
    """Two replicas, and nobody plans around who is away."""

    @property
    def options(self):
        return {"clusters": 1, "replicas": 2, "key": "value", "cuts": "[5]", "retry_ms": 100.0}

    @property
    def patience(self):
        return EpochSettings(absent_ms=60_000.0, tick_ms=20.0, report_ms=200.0)


def network_with_early_searches(seed, *, events=20):
    """Events wait at the matcher, on nobody else's way, for a subscription that it does not know."""
    network = SlowRing(seed, "rendezvous", 4, UNNOTICED, roles={MATCHER: ("matcher",)})
    simulation = network.simulation
    simulation.crash(MATCHER, 100)
    network.subscribe(SUBSCRIBER, "TRUE", at_ms=200)
    simulation.cut([[SUBSCRIBER], [SILENT]], 300)
    simulation.restart(MATCHER, 400)
    for number in range(events):
        network.publish(PUBLISHER, 500 + 20 * number)
    simulation.run(BEGIN_MS)
    matcher = network.protocol(MATCHER).state()
    assert (matcher["caught_up"], matcher["matched"]) == (False, events)
    assert network.protocol(PUBLISHER).state()["relays_waiting"] == 0
    assert not network.queues()["s0"][0][1]
    return network


def test_what_waits_at_a_matcher_arrives_when_nothing_else_happens():
    network = network_with_early_searches(1)
    network.simulation.heal(BEGIN_MS)
    network.simulation.run(8_000)
    assert network.check() == 20


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("nodes", [(PUBLISHER,), (MATCHER,), (PUBLISHER, MATCHER)], ids=str)
def test_what_waits_at_a_matcher_survives_power_cuts(seed, nodes):
    network = network_with_early_searches(seed)
    simulation = network.simulation
    for node in nodes:
        simulation.crash(node, BEGIN_MS + float(network.draw.uniform(0, 20)))
        simulation.restart(node, BEGIN_MS + 50)
    simulation.heal(BEGIN_MS + 100)
    simulation.run(30_000)
    assert network.check() == 20


@pytest.mark.parametrize("seed", range(4))
def test_what_a_matcher_sends_once_it_has_caught_up_is_kept_until_it_has_arrived(seed):
    """It waits for a silent node, while the subscriber goes down and the publisher's node forgets its searches."""
    network = network_with_early_searches(seed)
    simulation = network.simulation
    simulation.crash(PUBLISHER, BEGIN_MS + 10)
    simulation.restart(PUBLISHER, BEGIN_MS + 50)
    simulation.change_faults(NOTICED, BEGIN_MS + 100)
    simulation.cut([[SILENT]], BEGIN_MS + 100)
    simulation.crash(SUBSCRIBER, BEGIN_MS + 700 + float(network.draw.uniform(0, 500)))
    simulation.run(4_000)
    assert network.protocol(MATCHER).state()["caught_up"]
    simulation.restart(SUBSCRIBER, 4_001)
    simulation.heal(4_001)
    simulation.run(30_000)
    assert network.check() == 20


@pytest.mark.parametrize("seed", range(4))
def test_a_plan_is_not_retired_while_searches_wait_at_a_matcher(seed):
    network = network_with_early_searches(seed)
    simulation = network.simulation
    matcher = network.protocol(MATCHER)
    later = msgspec.structs.replace(matcher.view, used=2)
    assert draining(matcher, later) == 20
    simulation.at(BEGIN_MS + 1, PUBLISHER, ApplyRequested(b"others"))
    simulation.change_faults(NOTICED, BEGIN_MS + 100)
    simulation.heal(BEGIN_MS + 100 + float(network.draw.uniform(0, 500)))
    simulation.run(30_000)
    (epoch,) = network.view().epochs
    assert epoch.settings == b"others"
    assert draining(network.protocol(MATCHER), network.view()) == 0
    assert network.check() == 20


@pytest.mark.parametrize("seed", range(3))
def test_what_a_matcher_could_not_be_told_is_asked_of_the_others_of_its_cluster(seed):
    """Somebody subscribed while it was down, and is down itself when it is back; the other replica knows."""
    network = TwoMatchers(
        seed, "rendezvous", 4, Faults(detect_ms=50.0, disk_ms=1.0), roles=dict.fromkeys((1, 2), ("matcher",))
    )
    simulation = network.simulation
    simulation.crash(MATCHER, 100)
    network.subscribe(SILENT, "TRUE", at_ms=300)
    simulation.crash(SILENT, 1_000)
    simulation.restart(MATCHER, 1_300)
    simulation.run(2_500)
    assert network.protocol(MATCHER).state()["caught_up"]
    for number in range(20):
        network.publish(PUBLISHER, 2_500 + 20 * number)
    simulation.crash(PUBLISHER, 3_200)  # nobody asks again
    simulation.restart(PUBLISHER, 3_300)
    simulation.restart(SILENT, 4_000)
    simulation.run(8_000)
    assert network.check() == 20
    sent = len(asked_beside(network))
    assert sent
    for number in range(20):
        network.publish(PUBLISHER, 8_000 + 20 * number)
    simulation.run(10_000)
    assert network.check() == 40
    assert len(asked_beside(network)) == sent, "it knows all by now"


def asked_beside(network):
    """The events that matchers have sent each other, who have no subscriptions of their own."""
    rows = network.simulation.trace.records
    return [row for row in rows if row[1] == "sent" and {row[2], row[3]} == {1, 2} and row[5] is not None]


def draining(node, view):
    """How much of older epochs a node says that it has left."""
    return progress_of(
        node._epochs, node.durable, view, number=1, life=1, missing=lambda _: 0, ended=(), wards={}
    ).draining
