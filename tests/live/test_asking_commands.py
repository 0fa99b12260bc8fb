"""The commands about rights and routes: tokens that a node then knows, dry runs and traces."""

import io
import json
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from siftcast import Filter
from siftcast.interfaces.cli import main
from siftcast.runtimes.live.local_network import READY
from siftcast.runtimes.live.node.configuration import parse_configuration
from siftcast.runtimes.live.node.rights import hash_token


def new_token(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[str, str]:
    """A token and its table, as the command prints them."""
    assert main(["token", "new", *arguments]) == 0
    token, _, table = capsys.readouterr().out.partition("\n")
    return token, table


def test_a_new_token_comes_with_a_table_that_holds_its_hash_only(capsys: pytest.CaptureFixture[str]) -> None:
    token, table = new_token(capsys, "desk", "--publish", "name = 'a\"\\b'", "--subscribe", "TRUE", "--see")
    (found,) = tomllib.loads(table)["principal"]
    assert found["token_hash"] == hash_token(token)
    assert token not in table
    (spec,) = parse_configuration(table).configuration.principal
    assert (spec.name, spec.publish, spec.subscribe, spec.see, spec.node) == (
        "desk", str(Filter.parse("name = 'a\"\\b'")), "TRUE", True, False
    )  # fmt: skip
    assert spec.delay_ms_min is None
    assert new_token(capsys, "desk")[0] != token
    (spec,) = parse_configuration(new_token(capsys, "desk", "--delay-ms-min", "50")[1]).configuration.principal
    assert spec.delay_ms_min == 50


@pytest.mark.parametrize(
    "arguments",
    [["a b"], ["a", "--publish", "price <"], ["a", "--node", "--see"], ["a", "--delay-ms-min", "0"]],
    ids=["name", "filter", "node", "bound"],
)
def test_a_token_that_no_node_would_take_is_not_made(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["token", "new", *arguments]) == 2
    assert not capsys.readouterr().out


@pytest.fixture
def served(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[tuple[str, str]]:
    """A node as a process, and a token of somebody who may do everything at it."""
    token, table = new_token(capsys, "all", "--publish", "TRUE", "--subscribe", "TRUE", "--see")
    (tmp_path / "node.toml").write_text(f'[node]\nlisten = "127.0.0.1:0"\n{table}')
    command = [sys.executable, "-m", "siftcast", "serve", "--config", str(tmp_path / "node.toml")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().removeprefix(READY).strip(), token
        process.terminate()


def publish(monkeypatch: pytest.MonkeyPatch, event: dict[str, object], *arguments: str) -> int:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(json.dumps(event).encode())))
    return main(["publish", *arguments])


def test_a_dry_run_publishes_nothing_and_a_trace_tells_what_was(
    served: tuple[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    url, token = served
    event: dict[str, object] = {"event_id": "e-1", "price": 88}
    assert publish(monkeypatch, event, "--at", url, "--dry-run") == 2
    assert "shows no token" in capsys.readouterr().err
    monkeypatch.setenv("SIFTCAST_TOKEN", token)
    subscriber = subprocess.Popen(
        [sys.executable, "-m", "siftcast", "subscribe", "price < 95", "--at", url, "--count", "1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with subscriber:
        assert subscriber.stderr is not None
        assert "subscribed" in subscriber.stderr.readline()
        assert publish(monkeypatch, event, "--at", url, "--dry-run") == 0
        said = capsys.readouterr().out
        assert "would reach 1 of the subscriptions at node" in said
        assert "✓ price < 95   (price is 88)" in said
        assert publish(monkeypatch, {"price": 99}, "--at", url, "--dry-run") == 0
        assert "✗ price < 95   (price is 99)" in capsys.readouterr().out
        assert main(["trace", "e-1", "--at", url]) == 1
        assert "no node remembers" in capsys.readouterr().out
        assert publish(monkeypatch, event, "--at", url) == 0
        assert json.loads(subscriber.communicate(timeout=60)[0]) == event
    capsys.readouterr()
    assert main(["trace", "e-1", "--at", url]) == 0
    said = capsys.readouterr().out
    assert "published at node" in said
    assert "delivered at node to 1" in said
    assert main(["trace", "e-1", "--at", url, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["deliveries"][0]["count"] == 1


def test_the_trace_that_publish_tells_finds_the_event(
    served: tuple[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SIFTCAST_TOKEN", served[1])
    assert publish(monkeypatch, {"event_id": "far"}, "--at", served[0]) == 0
    told = capsys.readouterr().out.partition("; siftcast ")[2].removesuffix(" shows its way\n")
    assert main(shlex.split(told)) == 0
    assert "published at node" in capsys.readouterr().out
    monkeypatch.setenv("SIFTCAST_URL", served[0])
    for id in ("-x", "--help", "-1", "it's 5"):
        assert publish(monkeypatch, {"event_id": id}) == 0
        told = capsys.readouterr().out.partition("; siftcast ")[2].removesuffix(" shows its way\n")
        assert main(shlex.split(told)) == 0
        assert "published at node" in capsys.readouterr().out


def test_a_token_is_made_for_a_time_or_as_another_of_a_principal(capsys: pytest.CaptureFixture[str]) -> None:
    (spec,) = parse_configuration(new_token(capsys, "desk", "--expires", "2100-01-01")[1]).configuration.principal
    assert spec.expires == datetime(2100, 1, 1, tzinfo=UTC)
    _, table = new_token(capsys, "desk", "--for", "30d")
    token, further = new_token(capsys, "desk", "--another", "--for", "45m")
    (spec,) = parse_configuration(table + further).configuration.principal
    assert spec.expires is not None
    assert timedelta(days=29) < spec.expires - datetime.now(UTC) <= timedelta(days=30)
    (another,) = spec.tokens
    assert another.hash == hash_token(token)
    assert another.expires is not None
    assert another.expires - datetime.now(UTC) <= timedelta(minutes=45)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--expires", "2020-01-01"],
        ["--for", "soon"],
        ["--for", "9999999d"],
        ["--for", "0s"],
        ["--for", "1d", "--expires", "2100-01-01"],
        ["--another", "--see"],
    ],
)
def test_a_time_that_is_no_end_and_rights_that_are_there_already_are_refused(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["token", "new", "desk", *arguments]) == 2
    assert not capsys.readouterr().out


def test_a_node_reads_its_configuration_again_when_it_is_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    token, table = new_token(capsys, "all", "--publish", "TRUE", "--operate")
    path = tmp_path / "node.toml"
    path.write_text(f'[node]\nlisten = "127.0.0.1:0"\n{table}')
    command = [sys.executable, "-m", "siftcast", "serve", "--config", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().removeprefix(READY).strip()
        ask = ["reload", "--at", url, "--token", token]
        path.write_text(f'[node]\nlisten = "127.0.0.1:0"\nname = "other"\n{table}[limits]\nconnections_max = 5\n')
        assert main(ask) == 0
        said = capsys.readouterr()
        assert said.out == "changed: limits.connections_max\n"
        assert "until the node is started again: node.name" in said.err
        path.write_text(f"[node]\nlisten = 1\n{table}")
        assert main(ask) == 2
        said = capsys.readouterr()
        assert "node.toml, line 2" in said.err
        path.write_text(f'[node]\nlisten = "127.0.0.1:0"\nname = "other"\n{table}')
        assert main([*ask, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["changed"] == ["limits.connections_max"]
        process.terminate()
