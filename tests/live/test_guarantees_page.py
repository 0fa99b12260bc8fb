"""The page of promises names tests that exist; the quickstart's commands do what it says."""

import re
import shlex
import signal
import subprocess
from pathlib import Path

from tests.live.test_commands import Served, finish, start

DOCS = Path(__file__).parents[2] / "docs"


def test_every_promise_names_a_test_that_exists() -> None:
    text = (DOCS / "guarantees.md").read_text(encoding="utf-8")
    heads = ("| promise", "| what happens")
    rows = [line for line in text.splitlines() if line.startswith("| ") and not line.startswith(heads)]
    assert len(rows) >= 15
    for row in rows:
        named = re.findall(r"`((?:tests/[\w/]+/)?test_\w+\.py)(?:::(test_\w+))?`", row)
        assert named, row
        for file, test in named:
            folder = DOCS.parent if "/" in file else Path(__file__).parent
            source = (folder / file).read_text(encoding="utf-8")
            assert not test or f"def {test}(" in source, f"{file} has no {test}"


def commands() -> list[list[str]]:
    """The arguments of the page's `siftcast` commands, in order."""
    text = (DOCS / "quickstart.md").read_text(encoding="utf-8")
    blocks = "".join(re.findall(r"^```sh\n(.*?)^```$", text, re.DOTALL | re.MULTILINE))
    return [shlex.split(line.partition(".venv/bin/siftcast ")[2]) for line in blocks.splitlines() if ".venv" in line]


def test_the_commands_of_the_quickstart_do_what_it_says(tmp_path: Path) -> None:
    serve, subscribe, publish = commands()
    assert serve[:2] == ["serve", "--data"]
    event = '{"symbol": "IBM", "price": 88}'

    def published(node: Served) -> None:
        publisher = start(*publish, "--at", node.url, stdin=subprocess.PIPE)
        said, error = publisher.communicate(event, timeout=60)
        assert said.startswith("1 event published"), error

    def read(node: Served, *more: str) -> str:
        return finish(start(*subscribe, "--at", node.url, "--quiet", *more))[0]

    node = Served(tmp_path, 'data = "kept"\n')
    assert read(node, "--count", "0") == ""
    published(node)
    assert read(node, "--count", "1") == '{"symbol":"IBM","price":88}\n'
    published(node)
    node.process.kill()
    node.process.communicate()
    node = Served(tmp_path, 'data = "kept"\n')
    try:
        assert read(node, "--count", "1", "--envelope").endswith('"position":2}\n')
        assert len(read(node, "--count", "2", "--from", "0").splitlines()) == 2
        table = finish(start("subscriptions", "--at", node.url))[0]
        assert "desk-7" in table
        assert finish(start("subscriptions", "--at", node.url, "--dead-letters", "desk-7")) == ("", "")
        finish(start("subscriptions", "--at", node.url, "--end", "desk-7"))
        assert "desk-7" not in finish(start("subscriptions", "--at", node.url))[0]
    finally:
        finish(node.process, signal.SIGTERM)
