"""Where a node is: `--listen` and `--at`, SIFTCAST_URL for commands and clients, and what a refusal says."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import siftcast
from siftcast.interfaces.cli import main
from siftcast.runtimes.live.client.environment import DEFAULT_URL, node_url
from siftcast.runtimes.live.local_network import READY
from tests.live.test_commands import finish, start


def test_commands_and_clients_find_the_node_that_the_environment_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    node = start("serve", "--listen", "127.0.0.1:0", "--data", str(tmp_path / "kept"))
    try:
        assert node.stdout is not None
        url = node.stdout.readline().removeprefix(READY).strip()
        monkeypatch.setenv("SIFTCAST_URL", url)
        (tmp_path / "subs.csv").write_text("id,filter\nlow,price < 95\nibm,symbol = 'IBM'\n")
        reader = start("subscribe", "--filters", str(tmp_path / "subs.csv"), "--count", "1", "--envelope")
        assert reader.stderr is not None
        assert reader.stderr.readline() == f"subscribed at {url}\n"
        publisher = start("publish", stdin=subprocess.PIPE)
        said, _ = publisher.communicate('{"symbol": "IBM", "price": 88}\n', timeout=60)
        event = json.loads(finish(reader)[0])
        assert event["matched"] == ["low", "ibm"]
        assert said.startswith(f"1 event published to {url} as '{event['id']}'; siftcast trace {event['id']} ")
        assert main(["trace", event["id"]]) == 0
        assert main(["subscriptions", "--json"]) == 0
        with siftcast.connect_sync() as bus:
            assert bus.describe()["published"] == 1
    finally:
        finish(node, signal.SIGTERM)


def test_without_the_variable_it_is_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SIFTCAST_URL", raising=False)
    assert node_url() == DEFAULT_URL == "siftcast://127.0.0.1:7007"
    monkeypatch.setenv("SIFTCAST_URL", "")
    assert node_url() == DEFAULT_URL


def test_a_token_of_the_environment_goes_only_where_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIFTCAST_TOKEN", "secret")
    monkeypatch.setenv("SIFTCAST_URL", "siftcast://127.0.0.1:1")
    assert siftcast.connect()._hello.token == "secret"
    assert siftcast.connect("siftcast://127.0.0.1:1")._hello.token == ""


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["subscriptions", "--at", "siftcast://127.0.0.1:1"], "no node listens there; siftcast serve starts one"),
        (["serve", "--join", "siftcasts://127.0.0.1:7007"], "--join: nodes call each other at host:port"),
        (["serve", "--listen", "nowhere"], "--listen: 'nowhere' is no address; write host:port"),
        (["serve", "--listen", "0.0.0.0:0"], "--listen: 0.0.0.0 can be reached from other machines"),
        (["serve", "--config", "node.toml", "--listen", "127.0.0.1:0"], "leave out --listen"),
        (["subscribe"], "give a filter"),
        (["subscribe", "a = 1", "--filters", "subs.jsonl"], "give a filter"),
        (["subscribe", "--filters", "subs.jsonl", "--durable", "desk"], "one filter"),
        (["subscribe", "--filters", "subs.jsonl"], "subs.jsonl, line 2: line 1, column 4"),
        (["subscribe", "--filters", "none.jsonl"], "there is no subscription in it"),
    ],
)
def test_a_mistake_is_told_with_a_remedy(
    arguments: list[str],
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("node.toml").write_text("")
    Path("subs.jsonl").write_text('{"id": "a", "filter": "a = 1"}\n{"id": "b", "filter": "a ="}\n')
    Path("none.jsonl").write_text("")
    assert main(arguments) == 2
    assert told in " ".join(capsys.readouterr().err.split())


def test_every_command_that_calls_a_node_takes_the_same_flag(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("publish", "subscribe", "subscriptions", "trace"):
        assert main([command, "--help"]) == 0
        shown = capsys.readouterr().out
        assert "--at " in shown
        assert "SIFTCAST_URL" in " ".join(shown.split())


def test_a_shell_completes_commands_and_options() -> None:
    script = (
        "source <(siftcast completion bash); "
        "COMP_WORDS=(siftcast subs); COMP_CWORD=1; _siftcast; echo ${COMPREPLY[@]}; "
        "COMP_WORDS=(siftcast serve --l); COMP_CWORD=2; _siftcast; echo ${COMPREPLY[@]}"
    )
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(["bash", "-c", script], env={**os.environ, "PATH": path}, capture_output=True, text=True)
    assert [line.split() for line in done.stdout.splitlines()] == [["subscribe", "subscriptions"], ["--listen"]], done


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_have_a_script_too(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    assert "subscriptions" in capsys.readouterr().out


def test_an_explanation_as_json_is_the_tree(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "a = 1 AND b < 2", '{"a": 1}', "--json", "--exit-code"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["match"] is False
    assert [part["verdict"] for part in found["explanation"]["parts"]] == [True, None]
