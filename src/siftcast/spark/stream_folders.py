"""Files that are there whole or not at all, whatever happens to the process that writes them.

What a stream must know after a crash is written next to its place, forced to the disk, and then given its name, which a
file system does in one step. A reader therefore sees a whole file or none. Folders of results get their name the same
way: Spark writes each attempt into a folder of its own, and only the living driver gives one of them the final name.
So a JVM that outlives its driver for a moment cannot write into what the next driver has begun.

Object stores cannot rename, so these folders must be where the driver sees them as folders: a local disk, NFS.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from urllib.parse import unquote, urlsplit
from uuid import uuid4

from siftcast.model import DataError

ATTEMPTS = "_attempts"


def local_folder(path: str | Path, what: str) -> Path:
    """A folder as the driver sees it; raises DataError for one that it can reach only through Spark."""
    text = str(path)
    if "://" in text or text.startswith("file:"):
        parts = urlsplit(text)
        if parts.scheme != "file":
            raise DataError(
                f"{text}: the {what} of a stream must be a folder that this machine sees, not {parts.scheme}:"
            )
        text = unquote(parts.path)
    return Path(text).absolute()


def write_once(path: Path, content: bytes) -> None:
    """Makes a file that lasts; raises DataError where there is one already, because then another driver is at work."""
    draft = _write_draft(path, content)
    try:
        os.link(draft, path)  # unlike a rename, a link fails where the name is taken
    except FileExistsError:
        raise DataError(f"{path} was written by another driver; only one may run a stream at a time") from None
    except OSError:  # a file system without links
        os.rename(draft, path)
    draft.unlink(missing_ok=True)
    sync_folder(path.parent)


def write_again(path: Path, content: bytes) -> None:
    """Makes a file that lasts, in place of one that an interrupted attempt at the same micro-batch may have left."""
    os.replace(_write_draft(path, content), path)
    sync_folder(path.parent)


def _write_draft(path: Path, content: bytes) -> Path:
    """A file beside the one that is meant, whole and on the disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{uuid4().hex}.tmp")
    with open(draft, "xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    return draft


def sync_folder(folder: Path) -> None:
    """Forces the names in a folder to the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def attempt_folder(root: Path) -> Path:
    """The name of a folder for one attempt at writing a batch; it does not exist yet."""
    return root / ATTEMPTS / uuid4().hex


def publish(attempt: Path, target: Path) -> None:
    """Gives a finished attempt its final name, in place of one that was published but not committed before a crash."""
    if target.exists():
        shutil.rmtree(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    os.rename(attempt, target)
    sync_folder(target.parent)


def discard_attempts(root: Path) -> None:
    """Removes what attempts left behind that did not come to an end."""
    shutil.rmtree(root / ATTEMPTS, ignore_errors=True)


def numbered(folder: Path, suffix: str) -> list[int]:
    """The numbers that files in a folder have for names, in order."""
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    stems = (name.removesuffix(suffix) for name in names if name.endswith(suffix) and not name.startswith("."))
    return sorted(int(stem) for stem in stems if stem.isdecimal())


def numbered_path(folder: Path, number: int, suffix: str) -> Path:
    """The file of a number, named so that names sort as numbers do."""
    return folder / f"{number:012d}{suffix}"
