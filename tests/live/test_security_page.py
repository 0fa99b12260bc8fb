"""The page on security: what it says to type works as it stands, and nothing readable is left behind."""

import os
import re
import select
import socket
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from siftcast.runtimes.live.local_network import READY
from siftcast.security.errors import Reason
from tests.pages.blocks import ROOT, Block, blocks_of

PAGE = "docs/security.md"
TEXT = (ROOT / PAGE).read_text(encoding="utf-8")


def test_the_page_names_tests_that_exist_and_all_reasons() -> None:
    named = set(re.findall(r"test_\w+\.py", TEXT))
    assert len(named) >= 4
    assert named <= {path.name for path in (ROOT / "tests").rglob("*.py")}
    assert re.findall(r"^\| `([a-z-]+)` \|", TEXT, re.MULTILINE) == ["unopened", *get_args(Reason)]


class Typed:
    """Commands of the page in a folder, at ports that are free."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._processes: list[subprocess.Popen[str]] = []
        self._ports = {}
        for printed in ("7007", "7008"):
            with socket.create_server(("127.0.0.1", 0)) as free:
                self._ports[printed] = str(free.getsockname()[1])
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        self._environment = {**os.environ, "PATH": path, "SIFTCAST_URL": f"siftcast://127.0.0.1:{self._ports['7007']}"}

    def start(self, block: Block) -> subprocess.Popen[str]:
        """Types a block; its last command goes on."""
        script = "\n".join(block.commands)
        for printed, free in self._ports.items():
            script = script.replace(printed, free)
        process = subprocess.Popen(
            ["bash", "-ec", script], cwd=self._folder, env=self._environment,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        self._processes.append(process)
        return process

    def stop(self) -> list[str]:
        """Ends all; returns what each has said that was not read."""
        for process in reversed(self._processes):
            process.terminate()
        return ["".join(process.communicate(timeout=60)) for process in self._processes]


@pytest.mark.full
def test_five_minutes_of_the_page(tmp_path: Path) -> None:
    blocks = [block for block in blocks_of(PAGE) if block.language != "python"]
    keys, first, second, ann, bob, publisher = blocks
    typed = Typed(tmp_path)
    try:
        assert typed.start(keys).wait(60) == 0
        for block in (first, second):
            node = typed.start(block)
            assert node.stdout is not None
            assert node.stdout.readline().startswith(READY)
        readers = [typed.start(block) for block in (ann, bob)]
        for reader in readers:
            assert reader.stderr is not None
            assert reader.stderr.readline().startswith("subscribed")
        for reader, block in zip(readers, (ann, bob), strict=True):
            assert reader.stdout is not None
            while not select.select([reader.stdout], [], [], 2.0)[0]:
                # The other node hears of a subscription a moment after its client.
                assert typed.start(publisher).wait(60) == 0
            assert reader.stdout.readline() == block.text.splitlines()[1] + "\n"
    finally:
        said = typed.stop()
    assert "a large buyer" not in "".join(said[1:3])  # the nodes
    kept = [path for name in ("first", "second") for path in (tmp_path / name).rglob("*") if path.is_file()]
    assert kept
    assert not [path for path in kept if b"a large buyer" in path.read_bytes()]
