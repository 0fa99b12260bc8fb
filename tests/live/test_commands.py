"""The commands as processes: a node that is served, published to, subscribed to, stopped and frozen."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import time as clock
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import siftcast
from siftcast.runtimes.live.errors import ConnectionLost
from siftcast.runtimes.live.local_network import READY

EVENTS = [{"symbol": "IBM", "price": 88.5}, {"symbol": "IBM", "price": 97.0}, {"symbol": "SAP", "price": 90.0}]


def start(*arguments: str, **options: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "siftcast", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)  # type: ignore[call-overload, no-any-return]


def finish(process: subprocess.Popen[str], number: int | None = None) -> tuple[str, str]:
    """Ends a process with a signal, if it does not end by itself, and returns what it said."""
    if number is not None:
        process.send_signal(number)
    return process.communicate(timeout=60)


class Served:
    """A node as a process."""

    def __init__(self, folder: Path, more: str = "") -> None:
        path = folder / "node.toml"
        path.write_text(f'[node]\nlisten = "127.0.0.1:0"\n{more}')
        self.process = start("serve", "--config", str(path))
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line.startswith(READY), self.process.communicate()
        self.url = line.removeprefix(READY).strip()


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    node = Served(tmp_path)
    yield node
    if node.process.poll() is None:
        finish(node.process, signal.SIGTERM)


def lines_of(text: str) -> list[object]:
    return [json.loads(line) for line in text.splitlines()]


def subscribed(url: str, filter: str, count: int) -> subprocess.Popen[str]:
    """A `siftcast subscribe` whose subscription stands."""
    process = start("subscribe", filter, "--at", url, "--count", str(count))
    assert process.stderr is not None
    assert "subscribed" in process.stderr.readline()
    return process


@pytest.mark.parametrize("kind", ["jsonl", "csv", "standard input"])
def test_what_is_published_is_printed_where_it_is_wanted(served: Served, tmp_path: Path, kind: str) -> None:
    reader = subscribed(served.url, "symbol = 'IBM' OR price = 90", 3)
    text = "".join(json.dumps(event) + "\n" for event in EVENTS)
    if kind == "standard input":
        publisher = start("publish", "--at", served.url, stdin=subprocess.PIPE)
        said, _ = publisher.communicate(text, timeout=60)
    else:
        path = tmp_path / f"events.{kind}"
        rows = [["symbol", "price"], *([event["symbol"], str(event["price"])] for event in EVENTS)]
        path.write_text(text if kind == "jsonl" else "".join(",".join(map(str, row)) + "\n" for row in rows))
        publisher = start("publish", str(path), "--at", served.url)
        said, _ = finish(publisher)
    assert publisher.returncode == 0
    assert said.startswith("3 events published")
    out, _ = finish(reader)
    assert reader.returncode == 0
    assert lines_of(out) == EVENTS


def test_rows_that_are_no_events_are_rejected_with_a_reason(served: Served, tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text('{"x": 1}\nnot json\n{"x": 2}\n')
    publisher = start("publish", str(path), "--at", served.url)
    out, error = finish(publisher)
    assert publisher.returncode == 1
    assert out.startswith("2 events published")
    assert "1 rows rejected" in error
    rejected = json.loads((tmp_path / "events.jsonl.rejected").read_text())
    assert rejected["line"] == 2


def test_rows_with_values_that_cannot_be_sent_are_rejected_with_a_reason(served: Served, tmp_path: Path) -> None:
    path = tmp_path / "events.parquet"
    pq.write_table(pa.table({"x": [1, 2, 3], "at": [None, clock(12), None]}), path)
    publisher = start("publish", str(path), "--at", served.url)
    out, error = finish(publisher)
    assert publisher.returncode == 1
    assert out.startswith("2 events published")
    assert "1 rows rejected" in error
    rejected = json.loads((tmp_path / "events.parquet.rejected").read_text())
    assert rejected["line"] == 2
    assert "attribute 'at' is of type datetime.time" in rejected["reason"]


def test_subscriptions_shows_who_wants_what(served: Served) -> None:
    reader = subscribed(served.url, "price < 95", 1)
    shown = start("subscriptions", "--at", served.url, "--json")
    facts = json.loads(finish(shown)[0])
    assert [(each["client"], each["filter"]) for each in facts["subscriptions"]] == [
        ("siftcast subscribe", "price < 95")
    ]
    table = finish(start("subscriptions", "--at", served.url))[0]
    assert "price < 95" in table
    out, _ = finish(reader, signal.SIGINT)
    assert (reader.returncode, out) == (0, "")


def test_a_bound_is_told_where_it_is_not_kept_and_late_events_are_marked(served: Served) -> None:
    reader = start("subscribe", "price > 0", "--at", served.url, "--delay-ms-max", "0.000001", "--envelope")
    assert reader.stderr is not None
    assert reader.stdout is not None
    assert "subscribed" in reader.stderr.readline()
    ages: list[float | None] = []
    with siftcast.connect_sync(served.url) as bus:
        while None in (ages or [None]):  # until the node knows how far away its client is
            bus.publish({"price": 5})
            line = json.loads(reader.stdout.readline())
            ages = [line["age_ms"], line["late_ms"]]
            assert line["attributes"] == {"price": 5}
    assert ages[0] is not None
    assert ages[1] == pytest.approx(ages[0] - 1e-6)
    assert "bound, 1e-06 ms: missed" in reader.stderr.readline()
    table = finish(start("subscriptions", "--at", served.url))[0]
    assert "missed" in table
    finish(reader, signal.SIGINT)
    assert reader.returncode == 0


def test_a_node_stops_on_a_signal_and_says_what_it_did(served: Served) -> None:
    with siftcast.connect_sync(served.url) as bus:
        bus.publish({"x": 1})
    _, log = finish(served.process, signal.SIGTERM)
    assert served.process.returncode == 0
    assert "stopped" in log
    assert "published=1" in log


def test_a_node_stops_also_while_its_kernels_are_compiled(tmp_path: Path) -> None:
    (tmp_path / "node.toml").write_text('[node]\nlisten = "127.0.0.1:0"\n')
    empty = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "kernels")}
    node = start("serve", "--config", str(tmp_path / "node.toml"), env=empty)
    assert node.stdout is not None
    url = node.stdout.readline().removeprefix(READY).strip()
    with siftcast.connect_sync(url) as bus, bus.subscribe("x = 1") as stream:
        bus.publish({"x": 1})
        assert next(stream)["x"] == 1
    _, log = finish(node, signal.SIGTERM)
    assert node.returncode == 0
    assert "stopped" in log


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["serve", "--config", "missing.toml"], "siftcast serve --example"),
        (["publish", "missing.jsonl", "--at", "siftcast://127.0.0.1:1"], "no such file"),
        (["publish", "events.xml"], "must end in"),
        (["subscribe", "price <", "--at", "siftcast://127.0.0.1:1"], "expected"),
        (["subscribe", "TRUE", "--count", "0", "--at", "siftcast://127.0.0.1:1"], "take 1 or more"),
        (["subscribe", "TRUE", "--count", "-1", "--durable", "d", "--at", "siftcast://127.0.0.1:1"], "take 1 or more"),
        (["subscriptions", "--at", "localhost"], "is no address"),
        (["subscribe", "a", "--delay-ms-max", "-1"], "delay_ms_max is a positive number of milliseconds"),
        (["subscribe", "--filters", "subs.csv", "--bandwidth", "5"], "--bandwidth is for one filter"),
    ],
)
def test_a_mistake_is_one_short_message_and_status_2(arguments: list[str], told: str, tmp_path: Path) -> None:
    process = start(*arguments, cwd=tmp_path)
    out, error = finish(process)
    assert process.returncode == 2, (out, error)
    assert told in error
    assert "Traceback" not in error


def test_a_port_that_is_taken_is_told_with_a_remedy(served: Served, tmp_path: Path) -> None:
    path = tmp_path / "second.toml"
    path.write_text(f'[node]\nlisten = "{served.url.removeprefix("siftcast://")}"\n')
    second = start("serve", "--config", str(path))
    _, error = finish(second)
    assert second.returncode == 2
    assert "choose another port" in error


def test_a_node_that_was_frozen_goes_on_with_its_clients(tmp_path: Path) -> None:
    node = Served(tmp_path, "[heartbeat]\ninterval_ms = 50\n")
    with siftcast.connect_sync(node.url, timeout_s=30.0) as bus:
        stream = bus.subscribe("x > 0")
        bus.publish({"x": 1})
        assert next(stream)["x"] == 1
        node.process.send_signal(signal.SIGSTOP)
        with pytest.raises(ConnectionLost):  # the client misses the heartbeats; whether it was published is unknown
            bus.publish({"x": 0})
        node.process.send_signal(signal.SIGCONT)
        while True:  # an event may be lost until the subscription stands again
            bus.publish({"x": 2})
            try:
                assert stream.take(0.2)["x"] == 2
                break
            except TimeoutError:
                continue
    finish(node.process, signal.SIGTERM)
    assert node.process.returncode == 0


def test_a_network_starts_and_stops_cleanly(tmp_path: Path) -> None:
    network = start("network", "up", "--nodes", "3", "--scheme", "kyra", "--folder", str(tmp_path))
    assert network.stdout is not None
    urls = []
    for line in network.stdout:
        if line.startswith("ready"):
            break
        urls.append(line.split()[1])
    assert len(urls) == 3
    with siftcast.connect_sync(urls[0]) as first, siftcast.connect_sync(urls[2]) as last:
        stream = first.subscribe("value < 100")
        while True:
            last.publish({"value": 50})
            try:
                assert stream.take(0.2)["value"] == 50
                break
            except TimeoutError:
                continue
    out, error = finish(network, signal.SIGINT)
    assert (network.returncode, error) == (0, "")
    assert "stopped" in out
    for url in urls:
        with pytest.raises(ConnectionLost):
            siftcast.connect_sync(url, timeout_s=0.1).__enter__()


def test_nodes_do_not_outlive_whoever_started_the_network(tmp_path: Path) -> None:
    network = start("network", "up", "--nodes", "2", "--folder", str(tmp_path))
    assert network.stdout is not None
    while not network.stdout.readline().startswith("ready"):
        assert network.poll() is None
    network.kill()
    network.communicate()
    logs = [tmp_path / f"n{number}.log" for number in range(2)]
    waited = 0
    while not all("stopped" in log.read_text() for log in logs):
        time.sleep(0.01)
        waited += 1
        assert waited < 6_000
