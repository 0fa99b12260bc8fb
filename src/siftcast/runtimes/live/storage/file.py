"""The store's SQLite file: how it is made, known again, read and judged.

Table `records` holds a row for each record, table `about` one row: the format and the mark of the last commit
(`marks`). A file is opened only if it is just that. One of another format, or of another program, is refused in words
and left as it is; where bits have changed in one of ours, it is not refused but found damaged. (So later formats must
keep `about`, its two columns, and how a mark begins.) Nothing is handed out before all of this holds:

- the schema is the one below, to the letter, and SQLite's own check of the file finds nothing;
- each record fits its checksum, and all of them together the sums of the mark;
- the mark is the tail's, or a later one of the same store;
- the log goes on for no more than one commit behind the place up to which SQLite believes it. One more may have been
  in the writing when the machine stopped, if the tail does not say otherwise (without a tail, nothing speaks for that);
  the second is written only once the first is safe.

Until then SQLite writes nothing, not even when it closes the file, so what is damaged can be salvaged as it was found.
Afterwards the log is emptied into the file: what a torn commit left in it is gone before row numbers are used again.

Cost: one pass over all records, and one of SQLite over all pages; the log is read once more than SQLite does.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw

from siftcast.runtimes.live.errors import StoreError
from siftcast.runtimes.live.storage.marks import FORMAT, Mark, Sums, checksum, format_in, new_mark, unpack
from siftcast.runtimes.live.storage.private_files import make_file as make_private_file
from siftcast.runtimes.live.storage.salvage import ABOUT_PAGE, last_number_in_log
from siftcast.runtimes.live.storage.sqlite_pages import PAGE_BYTES, has_commit, log_path

_APPLICATION = 0x53696674
_ABOUT = "CREATE TABLE about (format INTEGER NOT NULL, mark BLOB NOT NULL)"
_RECORDS = "CREATE TABLE records (key TEXT NOT NULL UNIQUE, data BLOB NOT NULL, checksum INTEGER NOT NULL)"
_SCHEMA = [
    ("table", "about", "about", ABOUT_PAGE, _ABOUT),
    ("table", "records", "records", 3, _RECORDS),
    ("index", "sqlite_autoindex_records_1", "records", 4, None),
]
_SCHEMA_1 = [
    ("table", "records", "records", 2, _RECORDS),
    ("index", "sqlite_autoindex_records_1", "records", 3, None),
]
_EXAMINE = "SELECT type, name, tbl_name, rootpage, sql FROM sqlite_schema ORDER BY rowid"
LOG_PAGES_MAX = 1_000
"""So long does the log get before it is emptied into the file; a large commit may make it longer."""
PUT = "INSERT INTO records (rowid, key, data, checksum) VALUES (?, ?, ?, ?)"
FORGET = "DELETE FROM records WHERE key = ? RETURNING rowid, checksum"
NOTE = "UPDATE about SET format = ?, mark = ? WHERE rowid = 1"
_REMEDY = f"this one reads {FORMAT}. Run that version until nothing waits, or name an empty folder as data in [node]"
_BUSY = (apsw.BusyError, apsw.LockedError)
_NOT_THE_FILE = (
    apsw.AuthError, apsw.CantOpenError, apsw.FullError, apsw.InterruptError, apsw.IOError, apsw.NoLFSError,
    apsw.NoMemError, apsw.PermissionsError, apsw.ReadOnlyError,
)  # fmt: skip


class Damage(StoreError):
    """A store is damaged; says how that was found, and has the mark of the commit that SQLite reads, if any."""

    def __init__(self, reason: str, seen: Mark | None = None) -> None:
        super().__init__(reason)
        self.seen = seen


@dataclass(frozen=True, slots=True)
class Opened:
    """A store's file, the mark of its last commit, and all records."""

    database: apsw.Connection
    mark: Mark
    held: dict[str, bytes]


def open_file(path: Path, tail: Mark | None) -> Opened:
    """Opens a store's file, or makes it; raises Damage, and StoreError for what is no store of this version."""
    try:
        return _open(path, tail)
    except _BUSY as error:
        raise StoreError(f"{path}: {error}; is another node using this folder?") from None
    except _NOT_THE_FILE as error:
        if getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_SHORT_READ:
            raise Damage("the file ends too early") from None
        raise StoreError(f"{path}: {error}; the node must be able to read and write there") from None
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror}; the node must be able to read and write there") from None
    except (apsw.Error, UnicodeDecodeError) as error:
        raise Damage(f"SQLite cannot read it: {error}") from None


def make_file(path: Path, mark: Mark, rows: Sequence[tuple[int, str, bytes, int]] = ()) -> apsw.Connection:
    """Makes a store's file with some rows, where there is none or an empty one; raises apsw.Error."""
    database = _connect(path)
    try:
        _fill(database, mark, rows)
    except BaseException:
        database.close()
        raise
    return database


def _fill(database: apsw.Connection, mark: Mark, rows: Sequence[tuple[int, str, bytes, int]]) -> None:
    _prepare(database)
    with database:
        database.execute(f"PRAGMA application_id = {_APPLICATION}").fetchall()
        database.execute(_ABOUT)
        database.execute(_RECORDS)
        database.execute("INSERT INTO about (rowid, format, mark) VALUES (1, ?, ?)", (FORMAT, mark.pack()))
        database.executemany(PUT, rows).fetchall()


def empty_log(database: apsw.Connection) -> None:
    """Writes the log into the file, and waits until that is on disk; raises apsw.Error."""
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def close_file(database: apsw.Connection) -> None:
    """Closes a sound file; its log is emptied into it."""
    database.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
    database.close()


def sync_folder(folder: Path) -> None:
    """Waits until a folder's entries are on disk, where the system has a way to do so."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _open(path: Path, tail: Mark | None) -> Opened:
    size = path.stat().st_size if path.exists() else 0
    is_promised = tail is not None and tail.number > 0
    if not size:
        if is_promised:
            raise Damage("the file is empty or missing")
        if log_path(path).exists() and log_path(path).stat().st_size:
            raise Damage("the file is empty or missing, but its log is there")  # which SQLite would delete
        return _make(path)
    for file in (path, log_path(path)):
        _sync(file)
    database = _connect(path)
    try:
        schema = database.execute(_EXAMINE).fetchall()
        if not schema and size <= PAGE_BYTES and not is_promised and not has_commit(path):
            database.close()  # it was being made when the machine stopped
            for file in (log_path(path), path):
                file.unlink(missing_ok=True)
            return _make(path)
        if schema == _SCHEMA_1:
            _set_aside_if_empty(path, database)
            return _make(path)
        _examine(path, database, schema, tail)
        return _read(path, database, tail)
    except BaseException:
        database.close()
        raise


def _make(path: Path) -> Opened:
    mark = new_mark()
    database = make_file(path, mark)
    sync_folder(path.parent)
    return Opened(database, mark, {})


def _connect(path: Path) -> apsw.Connection:
    make_private_file(path)  # SQLite gives its log the rights of the file, so it need not be told about that
    database = apsw.Connection(str(path))
    database.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    database.set_busy_timeout(1_000)
    # Exclusive: a second node on the same file is an error, and no shared memory file is needed.
    database.execute("PRAGMA locking_mode=EXCLUSIVE").fetchall()
    return database


def _prepare(database: apsw.Connection) -> None:
    """Has SQLite write as a store must: a commit is on disk when it returns, and what is forgotten is overwritten."""
    for pragma in (f"page_size={PAGE_BYTES}", "journal_mode=WAL", "synchronous=FULL", "secure_delete=ON"):
        database.execute(f"PRAGMA {pragma}").fetchall()
    database.wal_autocheckpoint(LOG_PAGES_MAX)


def _sync(file: Path) -> None:
    """What was read must not be gone after a power cut: the process before may have been killed before it synced."""
    if file.exists():
        with file.open("r+b") as opened:
            os.fsync(opened.fileno())


# -- other formats -----------------------------------------------------------------------------------


def _set_aside_if_empty(path: Path, database: apsw.Connection) -> None:
    """For a file of format 1: refuses it unless it was closed and holds nothing; then there is room for a new one."""
    try:
        is_empty = not has_commit(path) and not database.execute("SELECT 1 FROM records LIMIT 1").fetchall()
    except apsw.CorruptError:
        is_empty = False
    if not is_empty:
        raise StoreError(f"{path} was written by an earlier version of Siftcast, in format 1; {_REMEDY}")
    database.close()
    for file in (log_path(path), path):
        if file.exists():
            os.replace(file, file.with_name(f"{file.name}.format-1"))


def _refuse_later(path: Path, database: apsw.Connection) -> None:
    """Refuses a file of a later format. Two places must say that it is one, since in one a flipped bit may."""
    for form, mark in database.execute("SELECT format, mark FROM about LIMIT 1"):
        if isinstance(form, int) and form > FORMAT and isinstance(mark, bytes) and format_in(mark) == form:
            raise StoreError(f"{path} was written by a later version of Siftcast, in format {form}; {_REMEDY}")


# -- reading -----------------------------------------------------------------------------------------


def _examine(path: Path, database: apsw.Connection, schema: list[Any], tail: Mark | None) -> None:
    """Makes sure that this is a store of this format; raises StoreError or Damage."""
    tables = {name: text for _, name, _, _, text in schema}
    if "about" in tables:
        _refuse_later(path, database)
    is_application = database.execute("PRAGMA application_id").fetchall() == [(_APPLICATION,)]
    if schema == _SCHEMA and is_application:
        return
    is_foreign = schema and not {_ABOUT, _RECORDS} & set(tables.values())
    if is_foreign and tail is None and not is_application:
        raise StoreError(f"{path} is a database of another program; name another folder as data in [node]")
    raise Damage("its schema is not that of a store" if schema else "it is empty")


def _read(path: Path, database: apsw.Connection, tail: Mark | None) -> Opened:
    if database.readonly("main"):  # the file itself can be written, as `_sync` has found
        raise Damage("its header says that it must not be written")
    mark = _read_mark(database)
    reason = _doubt(mark, tail, last_number_in_log(path, mark.identity))
    if reason:
        raise Damage(reason, mark)
    _prepare(database)
    held: dict[str, bytes] = {}
    squares = checks = 0
    for number, key, data, check in database.execute("SELECT rowid, key, data, checksum FROM records"):
        if not isinstance(key, str) or not isinstance(data, bytes) or checksum(number, key, data) != check:
            raise Damage("a record does not fit its checksum", mark)
        squares += number * number
        checks += check
        held[key] = data
    if Sums(len(held), squares % 2**64, checks % 2**64) != mark.sums:
        raise Damage("its records are not those of its last commit", mark)
    found = database.execute("PRAGMA integrity_check(1)").fetchall()
    if found != [("ok",)]:
        raise Damage(f"SQLite finds it unsound: {found[0][0]}", mark)
    with suppress(apsw.FullError, apsw.IOError):  # then the log stays as it is
        empty_log(database)
    return Opened(database, mark, held)


def _read_mark(database: apsw.Connection) -> Mark:
    match database.execute("SELECT format, mark FROM about").fetchall():
        case [(form, bytes() as packed)] if form == FORMAT:
            mark = unpack(packed)
            if mark is not None:
                return mark
    raise Damage("it does not say which commit it is at")


def _doubt(mark: Mark, tail: Mark | None, last_in_log: int) -> str | None:
    """Why a file cannot be the one that was written last, if it cannot."""
    promised = 0 if tail is None else tail.number
    if tail is not None and tail.identity != mark.identity:
        return "the tail beside it is that of another store"
    last = last_in_log if tail is None else max(promised, last_in_log - 1)
    if last > mark.number:
        return f"commits {mark.number + 1} to {last} are missing in it"
    if promised == mark.number and tail not in (None, mark):
        return "it is at the commit that the tail beside it names, but in another history"
    return None
