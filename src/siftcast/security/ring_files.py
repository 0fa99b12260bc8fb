"""A key ring on disk: a folder with one file for each group, and at most one with a signing key of its own.

    desk.group      a group: its secrets by epoch, and its publishers; the same for all members, who get it as a file
    signing.key     the name and the private key of whoever publishes with this ring; it never leaves the folder

Both are JSON. Files are 0600 in a folder that is 0700; wider ones are refused and not narrowed, because what others
could read must be taken for read. A file is written under another name, synced, and renamed, so that who reads it has
the old or the new one; one that is cut short all the same is refused, because it is no JSON.
"""

from __future__ import annotations

import os
import stat
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import msgspec

from siftcast.model.showing import shown_path
from siftcast.security.errors import KeyRingError
from siftcast.security.groups import EPOCH_MAX, Epoch, Group, GroupPublisher, check_name
from siftcast.security.hazmat.secret import Secret
from siftcast.security.hazmat.signatures import VerifyingKey

try:
    import fcntl
except ImportError:  # Not on Windows.
    fcntl = None  # type: ignore[assignment]

GROUP_SUFFIX = ".group"
SIGNING_FILE = "signing.key"
_FORMAT = 1
_BYTES_MAX = 16 * 2**20
_Entries = TypeVar("_Entries", "GroupEntries", "SigningEntry")
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


class EpochEntry(msgspec.Struct, forbid_unknown_fields=True):
    """An epoch in a file."""

    epoch: int
    since: datetime
    grace_s: float
    secret: str

    __repr__ = object.__repr__


class PublisherEntry(msgspec.Struct, forbid_unknown_fields=True):
    """A publisher in a file."""

    name: str
    key: str
    revoked_from: int | None = None


class GroupEntries(msgspec.Struct, forbid_unknown_fields=True):
    """A file of a group."""

    format: int
    group: str
    number: int
    copy: bool
    epochs: list[EpochEntry]
    publishers: list[PublisherEntry]


class SigningEntry(msgspec.Struct, forbid_unknown_fields=True):
    """A file with a signing key."""

    format: int
    name: str
    seed: str

    __repr__ = object.__repr__


def group_path(folder: Path, name: str) -> Path:
    """Where a group lies."""
    return folder / f"{check_name(name)}{GROUP_SUFFIX}"


def make_folder(folder: Path) -> None:
    """Makes a folder for keys where there is none; raises KeyRingError for one that others can read."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _check_rights(folder, folder.stat(), "700")
    except OSError as error:
        raise KeyRingError(f"{shown_path(folder)} cannot be used as a folder: {error.strerror}") from None


def stamp_of(folder: Path) -> Mapping[str, tuple[int, int, int]]:
    """What changes when a file of the ring does; raises KeyRingError if there is no such folder."""
    stamps = {}
    for path in _files(folder):
        try:
            found = path.stat()
        except OSError:  # it was renamed in between, and is seen the next time
            continue
        stamps[path.name] = found.st_mtime_ns, found.st_size, found.st_ino
    return stamps


def read_ring(folder: Path) -> tuple[dict[str, Group], tuple[str, Secret] | None]:
    """All groups by name, and the name and seed of the signing key; raises KeyRingError."""
    groups: dict[str, Group] = {}
    signing = None
    for path in _files(folder):
        if path.name == SIGNING_FILE:
            signing = read_signing(path)
        else:
            groups[path.stem] = read_group(path)
    return groups, signing


def _files(folder: Path) -> list[Path]:
    try:
        _check_rights(folder, folder.stat(), "700")
        return sorted(each for each in folder.iterdir() if each.suffix == GROUP_SUFFIX or each.name == SIGNING_FILE)
    except OSError as error:
        hint = "siftcast keys init GROUP --keys FOLDER makes one"
        raise KeyRingError(f"{shown_path(folder)} is no key ring: {error.strerror}; {hint}") from None


def read_group(path: Path) -> Group:
    """The group in a file; raises KeyRingError."""
    entries = _read(path, GroupEntries)
    try:
        check_name(entries.group)
        epochs = {each.epoch: _epoch(each) for each in entries.epochs}
        publishers = {each.name: _publisher(each) for each in entries.publishers}
    except KeyRingError as error:
        raise KeyRingError(f"{shown_path(path)}: {error}") from None
    if path.stem != entries.group:
        raise KeyRingError(f"{shown_path(path)} holds group '{entries.group}'; a file is named after its group")
    if not epochs or len(epochs) != len(entries.epochs) or len(publishers) != len(entries.publishers):
        raise KeyRingError(f"{shown_path(path)}: a group has at least one epoch, and each number and name once")
    return Group(entries.group, epochs, publishers, entries.number, entries.copy)


def _epoch(entry: EpochEntry) -> Epoch:
    if not 1 <= entry.epoch <= EPOCH_MAX or not 0 <= entry.grace_s < float("inf"):
        raise KeyRingError("epochs count from 1, and graces are seconds from 0 on")
    return Epoch(entry.epoch, Secret(_bytes(entry.secret)), entry.since.astimezone(UTC).timestamp(), entry.grace_s)


def _publisher(entry: PublisherEntry) -> GroupPublisher:
    public = _bytes(entry.key)
    VerifyingKey(public)
    return GroupPublisher(check_name(entry.name), public, entry.revoked_from)


def write_group(path: Path, group: Group) -> None:
    """Puts a group into its file; raises KeyRingError."""
    epochs = [
        EpochEntry(each.number, datetime.fromtimestamp(each.since_s, UTC), each.grace_s, _text(each.secret.reveal()))
        for each in group.epochs.values()
    ]
    publishers = [
        PublisherEntry(each.name, _text(each.public), each.revoked_from) for each in group.publishers.values()
    ]
    _write(path, GroupEntries(_FORMAT, group.name, group.number, group.is_copy, epochs, publishers))


def read_signing(path: Path) -> tuple[str, Secret]:
    """The name and the seed in a file; raises KeyRingError."""
    entry = _read(path, SigningEntry)
    return check_name(entry.name), Secret(_bytes(entry.seed))


def write_signing(folder: Path, name: str, seed: Secret) -> None:
    """Puts a signing key into a folder that has none; raises KeyRingError."""
    path = folder / SIGNING_FILE
    if path.exists():
        raise KeyRingError(f"{shown_path(path)} is there already; a ring signs as one publisher: take another folder")
    _write(path, SigningEntry(_FORMAT, check_name(name), _text(seed.reveal())))


def read_private(path: Path) -> bytes:
    """What is in a file of keys; raises KeyRingError, also where others can read it."""
    try:
        with path.open("rb") as file:
            _check_rights(path, os.fstat(file.fileno()), "600")
            return file.read(_BYTES_MAX)
    except OSError as error:
        raise KeyRingError(f"{shown_path(path)} cannot be read: {error.strerror}") from None


def _read(path: Path, kind: type[_Entries]) -> _Entries:
    data = read_private(path)
    try:
        entries = msgspec.json.decode(data, type=kind)
    except msgspec.MsgspecError as error:
        hint = "it may have been cut short; have it issued again"
        raise KeyRingError(f"{shown_path(path)} is no file of a key ring ({error}); {hint}") from None
    if entries.format != _FORMAT:
        raise KeyRingError(f"{shown_path(path)} has format {entries.format}, and this version reads {_FORMAT}")
    return entries


def _write(path: Path, entries: GroupEntries | SigningEntry) -> None:
    write_private(path, msgspec.json.format(msgspec.json.encode(entries), indent=2) + b"\n")


def write_private(path: Path, data: bytes) -> None:
    """Puts a file of keys into a folder that only its owner can read, all of it or nothing; raises KeyRingError."""
    make_folder(path.parent)
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    try:
        partial.unlink(missing_ok=True)
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
        _sync_folder(path.parent)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise KeyRingError(f"{shown_path(path)} cannot be written: {error.strerror}") from None


def _sync_folder(folder: Path) -> None:
    """Waits until the name is on disk too: copies of a state that a power cut took back would be of no use."""
    if os.name != "posix":
        return  # elsewhere folders cannot be opened
    number = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # a file system that syncs no folders
            os.fsync(number)
    finally:
        os.close(number)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keeps other processes from changing what is in a folder between reading it and writing it.

    Of two changes at once the second would be made from what the first had read, and undo it: a revocation, say.
    """
    make_folder(folder)
    if fcntl is None:
        yield
        return
    number = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # a file system that knows no such locks
            fcntl.flock(number, fcntl.LOCK_EX)
        yield
    finally:
        os.close(number)


def _check_rights(path: Path, found: os.stat_result, wanted: str) -> None:
    if os.name == "posix" and found.st_mode & _OTHERS:
        remedy = f"chmod {wanted} '{shown_path(path)}', and rotate if others may have read it"
        raise KeyRingError(f"{shown_path(path)} can be read or changed by other accounts; {remedy}")


def _text(value: bytes) -> str:
    return b64encode(value).decode()


def _bytes(text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except ValueError:
        raise KeyRingError("keys are written in base64") from None
