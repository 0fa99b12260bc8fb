"""Links that lose messages: tables end as if nothing had been lost, nothing goes round, and the network falls quiet."""

import os
from collections import Counter

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from siftcast.model import Event
from siftcast.runtimes.sim import Faults, execute, judge, parse_scenario, prepare
from siftcast.runtimes.sim.checkers import notification_cost
from siftcast.runtimes.sim.scenario_run import subscribe
from tests.simulation.lossy_network import SCHEMES, build

SOAKING = os.environ.get("HYPOTHESIS_PROFILE") == "soak"
LOSSES = [0.02, 0.1, 0.4] if SOAKING else [0.02, 0.1]
SERVERS = 32

SCENARIO = """
[underlay]
generator = "transit-stub"
servers = {servers}
[underlay.options]
transit_domains = 2
transit_routers = 4
stubs_per_router = 2
stub_routers = 5
links = 160
[scheme]
name = "{scheme}"
[workload]
preset = "kyra-zipf"
events = {events}
subscriptions = 40
[workload.options]
values = 50
interest_rate = 0.1
[faults]
loss = {loss}
[timing]
refresh_ms = {refresh_ms}
[checks]
exactly_once = false
"""


def scenario(scheme, *, loss, refresh_ms=200, events=5, seed=3, servers=SERVERS):
    text = SCENARIO.format(scheme=scheme, loss=loss, refresh_ms=refresh_ms, events=events, servers=servers)
    return prepare(parse_scenario(text), seed)


def tables(run):
    subscribe(run)
    return run.state_after_subscribing


# -- scenarios: what is lost is repaired ---------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("scheme", ["filter-based", "match-early", "multicast-based", "kyra"])
def test_under_loss_every_server_ends_with_the_entries_of_a_run_without(scheme, loss):
    whole = tables(scenario(scheme, loss=0.0))
    assert sum(whole) > 30
    assert tables(scenario(scheme, loss=loss)) == whole
    assert sum(tables(scenario(scheme, loss=loss, refresh_ms=0))) < sum(whole)  # and without it, holes stay


@pytest.mark.parametrize("loss", LOSSES)
def test_under_loss_clusters_end_with_as_many_entries_as_without(loss):
    """Who hangs below whom depends on who came first, so the entries of one server may differ."""
    whole = sum(tables(scenario("clustered", loss=0.0)))
    assert sum(tables(scenario("clustered", loss=loss))) == whole > 40
    assert sum(tables(scenario("clustered", loss=loss, refresh_ms=0))) < whole


@pytest.mark.parametrize("scheme", ["filter-based", "kyra", "multicast-based"])
def test_under_loss_events_come_at_most_once_and_only_what_lost_an_event_misses_it(scheme):
    run = execute(scenario(scheme, loss=0.02, events=40))
    verdict = judge(run)
    assert verdict.ok, "\n".join(map(str, verdict.violations))
    assert verdict.deliveries.missing < verdict.deliveries.required / 3
    table = run.simulation.trace.record_table().to_pylist()
    lost = {row["event"] for row in table if row["kind"] == "lost" and row["event"] is not None}
    missed = {each.event for each in verdict.violations if each.kind == "missing"}
    assert missed
    assert missed <= lost


def test_where_nothing_is_lost_no_message_is_added():
    runs = [execute(scenario("kyra", loss=0.0, refresh_ms=refresh_ms)) for refresh_ms in (0, 200)]
    assert runs[0].simulation.trace.digest() == runs[1].simulation.trace.digest()


@pytest.mark.parametrize("servers", [1, 2])
def test_the_smallest_networks_are_refreshed_too(servers):
    run = execute(scenario("filter-based", loss=0.3, servers=servers, events=20))
    assert judge(run).ok
    assert sum(run.state_after_subscribing) == (0 if servers == 1 else 40)


# -- nothing goes round --------------------------------------------------------------------------------


def stop_a_storm(simulation):
    assert simulation.handled < 60_000, "events go round"


@pytest.mark.parametrize("loss", LOSSES)
def test_events_of_multicast_based_routing_do_not_go_round_where_servers_disagree_on_members(loss):
    """Not repaired, so that servers stay at odds."""
    run = scenario("multicast-based", loss=loss, refresh_ms=0)
    held = tables(run)
    assert len(set(held)) > 5  # they do disagree
    events = 5
    for number in range(events):
        run.simulation.publish(number, Event({"value": 7 * number}, id=f"e{number}"), at_ms=run.simulation.now + 1)
    run.simulation.run(report=stop_a_storm)
    cost = notification_cost(run.simulation.trace)
    assert 0 < cost.event_messages <= events * (SERVERS + 1)
    rows = run.simulation.trace.delivery_table().to_pylist()
    assert max(Counter((row["node"], row["event"]) for row in rows).values()) == 1


@pytest.mark.parametrize("name", sorted(SCHEMES))
def test_no_scheme_sends_an_event_more_often_than_there_are_servers_on_its_ways(name):
    nodes = 16
    clusters = 5 if name.startswith("clustered") else 1
    for seed in range(4):
        network = build(name, seed, nodes=nodes, faults=Faults(loss=0.1, jitter_ms=5, detect_ms=20), refresh_ms=0)
        network.live(30, trouble=False)
        for number in range(10):
            event = Event({"value": number}, id=f"e{number}")
            network.simulation.publish(network.any_node(), event, at_ms=network.simulation.now + 1 + number)
        network.simulation.run(report=stop_a_storm)
        sent = Counter(row[5] for row in network.simulation.trace.records if row[1] == "sent" and row[5] is not None)
        # Kyra: along a tree, and once more from proxies to those who want it; clusters: a tree each.
        assert max(sent.values(), default=0) <= (clusters + 1) * nodes


# -- any change, any trouble ---------------------------------------------------------------------------


@given(
    st.sampled_from(sorted(SCHEMES)),
    st.integers(0, 2**32),
    st.integers(1, 9),
    st.sampled_from([0.02, 0.2, 0.5]),
    st.booleans(),
)
def test_after_changes_crashes_and_cuts_over_lossy_links_tables_are_right_and_nobody_waits(
    name, seed, nodes, loss, reorder
):
    note(f"replay: build({name!r}, {seed}, nodes={nodes}), as below")
    faults = Faults(loss=loss, jitter_ms=8, reorder=reorder, detect_ms=20)
    network = build(name, seed, nodes=nodes, faults=faults)
    network.live(40, trouble=True)  # ends only when nothing is left to do
    assert [protocol.state()["control_waiting"] for protocol in network.simulation.protocols.values()] == [0] * nodes
    network.verify_tables()


def test_the_check_of_tables_finds_what_was_lost():
    """The same histories without repair: most end with tables that are wrong."""
    wrong = 0
    for seed in range(12):
        network = build("filter-based", seed, nodes=8, faults=Faults(loss=0.2, detect_ms=20), refresh_ms=0)
        network.live(40, trouble=False)
        try:
            network.verify_tables()
        except AssertionError:
            wrong += 1
    assert wrong > 6


def test_a_peer_that_stays_away_is_not_sent_to_and_the_network_becomes_quiet():
    network = build("filter-based", 1, nodes=5, faults=Faults(loss=0.1, detect_ms=20))
    network.simulation.crash(3, at_ms=100)
    for at_ms in range(0, 400, 20):
        if at_ms < 90:
            network.change(float(at_ms))
    network.simulation.run()
    before = network.simulation.trace.record_table().num_rows
    network.back_ms[3] = float("inf")
    for at_ms in range(10):
        network.change(network.simulation.now + 10.0 * at_ms)
    network.simulation.run()
    rows = network.simulation.trace.record_table().slice(before).to_pylist()
    assert [row for row in rows if row["kind"] == "sent"]
    assert not [row for row in rows if row["kind"] == "sent" and row["peer"] == 3]
