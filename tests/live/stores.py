"""Stores for tests: one that notes what it reports, and files of one as a crash leaves them, to be damaged."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from siftcast.runtimes.live.logs import make_log
from siftcast.runtimes.live.storage import file as store_file
from siftcast.runtimes.live.storage.sqlite_pages import PAGE_BYTES
from siftcast.runtimes.live.storage.store import Changes, Reported, Store

MAIN, LOG, TAIL = "store.sqlite", "store.sqlite-wal", "store.tail"
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
"""A folder for many stores that need no disk."""
LOG_HEADER, FRAME_HEADER = 32, 24
FRAME_BYTES = FRAME_HEADER + PAGE_BYTES


class Kept:
    """A store that is open, what it held, what it has reported and what it has logged."""

    def __init__(self, path: Path) -> None:
        self.reported: dict[str, str | None] = {}
        self.groups: list[int] = []
        self._changed = threading.Condition()
        self._lines = StringIO()
        self.store = Store(path, self.note, make_log(stream=self._lines))
        self.held = self.store.open()

    @property
    def log(self) -> str:
        return self._lines.getvalue()

    def note(self, reported: Reported) -> None:
        with self._changed:
            self.groups.append(len(reported))
            self.reported.update(reported)
            self._changed.notify_all()

    def write(self, key: str, data: bytes | None) -> None:
        self.store.write(key, ((key, data),))

    def wait(self, *keys: str) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: all(key in self.reported for key in keys), 30)

    def commit(self, name: str, changes: Changes) -> None:
        """Writes changes in one commit and waits for it."""
        self.store.write(name, changes)
        self.wait(name)
        assert self.reported[name] is None


@dataclass
class Image:
    """The files of a store as a crash left them, what it had reported as safe, and all values that keys ever had."""

    files: dict[str, bytes]
    expected: dict[str, bytes]
    history: dict[str, set[bytes]]

    def lay(self, folder: Path) -> Path:
        """Writes the files; returns the path of the store."""
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in self.files.items():
            (folder / name).write_bytes(content)
        return folder / MAIN


@dataclass
class Writer:
    """Writes at random, and knows what must be there."""

    path: Path
    draw: Random
    expected: dict[str, bytes] = field(default_factory=dict)
    history: dict[str, set[bytes]] = field(default_factory=dict)

    def write(self, kept: Kept, commits: int, *, forget: float = 0.3) -> None:
        for _ in range(commits):
            changes: dict[str, bytes | None] = {}
            for _ in range(self.draw.choice([1, 2, 5, 12])):
                if self.expected and self.draw.random() < forget:
                    changes[self.draw.choice(sorted(self.expected))] = None
                else:
                    key = f"key/{self.draw.randrange(200)}" + "long" * self.draw.choice([0, 0, 0, 300])
                    changes[key] = self.draw.randbytes(self.draw.choice([0, 10, 200, 900, 6_000, 20_000]))
            kept.commit(f"commit {len(kept.reported)}", list(changes.items()))
            for key, data in changes.items():
                if data is None:
                    self.expected.pop(key, None)
                else:
                    self.expected[key] = data
                    self.history.setdefault(key, set()).add(data)

    def image(self) -> Image:
        folder = self.path.parent
        files = {name: (folder / name).read_bytes() for name in (MAIN, LOG, TAIL) if (folder / name).exists()}
        return Image(files, dict(self.expected), {key: set(values) for key, values in self.history.items()})


def _in_log(writer: Writer) -> Image:
    """All commits lie in the log."""
    kept = Kept(writer.path)
    writer.write(kept, 15)
    image = writer.image()
    kept.store.close()
    return image


def _closed(writer: Writer) -> Image:
    """The store was closed, so there is no log."""
    kept = Kept(writer.path)
    writer.write(kept, 15)
    kept.store.close()
    return writer.image()


def _reopened(writer: Writer) -> Image:
    """Some commits lie in the file and some in the log; many pages are free."""
    kept = Kept(writer.path)
    writer.write(kept, 12)
    writer.write(kept, 6, forget=0.9)
    kept.store.close()
    kept = Kept(writer.path)
    writer.write(kept, 5)
    image = writer.image()
    kept.store.close()
    return image


def _begun_again(writer: Writer) -> Image:
    """The log was emptied into the file and begun again, more than once; frames of the one before lie behind it."""
    pages, store_file.LOG_PAGES_MAX = store_file.LOG_PAGES_MAX, 40
    try:
        kept = Kept(writer.path)
        writer.write(kept, 30)
        image = writer.image()
        kept.store.close()
    finally:
        store_file.LOG_PAGES_MAX = pages
    return image


def _torn(writer: Writer) -> Image:
    """The machine stopped while a commit was written: its last frame is not there. It was never reported."""
    kept = Kept(writer.path)
    writer.write(kept, 10)
    before = writer.image()
    kept.commit("torn", [(f"torn/{number}", bytes(3_000)) for number in range(5)])
    log = (writer.path.parent / LOG).read_bytes()
    kept.store.close()
    history = before.history | {f"torn/{number}": {bytes(3_000)} for number in range(5)}
    return Image({**before.files, LOG: log[:-FRAME_BYTES]}, before.expected, history)


SITUATIONS: dict[str, Callable[[Writer], Image]] = {
    "in log": _in_log,
    "closed": _closed,
    "reopened": _reopened,
    "begun again": _begun_again,
    "torn": _torn,
}
_images: dict[tuple[str, int], Image] = {}


def image(situation: str, seed: int = 0) -> Image:
    """The files of a store in a situation; made once."""
    if (situation, seed) not in _images:
        with TemporaryDirectory(dir=MEMORY) as folder:
            writer = Writer(Path(folder) / MAIN, Random(seed))
            _images[situation, seed] = SITUATIONS[situation](writer)
    return _images[situation, seed]


def reopened(files: dict[str, bytes], folder: Path) -> Kept:
    """A store that is opened on some files."""
    return Kept(Image(files, {}, {}).lay(folder))


def check_goes_on(kept: Kept, path: Path) -> None:
    """A store takes writes, and is found in order afterwards."""
    kept.commit("new", [("new", b"works")])
    kept.store.close()
    again = Kept(path)
    assert again.held == {**kept.held, "new": b"works"}
    assert again.store.damaged == []
    again.store.close()


def commit_ends(log: bytes) -> list[int]:
    """Where each commit of a log ends, those of an earlier log left out."""
    starts = [at for at in range(LOG_HEADER, len(log), FRAME_BYTES) if log[at + 8 : at + 16] == log[16:24]]
    return [at + FRAME_BYTES for at in starts if int.from_bytes(log[at + 4 : at + 8], "big")]
