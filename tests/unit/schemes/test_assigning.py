"""A plan for nodes of any identity is the plan for places, under other names."""

from functools import partial

import numpy as np
import pytest

from siftcast.model import Attribute, Event, Filter, Schema, Subscription
from siftcast.overlays.contract import PublishRequested, SubscribeRequested
from siftcast.overlays.loopback import Loopback
from siftcast.overlays.tables import matcher_tables
from siftcast.schemes import Ground, schemes

IDENTITIES = (901, 5, 2**62 + 7, 44, 4)
GROUND = Ground(
    np.abs(np.subtract.outer(np.arange(5.0), np.arange(5.0))),
    np.random.default_rng(1),
    schema=Schema([Attribute("value", "int", (0, 9), 1)]),
)
LIVE = [chosen for chosen in schemes().values() if not chosen.simulated_only]
EXAMPLES = [(chosen, chosen.configure(example)) for chosen in LIVE for example in chosen.examples]


def delivered(chosen, options, plan, nodes):
    """Who gets which value, with a subscription and a publication at each place."""
    contacts = partial(chosen.contacts, plan) if chosen.begins_with_contacts else None
    net = Loopback(nodes, chosen.nodes(plan, options, matcher_tables("brute_force")), 1, contacts)
    if chosen.ticks:
        net.run(5_000)  # peers find each other
    for place, node in enumerate(nodes):
        net.do(node, SubscribeRequested((Subscription(f"s{place}", Filter.parse(f"value >= {2 * place}")),)))
    for place, node in enumerate(nodes):
        net.do(node, PublishRequested(Event({"value": 2 * place + 1}, f"e{place}")))
    if chosen.ticks:
        net.run(10_000)
    return sorted((nodes.index(node), event, id) for node, event, id in net.delivered)


@pytest.mark.parametrize(("chosen", "options"), EXAMPLES, ids=lambda each: getattr(each, "name", ""))
def test_nodes_of_any_identity_deliver_what_places_deliver(chosen, options):
    if chosen.advertises(options):
        pytest.skip("nobody advertises here")
    plan = chosen.plan(GROUND, options)
    assigned = chosen.assign(plan, IDENTITIES)
    for place, node in enumerate(IDENTITIES):
        here = {IDENTITIES[other] for other in chosen.contacts(plan, place)}
        assert set(chosen.contacts(assigned, node)) == here
    expected = delivered(chosen, options, plan, list(GROUND.places))
    assert len(expected) == 15
    assert delivered(chosen, options, assigned, list(IDENTITIES)) == expected
