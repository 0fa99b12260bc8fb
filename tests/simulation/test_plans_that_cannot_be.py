"""Members come and go, and a scheme's options may fit some numbers of them only: no node is stopped by that."""

from typing import ClassVar

from siftcast.overlays.epochs.view import ABSENT, PRESENT
from tests.simulation.changing_network import FILTERS, ChangingNetwork


class Ring(ChangingNetwork):
    """A ring with options that a test gives."""

    options: ClassVar[dict[str, object]] = {}


def network_of(**options):
    network = Ring(1, "rendezvous", 4)
    network.options = {"replicas": 1, "key": "value", **options}
    for node in range(4):
        network.subscribe(node, FILTERS[node])
    for number in range(200):
        network.publish((0, 1, 3)[number % 3], 300 + 5 * number)
    network.simulation.crash(2, 600)
    return network


def states(network):
    return [member.state for member in network.view().members]


def said(network):
    return [
        row[4] for row in network.simulation.trace.records if row[1] == "reported" and "cannot be planned" in row[4]
    ]


def test_fewer_matchers_than_clusters_make_fewer_clusters():
    network = network_of(clusters=4)
    network.simulation.run(3_000)
    assert states(network) == [PRESENT, PRESENT, ABSENT, PRESENT]
    assert len(network.view().newest.nodes) == 3
    network.simulation.restart(2, 3_001)
    network.simulation.run(8_000)
    assert states(network) == [PRESENT] * 4
    network.check(least=300)
    assert not said(network)


def test_where_there_can_be_no_plan_without_a_member_all_stays_as_it_is_until_that_is_back():
    network = network_of(node_weights="[1, 2, 1, 1]")
    network.simulation.run(3_000)
    assert states(network) == [PRESENT] * 4
    assert [epoch.number for epoch in network.view().epochs] == [1]
    assert len(said(network)) == 1
    assert "node_weights has 4 numbers for 3 matchers" in said(network)[0]
    network.simulation.restart(2, 3_001)
    network.simulation.run(8_000)
    network.check(least=300)


def test_who_joins_where_there_can_be_no_plan_with_it_waits_and_stops_nobody():
    network = network_of(node_weights="[1, 2, 1, 1]")
    network.simulation.restart(2, 650)
    joined = network.join(1_000)
    network.simulation.run(4_000)
    assert [member.node for member in network.view().members] == [0, 1, 2, 3]
    assert not network.protocol(joined).is_ready
    assert "node_weights has 4 numbers for 5 matchers" in said(network)[0]
    network.check(least=300)
