"""Folders and files that only the owner of the node's process can read, whatever its umask is.

What a node keeps is what its clients may read only with a right to it, so no other account of the machine gets it from
the disk. A folder that a node makes is 0700, a file 0600, from the moment it is there: nothing is made wide first and
narrowed later. Files of its own that are wider, as an earlier version left them, are narrowed. A wider *folder* that
was there before is left as it is, because it may be somebody's home or /tmp, and warned about.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

FOLDER_MODE = 0o700
FILE_MODE = 0o600
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def make_folder(folder: Path) -> list[Path]:
    """Makes a folder, and those above it that are missing; returns what was made, outermost first. Raises OSError."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    for each in reversed(missing):
        each.mkdir(mode=FOLDER_MODE, exist_ok=True)
    folder.mkdir(exist_ok=True)  # raises unless it is a folder
    return list(reversed(missing))


def make_file(path: Path) -> None:
    """Makes a file where there is none; raises OSError."""
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, FILE_MODE))


def narrow(path: Path) -> None:
    """Takes a file from everybody but its owner, if there is one; raises OSError."""
    if os.name == "posix" and path.exists() and is_open_to_others(path):
        path.chmod(FILE_MODE)


def is_open_to_others(path: Path) -> bool:
    """Whether other accounts may do something with a file or folder."""
    return os.name == "posix" and bool(path.stat().st_mode & _OTHERS)
