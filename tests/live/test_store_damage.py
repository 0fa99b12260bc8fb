"""One thing happens to the files of a store: nothing that was reported as safe is missing without a word.

Files are those that a crash leaves: copied while the store is open. The damages are those of `store_damages`, at random
places; tens of them in `make test`, thousands in `make soak`.
"""

from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from siftcast.runtimes.live.storage.sqlite_pages import PAGE_BYTES
from tests.live.store_damages import DAMAGES, damage
from tests.live.stores import (
    FRAME_BYTES,
    FRAME_HEADER,
    LOG,
    LOG_HEADER,
    MAIN,
    MEMORY,
    SITUATIONS,
    TAIL,
    Kept,
    check_goes_on,
    commit_ends,
    image,
    reopened,
)

SEEDS = 2**32 - 1


@given(
    situation=st.sampled_from(sorted(SITUATIONS)),
    kind=st.sampled_from(sorted(DAMAGES)),
    seed=st.integers(0, SEEDS),
)
def test_after_any_one_damage_all_is_there_or_the_damage_is_reported(situation: str, kind: str, seed: int) -> None:
    draw = Random(seed)
    before = image(situation, draw.randrange(4))
    with TemporaryDirectory(dir=MEMORY) as folder:
        kept = reopened(damage(before.files, kind, draw), Path(folder))
        assert all(data in before.history[key] for key, data in kept.held.items())
        if kept.store.damaged:
            assert "store damaged" in kept.log
        if not kept.store.damaged or "whole=True" in kept.log:
            assert kept.held == before.expected
        check_goes_on(kept, Path(folder) / MAIN)


@pytest.mark.parametrize("situation", sorted(SITUATIONS))
def test_what_is_not_damaged_is_not_reported(situation: str, tmp_path: Path) -> None:
    before = image(situation)
    kept = reopened(before.files, tmp_path)
    assert kept.held == before.expected
    assert kept.store.damaged == []
    assert kept.log == ""
    check_goes_on(kept, tmp_path / MAIN)


# -- commits that are missing ----------------------------------------------------------------------------


@pytest.mark.parametrize("salt", [8, 12])
@pytest.mark.parametrize("place", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("situation", ["in log", "begun again"])
def test_a_flipped_bit_in_a_salt_costs_nothing_and_is_reported(
    situation: str, place: float, salt: int, tmp_path: Path
) -> None:
    before = image(situation)
    log = bytearray(before.files[LOG])
    frames = (commit_ends(log)[-1] - LOG_HEADER) // FRAME_BYTES
    assert (len(log) > LOG_HEADER + frames * FRAME_BYTES) == (situation == "begun again")
    log[LOG_HEADER + int(place * (frames - 1)) * FRAME_BYTES + salt] ^= 1
    kept = reopened({**before.files, LOG: bytes(log)}, tmp_path)
    assert kept.store.damaged
    assert "whole=True" in kept.log
    assert kept.held == before.expected
    kept.store.close()


def test_a_log_that_was_cut_says_which_commits_are_missing(tmp_path: Path) -> None:
    before = image("in log")
    ends = commit_ends(before.files[LOG])
    assert len(ends) == 16  # that which makes the store is number 0
    kept = reopened({**before.files, LOG: before.files[LOG][: ends[10]]}, tmp_path)
    assert kept.store.damaged == [str(tmp_path / f"{MAIN}.damaged-1"), str(tmp_path / f"{LOG[:-4]}.damaged-1-wal")]
    assert all(Path(file).exists() for file in kept.store.damaged)
    assert "commits_missing='11 to 15'" in kept.log
    assert "commits_found=0" in kept.log
    assert "whole=False" in kept.log
    check_goes_on(kept, tmp_path / MAIN)


def test_a_log_that_is_gone_says_which_commits_are_missing(tmp_path: Path) -> None:
    before = image("reopened")
    kept = reopened({name: content for name, content in before.files.items() if name != LOG}, tmp_path)
    assert "commits_missing='19 to 23'" in kept.log
    check_goes_on(kept, tmp_path / MAIN)


def test_commits_behind_a_damaged_place_are_found_again_even_without_a_tail(tmp_path: Path) -> None:
    before = image("in log")
    log = bytearray(before.files[LOG])
    log[commit_ends(log)[5] + FRAME_HEADER + 200] ^= 1  # in the seventh commit
    kept = reopened({MAIN: before.files[MAIN], LOG: bytes(log)}, tmp_path)
    assert "commits 6 to 15 are missing" in kept.log
    assert "commits_found=10" in kept.log
    assert before.expected.items() <= kept.held.items()
    kept.store.close()


def test_a_lost_file_with_its_log_left_gives_what_the_log_has(tmp_path: Path) -> None:
    before = image("in log")
    kept = reopened({name: content for name, content in before.files.items() if name != MAIN}, tmp_path)
    assert kept.store.damaged
    assert kept.held == before.expected
    check_goes_on(kept, tmp_path / MAIN)


@pytest.mark.parametrize("left", [None, b""])
def test_a_file_that_is_missing_or_empty_beside_its_tail_is_damage(left: bytes | None, tmp_path: Path) -> None:
    tail = image("closed").files[TAIL]
    kept = reopened({TAIL: tail} if left is None else {TAIL: tail, MAIN: left}, tmp_path)
    assert kept.held == {}
    assert kept.store.damaged
    assert "commits_missing='1 to 15'" in kept.log
    check_goes_on(kept, tmp_path / MAIN)


def test_a_log_without_its_file_and_tail_is_damage(tmp_path: Path) -> None:
    before = image("in log")
    kept = reopened({LOG: before.files[LOG]}, tmp_path)
    assert kept.store.damaged == [str(tmp_path / f"{MAIN}.damaged-1-wal")]
    assert kept.held == before.expected
    check_goes_on(kept, tmp_path / MAIN)


def test_a_last_commit_whose_end_is_not_marked_any_more_is_found_by_its_tail(tmp_path: Path) -> None:
    before = image("in log")
    log = bytearray(before.files[LOG])
    log[-FRAME_BYTES + 4 : -FRAME_BYTES + 8] = bytes(4)
    kept = reopened({**before.files, LOG: bytes(log)}, tmp_path)
    assert "commits_missing='15 to 15'" in kept.log
    assert "whole=True" in kept.log
    assert kept.held == before.expected
    kept.store.close()


# -- records that are missing, or not as they were ---------------------------------------------------------


def test_a_record_that_is_gone_with_all_its_traces_is_missed(tmp_path: Path) -> None:
    """As after a disk that lost several writes, which agree with each other."""
    before = image("closed")
    path = before.lay(tmp_path)
    gone = sorted(before.expected)[0]
    database = apsw.Connection(str(path))
    database.execute("DELETE FROM records WHERE key = ?", (gone,))
    database.close()
    kept = Kept(path)
    assert "not those of its last commit" in kept.log
    assert "whole=False" in kept.log
    assert kept.held == {key: data for key, data in before.expected.items() if key != gone}
    kept.store.close()


@pytest.mark.parametrize("bit", [1, 128])
@pytest.mark.parametrize("where", ["table", "index"])
def test_a_key_that_was_altered_is_noticed_in_the_table_and_in_the_index(where: str, bit: int, tmp_path: Path) -> None:
    kept = Kept(tmp_path / "a" / MAIN)
    kept.commit("all", [(f"key/{number}", b"x") for number in range(10, 30)])
    kept.store.close()
    files = {name: (tmp_path / "a" / name).read_bytes() for name in (MAIN, TAIL)}
    main = bytearray(files[MAIN])
    main[main.index(b"key/17", (2 if where == "table" else 3) * PAGE_BYTES)] ^= bit
    kept = reopened({MAIN: bytes(main), TAIL: files[TAIL]}, tmp_path / "b")
    assert kept.store.damaged
    lost = 17 if where == "table" else None
    assert kept.held == {f"key/{number}": b"x" for number in range(10, 30) if number != lost}
    check_goes_on(kept, tmp_path / "b" / MAIN)


@pytest.mark.parametrize("bit", range(16))
def test_a_header_that_forbids_to_write_is_damage(bit: int, tmp_path: Path) -> None:
    before = image("closed")
    main = bytearray(before.files[MAIN])
    main[18 + bit // 8] ^= 1 << bit % 8
    kept = reopened({**before.files, MAIN: bytes(main)}, tmp_path)
    assert kept.held == before.expected
    check_goes_on(kept, tmp_path / MAIN)


def test_a_file_with_more_in_it_than_a_store_is_damaged(tmp_path: Path) -> None:
    before = image("closed")
    path = before.lay(tmp_path)
    database = apsw.Connection(str(path))
    database.execute("CREATE TRIGGER thief AFTER INSERT ON records BEGIN DELETE FROM records WHERE key = new.key; END")
    database.close()
    kept = Kept(path)
    assert "schema" in kept.log
    assert kept.held == before.expected
    check_goes_on(kept, path)


def test_of_a_record_whose_last_version_is_lost_the_one_before_is_taken(tmp_path: Path) -> None:
    kept = Kept(tmp_path / "a" / MAIN)
    kept.commit("1", [("key", b"1" * 20_000)])
    kept.commit("2", [("key", b"2" * 20_000)])
    kept.commit("3", [("other", b"3" * 20_000)])
    files = {name: (tmp_path / "a" / name).read_bytes() for name in (MAIN, LOG, TAIL)}
    kept.store.close()
    kept = reopened({**files, LOG: files[LOG].replace(b"2" * 1_000, b"!" * 1_000)}, tmp_path / "b")
    assert "lost_keys=['key']" in kept.log
    assert kept.held == {"key": b"1" * 20_000, "other": b"3" * 20_000}
    kept.store.close()


def test_keys_that_are_lost_are_named(tmp_path: Path) -> None:
    kept = Kept(tmp_path / "a" / MAIN)
    kept.commit("all", [(f"key/{number}", b"%d" % number * 500) for number in range(50)])
    kept.store.close()
    files = {name: (tmp_path / "a" / name).read_bytes() for name in (MAIN, TAIL)}
    at = files[MAIN].index(b"17" * 500)
    assert files[MAIN].count(b"17" * 500) == 1
    main = files[MAIN][:at] + b"18" + files[MAIN][at + 2 :]
    kept = reopened({**files, MAIN: main}, tmp_path / "b")
    assert "lost_keys=['key/17']" in kept.log
    assert kept.held == {f"key/{number}": b"%d" % number * 500 for number in range(50) if number != 17}
    kept.store.close()


def test_what_was_forgotten_does_not_come_back_where_the_index_is_intact(tmp_path: Path) -> None:
    kept = Kept(tmp_path / "a" / MAIN)
    kept.commit("all", [(f"key/{number}", bytes(500)) for number in range(50)])
    kept.commit("fewer", [(f"key/{number}", None) for number in range(40)])
    kept.commit("last", [("last", b"x")])
    files = {name: (tmp_path / "a" / name).read_bytes() for name in (MAIN, LOG, TAIL)}
    kept.store.close()
    log = bytearray(files[LOG])
    log[commit_ends(log)[0] + 8] ^= 1
    kept = reopened({**files, LOG: bytes(log)}, tmp_path / "b")
    assert kept.store.damaged
    assert kept.held == {**{f"key/{number}": bytes(500) for number in range(40, 50)}, "last": b"x"}
    kept.store.close()
