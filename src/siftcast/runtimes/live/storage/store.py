"""What a node keeps on disk: keys and bytes in SQLite, written in groups by a thread of its own.

`write` returns at once. The thread takes everything that waits, writes it in one transaction, syncs, and reports the
keys; while it syncs, the next group gathers. So a thousand events that come in together cost one sync (group commit).

Each commit leaves a mark (`marks`) in the file and, once it is safe, in the tail beside it (`store_tail`). When the
store is opened, all records are read and judged by it (`store_file`). What is damaged, or behind its tail, is reported,
set aside, and its intact records are taken over into a new file (`salvage`, `rescue`). Nothing damaged is ever handed
to the protocol, and nothing that was reported as safe is missing without a word, as far as the marks can tell: a folder
that was put back whole to an earlier state, tail and all, looks like that earlier state.

When the disk is full, or fails, the group is not written and each of its keys is reported as failed; what was reported
as safe stays safe, and writing is tried again with the next group. A failed group is tried once more, key by key, so
that a small write passes where a large one does not, and one that cannot be written at all does not keep back the
others. Every write is reported, whatever happens to the thread.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import apsw

from siftcast.runtimes.live.errors import StoreError
from siftcast.runtimes.live.logs import Logger
from siftcast.runtimes.live.storage.file import (
    FORGET,
    NOTE,
    PUT,
    Damage,
    Opened,
    close_file,
    open_file,
    sync_folder,
)
from siftcast.runtimes.live.storage.marks import FORMAT, Mark, checksum
from siftcast.runtimes.live.storage.private_files import is_open_to_others, make_folder, narrow
from siftcast.runtimes.live.storage.rescue import files_aside, finish_rescue, rescue
from siftcast.runtimes.live.storage.salvage import Salvaged
from siftcast.runtimes.live.storage.tail import Tail

Changes = Sequence[tuple[str, bytes | None]]
Reported = list[tuple[str, str | None]]
"""Keys of writes, each with None if it is safe or the reason why it is not."""
Group = list[tuple[str, Changes]]
_LOST_SHOWN, _KEY_SHOWN = 10, 100


class Store:
    """Keys and bytes that outlive a crash. `damaged` names the files that were set aside when it was opened."""

    def __init__(self, path: Path, report: Callable[[Reported], None], log: Logger) -> None:
        self.damaged: list[str] = []
        self._path = path
        self._report = report
        self._log = log
        self._waiting: Group = []
        self._condition = threading.Condition()
        self._closed = False
        self._failing = False
        self._tail_failing = False
        self._refusal: str | None = None
        self._row = 0
        self._mark: Mark | None = None
        self._tail: Tail | None = None
        self._database: apsw.Connection | None = None
        self._thread: threading.Thread | None = None

    def open(self) -> dict[str, bytes]:
        """Opens the file or makes it, and returns what it holds; raises StoreError."""
        try:
            self._prepare_folder()
        except OSError as error:
            raise StoreError(f"{self._path.parent}: {error.strerror}; name another folder as data in [node]") from None
        self._tail = Tail(self._path.with_suffix(".tail"))
        try:
            opened = self._open(self._tail)
        except BaseException:
            self._tail.close()
            self._tail = None
            raise
        self._database, self._mark, self._row = opened.database, opened.mark, opened.mark.row
        self._thread = threading.Thread(target=self._write_groups, name="siftcast-store", daemon=True)
        self._thread.start()
        return opened.held

    def write(self, key: str, changes: Changes) -> None:
        """Has changes written, all or none; `key` is reported once they are safe or have failed. None forgets a key."""
        with self._condition:
            if self._refusal is None:
                self._waiting.append((key, changes))
                self._condition.notify()
                return
        self._tell([(key, self._refusal)])

    def close(self) -> None:
        """Writes what waits, and closes the file."""
        with self._condition:
            self._refusal = self._refusal or "the store is closed"
            self._closed = True
            self._condition.notify()
        if self._thread is not None:
            self._thread.join()
        if self._database is not None:
            close_file(self._database)
            self._database = None
        if self._tail is not None:
            self._tail.close()
            self._tail = None

    # -- opening -------------------------------------------------------------------------------------

    def _prepare_folder(self) -> None:
        """Makes the folder, if there is none, and waits until it is on disk; what is in it is for this account only."""
        folder = self._path.parent
        for made in make_folder(folder):
            sync_folder(made.parent)
        for file in folder.glob(f"{self._path.stem}.*"):  # also what was set aside
            narrow(file)
        if is_open_to_others(folder):
            remedy = f"chmod 700 {folder}"
            self._log.warning(
                "data folder is open to other accounts of this machine", folder=str(folder), remedy=remedy
            )

    def _open(self, tail: Tail) -> Opened:
        finish_rescue(self._path)
        try:
            opened = open_file(self._path, tail.mark)
        except Damage as damage:
            facts = _known_of(damage, rescue(self._path, tail.mark), tail.mark)
            opened = open_file(self._path, tail.mark)
        else:
            facts = {"reason": "it was rescued before, and nothing was written since", "kept": len(opened.held)}
        if opened.mark.is_rescued:
            self.damaged = [str(file) for file in files_aside(self._path)] or [str(self._path)]
            self._log.error("store damaged", **facts, files=self.damaged)
        elif tail.unreadable and opened.mark.number:
            doubt = "the older slot is used" if tail.mark else "whether the last commits are all there cannot be told"
            self._log.warning("store tail missing or damaged", file=str(tail.path), remark=doubt)
        if tail.unreadable or tail.mark != opened.mark:
            try:
                tail.write_whole(opened.mark)
            except OSError as error:
                self._warn_of_tail(error)
        return opened

    # -- writing -------------------------------------------------------------------------------------

    def _write_groups(self) -> None:
        group: Group = []
        try:
            while group := self._take():
                outcomes = self._write(group)
                group = []
                self._tell(outcomes)
        except BaseException as error:  # nothing may end this thread without a word
            reason = f"the store has stopped: {type(error).__name__}: {error}"
            with self._condition:
                self._refusal = reason
                group, self._waiting = group + self._waiting, []
            self._log.error("store stopped", file=str(self._path), reason=reason)
            self._tell([(key, reason) for key, _ in group])

    def _take(self) -> Group:
        """All that waits, once something does; nothing when the store is closed."""
        with self._condition:
            while not self._waiting and not self._closed:
                self._condition.wait()
            group, self._waiting = self._waiting, []
        return group

    def _tell(self, outcomes: Reported) -> None:
        try:
            self._report(outcomes)
        except Exception as error:
            self._log.error("store cannot report", reason=f"{type(error).__name__}: {error}", writes=len(outcomes))

    def _write(self, group: Group) -> Reported:
        if self._commit(group) is None:
            return [(key, None) for key, _ in group]
        return [(key, self._commit([(key, changes)])) for key, changes in group]

    def _commit(self, group: Group) -> str | None:
        """Writes a group whole or not at all; says why not."""
        try:
            mark = self._transact(dict(change for _, changes in group for change in changes))
        except apsw.FullError:
            return self._fail("there is no room on the disk")
        except apsw.Error as error:
            return self._fail(str(error))
        except Exception as error:
            return self._fail(f"{type(error).__name__}: {error}")
        self._mark = mark
        self._note(mark)
        if self._failing:
            self._log.info("store can be written again", file=str(self._path))
            self._failing = False
        return None

    def _transact(self, changes: dict[str, bytes | None]) -> Mark:
        """Writes changes, and returns the mark of the commit once it is on disk."""
        assert self._database is not None
        assert self._mark is not None
        rows: list[tuple[int, str, bytes, int]] = []
        for key, data in changes.items():
            if data is not None:
                self._row += 1  # even if this fails: what is left of it in the log must not look like another row
                rows.append((self._row, key, data, checksum(self._row, key, data)))
        execute = self._database.execute
        execute("BEGIN IMMEDIATE")
        try:
            removed: list[tuple[int, int]] = list(self._database.executemany(FORGET, [(key,) for key in changes]))
            self._database.executemany(PUT, rows)
            mark = self._mark.after(removed, [(row, check) for row, _, _, check in rows])
            execute(NOTE, (FORMAT, mark.pack()))
            execute("COMMIT")
        except BaseException:
            if self._database.in_transaction:  # after some failures SQLite has rolled back by itself
                with suppress(apsw.Error):
                    execute("ROLLBACK")
            raise
        return mark

    def _fail(self, reason: str) -> str:
        if not self._failing:
            self._log.error("store cannot be written", file=str(self._path), reason=reason)
        self._failing = True
        return reason

    def _note(self, mark: Mark) -> None:
        """Writes the tail. If that fails an older one stays: it promises less, and is never wrong."""
        assert self._tail is not None
        try:
            self._tail.write(mark)
        except OSError as error:
            self._warn_of_tail(error)
        else:
            self._tail_failing = False

    def _warn_of_tail(self, error: OSError) -> None:
        if not self._tail_failing:
            self._log.warning("store tail cannot be written", reason=error.strerror)
        self._tail_failing = True


def _known_of(damage: Damage, salvaged: Salvaged, tail: Mark | None) -> dict[str, object]:
    """What is missing after a rescue, as far as that is known."""
    numbers = {mark.number for mark in salvaged.marks}
    newest = max(
        salvaged.marks if tail is None else [*salvaged.marks, tail], key=lambda mark: mark.number, default=None
    )
    seen = damage.seen.number if damage.seen is not None else max(numbers, default=0)
    facts: dict[str, object] = {"reason": str(damage), "kept": len(salvaged.records), "whole": salvaged.is_exact}
    if newest is not None:
        facts["held_before"] = newest.sums.count
        if newest.number > seen:
            facts["commits_missing"] = f"{seen + 1} to {newest.number}"
            facts["commits_found"] = sum(seen < number <= newest.number for number in numbers)
    if salvaged.lost:
        facts["lost"] = len(salvaged.lost)
        facts["lost_keys"] = [key[:_KEY_SHOWN] for key in salvaged.lost[:_LOST_SHOWN]]
    return facts
