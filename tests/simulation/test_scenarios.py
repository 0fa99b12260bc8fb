"""Scenarios: what a file may say, what is said about a wrong one, and every scheme under faults."""

import pickle
from xml.etree import ElementTree

import numpy as np
import pytest

from siftcast.overlays.trace import Trace
from siftcast.planning import minimum_spanning_tree
from siftcast.runtimes.sim import ScenarioError, execute, judge, load_scenario, parse_scenario, prepare
from siftcast.runtimes.sim.checkers import exactly_once
from siftcast.runtimes.sim.drawing import draw, place_servers
from siftcast.schemes import SchemeError, scheme, schemes
from siftcast.schemes.tree_plan import graph_around
from siftcast.underlay import BalancedTree

SMALL = """
title = "small"
[underlay]
generator = "waxman"
servers = 12
[underlay.options]
routers = 30
[scheme]
name = "filter-based"
[workload]
preset = "kyra-uniform"
events = 40
subscriptions = 24
interval_ms = 5
[workload.options]
values = 20
interest_rate = 0.2
[faults]
jitter_ms = 1.0
detect_ms = 20
[[schedule]]
at_ms = 60
do = "crash"
node = 4
[[schedule]]
at_ms = 90
do = "restart"
node = 4
[checks]
settle_ms = 30
"""


def run(text, seed=1):
    return execute(prepare(parse_scenario(text, "small.toml"), seed))


def with_scheme(name, options=""):
    return SMALL.replace('name = "filter-based"', f'name = "{name}"\n[scheme.options]\n{options}')


@pytest.mark.parametrize("name", list(schemes()))
def test_every_scheme_delivers_exactly_once_around_a_crash(name):
    done = run(with_scheme(name))
    verdict = judge(done)
    assert verdict.ok, "\n".join(map(str, verdict.deliveries.violations))
    assert verdict.deliveries.required > 50
    assert verdict.deliveries.events == 39  # one of 40 was to be published by the server that was down


@pytest.mark.parametrize(
    "options",
    ['summary = "covering"', 'summary = "merging"', "advertisements = true", 'reuse = "partial-3"', "graph = 2",
     'graph = 1\nreuse = "always"', 'graph = 2\nsummary = "covering"'],
)  # fmt: skip
def test_every_option_of_filter_based_routing_delivers_exactly_once_around_a_crash(options):
    verdict = judge(run(with_scheme("filter-based", options)))
    assert verdict.ok, "\n".join(map(str, verdict.deliveries.violations))


def test_the_seed_decides_everything():
    digests = [run(SMALL, seed).simulation.trace.digest() for seed in (1, 1, 2)]
    assert digests[0] == digests[1] != digests[2]


def test_schemes_are_compared_on_the_same_network_and_workload():
    one, other = run(SMALL, 5), run(with_scheme("broadcast"), 5)
    assert (one.underlay.latencies_ms == other.underlay.latencies_ms).all()
    assert one.workload.events.equals(other.workload.events)


def test_a_bound_that_is_broken_fails_the_run():
    verdict = judge(run(SMALL + "resource_usage = 0.5\ndelay_ms_max = 10000\n"))
    assert [(line.name, line.ok) for line in verdict.lines if line.bound.startswith("≤")] == [
        ("delay, ms", True),
        ("normalised resource usage", False),
    ]
    assert not verdict.ok


def test_loss_fails_exactly_once_but_not_at_most_once():
    lossy = SMALL.replace("jitter_ms = 1.0", "loss = 0.1")
    assert not judge(run(lossy)).ok
    assert judge(run(lossy + "exactly_once = false\n")).ok


def test_peers_that_gossip_make_up_for_lost_messages():
    lossy = with_scheme("gossip").replace("jitter_ms = 1.0", "loss = 0.05")
    lossy = lossy[: lossy.index("[[schedule]]")] + "[checks]\nsettle_ms = 2000\n"
    verdict = judge(run(lossy))
    assert verdict.ok, "\n".join(map(str, verdict.deliveries.violations))
    assert verdict.deliveries.required > 100


@pytest.mark.parametrize("name", ["kyra", "multicast-based"])
def test_content_is_cut_along_an_attribute_within_another(name):
    games = with_scheme(name).replace("kyra-uniform", "games").split("[workload.options]")[0]
    done = run(games + "[checks]\nsettle_ms = 30\n")
    assert done.simulation.trace.events["1"].attributes["position"]["x"] >= 0
    assert judge(done).ok


def test_subscriptions_can_go_and_come_on_schedule():
    steps = "".join(
        f'[[schedule]]\nat_ms = {at}\ndo = "{do}"\nnode = 2\n' for at, do in ((20, "unsubscribe"), (120, "subscribe"))
    )
    done = run(SMALL.replace("[checks]", steps + "[checks]"))
    kinds = done.simulation.trace.record_table()["kind"].to_pylist()
    assert kinds.count("unsubscribed") == 2
    assert judge(done).ok


def test_a_saved_trace_is_judged_alike(tmp_path):
    done = run(
        SMALL.replace("kyra-uniform", "stock-quotes").split("[workload.options]")[0] + "[checks]\nsettle_ms = 30\n"
    )
    done.simulation.trace.save(tmp_path)
    loaded = Trace.load(tmp_path)
    assert loaded.digest() == done.simulation.trace.digest()
    assert exactly_once(loaded, settle_ms=30) == exactly_once(done.simulation.trace, settle_ms=30)
    assert exactly_once(loaded, settle_ms=30).required > 0


# -- files that are wrong ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after", "line", "told"),
    [
        ("servers = 12", "servers = 'x'", 5, ["underlay.servers", "Expected"]),
        ("servers = 12", "sevrers = 12", 5, ["underlay.sevrers", "not a known key", "known here: generator"]),
        ("servers = 12", "servers = 0", 5, ["underlay.servers", ">= 1"]),
        ("events = 40", "", 10, ["'events' is missing in workload"]),
        ('preset = "kyra-uniform"', 'preset = "kyra"', 10, ["workload", "must be one of"]),
        ("values = 20", "valeus = 20", 16, ["'valeus' is unknown"]),
        ("routers = 30", "routers = 1", 7, ["underlay", "routers"]),
        ("routers = 30", "roters = 30", 7, ["underlay", "no option 'roters'"]),
        ('name = "filter-based"', 'name = "filter-base"', 9, ["scheme.name", "did you mean 'filter-based'"]),
        ('name = "filter-based"', 'name = "filter-based"\n[scheme.options]\nsumary = 1', 11, ["no option 'sumary'"]),
        ('name = "filter-based"', 'name = "filter-based"\n[scheme.options]\nsummary = "some"', 10, ["not 'some'"]),
        ('name = "filter-based"', 'name = "filter-based"\n[scheme.options]\nreuse = "often"', 11, ["not 'often'"]),
        ('name = "filter-based"', 'name = "filter-based"\n[scheme.options]\ngraph = "x"', 11, ["of type int"]),
        ("routers = 30", "routers = 2.5", 7, ["underlay.options.routers", "whole number"]),
        ("routers = 30", f"routers = {10**20}", 7, ["underlay.options.routers", "whole number"]),
        ("servers = 12", f"servers = {2**62}", 5, ["underlay.servers"]),
        ("events = 40", f"events = {2**62}", 12, ["workload.events"]),
        ('do = "restart"', 'do = "explode"', 27, ["schedule[1].do", "explode"]),
        ('do = "restart"', 'do = "cut"', 25, ["a cut needs groups"]),
        ("node = 4\n[checks]", "[checks]", 25, ["'restart' needs a node"]),
        ("node = 4\n[checks]", "node = 44\n[checks]", 25, ["no server 44", "0 … 11"]),
        ("jitter_ms = 1.0", "jitter_ms = inf", 19, ["faults.jitter_ms", "is inf", "finite"]),
        ("interval_ms = 5", "interval_ms = nan", 14, ["workload.interval_ms", "is nan"]),
        ("interest_rate = 0.2", "interest_rate = -inf", 17, ["workload.options.interest_rate"]),
        ("jitter_ms = 1.0", "loss = 1.0", 19, ["faults.loss", "< 1"]),
        ('generator = "waxman"', 'file = "x.brite"', 4, ["needs a format"]),
        ('generator = "waxman"', "", 3, ["a generator or a file"]),
        ("[checks]", "[checks", 29, ["is not TOML"]),
    ],
)  # fmt: skip
def test_a_mistake_is_told_with_its_line_and_a_remedy(before, after, line, told):
    text = SMALL.replace(before, after, 1)
    assert text != SMALL
    with pytest.raises(ScenarioError) as raised:
        prepare(parse_scenario(text, "small.toml"), 1)
    message = str(raised.value)
    assert all(each in message for each in told), message
    assert raised.value.line == line, message
    assert message.startswith(f"small.toml, line {line}: ")


def test_files_that_cannot_be_read_are_scenario_errors(tmp_path):
    with pytest.raises(ScenarioError, match=r"No such file.*--example"):
        load_scenario(tmp_path / "none.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ScenarioError, match="not UTF-8"):
        load_scenario(tmp_path / "bytes.toml")


def test_networks_are_read_from_files_beside_the_scenario(tmp_path):
    (tmp_path / "map.txt").write_text("a b 2.0\nb c 3.0\nc d 4.0\n")
    text = SMALL.replace('generator = "waxman"', 'file = "map.txt"\nformat = "rocketfuel"')
    text = text.replace("[underlay.options]\nrouters = 30\n", "")
    (tmp_path / "scenario.toml").write_text(text)
    done = execute(prepare(load_scenario(tmp_path / "scenario.toml"), 1))
    assert (done.underlay.routers, done.underlay.servers) == (4, 12)
    (tmp_path / "map.txt").write_text("a b\n")
    with pytest.raises(ScenarioError, match=r"scenario\.toml, line 3: underlay: .*map\.txt, line 1"):
        prepare(load_scenario(tmp_path / "scenario.toml"), 1)


def test_scenario_errors_survive_a_process_border():
    error = ScenarioError("a.toml", "is wrong", key="x.y", line=3, remedy="mend it")
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error) == "a.toml, line 3: x.y: is wrong; mend it"


def test_schemes_know_their_names_and_options():
    with pytest.raises(SchemeError, match="there are broadcast, clustered"):
        scheme("zzz")
    with pytest.raises(SchemeError, match="options: none"):
        scheme("broadcast").configure({"x": 1})


# -- layouts and pictures ------------------------------------------------------------------------------


def test_graphs_have_the_tree_and_the_shortest_links_besides():
    underlay = BalancedTree(depth=3, branching=2).build().routers_as_servers()
    tree = minimum_spanning_tree(underlay.latencies_ms)
    graph = graph_around(tree, underlay.latencies_ms, 1)
    assert all(b in graph.neighbours[a] for a, b in tree.edges)
    assert all(len(graph.neighbours[node]) > len(tree.neighbours[node]) for node in tree.nodes)


def test_the_picture_shows_servers_links_and_the_numbered_hops_of_an_event():
    done = run(SMALL)
    trace, edges = done.simulation.trace, done.edges
    event = next(iter(trace.events))
    picture = draw(done.underlay.latencies_ms, edges, title="a < b", trace=trace, event=event)
    root = ElementTree.fromstring(picture)
    name = "{http://www.w3.org/2000/svg}"
    lines = [each.get("class") for each in root.iter(f"{name}line")]
    hops = lines.count("hop") + lines.count("hop lost")
    assert lines.count("link") == len(edges)
    numbers = [each.text for each in root.iter(f"{name}text") if each.get("class") == "number"]
    assert numbers == [str(number) for number in range(1, hops + 1)]
    assert len(list(root.iter(f"{name}circle"))) + len(list(root.iter(f"{name}rect"))) - 1 == 12
    assert root.find(f"{name}title").text == "a < b"


@pytest.mark.parametrize("latencies", [np.zeros((1, 1)), np.zeros((3, 3)), np.array([[0.0, 4.0], [4.0, 0.0]])])
def test_servers_are_placed_inside_the_picture_however_few_or_near(latencies):
    places = place_servers(latencies)
    assert places.shape == (len(latencies), 2)
    assert ((places >= 0) & (places <= [1_000, 720])).all()


def test_servers_do_not_lie_on_each_other_in_a_picture():
    rng = np.random.default_rng(4)
    routers = rng.integers(0, 5, 40)  # many servers at few places, some of them in the corners
    places = place_servers(100.0 * np.abs(routers[:, None] - routers[None]))
    between = places[:, None] - places[None]
    far = np.hypot(between[..., 0], between[..., 1])
    np.fill_diagonal(far, np.inf)
    assert far.min() > 12
