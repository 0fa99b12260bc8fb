"""The tail beside a store tells what the store alone cannot; and a rescue may itself be interrupted.

What even the tail cannot tell is written down here as well.
"""

import os
from pathlib import Path

import pytest

from siftcast.runtimes.live.errors import StoreError
from siftcast.runtimes.live.storage.sqlite_pages import PAGE_BYTES
from tests.live.stores import (
    FRAME_BYTES,
    LOG,
    LOG_HEADER,
    MAIN,
    TAIL,
    Image,
    Kept,
    check_goes_on,
    commit_ends,
    image,
    reopened,
)

# -- files that do not belong together -------------------------------------------------------------------


def test_a_tail_of_another_store_is_noticed(tmp_path: Path) -> None:
    kept = reopened({**image("closed").files, TAIL: image("closed", 1).files[TAIL]}, tmp_path)
    assert "another store" in kept.log
    assert kept.store.damaged
    assert kept.held == image("closed").expected
    kept.store.close()


def test_a_file_that_went_another_way_than_its_tail_is_noticed(tmp_path: Path) -> None:
    ways = []
    for way in (b"one", b"another"):
        path = image("closed").lay(tmp_path / way.decode())
        kept = Kept(path)
        kept.commit("way", [("way", way)])
        kept.store.close()
        ways.append({name: path.with_name(name).read_bytes() for name in (MAIN, TAIL)})
    kept = reopened({MAIN: ways[0][MAIN], TAIL: ways[1][TAIL]}, tmp_path / "mixed")
    assert "another history" in kept.log
    assert kept.store.damaged
    kept.store.close()


def test_a_file_put_back_to_an_earlier_state_is_noticed_by_its_tail(tmp_path: Path) -> None:
    earlier = image("closed")
    path = earlier.lay(tmp_path / "a")
    kept = Kept(path)
    kept.commit("more", [("more", b"x")])
    kept.store.close()
    kept = reopened({**earlier.files, TAIL: path.with_name(TAIL).read_bytes()}, tmp_path / "b")
    assert kept.held == earlier.expected
    assert "commits_missing='16 to 16'" in kept.log
    kept.store.close()


def test_a_folder_put_back_whole_to_an_earlier_state_looks_like_that_state(tmp_path: Path) -> None:
    """What no store can notice by itself: everything that could tell went back, too. Its neighbours can."""
    earlier = image("closed")
    path = earlier.lay(tmp_path)
    kept = Kept(path)
    kept.commit("more", [("more", b"x")])
    kept.store.close()
    kept = reopened(earlier.files, tmp_path)
    assert kept.held == earlier.expected
    assert kept.store.damaged == []
    kept.store.close()


# -- the tail itself -------------------------------------------------------------------------------------


@pytest.mark.parametrize("left", [None, b"", bytes(2 * PAGE_BYTES)])
def test_a_sound_store_without_its_tail_opens_and_says_what_cannot_be_told(left: bytes | None, tmp_path: Path) -> None:
    before = image("in log")
    files = {name: content for name, content in before.files.items() if name != TAIL}
    kept = reopened(files if left is None else {**files, TAIL: left}, tmp_path)
    assert kept.held == before.expected
    assert kept.store.damaged == []
    assert "cannot be told" in kept.log
    kept.store.close()
    again = Kept(tmp_path / MAIN)
    assert again.log == ""
    again.store.close()


@pytest.mark.parametrize("slot", [0, 1])
def test_of_a_tail_with_a_torn_slot_the_other_is_used(slot: int, tmp_path: Path) -> None:
    before = image("in log")
    tail = bytearray(before.files[TAIL])
    tail[slot * PAGE_BYTES + 20] ^= 255
    kept = reopened({**before.files, TAIL: bytes(tail)}, tmp_path / "a")
    assert kept.held == before.expected
    assert kept.store.damaged == []
    assert "older slot" in kept.log
    kept.store.close()
    cut = before.files[LOG][: commit_ends(before.files[LOG])[10]]
    kept = reopened({**before.files, LOG: cut, TAIL: bytes(tail)}, tmp_path / "b")
    assert kept.store.damaged
    kept.store.close()


def test_a_tail_that_is_behind_is_no_damage(tmp_path: Path) -> None:
    """After a power cut the tail may be an older one: it is not synced with every commit."""
    path = image("closed").lay(tmp_path)
    older = path.with_name(TAIL).read_bytes()
    kept = Kept(path)
    for number in range(5):
        kept.commit(f"{number}", [(f"{number}", b"x")])
    kept.store.close()
    path.with_name(TAIL).write_bytes(older)
    again = Kept(path)
    assert again.store.damaged == []
    assert again.log == ""
    again.store.close()


# -- the rescue itself -----------------------------------------------------------------------------------


def test_damage_is_reported_again_until_something_was_written(tmp_path: Path) -> None:
    before = image("in log")
    path = Image({**before.files, LOG: before.files[LOG][:-FRAME_BYTES]}, {}, {}).lay(tmp_path)
    for _ in range(2):  # the second opens what the first has rescued
        kept = Kept(path)
        assert kept.store.damaged == [str(tmp_path / f"{MAIN}.damaged-1"), str(tmp_path / f"{MAIN}.damaged-1-wal")]
        assert "store damaged" in kept.log
        kept.store.close()
    check_goes_on(Kept(path), path)


class Stopped(BaseException):
    """The machine stops here."""


@pytest.mark.parametrize("step", range(4))
def test_a_rescue_that_was_interrupted_is_finished(step: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = image("reopened")
    log = bytearray(before.files[LOG])
    log[LOG_HEADER + 8] ^= 1
    path = Image({**before.files, LOG: bytes(log)}, {}, {}).lay(tmp_path)
    real, done = os.replace, 0

    def replace(source: Path, target: Path) -> None:
        nonlocal done
        if done == step:
            raise Stopped
        done += 1
        real(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", replace)
        with pytest.raises(Stopped):
            Kept(path)
    kept = Kept(path)
    assert kept.held == before.expected
    assert kept.store.damaged
    check_goes_on(kept, path)
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted(
        [MAIN, TAIL, f"{MAIN}.damaged-1", f"{MAIN}.damaged-1-wal"]
    )
    assert (tmp_path / f"{MAIN}.damaged-1-wal").read_bytes() == log


def test_a_second_damage_is_set_aside_under_another_name(tmp_path: Path) -> None:
    before = image("closed")
    main = bytearray(before.files[MAIN])
    main[20] ^= 1
    for number in (1, 2):
        kept = reopened({MAIN: bytes(main), TAIL: before.files[TAIL]}, tmp_path)
        assert kept.store.damaged == [str(tmp_path / f"{MAIN}.damaged-{number}")]
        kept.commit("new", [("new", b"x")])
        kept.store.close()
    assert (tmp_path / f"{MAIN}.damaged-1").read_bytes() == main


def test_a_damaged_store_that_cannot_be_rescued_for_want_of_room_is_left_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = image("closed")
    files = {**before.files, MAIN: before.files[MAIN][:-PAGE_BYTES]}
    path = Image(files, {}, {}).lay(tmp_path)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("siftcast.runtimes.live.storage.rescue.make_file", full)
        with pytest.raises(StoreError, match="No space left"):
            Kept(path)
    assert {name: (tmp_path / name).read_bytes() for name in files} == files
    kept = Kept(path)
    assert kept.store.damaged
    kept.store.close()
