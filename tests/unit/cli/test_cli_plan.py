"""`siftcast plan ring`: proposals from files and from what a network says, and refusals in words."""

import json
import tomllib
from datetime import datetime, timedelta
from itertools import pairwise
from random import Random

import pytest

from siftcast import Attribute, Filter, Schema
from siftcast.files import EventBlock
from siftcast.interfaces.cli.plan_calibration import calibrate, given_times
from siftcast.interfaces.cli.plan_command import parse_size, parse_weights
from siftcast.interfaces.cli.plan_inputs import RowSample, rate_of, values_of
from siftcast.interfaces.cli.plan_network import nodes_in, values_counted
from siftcast.model import DataError
from siftcast.model.values import Kind

FAST = ("--match-ms", "1000:0.05,100000:1.2")


@pytest.fixture
def log(tmp_path):
    """Files of events about symbols, half of them hot, one a second, and of subscriptions."""
    rng = Random(4)
    symbols = [f"S{number:02}" for number in range(40)]
    with (tmp_path / "events.jsonl").open("w") as events:
        for number in range(400):
            symbol = "S07" if rng.random() < 0.5 else rng.choice(symbols)
            at = datetime(2026, 1, 1) + timedelta(seconds=number / 10)
            row = {"symbol": symbol, "price": rng.randint(0, 99), "at": f"{at.isoformat()}Z"}
            events.write(json.dumps(row) + "\n")
    with (tmp_path / "subs.jsonl").open("w") as subscriptions:
        for number in range(300):
            text = f"symbol = '{rng.choice(symbols)}' AND price < {rng.randint(50, 99)}"
            subscriptions.write(json.dumps({"id": f"s{number}", "filter": text}) + "\n")
    types = {"symbol": "string", "price": "int", "at": "timestamp"}
    tables = [f'[[attribute]]\nname = "{name}"\ntype = "{kind}"\n' for name, kind in types.items()]
    (tmp_path / "types.toml").write_text('name = "quotes"\n' + "".join(tables))
    return ("plan", "ring", "--subscriptions", "subs.jsonl", "--events", "events.jsonl", "--schema", "types.toml")


def test_a_ring_is_proposed_and_written(run, log, tmp_path):
    result = run(*log, *FAST, "--expected", 1_000_000, "--rate", 6_000, "--latency-ms", 8, "--output", "new.toml")
    assert result.status == 0, result.err
    for words in ("1,000,000 subscriptions, 6,000 events/s", "symbol, cut into", "the paper's best H"):
        assert words in " ".join(result.out.split())
    assert "siftcast network apply new.toml" in result.out
    overlay = tomllib.loads((tmp_path / "new.toml").read_text())["overlay"]
    options = overlay["options"]
    assert overlay["scheme"] == "rendezvous"
    assert options["key"] == "symbol"
    assert json.loads(options["cuts"]) == sorted(json.loads(options["cuts"]))
    assert len(json.loads(options["cuts"])) == options["zones"] - 1
    assert sum(json.loads(options["cluster_weights"])) > 2 * options["clusters"]


def test_options_that_a_plan_does_not_decide_are_kept(run, log, tmp_path):
    table = '[overlay]\nscheme = "rendezvous"\n[overlay.options]\ndelivery = "tree"\nretry_ms = 50.0\nparts = 3\n'
    (tmp_path / "n0.toml").write_text(table)
    assert run(*log, *FAST, "--keep", "n0.toml", "--output", "new.toml").status == 0
    options = tomllib.loads((tmp_path / "new.toml").read_text())["overlay"]["options"]
    assert (options["delivery"], options["retry_ms"], options["parts"]) == ("tree", 50.0, 1)
    for text, words in (
        (table.replace("rendezvous", "kyra"), "its nodes run 'kyra'"),
        (table.replace("delivery", "trees"), "has no option 'trees'"),
        ("[", "is not TOML"),
    ):
        (tmp_path / "n0.toml").write_text(text)
        assert words in run(*log, *FAST, "--keep", "n0.toml").err


def test_predictions_are_also_json(run, log):
    found = run(*log, *FAST, "--json", "--time", "at", "--nodes", 5).json
    assert found["nodes"] == sum(cluster["nodes"] for cluster in found["clusters"]) == 5
    assert found["rate_s"] == pytest.approx(10, rel=0.01)
    assert found["scatter_ms"] <= found["walk_ms"]
    assert found["throughput_s"] > found["rate_s"]
    assert found["subscriptions"] == 300


def test_the_matcher_is_timed_on_this_machine(run, log):
    found = run(*log, "--json").json
    assert list(found["match_ms"]) == ["3", "9", "30", "90", "300"]
    times = list(found["match_ms"].values())
    assert 0 < times[0] <= times[-1]
    longer = calibrate([Filter.parse("a < 5")], [{"a": 1}], 50)
    assert longer.sizes == (1, 2, 5, 15, 50)


def test_the_number_of_nodes_comes_from_members(run, log, tmp_path):
    rows = [{"identity": number * 2**56, "state": "present", "reach": "this node" if number == 9 else ""}
            for number in range(128)]  # fmt: skip
    (tmp_path / "members.json").write_text(json.dumps(rows))
    counted = run(*log, *FAST, "--json", "--members", "members.json").json
    assert (counted["nodes"], counted["nodes_estimated"]["error"]) == (128, 0.0)
    near = [row for row in rows if 9 * 2**56 <= row["identity"] <= 20 * 2**56] + rows[64:66]
    (tmp_path / "members.json").write_text(json.dumps(near))
    estimated = run(*log, *FAST, "--json", "--members", "members.json", "--near", 11).json
    assert estimated["nodes"] == round(1 + 10 / (11 / 128))
    assert estimated["nodes_estimated"]["error"] == pytest.approx(1 / 3)
    shown = run(*log, *FAST, "--members", "members.json", "--near", 11).out
    assert "about 117 nodes ± 33%" in shown


@pytest.mark.parametrize(
    ("rows", "count"),
    [
        ([{"identity": 1, "state": "present"}, {"identity": 2, "state": "left"}, {"identity": 3, "state": "gone"}], 1),
        ([{"identity": 1, "state": "present", "roles": ["edge"]}, {"identity": 2, "state": "present"}], 1),
        ([{"identity": each, "state": "present", "roles": ["matcher"] * (each < 3)} for each in range(9)], 3),
    ],
)
def test_only_nodes_that_can_match_are_counted(rows, count):
    assert nodes_in(rows, 1, None).nodes == count


def test_what_a_network_has_counted_stands_for_a_sample():
    schema = Schema([Attribute("value", "int", domain=(0, 99))])
    cells = [0.0] * 100
    cells[7], cells[50] = 30.0, 10.0
    values = values_counted([{"events": {"value": cells}}, {"events": {}}], schema)
    assert values["value", Kind.NUMBER].count(7.0) == 3 * values["value", Kind.NUMBER].count(50.0) > 0
    assert values_counted([{"events": {"value": cells}}], None) == {}


def test_rows_are_sampled_evenly_whatever_the_length():
    import numpy as np

    sample, start = RowSample(100), 0
    for length in (37, 1, 500, 3, 2_000, 1_459):
        rows = [{"n": start + number} for number in range(length)]
        sample.add(EventBlock(np.arange(length), rows))
        start += length
    taken = [row["n"] for row in sample.rows]
    assert sample.seen == 4_000
    assert 100 <= len(taken) < 200
    assert {after - before for before, after in pairwise(taken)} == {taken[1] - taken[0]}


def test_values_are_of_the_kind_that_most_events_have():
    rows = [{"a": 1}, {"a": "x"}, {"a": 2.5}, {"b": None}]
    found = values_of(rows, [Filter.parse("a = 1 AND b = 2 AND c = 3")])
    assert found == {("a", Kind.NUMBER): [1, None, 2.5, None]}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "name a file of subscriptions"),
        (("--memory", "much"), "--memory is a size as in 512MiB"),
        (("--memory", "10MiB"), "before it holds any subscription"),
        (("--nodes", 4, "--members", "m.json"), "given twice"),
        (("--near", 4), "--near is about the members"),
        (("--time", "at", "--rate", 5), "--time finds the rate"),
        (("--time", "price"), "no event has a timestamp in 'price'"),
        (("--busy", 1.5), "--busy is a number from 0.001 to 0.999"),
        (("--busy", "nan"), "--busy is a number from"),
        (("--replicas", 0), "--replicas is a number from 1"),
        (("--nodes", 10**8), "--nodes is a number from 1 to 20,000, not 100,000,000"),
        (("--expected", -1), "--expected is a number from 0"),
        (("--rate", "nan"), "--rate is a number from 0 to 1,000,000,000,000, events per second, not nan"),
        (("--rate", "inf"), "--rate is a number from"),
        (("--rate", -1), "--rate is a number from"),
        (("--rate", 1e300), "--rate is a number from 0 to 1,000,000,000,000, events per second, not 1e+300"),
        (("--rate", 1e11), "events/s want at least"),
        (("--hop-ms", -1), "--hop-ms is a number from 0"),
        (("--hop-ms", "nan"), "--hop-ms is a number from 0"),
        (("--handling-ms", "inf"), "--handling-ms is a number from 0"),
        (("--latency-ms", "nan"), "--latency-ms is a number from 0"),
        (("--latency-ms", "inf"), "--latency-ms is a number from 0"),
        (("--memory", "9" * 30 + "TiB"), "--memory is at most"),
        (("--node-weights", "1e308,1e308"), "--node-weights is a list of numbers above 0 and at most 1,000,000"),
        (("--match-ms", "1000:nan,2000:1"), "--match-ms is a list as in"),
        (("--match-ms", "1000:1e400"), "times are from 0"),
        (("--node-weights", "1,x"), "--node-weights is a list of numbers above 0"),
        (("--match-ms", "fast"), "--match-ms is a list as in"),
        (("--key", "volume"), "'volume' cannot be the key"),
        (("--latency-ms", 0.1), "latency: at best"),
        (("--nodes", 2, "--rate", 10**7), "rate: at best"),
        (("--members", "subs.jsonl"), "is not what siftcast members --json prints"),
        (("--output", "."), "is a folder"),
    ],
)
def test_mistakes_are_said_in_words(run, log, options, words):
    given = log if options else ("plan", "ring")
    result = run(*given, *(() if "--match-ms" in options else FAST), *options)
    assert result.status == 2
    assert words in " ".join(result.err.split())


def test_rejected_rows_are_kept_and_said(run, log, tmp_path):
    with (tmp_path / "subs.jsonl").open("a") as subscriptions:
        subscriptions.write('{"id": "bad", "filter": "price <"}\n')
    result = run(*log, *FAST)
    assert result.status == 1
    assert "1 rows that cannot be used" in result.out
    assert (tmp_path / "subs.jsonl.rejected").exists()


def test_where_all_subscriptions_are_rejected_the_message_says_where_the_reasons_are(run, log, tmp_path):
    (tmp_path / "other.toml").write_text('name = "x"\n[[attribute]]\nname = "volume"\ntype = "int"\n')
    result = run(*log[:-1], "other.toml", *FAST)
    words = " ".join(result.err.split())
    assert result.status == 2
    assert "none of the 300 subscriptions in subs.jsonl can be planned for: all were rejected" in words
    assert "subs.jsonl.rejected has the reasons" in words
    (tmp_path / "subs.jsonl").write_text("")
    assert "there are no subscriptions to plan for in subs.jsonl" in " ".join(run(*log, *FAST).err.split())


def test_sizes_weights_and_rates_are_read():
    assert parse_size("1.5 GiB") == 1.5 * 2**30
    assert parse_size("4GB") == 4e9
    assert parse_weights("2,1") == (2.0, 1.0)
    assert given_times("0:0.1,10:0.2").at(5) == pytest.approx(0.15)
    with pytest.raises(DataError, match="all events have one time"):
        rate_of([{"t": datetime(2026, 1, 1)}], "t", 1)
