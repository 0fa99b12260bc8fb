"""Keys made, handed out, rotated and revoked, as `siftcast keys` does it.

One person keeps a group: the file in their folder is the one that can be changed. All others have copies, which are
issued into a folder and brought to where they are used by a way that nobody else reads. A publisher's private key is
made where it is used and stays there; the keeper gets its public half, as one word.

    keeper                                       publisher                      member
    begin_group("desk")                          make_publisher("feed")
    add_publisher("desk", "feed:…")       ◀──── "feed:…"
    issue("desk", folder)                 ────▶ desk.group               ────▶ desk.group
"""

from __future__ import annotations

import os
from base64 import b64decode, b64encode
from collections.abc import Callable
from pathlib import Path

from siftcast.model.showing import shown, shown_path
from siftcast.security.errors import KeyRingError
from siftcast.security.groups import GRACE_S, Group, GroupPublisher, check_name
from siftcast.security.hazmat.secret import SECRET_BYTES, Secret
from siftcast.security.hazmat.signatures import SigningKey
from siftcast.security.ring_files import group_path, locked, read_group, write_group, write_signing


def begin_group(folder: Path, name: str, now_s: float) -> Group:
    """Makes a group in its first epoch; raises KeyRingError where there is one of this name."""
    path = group_path(folder, name)
    with locked(folder):
        if path.exists():
            raise KeyRingError(f"{shown_path(path)} is there already; rotate begins a new epoch of it")
        group = Group.begin(name, _fresh_secret(), now_s)
        write_group(path, group)
    return group


def make_publisher(folder: Path, name: str) -> str:
    """Makes a signing key, which stays in the folder; returns the word with its public half."""
    check_name(name)
    seed = _fresh_secret()
    with locked(folder):
        write_signing(folder, name, seed)
    return public_word(name, SigningKey(seed).public)


def public_word(name: str, public: bytes) -> str:
    """What a keeper has to know of a publisher, as one word."""
    return f"{name}:{b64encode(public).decode()}"


def add_publisher(folder: Path, group: str, word: str) -> Group:
    """Lets a publisher seal for a group."""
    name, _, key = word.partition(":")
    try:
        public = b64decode(key, validate=True)
    except ValueError:
        raise KeyRingError(f"{shown(word)} is no publisher; siftcast keys publisher prints one, as NAME:KEY") from None
    return _change(folder, group, lambda found: found.joined_by(GroupPublisher(name, public)))


def rotate(folder: Path, group: str, now_s: float, *, grace_s: float = GRACE_S, keep: int | None = None) -> Group:
    """Begins a new epoch of a group."""
    return _change(folder, group, lambda found: found.rotated(_fresh_secret(), now_s, grace_s=grace_s, keep=keep))


def revoke(
    folder: Path, group: str, publisher: str, now_s: float, *, grace_s: float = GRACE_S, from_epoch: int | None = None
) -> Group:
    """Begins a new epoch, from which on a publisher is refused, or already from an earlier one on."""

    def revoked(found: Group) -> Group:
        rotated = found.rotated(_fresh_secret(), now_s, grace_s=grace_s)
        return rotated.revoked(publisher, rotated.newest.number if from_epoch is None else from_epoch)

    return _change(folder, group, revoked)


def issue(folder: Path, group: str, to: Path) -> Group:
    """Puts a copy of a group into another folder; raises KeyRingError where something newer, or no copy, is."""
    issued = read_group(_existing(folder, group)).copy()
    path = group_path(to, group)
    with locked(to):
        if path.exists():
            there = _there(path)
            if not there.is_copy or there.number > issued.number:
                what = "the group that copies are made of" if not there.is_copy else "a newer copy"
                raise KeyRingError(f"{shown_path(path)} is {what}, and is not overwritten")
        write_group(path, issued)
    return issued


def _there(path: Path) -> Group:
    """What is to be overwritten; raises KeyRingError where that cannot be read, because it may be no copy."""
    try:
        return read_group(path)
    except KeyRingError as error:
        raise KeyRingError(f"{error}; if {shown_path(path)} was a copy, remove it first") from None


def _change(folder: Path, group: str, change: Callable[[Group], Group]) -> Group:
    path = _existing(folder, group)
    with locked(folder):
        changed = change(read_group(path))
        write_group(path, changed)
    return changed


def _existing(folder: Path, group: str) -> Path:
    path = group_path(folder, group)
    if not path.exists():
        raise KeyRingError(f"{shown_path(path)} is not there; siftcast keys init {group} --keys FOLDER makes a group")
    return path


def _fresh_secret() -> Secret:
    return Secret(os.urandom(SECRET_BYTES))
