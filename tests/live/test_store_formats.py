"""What lies in a data folder says what it is: other formats and other files are refused in words, and left alone."""

from pathlib import Path

import apsw
import pytest

from siftcast.runtimes.live.errors import StoreError
from siftcast.runtimes.live.storage.marks import FORMAT
from tests.live.stores import LOG, MAIN, Kept, image

FORMAT_1 = (
    "CREATE TABLE IF NOT EXISTS records (key TEXT NOT NULL UNIQUE, data BLOB NOT NULL, checksum INTEGER NOT NULL)"
)


def write_database(path: Path, *statements: str) -> dict[str, bytes]:
    """A database as a crash leaves it, with a log that is not empty; returns the files."""
    database = apsw.Connection(str(path.with_name("original")))
    for statement in ("PRAGMA journal_mode=WAL", *statements):
        database.execute(statement).fetchall()
    files = {MAIN: path.with_name("original").read_bytes(), LOG: path.with_name("original-wal").read_bytes()}
    database.close()
    for name, content in files.items():
        path.with_name(name).write_bytes(content)
    return files


def refusal(path: Path) -> str:
    """The words in which a store is refused."""
    with pytest.raises(StoreError) as caught:
        Kept(path)
    return str(caught.value)


def test_a_store_of_format_1_that_holds_records_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / MAIN
    files = write_database(path, FORMAT_1, "INSERT INTO records VALUES ('key', x'00', 5)")
    words = refusal(path)
    assert "earlier version" in words
    assert "format 1" in words
    assert "empty folder" in words
    assert {name: (tmp_path / name).read_bytes() for name in files} == files
    refusal(path)  # still: the first attempt has changed nothing


def test_a_store_of_format_1_that_is_damaged_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / MAIN
    files = write_database(
        path,
        FORMAT_1,
        "INSERT INTO records VALUES ('key', x'00', 5)",
        "PRAGMA wal_checkpoint(TRUNCATE)",
        "PRAGMA user_version=1",
    )
    content = bytearray(files[MAIN])
    content[4096:8192] = bytes(4096)
    path.write_bytes(content)
    assert "format 1" in refusal(path)
    assert path.read_bytes() == content


def test_a_store_of_format_1_whose_log_may_hold_more_than_can_be_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / MAIN
    write_database(path, FORMAT_1, "INSERT INTO records VALUES ('key', x'00', 5)", "DELETE FROM records")
    assert "format 1" in refusal(path)


def test_a_store_of_format_1_that_holds_nothing_makes_room_for_a_new_one(tmp_path: Path) -> None:
    path = tmp_path / MAIN
    database = apsw.Connection(str(path))
    for statement in ("PRAGMA journal_mode=WAL", FORMAT_1, "INSERT INTO records VALUES ('key', x'00', 5)"):
        database.execute(statement).fetchall()
    database.execute("DELETE FROM records")
    database.close()
    kept = Kept(path)
    assert kept.held == {}
    assert kept.store.damaged == []
    kept.commit("new", [("new", b"x")])
    kept.store.close()
    again = Kept(path)
    assert again.held == {"new": b"x"}
    again.store.close()


def test_a_store_of_a_later_format_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = image("closed").lay(tmp_path)
    database = apsw.Connection(str(path))
    ((mark,),) = database.execute("SELECT mark FROM about").fetchall()
    later = mark[:4] + bytes([FORMAT + 1]) + mark[5:] + b"and more"
    database.execute("ALTER TABLE records ADD COLUMN since")
    database.execute("UPDATE about SET format = ?, mark = ?", (FORMAT + 1, later))
    database.close()
    content = path.read_bytes()
    words = refusal(path)
    assert f"later version of Siftcast, in format {FORMAT + 1}" in words
    assert path.read_bytes() == content


def test_one_place_that_names_a_later_format_is_damage(tmp_path: Path) -> None:
    held = image("closed").expected
    path = image("closed").lay(tmp_path)
    database = apsw.Connection(str(path))
    database.execute("UPDATE about SET format = ?", (FORMAT + 1,))
    database.close()
    kept = Kept(path)
    assert kept.store.damaged
    assert kept.held == held
    kept.store.close()


def test_a_database_of_another_program_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / MAIN
    files = write_database(path, "CREATE TABLE people (name)", "INSERT INTO people VALUES ('Ada')")
    assert "another program" in refusal(path)
    assert {name: (tmp_path / name).read_bytes() for name in files} == files


def test_a_refused_folder_is_free_for_others(tmp_path: Path) -> None:
    path = tmp_path / MAIN
    write_database(path, "CREATE TABLE people (name)")
    refusal(path)
    for name in (MAIN, LOG):
        (tmp_path / name).unlink()
    kept = Kept(path)
    assert kept.held == {}
    kept.commit("new", [("new", b"x")])
    kept.store.close()


@pytest.mark.parametrize("made", ["nothing", "empty file", "one page"])
def test_a_store_whose_making_was_interrupted_is_made(tmp_path: Path, made: str) -> None:
    path = tmp_path / MAIN
    (tmp_path / "store.tail").touch()
    if made == "empty file":
        path.touch()
    if made == "one page":
        database = apsw.Connection(str(path))
        database.execute("PRAGMA journal_mode=WAL").fetchall()
        database.close()
        assert path.stat().st_size == 4_096
    kept = Kept(path)
    assert kept.held == {}
    assert kept.store.damaged == []
    assert kept.log == ""
    kept.commit("new", [("new", b"x")])
    kept.store.close()
