"""`explain`, `check`, `generate`, `demo`, and what all commands share: help, version, errors."""

import io
import json
import os
import subprocess
import sys

import pytest

from siftcast.interfaces.cli import app
from siftcast.workloads import presets

EVENT = '{"symbol": "IBM", "price": 99, "at": "2024-01-01"}'


# -- explain -----------------------------------------------------------------------------------------


def test_explain_shows_the_verdict_of_every_part(run):
    outcome = run("explain", "symbol = 'IBM' AND price < 95", EVENT)
    assert outcome.status == 0
    assert "✓ symbol = 'IBM'" in outcome.out
    assert "✗ price < 95" in outcome.out
    assert outcome.out.splitlines()[-1] == "NO MATCH"
    assert run("explain", "price > 95", EVENT).out.splitlines()[-1] == "MATCH"


def test_explain_reads_a_file_or_standard_input(run, write, monkeypatch):
    assert "\nMATCH" in run("explain", "price > 95", write("event.json", EVENT)).out
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(EVENT.encode())))
    assert "\nMATCH" in run("explain", "price > 95", "-").out


def test_explain_tells_by_its_status_only_if_asked(run):
    assert run("explain", "price < 95", EVENT).status == 0
    assert run("explain", "price < 95", EVENT, "--exit-code").status == 1
    assert run("explain", "price > 95", EVENT, "--exit-code").status == 0


def test_explain_with_a_schema_knows_timestamps(run, write):
    schema = write("s.toml", '[[attribute]]\nname = "at"\ntype = "timestamp"\n')
    text = "at < TIMESTAMP '2024-02-01'"
    assert run("explain", text, EVENT).out.splitlines()[-1] == "NO MATCH"
    assert run("explain", text, EVENT, "--schema", schema).out.splitlines()[-1] == "MATCH"
    assert run("explain", "tea = 5", EVENT, "--schema", schema).status == 2


@pytest.mark.parametrize(
    ("filter", "event", "words"),
    [
        ("price <", EVENT, "^"),
        ("price < 5", "{oops", "not valid JSON"),
        ("price < 5", "missing.json", "no such file"),
        ("price < 5", "two.jsonl", "2 events, one a line"),
        ("price < 5", "latin.json", "UTF-8"),
    ],
)
def test_explain_names_mistakes(run, write, filter, event, words):
    write("two.jsonl", '{"a": 1}\n{"a": 2}\n')
    write("latin.json", b'{"a": "\xe9"}')
    outcome = run("explain", filter, event)
    assert outcome.status == 2
    assert words in outcome.err


def test_explain_takes_markup_in_a_filter_for_text(run):
    outcome = run("explain", "a = '[red]x[/red]'", '{"a": "[red]x[/red]"}')
    assert outcome.out.count("[red]x[/red]") == 2


# -- check -------------------------------------------------------------------------------------------


def test_check_counts_templates_and_attributes(run, write):
    subs = write(
        "subs.jsonl",
        [{"id": f"s{n}", "filter": f"a = {n} AND b < {n}"} for n in range(10)] + [{"id": "x", "filter": "a > 1"}],
    )
    outcome = run("check", subs, "--json")
    assert outcome.status == 0
    assert outcome.json == {"good": 11, "bad": 0, "templates": 2, "attributes": {"a": 11, "b": 10}, "first_errors": []}
    assert "11 good" in run("check", subs).out


def test_check_shows_the_first_errors_with_line_and_caret(run, write):
    subs = write(
        "subs.jsonl", [{"id": f"s{n}", "filter": "a = = 1"} for n in range(30)] + [{"id": "x", "filter": "a > 1"}]
    )
    outcome = run("check", subs)
    assert outcome.status == 1
    assert outcome.out.count("filter-syntax") == 20
    assert outcome.out.count("^\n") == 20
    assert "and 10 more" in outcome.out
    assert "1 good, 30 cannot be used" in outcome.out
    assert run("check", subs, "--quiet").out == ""


def test_check_uses_a_schema(run, write):
    schema = write("s.toml", '[[attribute]]\nname = "a"\ntype = "int"\n')
    subs = write("subs.jsonl", [{"id": "x", "filter": "a = 'text'"}, {"id": "y", "filter": "a = 1"}])
    assert run("check", subs).status == 0
    assert run("check", subs, "--schema", schema).status == 1


def test_check_of_an_empty_file_is_fine(run, write):
    assert run("check", write("subs.jsonl", "")).status == 0


# -- generate ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("preset", list(presets()))
def test_every_preset_is_generated_checked_and_matched(run, match, preset):
    assert run("generate", preset, "--events", 50, "--subscriptions", 20, "--output", "w", "--quiet").status == 0
    assert run("check", "w/subscriptions.jsonl", "--schema", "w/schema.toml").status == 0
    outcome = match("w/subscriptions.jsonl", "w/events.jsonl", "--schema", "w/schema.toml")
    assert outcome.status == 0
    assert outcome.json["events"]["used"] == 50
    assert outcome.json["subscriptions"]["used"] == 20


def test_generated_formats_match_alike(run, match):
    formats = ["--format", "jsonl", "--format", "parquet", "--format", "arrow"]
    run("generate", "stock-quotes", "--events", 500, "--subscriptions", 100, *formats, "--set", "symbols=10")
    folder = "stock-quotes"
    counts = {
        match(f"{folder}/subscriptions.{subs}", f"{folder}/events.{events}").json["matches"]
        for subs in ("jsonl", "parquet")
        for events in ("jsonl", "parquet", "arrow")
    }
    assert len(counts) == 1
    assert counts.pop() > 100


def test_generate_refuses_to_overwrite_unless_forced(run, tmp_path):
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "thesis.txt").write_text("years of work")
    command = ("generate", "rss", "--events", 5, "--subscriptions", 5, "--output", "w")
    outcome = run(*command)
    assert outcome.status == 2
    assert "--force" in outcome.err
    assert run(*command, "--force").status == 0
    assert (tmp_path / "w" / "thesis.txt").exists()


def test_generate_lists_presets_and_options(run):
    listed = run("generate", "--list").out
    assert all(name in listed for name in presets())
    assert "symbols" in run("generate", "stock-quotes", "--list").out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "--list"),
        (["stock-quote"], "did you mean 'stock-quotes'"),
        (["rss", "--events", "-5"], "events"),
        (["rss", "--events", "many"], "--help"),
        (["rss", "--set", "x"], "NAME=VALUE"),
        (["rss", "--set", "x=1"], "unknown"),
        (["rss", "--format", "xml"], "--help"),
        (["rss", "--output", "a-file"], "is a file"),
    ],
)
def test_generate_names_mistakes(run, write, options, words):
    write("a-file", "")
    outcome = run("generate", *options)
    assert outcome.status == 2
    assert words in outcome.err
    assert len(outcome.err.splitlines()) <= 12


# -- demo --------------------------------------------------------------------------------------------


def test_demo_matches_explains_and_agrees_with_every_filter(run):
    outcome = run("demo", "--no-network", "--no-spark", "--events", 2_000, "--subscriptions", 300)
    assert outcome.status == 0
    for words in ("2,000 quotes", "quotes/s", "Busiest", "reached", "✓", "✗", "all agree"):
        assert words in outcome.out


def test_demo_runs_a_network_of_nodes_that_deliver_exactly_and_stop(run):
    outcome = run("demo", "--no-spark", "--events", 2_000, "--subscriptions", 300)
    assert outcome.status == 0
    for words in ("network of 3 nodes", "published at n0", "n0 → n1", "because wanted by", "would reach"):
        assert words in outcome.out
    assert "Every desk got exactly its events, in order; all nodes stopped cleanly." in outcome.out


def test_demo_stops_when_its_time_is_up(run):
    outcome = run(
        *("demo", "--no-network", "--no-spark", "--events", 200_000, "--subscriptions", 300),
        *("--engine", "brute_force", "--seconds-max", 0),
    )
    assert outcome.status == 0
    assert "then time was up" in outcome.out


# -- all of them -------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["", "match", "explain", "check", "generate", "demo"])
def test_help_and_version_are_there(run, command):
    outcome = run(*([command] if command else []), "--help")
    assert outcome.status == 0
    assert "Usage: siftcast" in outcome.out
    assert "Exit status" in outcome.out
    assert run("--version").out.startswith("siftcast ")


def test_unknown_command_is_a_mistake(run):
    outcome = run("macth")
    assert outcome.status == 2
    assert "macth" in outcome.err


def test_defect_is_told_from_a_mistake_and_debug_shows_its_traceback(capsys, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("two and two make five")

    monkeypatch.setattr("siftcast.interfaces.cli.explain_command.Filter.parse", broken)
    assert app.main(["explain", "a = 1", "{}"]) == 3
    plain = capsys.readouterr().err
    assert "defect" in plain
    assert "Traceback" not in plain
    assert app.main(["explain", "a = 1", "{}", "--debug"]) == 3
    assert "Traceback" in capsys.readouterr().err


def test_long_errors_fit_a_screen(run):
    outcome = run("explain", "a = 1\n" * 60 + "oops " * 900, "{}")
    assert outcome.status == 2
    assert len(outcome.err.splitlines()) <= 12
    assert len(outcome.err) < 2_000


def test_module_runs_as_a_program(tmp_path):
    command = [sys.executable, "-m", "siftcast", "explain", "a = 1", json.dumps({"a": 1})]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0
    assert done.stdout.endswith("MATCH\n")


@pytest.mark.parametrize("loaded", ["numpy", "cyclopts", "siftcast.interfaces.cli.trace_command"])
def test_ctrl_c_while_commands_are_loaded_is_told_like_any_other(tmp_path, loaded):
    (tmp_path / "sitecustomize.py").write_text(
        "import signal, sys\n"
        "class Interrupting:\n"
        "    def find_spec(name, *_):\n"
        f"        if name == {loaded!r}:\n"
        "            signal.raise_signal(signal.SIGINT)\n"
        "sys.meta_path.insert(0, Interrupting)\n"
    )
    command, environment = [sys.executable, "-m", "siftcast", "--version"], os.environ | {"PYTHONPATH": str(tmp_path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "siftcast: Interrupted\n")


def test_reader_that_leaves_early_is_no_error(tmp_path):
    command = f"{sys.executable} -m siftcast generate --list | head -1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.stderr == ""
    assert done.stdout.splitlines()[-1] == "0"
