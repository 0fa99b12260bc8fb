"""How the tests of the command line run it: in this process, with its exit status and both outputs."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from siftcast.interfaces.cli import main


@dataclass(frozen=True)
class Outcome:
    """What a command line came to."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """The summary that `--json` prints."""
        summary: dict[str, Any] = json.loads(self.out)
        return summary


Run = Callable[..., Outcome]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Runs a command line in a scratch folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")

    def run(*tokens: object) -> Outcome:
        status = main([str(token) for token in tokens])
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return Outcome(status, captured.out, captured.err)

    return run


@pytest.fixture
def match(run: Run) -> Run:
    """Runs `match` on files of the scratch folder and returns its JSON summary with the status."""

    def match(subscriptions: object, events: object, *options: object) -> Outcome:
        return run("match", "--subscriptions", subscriptions, "--events", events, "--json", *options)

    return match


@pytest.fixture
def rejected() -> Callable[[Path], list[dict[str, Any]]]:
    """Reads the rejected file of an input."""

    def rejected(path: Path) -> list[dict[str, Any]]:
        file = path.with_name(path.name + ".rejected")
        return [json.loads(line) for line in file.read_text("utf-8").splitlines()] if file.exists() else []

    return rejected
