"""The store: what it reported as safe is there again, whatever happened to the process, the disk or the file."""

import os
import random
import resource
import signal
import subprocess
import sys
import threading
from pathlib import Path

import apsw
import pytest

from siftcast.runtimes.live.configuration import LogSpec
from siftcast.runtimes.live.errors import StoreError
from siftcast.runtimes.live.logs import make_log
from siftcast.runtimes.live.salvage import salvage
from siftcast.runtimes.live.store import Reported, Store, checksum

QUIET = make_log(LogSpec(level="error"), open(os.devnull, "w"))  # noqa: SIM115  # for all tests of this file


class Kept:
    """A store, and what it has reported."""

    def __init__(self, path: Path) -> None:
        self.reported: dict[str, str | None] = {}
        self.groups: list[int] = []
        self._changed = threading.Condition()
        self.store = Store(path, self._note, QUIET)
        self.held = self.store.open()

    def _note(self, reported: Reported) -> None:
        with self._changed:
            self.groups.append(len(reported))
            self.reported.update(reported)
            self._changed.notify_all()

    def write(self, key: str, data: bytes | None) -> None:
        self.store.write(key, ((key, data),))

    def wait(self, *keys: str) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: all(key in self.reported for key in keys), 30)


def filled(path: Path, count: int, *, close: bool = True) -> dict[str, bytes]:
    """Makes a store with records of all sizes, some replaced and some removed; returns what it holds."""
    draw = random.Random(5)
    kept = Kept(path)
    expected: dict[str, bytes] = {}
    for number in range(count):
        key = f"key/{number}"
        for _ in range(draw.choice([1, 1, 2])):
            expected[key] = draw.randbytes(draw.choice([0, 10, 200, 3_000, 20_000]))
            kept.write(key, expected[key])
        if number % 7 == 3:
            gone = f"key/{number - 2}"
            expected.pop(gone)
            kept.write(gone, None)
        if number % 10 == 9:
            kept.wait(key)
    kept.write("end", b"")
    kept.wait("end")
    expected["end"] = b""
    if close:
        kept.store.close()
    return expected


def test_what_was_written_is_there_again(tmp_path: Path) -> None:
    expected = filled(tmp_path / "store.sqlite", 60)
    again = Kept(tmp_path / "store.sqlite")
    assert again.held == expected
    assert again.store.damaged == []
    again.store.close()


def test_changes_of_one_write_are_kept_together_and_reported_under_its_key(tmp_path: Path) -> None:
    kept = Kept(tmp_path / "store.sqlite")
    kept.write("b", b"old")
    kept.store.write("both", (("a", b"1"), ("b", None)))
    kept.wait("both")
    assert kept.reported == {"b": None, "both": None}
    kept.store.close()
    again = Kept(tmp_path / "store.sqlite")
    assert again.held == {"a": b"1"}
    again.store.close()


def test_writes_that_come_together_are_one_commit(tmp_path: Path) -> None:
    kept = Kept(tmp_path / "store.sqlite")
    for number in range(2_000):
        kept.write(str(number), b"x")
    kept.wait(*map(str, range(2_000)))
    assert sum(kept.groups) == 2_000
    assert len(kept.groups) < 500
    kept.store.close()


def test_a_second_node_on_the_same_folder_is_refused(tmp_path: Path) -> None:
    kept = Kept(tmp_path / "store.sqlite")
    kept.write("a", b"1")
    kept.wait("a")
    with pytest.raises(StoreError, match="another node"):
        Kept(tmp_path / "store.sqlite")
    kept.store.close()


WRITER = """
import sys
from pathlib import Path
from siftcast.runtimes.live.configuration import LogSpec
from siftcast.runtimes.live.logs import make_log
from siftcast.runtimes.live.store import Store

def note(reported):
    sys.stdout.write("".join(key + "\\n" for key, failure in reported if failure is None))
    sys.stdout.flush()

store = Store(Path(sys.argv[1]), note, make_log(LogSpec()))
held = store.open()
for number in range(len(held), 10**9):
    store.write(f"k{number}", ((f"k{number}", str(number).encode() * 50),))
    while number - len(held) > 20_000:
        pass
"""


def test_a_process_killed_while_it_writes_loses_nothing_it_reported(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    safe: set[str] = set()
    for attempt in range(3):
        process = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        for _ in range(200 + 150 * attempt):
            safe.add(process.stdout.readline().strip())
        process.kill()
        for line in process.stdout.read().splitlines()[:-1]:
            safe.add(line.strip())
        process.stdout.close()
        process.wait()
    kept = Kept(path)
    assert kept.store.damaged == []
    assert safe <= kept.held.keys()
    assert all(data == key[1:].encode() * 50 for key, data in kept.held.items())
    kept.store.close()


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("harm", ["flip", "truncate"])
def test_damage_anywhere_is_detected_and_the_intact_part_survives(tmp_path: Path, seed: int, harm: str) -> None:
    path = tmp_path / "store.sqlite"
    expected = filled(path, 40)
    data = bytearray(path.read_bytes())
    place = random.Random(seed).randrange(len(data))
    if harm == "flip":
        data[place] ^= 1 << random.Random(seed).randrange(8)
    else:
        del data[place:]
    path.write_bytes(data)
    check_survival(path, expected, may_be_stale=False)


@pytest.mark.parametrize("seed", range(10))
def test_damage_of_the_log_is_detected_and_the_rest_survives(tmp_path: Path, seed: int) -> None:
    path, copy = tmp_path / "a" / "store.sqlite", tmp_path / "b" / "store.sqlite"
    expected = filled(path, 40, close=False)  # not closed: the log is still full
    copy.parent.mkdir()
    log = bytearray(path.with_name("store.sqlite-wal").read_bytes())
    assert len(log) > 100_000
    log[random.Random(seed).randrange(len(log))] ^= 0x10
    copy.write_bytes(path.read_bytes())
    copy.with_name("store.sqlite-wal").write_bytes(log)
    # The log has older versions of pages, so what was removed or replaced may come back where the newest is damaged.
    check_survival(copy, expected, may_be_stale=True)


def check_survival(path: Path, expected: dict[str, bytes], *, may_be_stale: bool) -> None:
    """Damage is never handed out; what is missing was detected, and the file is kept for people to look at."""
    kept = Kept(path)
    stale = {key for key, data in kept.held.items() if expected.get(key) != data}
    assert may_be_stale or not stale
    if kept.held != expected:
        assert Path(kept.store.damaged[0]).exists()
    kept.write("new", b"works")
    kept.wait("new")
    assert kept.reported["new"] is None
    kept.store.close()
    again = Kept(path)
    assert again.held == {**kept.held, "new": b"works"}
    again.store.close()


def test_a_flipped_bit_costs_few_records(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    expected = filled(path, 200)
    whole = path.read_bytes()
    lost = []
    for seed in range(60):
        data = bytearray(whole)
        data[random.Random(seed).randrange(len(data))] ^= 4
        path.write_bytes(data)
        found = salvage(path, checksum).records
        assert all(expected[key] == data for key, data in found.items())
        lost.append(len(expected) - len(found))
    assert sum(lost) / len(lost) < 0.05 * len(expected)


def test_a_full_disk_is_told_and_nothing_is_lost(tmp_path: Path) -> None:
    kept = Kept(tmp_path / "store.sqlite")
    kept.write("before", b"x" * 1_000)
    kept.wait("before")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, hard))
    try:
        kept.write("too much", b"y" * 1_000_000)
        kept.wait("too much")
        assert kept.reported["too much"] is not None
        kept.write("small", b"z")
        kept.wait("small")
        assert kept.reported["small"] is None
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)
    kept.write("too much", b"y" * 1_000_000)
    kept.reported.clear()
    kept.write("after", b"works")
    kept.wait("after")
    assert kept.reported["after"] is None
    kept.store.close()
    again = Kept(tmp_path / "store.sqlite")
    assert again.held.keys() == {"before", "small", "too much", "after"}
    again.store.close()


def test_a_file_that_is_no_store_is_set_aside(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    path.write_bytes(b"something else entirely" * 500)
    kept = Kept(path)
    assert kept.held == {}
    assert len(kept.store.damaged) == 1
    kept.store.close()
    assert apsw.Connection(str(path)).execute("SELECT count(*) FROM records").fetchall() == [(0,)]
