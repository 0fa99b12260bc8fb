"""Scenarios on networks that are measured badly, differ by direction, have unreachable pairs, or were measured."""

from datetime import UTC, datetime

import numpy as np
import pytest

from siftcast.runtimes.sim import ScenarioError, execute, judge, load_scenario, parse_scenario, prepare
from siftcast.runtimes.sim.checkers import publisher_of, resource_usage
from siftcast.runtimes.sim.scenario_underlay import reachable_contacts
from siftcast.underlay import GroundFile, GroundHost, GroundRoute, Network, write_ground

SCENARIO = """
[underlay]
generator = "waxman"
servers = 16
UNDERLAY
[underlay.options]
routers = 40
[scheme]
name = "filter-based"
[workload]
preset = "kyra-uniform"
events = 40
subscriptions = 32
interval_ms = 50
[workload.options]
values = 20
interest_rate = 0.2
[timing]
subscribe_ms = SUBSCRIBE
publish_ms = PUBLISH
"""
TICKING = (8_000, 6_000)


def text(scheme="filter-based", underlay="", more="", phases=None):
    made = SCENARIO.replace("UNDERLAY", underlay).replace("filter-based", scheme) + more
    if phases is None:
        return made.replace("subscribe_ms = SUBSCRIBE\npublish_ms = PUBLISH\n", "")
    return made.replace("SUBSCRIBE", str(phases[0])).replace("PUBLISH", str(phases[1]))


def run(written, seed=1):
    return execute(prepare(parse_scenario(written), seed))


def crossed(done):
    """Between whom messages arrived."""
    rows = done.simulation.trace.record_table().to_pylist()
    return {(row["peer"], row["node"]) for row in rows if row["kind"] == "received"}


# -- measuring -----------------------------------------------------------------------------------------


def test_noise_and_loss_change_what_peers_measure_and_not_who_gets_what():
    plain = run(text("qos", phases=TICKING))
    badly = text("qos", more="[measuring]\nnoise = 0.3\nloss = 0.2\n", phases=TICKING)
    noisy = run(badly)
    assert judge(noisy).ok, judge(noisy).violations
    assert noisy.simulation.trace.digest() != plain.simulation.trace.digest()
    assert noisy.simulation.trace.digest() == run(badly).simulation.trace.digest()


def test_a_scheme_that_measures_nothing_is_the_same_however_badly_it_would():
    badly = run(text(more="[measuring]\nnoise = 0.3\nloss = 0.2\nanonymous = 0.3\npartial = 0.5\n"))
    assert badly.simulation.trace.digest() == run(text()).simulation.trace.digest()


# -- networks that differ by direction -----------------------------------------------------------------


def test_with_asymmetry_the_network_is_the_same_but_for_the_delays_of_the_two_directions():
    plain, leaning = run(text("broadcast")), run(text("broadcast", underlay="asymmetry = 0.5"))
    assert judge(leaning).ok
    assert np.array_equal(plain.underlay.server_routers, leaning.underlay.server_routers)
    assert np.array_equal(plain.underlay.arcs.tail, leaning.underlay.arcs.tail)
    assert not np.array_equal(leaning.underlay.latencies_ms, leaning.underlay.latencies_ms.T)


def test_messages_take_as_long_as_their_direction():
    done = run(text("broadcast", underlay="asymmetry = 0.5"))
    sent_ms = {}
    seen = 0
    for row in done.simulation.trace.record_table().to_pylist():
        if row["kind"] == "sent":
            sent_ms[row["node"], row["peer"], row["message"], row["event"]] = row["time_ms"]
        elif row["kind"] == "received":
            began_ms = sent_ms[row["peer"], row["node"], row["message"], row["event"]]
            route = list(done.underlay.route(row["peer"], row["node"]))
            assert np.isclose(row["time_ms"] - began_ms, done.underlay.arcs.latency_ms[route].sum())
            seen += 1
    assert seen > 100


@pytest.mark.parametrize("scheme", ["ideal-multicast", "unicast"])
def test_resource_usage_stays_a_ratio_to_the_ideal_in_every_direction(scheme):
    done = run(text(scheme, underlay="asymmetry = 1.0"))
    usage = resource_usage(done.simulation.trace, done.underlay)
    assert np.isclose(usage, 1.0) if scheme == "ideal-multicast" else usage > 1.1


# -- unreachable pairs ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scheme", "phases"), [("filter-based", None), ("broadcast", None), ("kyra", None), ("gossip", TICKING)]
)
def test_schemes_survive_unreachable_pairs_between_which_nothing_passes(scheme, phases):
    done = run(text(scheme, underlay="unreachable = 0.2", phases=phases))
    cut = {pair for pair in np.ndindex(16, 16) if done.underlay.unreachable.cuts(*pair)}
    assert len(cut) > 20
    assert not crossed(done) & cut
    verdict = judge(done)
    assert verdict.ok, verdict.violations
    assert verdict.deliveries.required > 100


@pytest.mark.parametrize(("scheme", "phases"), [("unicast", None), ("qos", TICKING)])
def test_where_events_come_straight_from_their_publisher_nobody_but_who_cannot_reach_it_misses_any(scheme, phases):
    done = run(text(scheme, underlay="unreachable = 0.2", phases=phases))
    trace, deliveries = done.simulation.trace, judge(done).deliveries
    assert deliveries.delivered > deliveries.missing > 0
    assert deliveries.duplicate == deliveries.wrong == 0
    rows = trace.delivery_table().to_pylist()
    got = {(row["event"], id) for row in rows for id in row["subscriptions"]}
    for server, items in done.subscriptions.items():
        missed = [
            event
            for event in trace.events.values()
            for item in items
            if item.filter.matches(event) and (event.id, item.id) not in got
        ]
        assert all(done.underlay.unreachable.cuts(publisher_of(trace, event.id), server) for event in missed)


def test_peers_whose_contact_cannot_be_reached_are_named_others():
    done = prepare(parse_scenario(text("gossip", underlay="unreachable = 0.4", phases=TICKING)), 1)
    cuts, plain = done.underlay.unreachable.cuts, prepare(parse_scenario(text("gossip", phases=TICKING)), 1)
    contacts = [done.scheme.contacts(done.plan, server) for server in range(16)]
    assert contacts == [plain.scheme.contacts(plain.plan, server) for server in range(16)]
    assert any(cuts(server, other) for server, others in enumerate(contacts) for other in others)
    named = reachable_contacts(done.underlay, dict(enumerate(contacts)))
    assert reachable_contacts(plain.underlay, dict(enumerate(contacts))) == dict(enumerate(contacts))
    reached = [(server, other, 1.0) for server, others in named.items() for other in others if not cuts(server, other)]
    assert Network.of(16, reached).is_connected


# -- measured networks ---------------------------------------------------------------------------------

HOSTS = ("Köln", "Paris <2>", "Wien", "Oslo")
DELAYS_MS = ((0, 4.0, 8.0, 11.0), (6.0, 0, None, 9.0), (8.0, None, 0, 12.0), (11.0, 9.0, 12.0, 0))
ROUTES = (GroundRoute(0, 1, "ok", ("10.0.0.1", None), (0.5, None)),)


@pytest.fixture
def scenario(tmp_path):
    """A scenario beside a ground file of four hosts."""
    hosts = tuple(GroundHost(name, number) for number, name in enumerate(HOSTS, 1))
    write_ground(tmp_path / "my.ground", GroundFile(datetime(2026, 11, 19, tzinfo=UTC), hosts, DELAYS_MS, ROUTES))

    def scenario(underlay="", scheme="filter-based"):
        written = text(scheme).replace('generator = "waxman"\nservers = 16\nUNDERLAY', underlay)
        written = written.replace(
            'generator = "waxman"\nservers = 16\n', f'file = "my.ground"\nformat = "ground"\n{underlay}'
        ).replace("[underlay.options]\nrouters = 40\n", "")
        (tmp_path / "scenario.toml").write_text(written, encoding="utf-8")
        return load_scenario(tmp_path / "scenario.toml")

    return scenario


@pytest.mark.parametrize("scheme", ["filter-based", "broadcast", "kyra"])
def test_schemes_run_on_a_ground_file_whose_hosts_are_the_servers(scenario, scheme):
    done = execute(prepare(scenario(scheme=scheme), 1))
    assert done.underlay.server_names == HOSTS
    assert (done.underlay.latency_ms(0, 1), done.underlay.latency_ms(1, 0)) == (4.0, 6.0)
    assert done.underlay.latency_ms(1, 2) == 14.0  # not measured, so over Köln
    assert done.underlay.latency_ms(2, 1) == 12.0
    assert judge(done).ok


def test_fewer_servers_than_hosts_are_the_first_and_more_there_are_not(scenario):
    done = execute(prepare(scenario("servers = 3"), 1))
    assert done.underlay.server_names == HOSTS[:3]
    assert judge(done).ok
    with pytest.raises(ScenarioError, match=r"line 2: underlay: 4 servers were measured, so there can be 1 to 4"):
        prepare(scenario("servers = 5"), 1)


@pytest.mark.parametrize(
    ("key", "told"),
    [
        ("asymmetry = 0.5", "underlay.asymmetry: the directions of a measured network differ as they were measured"),
        ("unreachable = 1.5", r"underlay\.unreachable.*<= 1"),
        ("[measuring]\nnoise = -1", r"measuring\.noise.*>= 0"),
        ("[measuring]\nloss = 1.0", r"measuring\.loss.*< 1"),
        ("[measuring]\nanonymus = 0.3", r"measuring\.anonymus.*not a known key"),
        ('[underlay.options]\nmissing = "guess"', "missing is 'guess'; choose one of refuse, drop"),
    ],
)
def test_a_mistake_in_it_is_told_with_its_key(scenario, key, told):
    with pytest.raises(ScenarioError, match=told):
        prepare(scenario(key), 1)
