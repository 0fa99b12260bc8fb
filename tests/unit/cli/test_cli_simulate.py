"""`siftcast simulate`: outcomes, files, and the command that replays a failure."""

import re
import shlex
from datetime import UTC, datetime

import pytest

from siftcast.interfaces.cli.simulate_example import EXAMPLE
from siftcast.overlays.trace import Trace
from siftcast.underlay import GroundFile, GroundHost, write_ground


@pytest.fixture
def scenario(tmp_path):
    """The example in small; `change` replaces something in it."""

    def scenario(*changes):
        text = EXAMPLE.replace("events = 300", "events = 60").replace("servers = 40", "servers = 15")
        for before, after in changes:
            assert before in text
            text = text.replace(before, after)
        path = tmp_path / "my scenario.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return scenario


def test_the_example_is_printed_as_it_is_and_runs(run, tmp_path):
    printed = run("simulate", "--example")
    assert (printed.status, printed.out) == (0, EXAMPLE)
    (tmp_path / "example.toml").write_text(printed.out, encoding="utf-8")
    done = run("simulate", "example.toml", "--seed", 7)
    assert done.status == 0, done.err
    assert re.search(r"missing +0 +✓ 0", done.out)
    assert "filter-based on 40 servers and 88 routers" in done.out


def test_options_that_do_not_come_out_as_they_say_are_told_beside_the_verdict(run, scenario):
    old = EXAMPLE[EXAMPLE.index('summary = "covering"') : EXAMPLE.index("[workload]")]
    path = scenario(('name = "filter-based"', 'name = "rendezvous"'), (old, "clusters = 3\nparts = 8\n"))
    done = run("simulate", path)
    assert "note: parts = 8, but there are 3 clusters, so a zone has at most 3" in " ".join(done.out.split())


def test_trace_and_picture_are_written(run, scenario, tmp_path):
    done = run("simulate", scenario(), "--trace", "trace", "--svg", "network.svg", "--quiet")
    assert (done.status, done.out) == (0, "")
    assert len(Trace.load(tmp_path / "trace").events) == 60
    assert (tmp_path / "network.svg").read_text(encoding="utf-8").startswith("<svg")


def test_a_failing_run_prints_what_went_wrong_and_the_command_that_replays_it(run, scenario):
    path = scenario(("loss = 0.0", "loss = 0.1"))
    done = run("simulate", path, "--seed", 3)
    assert done.status == 1
    assert "missing: event" in done.err
    assert "failed: missing" in done.err
    command = shlex.split(re.search(r"replay: siftcast (.*)", done.err)[1])
    again = run(*command)
    assert again.status == 1
    assert again.err == done.err
    assert re.search(r"event \S+\n +[\d.]+ ms  published at node", again.out)
    assert re.search("trace (.*)", again.out)[1] == re.search("trace (.*)", done.out)[1]


def test_a_run_that_shows_nothing_is_not_a_success_and_says_why(run, scenario):
    """The server of the example crashes before the first event and stays down."""
    stays_down = (("at_ms = 1500", "at_ms = 0"), ('[[schedule]]\nat_ms = 2500\ndo = "restart"\nnode = 3\n', ""))
    done = run("simulate", scenario(*stays_down), "--seed", 7, "--quiet")
    assert done.status == 1
    assert re.search(r"required +0 +\? ≥ 1", done.out)
    assert re.search(r"excused +\d+ deliveries of", done.out)
    assert "vacuous: nothing was required to be delivered" in done.err
    assert re.search(r"server 3 crashed at [\d,]+ ms and never came back", done.err)
    assert "checks.repair_ms" in done.err
    assert "replay: siftcast simulate" in done.err
    soon = (("# repair_ms = 2000.0", "repair_ms = 100.0"), ("settle_ms = 1000.0", "settle_ms = 500.0"))
    judged = run("simulate", scenario(*stays_down, *soon), "--seed", 7)
    assert judged.status == 0, judged.err
    assert re.search(r"required +\d+ +✓ ≥ 1", judged.out)


def test_a_schedule_that_makes_no_sense_is_refused_with_its_line(run, scenario):
    done = run("simulate", scenario(('do = "restart"\nnode = 3', 'do = "heal"')))
    assert done.status == 2
    assert re.search(r"line \d+: schedule\[1\]: there is no cut to heal", done.err)


@pytest.mark.parametrize(
    ("tokens", "told"),
    [
        ((), "which scenario?"),
        (("none.toml",), "none.toml: No such file"),
        (("--sed", "1"), "--help"),
    ],
)
def test_mistakes_in_the_command_are_short_messages(run, tokens, told):
    done = run("simulate", *tokens)
    assert done.status == 2
    assert told in done.err


def test_an_unknown_event_and_a_wrong_file_are_refused(run, scenario):
    done = run("simulate", scenario(), "--event", "nope")
    assert done.status == 2
    assert "no event 'nope'" in done.err
    done = run("simulate", scenario(('name = "filter-based"', 'name = "filter"')))
    assert done.status == 2
    assert "line 21: scheme.name: there is no scheme 'filter'" in done.err


def test_options_of_one_run_and_of_many_are_not_mixed(run, scenario):
    for options in (("--seeds", 3, "--svg", "network.svg"), ("--results", "kept"), ("--seeds", 0)):
        done = run("simulate", scenario(), *options)
        assert done.status != 0
        assert "seeds" in done.err


def test_a_measured_network_is_simulated_and_its_hosts_are_named_in_the_picture(run, scenario, tmp_path):
    hosts = tuple(GroundHost(name) for name in ("Köln", "a < b", "Wien", "Oslo"))
    delays_ms = tuple(tuple(0.0 if a == b else 5.0 + a + b for b in range(4)) for a in range(4))
    write_ground(tmp_path / "my.ground", GroundFile(datetime(2026, 11, 19, tzinfo=UTC), hosts, delays_ms))
    options = EXAMPLE[EXAMPLE.index("[underlay.options]") : EXAMPLE.index("[scheme]")]
    generator = re.search('generator = "transit-stub".*\n', EXAMPLE)[0]
    measured = 'file = "my.ground"\nformat = "ground"\n'
    path = scenario((generator, measured), (options, ""), ("servers = 15", ""))
    done = run("simulate", path, "--svg", "network.svg")
    assert done.status == 0, done.err
    assert re.search(r"filter-based on 4 servers(?! and)", done.out)
    picture = (tmp_path / "network.svg").read_text(encoding="utf-8")
    assert all(f">{name}</text>" in picture for name in ("Köln", "a &lt; b", "Wien", "Oslo"))
    (tmp_path / "my.ground").write_bytes((tmp_path / "my.ground").read_bytes()[:-9])
    cut_off = run("simulate", path)
    assert cut_off.status == 2
    assert re.search(r"scenario\.toml, line \d+: underlay: .*my\.ground, line \d+: is no whole JSON", cut_off.err)
