"""Scenarios in which servers come and go by rates, take their time, advertise, and subscribers cannot wait for ever."""

import numpy as np
import pytest

from siftcast.model import Event, Filter, Subscription
from siftcast.overlays.bounds import Hop
from siftcast.overlays.contract import Deliver, PublishRequested, SendMessage, Spent
from siftcast.overlays.trace import Trace
from siftcast.runtimes.sim import (
    Costs,
    Faults,
    QueueingSimulation,
    ScenarioError,
    UniformNetwork,
    execute,
    judge,
    parse_scenario,
    prepare,
)
from siftcast.runtimes.sim.advertising import ranges_of
from siftcast.runtimes.sim.bursts import publication_times
from siftcast.runtimes.sim.checkers import delay_bounds, kept_bounds
from siftcast.runtimes.sim.churn import absent_servers, change_times, draw_changes, draw_churn
from siftcast.runtimes.sim.scenario import ChurnSpec, Step
from tests.simulation.test_scenarios import SMALL
from tests.simulation.test_simulation import Note, Scripted, event

CALM = SMALL.partition("[[schedule]]")[0] + "[checks]\nsettle_ms = 30\n"


def run(text, seed=1):
    return execute(prepare(parse_scenario(text, "small.toml"), seed))


def line_of(verdict, name):
    return next(line for line in verdict.lines if line.name == name)


# -- churn ----------------------------------------------------------------------------------------------


def churn(until_ms=100_000.0, servers=50, named=(), seed=1, **spec):
    return draw_churn(ChurnSpec(**spec), servers, named, until_ms, np.random.default_rng(seed))


def test_rates_are_kept_on_average_and_the_seed_decides_when():
    steps = churn(crashes_per_s=2.0, down_ms=50.0)
    crashes = [step.at_ms for step in steps if step.do == "crash"]
    assert 160 < len(crashes) < 240
    assert steps == churn(crashes_per_s=2.0, down_ms=50.0) != churn(crashes_per_s=2.0, down_ms=50.0, seed=2)


def test_a_server_that_crashes_late_restarts_all_the_same():
    steps = churn(until_ms=1_000.0, crashes_per_s=20.0, down_ms=900.0)
    crashed = {step.node: step.at_ms for step in steps if step.do == "crash"}
    restarted = {step.node: step.at_ms for step in steps if step.do == "restart"}
    assert restarted == {node: at_ms + 900.0 for node, at_ms in crashed.items()}
    assert max(crashed.values()) < 1_000.0 < max(restarted.values())


def test_only_servers_that_run_crash_or_leave_and_only_absent_ones_arrive():
    named, absent = {1, 2}, {40, 41, 42}
    steps = churn(
        named=named, absent=sorted(absent), arrivals_per_s=1.0, departures_per_s=0.2, crashes_per_s=1.0, down_ms=500.0
    )
    running = set(range(50)) - absent
    for step in steps:
        if step.do in ("join", "restart"):
            running.add(step.node)
        else:
            running.remove(step.node)
    assert [step.at_ms for step in steps] == sorted(step.at_ms for step in steps)
    assert {step.node for step in steps if step.do == "join"} == absent
    assert not named & {step.node for step in steps}
    assert {step.do for step in steps} == {"join", "leave", "crash", "restart"}


def test_a_crash_that_has_no_end_is_none_of_a_restart_and_so_many_last_servers_are_absent():
    assert {step.do for step in churn(crashes_per_s=0.1)} == {"crash"}
    assert absent_servers(ChurnSpec(absent=3), 10) == (7, 8, 9)


@pytest.mark.parametrize("scheme", ["filter-based", "broadcast"])
def test_servers_that_arrive_late_are_served_and_deliveries_are_never_doubled(scheme):
    churned = "[churn]\nabsent = 3\narrivals_per_s = 40\ncrashes_per_s = 10\ndown_ms = 30\n"
    done = run(CALM.replace('"filter-based"', f'"{scheme}"').replace("interval_ms = 5", "interval_ms = 20") + churned)
    verdict = judge(done)
    assert {"join", "crash"} <= {step.do for step in done.steps}
    assert (verdict.deliveries.duplicate, verdict.deliveries.wrong) == (0, 0)
    late = {step.node for step in done.steps if step.do == "join"}
    assert late & set(done.simulation.trace.delivery_table()["node"].to_pylist())


def test_a_schedule_may_let_an_absent_server_join_and_nobody_else():
    text = CALM + "[churn]\nabsent = [4]\n[[schedule]]\nat_ms = 10\ndo = 'join'\nnode = {}\n"
    assert run(text.format(4)).simulation.protocols.keys() == set(range(12))
    with pytest.raises(ScenarioError, match="server 5 runs and cannot join"):
        run(text.format(5))
    with pytest.raises(ScenarioError, match="there is no server 12"):
        run(CALM + "[churn]\nabsent = [12]\n")


# -- costs ----------------------------------------------------------------------------------------------


def busy(costs, react, **options):
    log: list = []
    sim = QueueingSimulation(
        range(2), lambda node: Scripted(node, react, log), UniformNetwork(1.0), costs=costs, **options
    )
    return sim, log


def work(node, stimulus):
    if isinstance(stimulus, PublishRequested):
        return [Spent(2, 3), SendMessage(Note(1), (1,))]
    return [Deliver(Event({}, id="x"), ["s"])] if not node and stimulus is None else None


def test_what_comes_while_a_node_is_busy_waits_its_turn():
    sim, _ = busy(Costs(message_ms=1.0, match_ms=4.0, lookup_ms=0.5), work)  # a publication takes 10.5 ms
    for number, at_ms in enumerate((0.0, 2.0, 30.0)):
        sim.publish(0, event(number), at_ms=at_ms)
    rows = sim.run().record_table().to_pylist()
    times = {
        kind: [row["time_ms"] for row in rows if row["kind"] == kind] for kind in ("published", "sent", "received")
    }
    assert times == {"published": [0.0, 10.5, 30.0], "sent": [10.5, 21.0, 40.5], "received": [11.5, 22.0, 41.5]}
    assert sim.waits_ms == [0.0, 8.5, 0.0, 0.0, 0.0, 0.0]
    assert sim.busy_ms == {0: 31.5, 1: 3.0}
    assert sim.utilisation().tolist() == pytest.approx([31.5 / 42.5, 3.0 / 42.5])


def test_without_costs_nothing_changes():
    free, _ = busy(Costs(), work)
    free.publish(0, event())
    assert [row["time_ms"] for row in free.run().record_table().to_pylist()] == [0.0, 0.0, 1.0]
    assert free.waits_ms == [0.0, 0.0]


def test_what_waits_at_a_node_that_crashes_is_dropped():
    sim, _ = busy(Costs(message_ms=100.0), work, faults=Faults(detect_ms=5))
    sim.at(0.0, 0, PublishRequested(event(0)))
    sim.at(1.0, 0, PublishRequested(event(1)))
    sim.crash(0, at_ms=50)
    sim.restart(0, at_ms=60)
    sim.publish(0, event(2), at_ms=70)
    kinds = [(row["kind"], row["event"]) for row in sim.run().record_table().to_pylist()]
    assert kinds[:3] == [("published", "e0"), ("crashed", None), ("missed", "e1")]
    assert kinds[4:] == [("published", "e2"), ("sent", "n1"), ("received", "n1")]


def test_a_verdict_bounds_queueing_and_utilisation():
    slow = CALM + "queueing_ms_max = 1\nutilisation_max = 0.9\n[costs]\nmessage_ms = 3.0\n"
    verdict = judge(run(slow))
    assert line_of(verdict, "queueing delay, ms").ok is False
    assert line_of(verdict, "utilisation").ok is True
    assert verdict.deliveries.missing == 0


def test_costs_are_times():
    with pytest.raises(ValueError, match="match_ms must be a time"):
        Costs(match_ms=-1.0)


# -- bounds on delay ------------------------------------------------------------------------------------


def test_deliveries_after_the_bound_of_their_subscription_are_late():
    verdicts = [judge(run(CALM.replace("interval_ms = 5", f"interval_ms = 5\ndelay_ms_max = {bound}"))) for bound in
                ("[0.5, 30]", "10000", "0.001")]  # fmt: skip
    assert [line_of(verdict, "late by their own bound").ok for verdict in verdicts] == [False, True, False]
    assert [line.name for line in verdicts[1].lines if line.ok is False] == []


def test_bounds_are_saved_with_the_trace_and_those_without_are_not_judged(tmp_path):
    trace = Trace(subscriptions={
        "a": Subscription("a", Filter.parse("TRUE"), delay_ms_max=5.0), "b": Subscription("b", Filter.parse("TRUE")),
    })  # fmt: skip
    trace.records.append((1.0, "published", 0, None, None, "e", 0, 0, 0))
    trace.events["e"] = Event({}, id="e")
    trace.deliveries += [(4.0, 0, "e", ["a", "b"]), (9.0, 1, "e", ["a", "b"])]
    trace.save(tmp_path)
    for each in (trace, Trace.load(tmp_path)):
        found = delay_bounds(each)
        assert (found.judged, found.late, found.worst_ms) == (2, 1, 3.0)


def test_each_bound_is_judged_by_its_last_thousand_events_with_the_hop_that_was_slowest():
    trace = Trace(subscriptions={
        "near": Subscription("near", Filter.parse("TRUE"), delay_ms_max=9.0),
        "far": Subscription("far", Filter.parse("TRUE"), delay_ms_max=9.0),
        "own": Subscription("own", Filter.parse("TRUE"), delay_ms_max=9.0),
        "free": Subscription("free", Filter.parse("TRUE")),
        "silent": Subscription("silent", Filter.parse("TRUE"), delay_ms_max=9.0),
    })  # fmt: skip
    for number in range(1_010):
        name, at, way = f"e{number}", 100.0 * number, 5.0 if number >= 10 else 50.0
        trace.records.append((at, "published", 0, None, None, name, 0, 0, 0))
        trace.records.append((at + 2, "received", 1, 0, "Publication", name, 0, 0, 0))
        trace.records.append((at + 2 + way, "received", 2, 1, "Publication", name, 0, 0, 0))
        trace.records.append((at + 90, "received", 2, 0, "Publication", name, 0, 0, 0))  # a second copy, much later
        trace.deliveries += [
            (at, 0, name, ["own"]),
            (at + 2, 1, name, ["near", "free"]),
            (at + 2 + way, 2, name, ["far"]),
        ]
    trace.expected["silent"] = (20.0, 12.0)
    found = {each.subscription: each for each in kept_bounds(trace)}
    assert set(found) == {"near", "far", "own", "silent"}
    shares = {name: (each.standing.state, each.standing.counted, each.standing.in_time) for name, each in found.items()}
    assert shares == {
        "near": ("met", 1_000, 1_000), "far": ("met", 1_000, 1_000), "own": ("met", 1_000, 1_000),
        "silent": ("impossible", 0, 0),
    }  # fmt: skip
    assert (found["near"].standing.slowest, found["far"].standing.slowest) == (Hop(0, 1, 2.0), Hop(1, 2, 5.0))
    assert found["own"].standing.slowest is None
    trace.subscriptions["far"] = Subscription("far", Filter.parse("TRUE"), delay_ms_max=6.0)
    worst, *_ = kept_bounds(trace)
    assert (worst.subscription, worst.standing.state, worst.standing.in_time) == ("far", "missed", 0)


def test_a_verdict_says_which_bounds_are_kept_and_the_worst_of_the_others():
    lines = judge(run(CALM.replace("interval_ms = 5", "interval_ms = 5\ndelay_ms_max = [0.5, 30]"))).lines
    counted = next(line.value for line in lines if line.name.startswith("bounds ("))
    assert " met" in counted
    assert " missed" in counted
    unkept = [line.value for line in lines if line.name.startswith("bound of ")]
    assert 0 < len(unkept) <= 5
    assert all("slowest hop" in value for value in unkept)


def test_bandwidths_go_to_the_subscriptions_and_into_the_trace(tmp_path):
    made = run(CALM.replace("interval_ms = 5", "interval_ms = 5\nbandwidth = [100, 200]"))
    made.simulation.trace.save(tmp_path)
    for trace in (made.simulation.trace, Trace.load(tmp_path)):
        widths = {item.bandwidth for item in trace.subscriptions.values()}
        assert len(widths) > 1
        assert all(100 <= width <= 200 for width in widths)
    with pytest.raises(ScenarioError, match="one bandwidth, or the smallest and the largest"):
        run(CALM.replace("interval_ms = 5", "interval_ms = 5\nbandwidth = [2, 1]"))


def test_bounds_must_be_one_or_a_range():
    for bounds in ("[1, 2, 3]", "[2, 1]"):
        with pytest.raises(ScenarioError, match="one bound, or the shortest and the longest"):
            run(CALM.replace("interval_ms = 5", f"interval_ms = 5\ndelay_ms_max = {bounds}"))


# -- advertisements -------------------------------------------------------------------------------------


def test_ranges_hold_all_that_is_published_and_little_else():
    events = [Event({"a": 1, "s": "x", "n": 2}), Event({"a": 7, "s": "it's"}), Event({"a": -2.5, "s": "x", "n": 1})]
    wanted = ranges_of(events)
    assert all(wanted.matches(each) for each in events)
    assert not any(wanted.matches(each) for each in ({"a": 8, "s": "x"}, {"a": 1, "s": "y"}))
    assert str(ranges_of([Event({"a": None, "b": True}), Event({})])) == "TRUE"


ADVERTISING = CALM.replace('name = "filter-based"', 'name = "filter-based"\n[scheme.options]\nadvertisements = true')


def test_ranges_make_tables_smaller_and_lose_nothing():
    said, everything = (
        run(ADVERTISING.replace("interval_ms = 5", f"interval_ms = 5\nadvertise = '{each}'"))
        for each in ("ranges", "everything")
    )
    assert judge(said).ok
    assert judge(everything).ok
    assert sum(said.state_after_subscribing) < sum(everything.state_after_subscribing)


def test_a_scenario_says_what_a_server_advertises_and_its_events_must_match():
    wide = "[[advertisements]]\nserver = {}\nfilter = '{}'\n"
    server = next(iter(run(ADVERTISING).advertised))
    done = run(ADVERTISING + wide.format(server, "value >= 0"))
    assert [str(item.filter) for item in done.advertised[server]] == ["value >= 0"]
    assert judge(done).ok
    with pytest.raises(ScenarioError, match=rf"of server {server} matches nothing that the server advertises"):
        run(ADVERTISING + wide.format(server, "value > 1000"))
    with pytest.raises(ScenarioError, match=r"advertisements\[0\]"):
        run(ADVERTISING + wide.format(server, "value >"))


# -- interests that change, and bursts -------------------------------------------------------------------

RESERVE = [(f"n{number}", Filter.parse("TRUE")) for number in range(300)]


def changes(steps=(), named=(), absent=(), count=300, seed=1):
    homes = {server: [Subscription(f"s{server}", Filter.parse("TRUE"), f"u{server}")] for server in range(5)}
    rng = np.random.default_rng(seed)
    return draw_changes([float(at) for at in range(count)], RESERVE[:count], homes, steps, 10.0, named, absent, rng)


def test_interests_change_at_their_rate_and_each_change_gives_up_what_stands():
    times = change_times(ChurnSpec(changes_per_s=2.0), 100_000.0, np.random.default_rng(1))
    assert 160 < len(times) < 240
    standing = {server: f"s{server}" for server in range(5)}
    for change in changes():
        assert (change.given_up.id, change.made.subscriber) == (standing[change.server], f"u{change.server}")
        standing[change.server] = change.made.id
    assert all(id.startswith("n") for id in standing.values())


def test_who_lives_on_a_server_that_is_down_or_named_changes_nothing():
    steps = [Step(at_ms=50.0, do="crash", node=1), Step(at_ms=100.0, do="restart", node=1)]
    found = changes(steps, named={2}, absent={3})
    assert not {change.server for change in found} & {2, 3}
    at_1 = [change.at_ms for change in found if change.server == 1]
    assert at_1
    assert not [at_ms for at_ms in at_1 if 50.0 <= at_ms < 110.0]
    assert min(at_1) < 50.0
    assert max(at_1) >= 110.0


@pytest.mark.parametrize("scheme", ["filter-based", "unicast"])
def test_a_scenario_in_which_interests_change_delivers_to_those_that_stand(scheme):
    text = CALM.replace('"filter-based"', f'"{scheme}"').replace("interval_ms = 5", "interval_ms = 20")
    done = run(text + "[churn]\nchanges_per_s = 100\ncrashes_per_s = 3\ndown_ms = 30\n")
    assert len(done.changes) > 20
    verdict = judge(done)
    assert verdict.ok
    assert verdict.deliveries.wanted
    table = done.simulation.trace.delivery_table()["subscriptions"].to_pylist()
    assert {change.made.id for change in done.changes} & {id for ids in table for id in ids}
    standing = {item.id for items in done.subscriptions.values() for item in items}
    assert not standing & {change.given_up.id for change in done.changes}
    assert len(standing) == 24


def test_durable_subscriptions_do_not_change():
    with pytest.raises(ScenarioError, match="durable subscriptions do not change"):
        run(CALM.replace("interval_ms", "durable = true\ninterval_ms") + "[churn]\nchanges_per_s = 1\n")


def test_events_of_one_publisher_that_follow_each_other_are_a_burst_at_a_random_time():
    publishers = ["a"] * 3 + ["b"] + ["a"] * 2 + ["c"] * 4
    times = publication_times(publishers, 100.0, 1.0, np.random.default_rng(3))
    starts = [times[0], times[3], times[4], times[6]]
    assert starts == sorted(starts)
    assert starts[0] >= 0.0
    assert starts[-1] <= 1_000.0
    assert np.allclose(np.diff(times)[[0, 1, 4, 6, 7, 8]], 1.0)
    assert publication_times(publishers, 100.0, None, np.random.default_rng(3)) == [100.0 * at for at in range(10)]


def test_a_scenario_with_bursts_publishes_each_event_at_its_time():
    done = run(CALM.replace("interval_ms = 5", "interval_ms = 50\nburst_ms = 0.5"))
    rows = done.simulation.trace.record_table().to_pylist()
    times = np.array([row["time_ms"] for row in rows if row["kind"] == "published"])
    assert len(times) == 40
    assert np.ptp(times) < 2_100.0
    assert judge(done).ok
    assert len(np.unique(np.diff(times).round(3))) > 20
