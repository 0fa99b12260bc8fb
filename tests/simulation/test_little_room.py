"""Networks whose nodes may keep little: publishers are refused, relays held back, and all that was accepted arrives."""

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from siftcast.overlays.durability import Settings
from tests.simulation.durable_network import CALM, SCHEMES, START_MS, build, make_trouble
from tests.simulation.test_durability import verify_promises

LITTLE = Settings(resend_ms=60, resend_ms_max=1_000, window=8, kept_bytes_max=6_000)


@given(st.sampled_from(sorted(SCHEMES)), st.integers(0, 2**32), st.integers(2, 7))
@settings(max_examples=5)
def test_all_that_was_accepted_arrives_through_crashes_and_cuts(name, seed, nodes):
    note(f"replay: build({name!r}, {seed}, nodes={nodes}), as below")
    network = build(name, seed, nodes=nodes, settings=LITTLE)
    for number in range(80):
        network.publish(network.any_node(), number, START_MS + float(network.random.uniform(0, 1_500)))
    make_trouble(network, crashes=6, cuts=2, until_ms=1_500)
    verify_promises(network, name=name)


@pytest.mark.parametrize("name", ["filter-based", "kyra", "match-early"])
def test_nodes_that_were_cut_off_until_all_were_full_exchange_what_they_have(name):
    network = build(name, 1, nodes=4, faults=CALM, settings=LITTLE, refuse=0.0)
    network.simulation.cut([[0], [1], [2]], at_ms=START_MS)
    for number in range(120):
        network.publish(number % 4, number, START_MS + 100 + number)
    network.simulation.heal(at_ms=START_MS + 3_000)
    verdict = verify_promises(network, name=name)
    reasons = {refusal.reason for _, refusal in network.simulation.refused}
    assert reasons
    assert all("kept_bytes_max" in reason for reason in reasons)
    assert 10 < verdict.accepted < 110
