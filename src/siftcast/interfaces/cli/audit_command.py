"""`siftcast audit`: the audit log of a node, or the part of it that one asks for."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from rich.text import Text

from siftcast.interfaces.cli.options import Flag
from siftcast.interfaces.cli.outcome import OK, REJECTED
from siftcast.interfaces.cli.terminal import err
from siftcast.model import DataError

_WHO = ("principal", "client", "address", "identity")
_FIRST = frozenset({"time", "node", "what", "outcome", *_WHO})


def audit(
    file: Path,
    /,
    *,
    principal: str | None = None,
    what: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    refused: Flag = False,
    json: Flag = False,
) -> int:
    """Show an audit log, the oldest line first, with the files before it (audit.jsonl.1 and so on).

    The exit status is 1 if a line could not be read, as one that a crash cut off.

    Example: siftcast audit audit.jsonl --principal desk --since 2026-12-01

    Parameters
    ----------
    file
        The file that the node's configuration names in [audit].
    principal
        Only what this principal did.
    what
        Only this, as in login, subscribe, reload.
    since
        Only from then on; UTC, where no zone is given.
    until
        Only before then.
    refused
        Only what was refused.
    json
        Print the lines as they are, instead of in columns.
    """
    from siftcast.runtimes.live.storage.audit_file import files_of

    files = files_of(file)
    if not files:
        raise DataError(f"{file}: there is no such file; audit.file in a node's configuration says where it is")
    begin, end = _utc(since), _utc(until)
    bad = 0
    for row in _rows(files):
        if row is None:
            bad += 1
            continue
        is_wanted = (
            principal in (None, row.get("principal"))
            and what in (None, row["what"])
            and (begin is None or row["time"] >= begin)
            and (end is None or row["time"] < end)
            and not (refused and row["outcome"] == "ok")
        )
        if is_wanted:
            sys.stdout.write((msgspec.json.encode(row).decode() if json else _line(row)) + "\n")
    if bad:
        err().print(Text(f"{bad:,} lines are no lines of an audit log", "yellow"))
    return REJECTED if bad else OK


def _utc(time: datetime | None) -> str | None:
    """A time as it stands in the log, where texts compare as times do."""
    if time is None:
        return None
    zoned = time if time.tzinfo is not None else time.replace(tzinfo=UTC)
    return zoned.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _rows(files: list[Path]) -> Iterator[dict[str, Any] | None]:
    """The rows of the files; None for a line that is none."""
    for path in files:
        with path.open("rb") as lines:
            for line in lines:
                try:
                    row = msgspec.json.decode(line, type=dict[str, Any])
                except msgspec.MsgspecError:
                    yield None
                else:
                    yield row if {"time", "what", "outcome"} <= row.keys() else None


def _line(row: Mapping[str, Any]) -> str:
    who = " ".join(str(row[name]) for name in _WHO if name in row) or row.get("node", "")
    more = " ".join(f"{name}={value!r}" for name, value in row.items() if name not in _FIRST)
    text = f"{row['time']}  {row['what']:<18} {row['outcome']:<14} {who}  {more}".rstrip()
    return "".join(each if each.isprintable() else "�" for each in text)  # names are the clients' own
