"""The store: what it reported as safe is there again, whatever happened to the process, the disk or the file."""

import random
import resource
import signal
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from siftcast.runtimes.live.errors import StoreError
from siftcast.runtimes.live.storage import store as store_module
from siftcast.runtimes.live.storage.marks import checksum
from siftcast.runtimes.live.storage.salvage import salvage
from siftcast.runtimes.live.storage.store import Reported
from siftcast.runtimes.live.storage.tail import Tail
from tests.live.stores import Kept


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
    with pytest.raises(StoreError, match="another node is using this folder"):
        Kept(tmp_path / "store.sqlite")
    kept.store.close()


WRITER = """
import sys
from pathlib import Path
from siftcast.runtimes.live.node.configuration import LogSpec
from siftcast.runtimes.live.logs import make_log
from siftcast.runtimes.live.storage.store import Store

def note(reported):
    sys.stdout.write("".join(key + "\\n" for key, failure in reported if failure is None))
    sys.stdout.flush()

store = Store(Path(sys.argv[1]), note, make_log())
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
    copy.with_name("store.tail").write_bytes(path.with_name("store.tail").read_bytes())
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
        found = salvage(path, None).records
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


# -- what cannot be written, and a thread that fails -----------------------------------------------------


def test_a_write_that_cannot_be_written_at_all_is_reported_and_keeps_back_no_other(tmp_path: Path) -> None:
    kept = Kept(tmp_path / "store.sqlite")
    for number in range(50):
        kept.write(f"before {number}", b"x")
    kept.store.write("bad", (("first half", b"x"), ("bad", 5)))  # type: ignore[arg-type]
    kept.write("no text \ud800", b"x")
    kept.write("after", b"x")
    kept.wait("bad", "no text \ud800", "after")
    assert "TypeError" in str(kept.reported["bad"])
    assert "UnicodeEncodeError" in str(kept.reported["no text \ud800"])
    assert kept.reported["after"] is None
    kept.store.close()
    again = Kept(tmp_path / "store.sqlite")
    assert again.held == {**{f"before {number}": b"x" for number in range(50)}, "after": b"x"}
    again.store.close()


def test_when_the_thread_of_a_store_ends_all_that_waits_and_all_that_comes_is_reported_as_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Ends(BaseException):
        pass

    def fail(number: int, key: str, data: bytes) -> int:
        if key == "fatal":
            kept.write("waits meanwhile", b"x")
            raise Ends
        return checksum(number, key, data)

    monkeypatch.setattr(store_module, "checksum", fail)
    kept = Kept(tmp_path / "store.sqlite")
    kept.write("good", b"x")
    kept.wait("good")
    kept.write("fatal", b"x")
    kept.wait("fatal", "waits meanwhile")
    kept.write("later", b"x")
    kept.wait("later")
    assert kept.reported["good"] is None
    assert all("Ends" in str(kept.reported[key]) for key in ("fatal", "waits meanwhile", "later"))
    assert "store stopped" in kept.log
    kept.store.close()
    again = Kept(tmp_path / "store.sqlite")
    assert again.held == {"good": b"x"}
    again.store.close()


def test_a_report_that_fails_does_not_end_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Kept(tmp_path / "store.sqlite")
    note = kept.note

    def fail_once(reported: Reported) -> None:
        monkeypatch.setattr(kept.store, "_report", note)
        raise RuntimeError("nobody listens")

    monkeypatch.setattr(kept.store, "_report", fail_once)
    kept.write("unheard", b"x")
    while kept.store._report is not note:  # the first may not be written in one group with the next
        kept.store._condition.acquire()
        kept.store._condition.release()
    kept.write("heard", b"x")
    kept.wait("heard")
    kept.store.close()
    assert "nobody listens" in kept.log
    again = Kept(tmp_path / "store.sqlite")
    assert again.held == {"unheard": b"x", "heard": b"x"}
    again.store.close()


def test_a_write_after_the_end_is_reported_as_failed(tmp_path: Path) -> None:
    kept = Kept(tmp_path / "store.sqlite")
    kept.store.close()
    kept.write("late", b"x")
    assert kept.reported == {"late": "the store is closed"}


def test_a_tail_that_cannot_be_written_fails_no_commit_and_promises_less(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "store.sqlite"
    kept = Kept(path)
    kept.commit("first", [("first", b"x")])

    def fail(self: Tail, mark: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Tail, "write", fail)
        kept.commit("second", [("second", b"x")])
        kept.commit("third", [("third", b"x")])
    assert kept.log.count("store tail cannot be written") == 1
    kept.store.close()
    again = Kept(path)
    assert again.held == {"first": b"x", "second": b"x", "third": b"x"}
    assert again.store.damaged == []
    again.store.close()
