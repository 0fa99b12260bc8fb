"""What a node keeps is for its own account: folders 0700 and files 0600, under any umask, wherever they come from."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import siftcast
from siftcast.runtimes.live.storage.spill import Spill
from tests.live.asynchronous import on_loop
from tests.live.nodes import running, url_of
from tests.live.stores import MAIN, Kept

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="rights of files are those of POSIX")


@pytest.fixture(autouse=True)
def no_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def modes(folder: Path) -> dict[str, int]:
    return {each.name: each.stat().st_mode & 0o777 for each in (folder, *folder.rglob("*"))}


@on_loop
async def test_all_that_a_node_makes_is_for_its_account_only(tmp_path: Path) -> None:
    text = 'data = "var/kept"\n[recording]\nfolder = "var/trace"'
    async with running(text, tmp_path) as node, siftcast.connect(url_of(node)) as bus:
        await bus.subscribe("value > 0", durable="desk").ready()
        await bus.publish({"value": 1}, durable=True)
        found = modes(tmp_path / "var")
        assert found == {
            "var": 0o700, "kept": 0o700, MAIN: 0o600, f"{MAIN}-wal": 0o600, "store.tail": 0o600
        }  # fmt: skip
    trace = modes(tmp_path / "var" / "trace")
    assert trace.pop("trace") == 0o700
    assert set(trace.values()) == {0o600}
    assert len(trace) == 4


def test_what_is_set_aside_and_rescued_is_private_too(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    kept = Kept(folder / MAIN)
    kept.commit("all", [(f"key/{number}", bytes(2_000)) for number in range(50)])
    kept.store.close()
    for file in folder.iterdir():
        file.chmod(0o644)  # as an earlier version made them
    with (folder / MAIN).open("r+b") as opened:
        opened.seek(3 * 4_096 + 100)
        opened.write(b"damage" * 50)
    again = Kept(folder / MAIN)
    try:
        found = modes(folder)
        assert f"{MAIN}.damaged-1" in found
        assert found.pop("kept") == 0o700
        assert set(found.values()) == {0o600}, found
    finally:
        again.store.close()


def test_a_wider_folder_that_was_there_is_warned_about_and_left(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    folder.mkdir(mode=0o755)
    kept = Kept(folder / MAIN)
    kept.store.close()
    assert modes(folder)["kept"] == 0o755
    assert f"chmod 700 {folder}" in kept.log
    folder.chmod(0o700)
    kept = Kept(folder / MAIN)
    kept.store.close()
    assert "chmod" not in kept.log


def test_what_spills_lies_in_a_private_folder(tmp_path: Path) -> None:
    spill = Spill(tmp_path / "kept", 1_000)
    assert modes(tmp_path / "kept") == {"kept": 0o700}
    spill.close()
