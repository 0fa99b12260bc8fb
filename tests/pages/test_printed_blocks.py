"""Every block that README and docs print runs, or is read by the thing that reads it; none is left out.

Python runs, page by page. Of shell, every command of every block is read by the program that it calls: ours by its own
parser, so that a command or an option that is not there is told. Pages whose commands need no network and no Spark are
run as they stand. What is neither is a picture or the output of a command, and listed as such.
"""

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from siftcast.interfaces.cli.app import app
from tests.pages.blocks import ROOT, Block, all_blocks, blocks_of, run_python, words_of

ELSEWHERE = {  # where tests of their own run the Python of a page
    "docs/adding-a-scheme.md": "tests/conformance/test_adding_a_scheme.py",
    "docs/clustering.md": "tests/spark/test_spark_pages.py",
    "docs/partitioning.md": "tests/spark/test_spark_pages.py",
    "docs/spark-shards.md": "tests/spark/test_spark_pages.py",
    "docs/spark-streaming.md": "tests/spark/test_spark_pages.py",
    "docs/spark.md": "tests/spark/test_spark_pages.py",
}
NOT_COMMANDS = {  # blocks by how they begin
    "text/JSON/Arrow ─▶ model": "a picture",
    "subscriptions    2,000, of which": "output of the block before it",
    "filter      = and_term": "the grammar; tests/unit/model/test_language_page.py compares it with the parser",
    "filter ─▶ boxes": "a picture",
    "publisher ──Submit──▶": "a picture",
    "zones of the content": "a picture",
    "20 zones along symbol": "output of the block before it",
    "vacuous: nothing was required": "output of a scenario that the page describes",
    "missing: event '11'": "output of a scenario that the page describes",
    "9 shards for 20,000": "output of `explain` on the page",
    "subscriptions  5,001 =": "output of the block before it",
    '{"time": "2026-12-01T': "a line of an audit log",
}
SHELL_WORDS = {"cat", "cd", "echo", "git", "head", "pip", "spark-submit", "venv-pack"}
RUN = {  # pages whose commands are run, but for blocks that begin so: endless, long, or beyond the folder of the test
    "README.md": ("make ",),
    "docs/command-line.md": ("siftcast serve", "siftcast reload", "siftcast reproduce", "siftcast completion"),
    "docs/ring-planning.md": ("siftcast plan ring --from",),
    "docs/simulation.md": (),
    "docs/workloads.md": (),
}
BLOCKS = all_blocks()
PYTHON_PAGES = sorted({block.page for block in BLOCKS if block.language == "python"} - ELSEWHERE.keys())


def is_picture(block: Block) -> bool:
    return any(block.first.startswith(start) for start in NOT_COMMANDS)


@pytest.mark.parametrize("page", PYTHON_PAGES)
def test_python_of_a_page_runs(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    run_python(page, {})  # a page takes nothing for granted
    said = capsys.readouterr().out
    for block in blocks_of(page):
        if block.language == "python":
            check_shown(block, said)


def check_shown(block: Block, said: str) -> None:
    """What stands in comments right below a `print`, or at the end of a block, was printed."""
    below = re.findall(r"^ *print\(.*\)\n((?:^# .*\n)+)", block.text, re.MULTILINE)
    for shown in below + re.findall(r"((?:^# .*\n)+)\Z", block.text, re.MULTILINE):
        assert "".join(line[2:] + "\n" for line in shown.splitlines()) in said, block.place


@pytest.mark.parametrize("page", ELSEWHERE)
def test_pages_that_run_elsewhere_are_named_there(page):
    assert Path(page).stem in (ROOT / ELSEWHERE[page]).read_text(encoding="utf-8")


@pytest.mark.parametrize("block", [each for each in BLOCKS if each.language != "python"], ids=lambda block: block.place)
def test_every_command_of_a_block_is_one(block):
    if is_picture(block):
        assert block.language == ""
        return
    assert block.language in ("", "sh")
    found = [words for command in block.commands for words in words_of(command)]
    assert found, block.place
    for words in found:
        check_command(words)


def check_command(words: list[str]) -> None:
    program, *rest = words
    if program.endswith("siftcast"):
        app.parse_args(rest, exit_on_error=False, print_error=False)
    elif program == "make":
        targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
        assert all("=" in word or word in targets for word in rest), words
    elif program == "python":
        assert rest[0] == "-m"
        assert find_spec(rest[1]) is not None, words
    else:
        assert program.rpartition("/")[2] in SHELL_WORDS, words


def test_a_block_without_a_runner_is_told():
    with pytest.raises(AssertionError):
        test_every_command_of_a_block_is_one(Block("docs/new.md", 1, "", "some drawing\n"))
    with pytest.raises(Exception, match="nonsense"):
        test_every_command_of_a_block_is_one(Block("docs/new.md", 1, "sh", "siftcast serve --nonsense 5\n"))
    with pytest.raises(AssertionError):
        test_every_command_of_a_block_is_one(Block("docs/new.md", 1, "toml", "[node]\n"))


def test_nothing_is_listed_that_is_not_printed():
    assert [start for start in NOT_COMMANDS if not any(block.first.startswith(start) for block in BLOCKS)] == []


@pytest.mark.full
@pytest.mark.parametrize("page", RUN)
def test_commands_of_a_page_run_as_they_stand(page, tmp_path):
    (tmp_path / "subs.jsonl").write_text('{"id":"a","filter":"price < 95"}\n{"id":"b","filter":"price << 95"}\n')
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    for block in blocks_of(page):
        if block.language == "python" or is_picture(block) or block.first.removeprefix("$ ").startswith(RUN[page]):
            continue
        script = "\n".join(block.commands)
        if "generate" in script and (tmp_path / "quotes").exists():
            script += " --force"
        strict = "-c" if "echo $?" in script else "-ec"  # a block that shows a status goes on after a failure
        done = subprocess.run(
            ["bash", strict, script], cwd=tmp_path, env={**os.environ, "PATH": path}, capture_output=True, text=True
        )
        assert done.returncode == 0, (block.place, done.stdout, done.stderr)
        if block.first.startswith(("$ siftcast explain", "$ siftcast check", "$ head", "$ cat")):
            shown = [line for line in block.text.splitlines() if not line.startswith("$ ")]
            told = [line.rstrip() for line in done.stdout.splitlines()]
            assert [line for line in shown if line.rstrip() not in told] == [], block.place
