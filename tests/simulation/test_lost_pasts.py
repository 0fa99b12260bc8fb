"""Nodes that lose a part of their past without knowing it: all that is accepted afterwards arrives all the same."""

import pytest

from tests.simulation.durable_network import CALM, ROUGH, SCHEMES, START_MS, build

GONE_MS, BACK_MS, AFTER_MS = START_MS + 900, START_MS + 1_000, START_MS + 4_000


def publish_everywhere(network, first_number, at_ms, count=40):
    for number in range(count):
        network.publish(network.any_node(), first_number + number, at_ms + 5 * number)


def rows(network, kind):
    return [row for row in network.simulation.trace.record_table().to_pylist() if row["kind"] == kind]


def required_and_missing(network, since_ms):
    """What each subscription must have of all that was accepted after a moment, and what it lacks of that."""
    trace = network.simulation.trace
    late = {row["event"] for row in rows(network, "published") if row["time_ms"] >= since_ms}
    late &= {row["event"] for row in rows(network, "accepted")}
    offered = {(row["message"].rpartition("@")[0], row["event"]) for row in rows(network, "offered")}
    wanted = {(name, id) for id in late for name in network.homes if matches(trace, name, id)}
    return wanted, wanted - offered


def matches(trace, name, id):
    return trace.subscriptions[name].filter.matches(trace.events[id])


def waiting(network):
    """What does not go on although all nodes run and all links stand."""
    states = {node: protocol.state() for node, protocol in network.simulation.protocols.items()}
    return {
        node: (state["relays_waiting"], state["events_parked"], state["stalled"])
        for node, state in states.items()
        if state["relays_waiting"] or state["events_parked"] or state["stalled"]
    }


def reports(network):
    return [row["message"] for row in rows(network, "reported")]


@pytest.mark.parametrize("faults", [CALM, ROUGH], ids=["calm", "rough"])
@pytest.mark.parametrize("name", sorted(SCHEMES))
def test_what_is_accepted_after_an_older_copy_of_a_disk_came_back_arrives(name, faults):
    network = build(name, 11, faults=faults)
    simulation, victim = network.simulation, network.homes["s2"]
    simulation.save_disk(victim, at_ms=START_MS)
    publish_everywhere(network, 0, START_MS + 10)
    simulation.crash(victim, at_ms=GONE_MS)
    simulation.restart(victim, at_ms=BACK_MS, from_copy=True)
    publish_everywhere(network, 1_000, AFTER_MS)
    simulation.run()
    required, missing = required_and_missing(network, AFTER_MS)
    assert len(required) > 50
    assert missing == set()
    assert waiting(network) == {}
    assert any(text.startswith("store is behind") for text in reports(network))


@pytest.mark.parametrize("faults", [CALM, ROUGH], ids=["calm", "rough"])
@pytest.mark.parametrize("name", sorted(SCHEMES))
def test_what_is_accepted_after_a_disk_was_lost_arrives(name, faults):
    network = build(name, 12, faults=faults, homes=[1, 2, 4, 5])
    simulation, victim = network.simulation, 3
    publish_everywhere(network, 0, START_MS + 10)
    simulation.leave(victim, at_ms=GONE_MS)
    simulation.join(victim, at_ms=BACK_MS)
    publish_everywhere(network, 1_000, AFTER_MS)
    simulation.run()
    required, missing = required_and_missing(network, AFTER_MS)
    assert len(required) > 50
    assert missing == set()
    assert waiting(network) == {}
    assert any(text.startswith("store is behind") for text in reports(network))
