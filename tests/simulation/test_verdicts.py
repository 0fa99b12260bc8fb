"""Verdicts: passed, failed, or vacuous, where nothing could have failed; and schedules that make no sense."""

import pytest

from siftcast.overlays.contract import Protocol
from siftcast.overlays.trace import Trace
from siftcast.runtimes.sim import ScenarioError, execute, judge, parse_scenario, prepare
from siftcast.runtimes.sim.checkers import Waiting, disturbances, durable_delivery, exactly_once, progress
from siftcast.schemes import scheme
from tests.simulation.test_checkers import Script

SCENARIO = """
[underlay]
generator = "waxman"
servers = {servers}
[underlay.options]
routers = 30
[scheme]
name = "filter-based"
[workload]
preset = "kyra-uniform"
events = {events}
subscriptions = {subscriptions}
interval_ms = 5
durable = {durable}
[workload.options]
values = 20
interest_rate = 0.2
[faults]
detect_ms = 20
{schedule}
[checks]
settle_ms = 30
{checks}
"""


def step(at_ms, do, node=None, groups=None):
    lines = [f"[[schedule]]\nat_ms = {at_ms}\ndo = '{do}'"]
    lines += [f"node = {node}"] if node is not None else []
    lines += [f"groups = {groups}"] if groups is not None else []
    return "\n".join(lines) + "\n"


def scenario(*steps, checks="", events=40, subscriptions=24, servers=12, durable=False):
    return SCENARIO.format(
        schedule="".join(steps),
        checks=checks,
        events=events,
        subscriptions=subscriptions,
        servers=servers,
        durable=str(durable).lower(),
    )


def verdict_of(*steps, **options):
    return judge(execute(prepare(parse_scenario(scenario(*steps, **options), "s.toml"), 1)))


# -- what is vacuous -----------------------------------------------------------------------------------


def test_a_crash_that_is_never_repaired_excuses_everything_and_shows_nothing():
    verdict = verdict_of(step(0, "crash", 4))
    assert (verdict.outcome, verdict.ok, verdict.required) == ("vacuous", False, 0)
    assert verdict.deliveries.excused > 50
    assert verdict.deliveries.events_excused > 20
    told = "\n".join(verdict.reasons)
    assert "nothing was required to be delivered" in told
    assert "server 4 crashed at" in told
    assert "never came back" in told
    assert "checks.repair_ms" in told


@pytest.mark.parametrize(
    ("steps", "checks"),
    [
        ([step(0, "crash", 4)], "repair_ms = 60"),
        ([step(60, "crash", 4)], ""),
        ([step(0, "crash", 4), step(40, "restart", 4)], ""),
        ([step(0, "cut", groups=[[1, 2]]), step(40, "heal")], ""),
    ],
    ids=["must recover", "late", "restarted", "healed"],
)
def test_if_anything_is_required_beside_what_is_excused_the_run_is_judged_and_says_how_much(steps, checks):
    verdict = verdict_of(*steps, checks=checks)
    assert verdict.outcome == "passed", verdict.reasons
    assert not verdict.reasons
    lines = {line.name: line for line in verdict.lines}
    assert (lines["required"].value, lines["required"].bound, lines["required"].ok) == (
        f"{verdict.required}", "≥ 1", True,
    )  # fmt: skip
    assert lines["excused"].value.startswith(f"{verdict.deliveries.excused} deliveries of ")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"events": 0}, "workload.events is 0"),
        ({"subscriptions": 0}, "workload.subscriptions is 0"),
        ({"checks": "exactly_once = false\nat_most_once = false"}, "nothing was asked"),
        ({"checks": "exactly_once = false", "subscriptions": 0}, "nothing was delivered"),
        ({"servers": 1, "checks": "resource_usage = 2.0"}, "nothing was there to measure: normalised resource usage"),
        ({"servers": 1, "checks": "link_stress_mean = 2.0"}, "nothing was there to measure: link stress"),
        ({"durable": True, "events": 0}, "workload.events is 0"),
        ({"durable": True, "subscriptions": 0}, "workload.subscriptions is 0"),
    ],
)
def test_whatever_had_nothing_to_be_judged_by_is_vacuous_and_says_why(options, told):
    verdict = verdict_of(**options)
    assert verdict.outcome == "vacuous"
    assert told in "\n".join(verdict.reasons)


def test_events_that_were_asked_of_servers_which_are_down_are_told_as_the_reason():
    verdict = verdict_of(step(0, "crash", 0), servers=1)
    assert verdict.outcome == "vacuous"
    assert "came to servers that were down" in "\n".join(verdict.reasons)


def test_subscriptions_that_come_and_go_around_every_event_are_told_as_the_reason():
    steps = [step(0, "unsubscribe", 0), step(190, "subscribe", 0)]
    verdict = verdict_of(*steps, servers=1)
    assert verdict.outcome == "vacuous"
    assert "checks.settle_ms" in "\n".join(verdict.reasons)


def test_what_fails_is_failed_also_where_something_else_is_vacuous():
    verdict = verdict_of(servers=1, checks="resource_usage = 2.0\nstate_max = 100\nmatching_load_mean = 5")
    assert verdict.outcome == "vacuous"
    verdict = verdict_of(step(0, "crash", 4), checks="node_stress_max = 1")
    assert verdict.outcome == "failed"


def test_bounds_are_kept_or_broken_by_what_was_measured():
    marks = {line.name: line.ok for line in verdict_of(checks="resource_usage = 0.5\ndelay_ms_max = 9999").lines}
    assert marks["normalised resource usage"] is False
    assert marks["delay, ms"] is True


# -- checkers ------------------------------------------------------------------------------------------


def test_checkers_call_nothing_a_pass():
    assert exactly_once(Trace()).outcome == "vacuous"
    assert durable_delivery(Trace()).outcome == "vacuous"
    assert progress(Trace(), {}).outcome == "vacuous"
    assert not exactly_once(Trace()).ok
    assert not durable_delivery(Trace()).ok


def test_to_heal_what_is_whole_excuses_nothing():
    script = Script().subscribed(0, 1, "a").row(50, "healed", -1).published(60, 0, "e")
    found = exactly_once(script.trace, settle_ms=20)
    assert (found.required, found.missing, found.excused) == (1, 1, 0)
    assert disturbances(script.trace) == ()


def test_a_server_that_left_is_back_however_it_comes():
    script = Script().subscribed(0, 1, "a").row(50, "left", 5).row(80, "restarted", 5).published(200, 0, "e")
    found = exactly_once(script.trace, settle_ms=20)
    assert (found.required, found.missing) == (1, 1)
    assert [str(each) for each in disturbances(script.trace)] == ["server 5 left at 50 ms and came back at 80 ms"]


def test_a_second_cut_is_a_disturbance_of_its_own():
    script = Script().subscribed(0, 1, "a").row(100, "cut", -1).row(500, "cut", -1).row(900, "healed", -1)
    for number, time in enumerate((110, 300, 510, 800, 1_000)):
        script.published(time, 0, f"e{number}")
    found = exactly_once(script.trace, settle_ms=10, repair_ms=50)
    assert [each.event for each in found.violations] == ["e1", "e3", "e4"]
    assert (found.required, found.excused, found.events_excused) == (3, 2, 2)


class Waiter(Protocol):
    """A node that says what it waits with."""

    def __init__(self, relays, parked):
        self.relays, self.parked = relays, parked

    def handle(self, stimulus, now):
        return ()

    def state(self):
        return {"entries": 0, "relays_waiting": self.relays, "events_parked": self.parked}


class Ephemeral(Waiter):
    def state(self):
        return {"entries": 0}


def test_a_node_that_waits_although_all_run_and_no_cut_stands_is_stuck():
    nodes = {0: Waiter(0, 0), 1: Waiter(2, 0), 2: Waiter(0, 3), 3: Ephemeral(9, 9)}
    trace = Script().row(5, "crashed", 1).row(9, "restarted", 1).row(10, "cut", -1).row(20, "healed", -1).trace
    found = progress(trace, nodes)
    assert (found.judged, found.stuck, found.outcome) == (3, (Waiting(1, 2, 0), Waiting(2, 0, 3)), "failed")
    assert str(found.stuck[0]) == "node 1 (2 relays, 0 parked events)"
    assert progress(trace, {0: Waiter(0, 0)}).ok


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([(5, "crashed", 7)], "server 7 crashed at 5 ms and never came back"),
        ([(5, "left", 7)], "server 7 left at 5 ms and never came back"),
        ([(5, "cut", -1)], "the network was cut at 5 ms and never healed"),
    ],
)
def test_while_something_is_broken_those_who_wait_are_excused_and_named(rows, told):
    script = Script()
    for row in rows:
        script.row(*row)
    found = progress(script.trace, {0: Waiter(0, 0), 1: Waiter(2, 1)})
    assert (found.judged, found.stuck, found.excused) == (1, (), (Waiting(1, 2, 1),))
    assert [str(each) for each in found.broken] == [told]
    assert progress(script.trace, {1: Waiter(2, 1)}).outcome == "vacuous"


def test_a_durable_run_says_that_nobody_is_stuck_or_who_may_wait_for_whom():
    verdict = verdict_of(durable=True)
    assert verdict.outcome == "passed", verdict.reasons
    assert [(line.value, line.bound, line.ok) for line in verdict.lines if line.name == "stuck"] == [("0", "0", True)]
    broken = verdict_of(step(60, "crash", 4), durable=True)
    (may_wait,) = [line.value for line in broken.lines if line.name == "may wait"]
    assert "because server 4 crashed" in may_wait


def test_a_durable_run_that_is_stopped_while_relays_wait_is_stuck():
    text = scenario(durable=True) + "\n[timing]\npublish_ms = 60\n"
    verdict = judge(execute(prepare(parse_scenario(text), 1)))
    assert verdict.progress.stuck
    assert [line.ok for line in verdict.lines if line.name == "stuck"] == [False]


# -- schedules that make no sense ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("steps", "number", "told"),
    [
        ([step(10, "heal")], 0, ["no cut to heal"]),
        ([step(10, "cut", groups=[[1]]), step(20, "heal"), step(30, "heal")], 2, ["no cut to heal"]),
        ([step(20, "heal"), step(30, "cut", groups=[[1]])], 0, ["no cut to heal"]),
        ([step(10, "restart", 4)], 0, ["server 4 runs and cannot restart", "after 'crash'"]),
        ([step(10, "join", 4)], 0, ["server 4 runs and cannot join"]),
        ([step(10, "crash", 4), step(20, "join", 4)], 1, ["server 4 has crashed and cannot join", "'restart'"]),
        ([step(10, "leave", 4), step(20, "restart", 4)], 1, ["server 4 has left and cannot restart", "'join'"]),
        ([step(10, "crash", 4), step(20, "crash", 4)], 1, ["has crashed before and cannot crash"]),
        ([step(10, "crash", 4), step(20, "leave", 4)], 1, ["has crashed before and cannot leave"]),
        ([step(30, "restart", 4), step(10, "crash", 4), step(20, "restart", 4)], 0, ["server 4 runs and cannot"]),
        ([step(10, "crash", 4), step(20, "unsubscribe", 4)], 1, ["nobody hears who wants to unsubscribe"]),
        ([step(10, "cut", groups=[[1, 2], [2, 3]])], 0, ["server 2 is in two groups"]),
        ([step(10, "cut", groups=[list(range(12))])], 0, ["one side only"]),
        ([step(10, "cut", groups=[[], []])], 0, ["one side only"]),
        ([step(900, "crash", 4)], 0, ["the run ends at 500 ms", "timing.publish_ms"]),
    ],
)
def test_a_step_that_makes_no_sense_is_an_error_with_its_line(steps, number, told):
    text = scenario(*steps) + "\n[timing]\npublish_ms = 500\n"
    with pytest.raises(ScenarioError) as raised:
        prepare(parse_scenario(text, "s.toml"), 1)
    message = str(raised.value)
    assert all(each in message for each in told), message
    lines = text.splitlines()
    assert raised.value.key == f"schedule[{number}]"
    assert [place for place, line in enumerate(lines, 1) if line == "[[schedule]]"][number] == raised.value.line


def test_steps_that_make_sense_are_taken_in_the_order_of_their_times():
    steps = [step(120, "restart", 4), step(60, "crash", 4), step(150, "leave", 5), step(170, "join", 5)]
    steps += [step(20, "cut", groups=[[1]]), step(25, "cut", groups=[[2]]), step(30, "heal")]
    assert verdict_of(*steps, checks="repair_ms = 5", events=80).outcome == "passed"


# -- what a scheme does not promise ----------------------------------------------------------------------

RING = """
[underlay]
generator = "waxman"
servers = 12
[underlay.options]
routers = 30
[scheme]
name = "{scheme}"
engine = "counting"
[scheme.options]
{options}
[workload]
preset = "stock-quotes"
events = 150
subscriptions = 80
interval_ms = 20
durable = true
[faults]
loss = 0.02
jitter_ms = 10
reorder = true
disk_ms = 2
[churn]
crashes_per_s = 2
down_ms = 300
"""


def durable_verdict(name, **options):
    told = "\n".join(f"{key} = {value!r}" for key, value in options.items())
    return judge(execute(prepare(parse_scenario(RING.format(scheme=name, options=told), "ring.toml"), 3)))


def test_a_durable_ring_promises_no_order_and_does_not_fail_for_it():
    verdict = durable_verdict("rendezvous", replicas=2, parts=2, clusters=3, delivery="tree")
    lines = {line.name: line for line in verdict.lines}
    assert int(lines["disordered"].value) > 0, "this run shows nothing"
    assert (lines["disordered"].bound, lines["disordered"].ok) == ("", None)
    assert verdict.outcome == "passed", [line for line in verdict.lines if line.ok is False]
    assert (verdict.violations, verdict.faults) == ((), 0)


def test_a_durable_run_counts_offers_as_notifications():
    cost = {line.name: line.value for line in durable_verdict("filter-based").lines}["notification cost"]
    assert "inf" not in cost


@pytest.mark.parametrize(
    ("name", "options", "keeps"),
    [
        ("layered", {"matching": "publisher"}, True),
        ("layered", {"matching": "hub"}, False),
        ("layered", {"matching": "ring"}, False),
        ("rendezvous", {}, False),
        ("kyra", {}, True),
    ],
)
def test_a_scheme_says_whether_it_keeps_order(name, options, keeps):
    chosen = scheme(name)
    assert chosen.keeps_order(chosen.configure(options)) == keeps
