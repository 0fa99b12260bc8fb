"""What a node keeps on disk: keys and bytes in SQLite, written in groups by a thread of its own.

`write` returns at once. The thread takes everything that waits, writes it in one transaction, syncs, and reports the
keys; while it syncs, the next group gathers. So a thousand events that come in together cost one sync (group commit).

Each record carries a checksum of its key and data. When the store is opened, all records are read and checked; what is
damaged is reported and left out, and a file that SQLite itself cannot read is set aside, its readable records rescued
(`salvage`). Nothing damaged is ever handed to the protocol.

When the disk is full, or fails, the group is not written, each of its keys is reported as failed, and whoever asked is
told; what was reported as safe stays safe, and writing is tried anew with the next group. A failed group is tried once
more, key by key, so that a small write passes where a large one does not.
"""

from __future__ import annotations

import threading
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

import apsw

from siftcast.runtimes.live.errors import StoreError
from siftcast.runtimes.live.logs import Logger
from siftcast.runtimes.live.salvage import Rescued, is_cut_short, salvage

Changes = Sequence[tuple[str, bytes | None]]
Reported = list[tuple[str, str | None]]
"""Keys of writes, each with None if it is safe or the reason why it is not."""
_SCHEMA = "CREATE TABLE IF NOT EXISTS records (key TEXT NOT NULL UNIQUE, data BLOB NOT NULL, checksum INTEGER NOT NULL)"
_PUT = "INSERT OR REPLACE INTO records (rowid, key, data, checksum) VALUES (?, ?, ?, ?)"
_FORGET = "DELETE FROM records WHERE key = ?"


def checksum(key: str, data: bytes) -> int:
    """What a record must have beside it."""
    return zlib.crc32(data, zlib.crc32(key.encode("utf-8", "surrogatepass")))


class Store:
    """Keys and bytes that outlive a crash."""

    def __init__(self, path: Path, report: Callable[[Reported], None], log: Logger) -> None:
        self.damaged: list[str] = []
        self._path = path
        self._report = report
        self._log = log
        self._waiting: list[tuple[str, Changes]] = []
        self._condition = threading.Condition()
        self._closed = False
        self._failing = False
        self._number = 0
        self._database: apsw.Connection | None = None
        self._thread: threading.Thread | None = None

    def open(self) -> dict[str, bytes]:
        """Opens the file or makes it, and returns what it holds; raises StoreError."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"{self._path.parent}: {error.strerror}; name another folder as data in [node]") from None
        try:
            held = self._read()
        except (apsw.CorruptError, apsw.NotADBError):
            held = self._rescue()
        except apsw.Error as error:
            raise StoreError(f"{self._path}: {error}; is another node using this folder?") from None
        self._thread = threading.Thread(target=self._write_groups, name="siftcast-store", daemon=True)
        self._thread.start()
        return held

    def write(self, key: str, changes: Changes) -> None:
        """Has changes written, all or none; `key` is reported once they are safe or have failed. None forgets a key."""
        with self._condition:
            self._waiting.append((key, changes))
            self._condition.notify()

    def close(self) -> None:
        """Writes what waits, and closes the file."""
        with self._condition:
            self._closed = True
            self._condition.notify()
        if self._thread is not None:
            self._thread.join()
        if self._database is not None:
            self._database.close()
            self._database = None

    # -- opening -------------------------------------------------------------------------------------

    def _connect(self) -> apsw.Connection:
        database = apsw.Connection(str(self._path))
        database.set_busy_timeout(1_000)
        # Exclusive: a second node on the same file is an error, and no shared memory file is needed.
        for pragma in ("locking_mode=EXCLUSIVE", "journal_mode=WAL", "synchronous=FULL", "secure_delete=ON"):
            database.execute(f"PRAGMA {pragma}").fetchall()
        database.execute(_SCHEMA)
        return database

    def _read(self) -> dict[str, bytes]:
        if is_cut_short(self._path):
            raise apsw.CorruptError("the log is damaged before its end")
        database = self._connect()
        held: dict[str, bytes] = {}
        try:
            for number, key, data, check in database.execute("SELECT rowid, key, data, checksum FROM records"):
                if not isinstance(key, str) or not isinstance(data, bytes) or checksum(key, data) != check:
                    raise apsw.CorruptError("a record does not fit its checksum")
                self._number = max(self._number, number)
                held[key] = data
            if database.execute("PRAGMA integrity_check(1)").fetchall() != [("ok",)]:
                raise apsw.CorruptError("the file is not sound")
        except BaseException:
            database.close()
            raise
        self._database = database
        return held

    def _rescue(self) -> dict[str, bytes]:
        """Sets a damaged file aside and begins a new one with what can be read of it."""
        found: Rescued = salvage(self._path, checksum)
        aside = self._set_aside()
        self._number = found.number_max
        self._database = self._connect()
        with self._database:
            for key, data in found.records.items():
                self._number += 1
                self._database.execute(_PUT, (self._number, key, data, checksum(key, data)))
        self.damaged.append(str(aside))
        self._log.error("store damaged", kept=len(found.records), lost=found.damaged, file=str(aside))
        return found.records

    def _set_aside(self) -> Path:
        number = 1
        while (aside := self._path.with_name(f"{self._path.name}.damaged-{number}")).exists():
            number += 1
        self._path.rename(aside)
        for suffix in ("-wal", "-shm"):
            log = self._path.with_name(self._path.name + suffix)
            if log.exists():
                log.rename(aside.with_name(aside.name + suffix))
        return aside

    # -- writing -------------------------------------------------------------------------------------

    def _write_groups(self) -> None:
        while True:
            with self._condition:
                while not self._waiting and not self._closed:
                    self._condition.wait()
                group, self._waiting = self._waiting, []
            if not group:
                return
            reason = self._commit(group)
            if reason is None:
                self._report([(key, None) for key, _ in group])
            else:
                self._report([(key, self._commit([(key, changes)])) for key, changes in group])

    def _commit(self, group: list[tuple[str, Changes]]) -> str | None:
        """Writes a group whole or not at all; says why not."""
        assert self._database is not None
        number = self._number
        try:
            with self._database:
                for key, data in dict(change for _, changes in group for change in changes).items():
                    if data is None:
                        self._database.execute(_FORGET, (key,))
                    else:
                        number += 1
                        self._database.execute(_PUT, (number, key, data, checksum(key, data)))
        except apsw.Error as error:
            reason = "there is no room on the disk" if isinstance(error, apsw.FullError) else str(error)
            if not self._failing:
                self._log.error("store cannot be written", file=str(self._path), reason=reason)
            self._failing = True
            return reason
        self._number = number
        if self._failing:
            self._log.info("store can be written again", file=str(self._path))
            self._failing = False
        return None
