"""Schemes by name: each is what its file is called, and says about itself what runtimes rely on."""

from pathlib import Path

import numpy as np
import pytest

import siftcast.schemes
from siftcast.model import Attribute, Schema
from siftcast.overlays.contract import Protocol
from siftcast.overlays.durability import Durable, NotDurableError
from siftcast.overlays.protocols.homed import HomedSettings
from siftcast.overlays.tables import matcher_tables
from siftcast.schemes import DEFAULT_SCHEME, Ground, SchemeError, scheme, scheme_names, schemes

GROUND = Ground(
    np.abs(np.subtract.outer(np.arange(5.0), np.arange(5.0))),
    np.random.default_rng(1),
    schema=Schema([Attribute("value", "int", (0, 9), 1)]),
)
each_scheme = pytest.mark.parametrize("name", scheme_names())


@each_scheme
def test_a_scheme_is_found_under_the_name_of_its_file(name):
    folder = Path(siftcast.schemes.__file__).parent
    assert scheme(name).name == name
    assert (folder / f"{name.replace('-', '_')}.py").is_file()
    assert schemes()[name] is scheme(name)


@each_scheme
def test_a_node_has_contacts_that_have_it_too_unless_only_one_of_them_calls(name):
    chosen = scheme(name)
    plan = chosen.plan(GROUND, chosen.options)
    contacts = {node: chosen.contacts(plan, node) for node in GROUND.places}
    for node, others in contacts.items():
        assert list(others) == sorted(set(others) - {node})
        assert set(others) <= set(GROUND.places)
    assert chosen.edges(plan, GROUND.places) == tuple(
        sorted({(min(a, b), max(a, b)) for a, others in contacts.items() for b in others})
    )


@each_scheme
def test_a_scheme_is_durable_exactly_if_its_nodes_can_be(name):
    chosen = scheme(name)
    node = chosen.nodes(chosen.plan(GROUND, chosen.options), chosen.options, matcher_tables("brute_force"))(0)
    assert isinstance(node, Protocol)
    assert type(node) is chosen.protocol
    if chosen.is_durable:
        assert Durable(0, node).messages
    elif chosen.begins_with_contacts:
        assert name in ("core-tree", "gossip", "homed", "qos")  # nobody knows where its events would have to wait
    else:
        with pytest.raises(NotDurableError, match="would be forgotten"):
            Durable(0, node)


def test_a_scheme_that_divides_the_content_wants_its_schema():
    blind = Ground(GROUND.latencies_ms, np.random.default_rng(1))
    for chosen in schemes().values():
        if chosen.needs_schema:
            with pytest.raises(SchemeError, match="schema"):
                chosen.plan(blind, chosen.options)
        else:
            assert chosen.plan(blind, chosen.options) is not None


def test_the_default_runs_on_sockets_and_can_be_durable():
    assert not scheme(DEFAULT_SCHEME).simulated_only
    assert scheme(DEFAULT_SCHEME).is_durable


@pytest.mark.parametrize("name", ["catalogue", "contract", "kira", "", "filter_based", "../x"])
def test_what_is_no_scheme_is_refused_with_the_nearest_one(name):
    with pytest.raises(SchemeError, match="there is no scheme"):
        scheme(name)


@pytest.mark.parametrize("digest", ["segments", "hashed", "bloom"])
@pytest.mark.parametrize("hashes", [-1, 0, 65, 10**9])
def test_bits_of_an_element_are_as_many_as_a_digest_has_at_most(digest, hashes):
    with pytest.raises(SchemeError, match="hashes are 1 to 64"):
        scheme("homed").configure({"digest": digest, "hashes": hashes})


def test_the_settings_of_a_homed_node_are_the_options_of_the_same_names():
    chosen = {"arity": 8, "layout": "neighbours", "drift": 0.2, "receivers": "to", "bits": 9}
    options = scheme("homed").configure(chosen)
    settings = options.settings()
    assert (settings.arity_bits, settings.layout, settings.drift, settings.receivers) == (3, "neighbours", 0.2, "to")
    assert settings.move_ms == HomedSettings().move_ms


@pytest.mark.parametrize("count", [1, -1])
def test_peers_with_a_ground_and_one_neighbour_are_refused_by_the_name_of_the_option(count):
    with pytest.raises(SchemeError, match=f"neighbours are at least 2 with a ground, or 0 for no limit, not {count}"):
        scheme("gossip").configure({"ground": "measured", "neighbours": count})
