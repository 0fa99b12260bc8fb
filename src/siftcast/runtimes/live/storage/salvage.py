"""Finds what is intact in a damaged store: in its file, in its log, and in what an earlier log left behind.

A row is believed if its checksum fits, whatever happened around it, and nothing else is. Its number names one version
of one record, so copies of it in many versions of a page are one row. Which rows count is the harder question, since
those that were forgotten lie in older versions of pages. Three answers are tried, the better first:

1. The index of keys names the rows that count. It is believed if the names pass the sums of a mark (`marks`). What it
   names and is not found is known to be lost, by its key; an older version of such a record is better than none.
2. The newest versions of the table's pages, if their rows pass the sums. Then nothing is lost.
3. Everything that was found, of each key the newest. This may bring back what was forgotten: an event may be delivered
   again, which at-least-once allows. It takes damage to both the table and the index to come to this.

Marks are those of the tail, the file and the log; the one with the highest number is asked first. Where only an earlier
one fits, rows with higher numbers than it knew are added. Frames behind the log's last commit were never promised; they
count only if the tail says that more was.

Cost: one look at each version of each page, about ten microseconds a row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from siftcast.runtimes.live.storage.marks import Mark, Sums, checksum, mark_in
from siftcast.runtimes.live.storage.sqlite_pages import (
    Frame,
    Log,
    content_of,
    entries_of,
    read_log,
    read_pages,
    rows_of,
    values_of,
)

ABOUT_PAGE = 2
"""Where the mark lies. This page and the one before hold no records."""
Pages = Mapping[int, bytes]


@dataclass(frozen=True, slots=True)
class Row:
    """An intact version of a record."""

    key: str
    data: bytes
    check: int


@dataclass(slots=True)
class Salvaged:
    """Intact records; keys whose last version is known to be lost; whether this is just what was held at last.

    `marks` are those in the file and its log, and `row_max` is the highest number of a row there.
    """

    records: dict[str, bytes] = field(default_factory=dict)
    lost: list[str] = field(default_factory=list)
    is_exact: bool = False
    marks: list[Mark] = field(default_factory=list)
    row_max: int = 0


def salvage(path: Path, tail: Mark | None) -> Salvaged:
    """All that can be had of a store; raises OSError."""
    main, log = read_pages(path), read_log(path)
    marks = list(_marks([main.get(ABOUT_PAGE, b""), *_abouts(log.left_over)]))
    frames, in_log = _promised(log, tail, max((mark.number for mark in marks), default=0))
    marks += in_log
    found: dict[int, Row] = {}
    newest = _gather(main, frames, log.left_over, found)
    asked = marks if tail is None else [tail, *marks]
    chosen = _choose(newest, found, sorted(asked, key=lambda mark: -mark.number))
    chosen.is_exact &= tail is not None  # else nobody knows which commit was the last
    chosen.marks = marks
    chosen.row_max = max(found, default=0)
    return chosen


def last_number_in_log(path: Path, identity: bytes) -> int:
    """The highest number of a commit whose mark lies in the log of a store, wherever; 0 if there is none."""
    log = read_log(path)
    marks = _marks(_abouts([*log.frames, *log.left_over]))
    return max((mark.number for mark in marks if mark.identity == identity), default=0)


def _abouts(frames: Iterable[Frame]) -> Iterator[bytes]:
    return (frame.content for frame in frames if frame.page == ABOUT_PAGE)


def _marks(pages: Iterable[bytes]) -> Iterator[Mark]:
    return (mark for mark in map(mark_in, pages) if mark is not None)


def _promised(log: Log, tail: Mark | None, number: int) -> tuple[list[Frame], list[Mark]]:
    """The frames up to the last commit, or all if that is not what the tail tells of, and the marks in them."""
    count = max((place + 1 for place, frame in enumerate(log.frames) if frame.is_commit), default=0)
    marks = list(_marks(_abouts(log.frames[:count])))
    reached = max((mark.number for mark in marks), default=number)
    if tail is not None and tail.number > reached:
        return log.frames, list(_marks(_abouts(log.frames)))
    return log.frames[:count], marks


def _gather(main: Pages, frames: list[Frame], left_over: list[Frame], found: dict[int, Row]) -> Pages:
    """Collects all intact rows, and returns the newest version of each page.

    A row's overflow pages are looked for among the pages as they were when it was written, as far as they are there.
    """
    _collect((page for number, page in main.items() if number > ABOUT_PAGE), main, found)
    if left_over:
        older = {**main, **{frame.page: frame.content for frame in left_over}}
        _collect((page for number, page in main.items() if number > ABOUT_PAGE), older, found)
        _collect((frame.content for frame in left_over), older, found)
    newest = dict(main)
    commit: list[bytes] = []
    for frame in frames:
        newest[frame.page] = frame.content
        commit.append(frame.content)
        if frame.is_commit:
            _collect(commit, newest, found)
            commit.clear()
    if frames:
        _collect(commit, newest, found)
        _collect((page for number, page in newest.items() if number > ABOUT_PAGE), newest, found)
    return newest


def _collect(versions: Iterable[bytes], pages: Pages, found: dict[int, Row]) -> None:
    for page in versions:
        for number, size, start in rows_of(page):
            if number not in found:
                row = _row(number, content_of(page, pages, size, start))
                if row is not None:
                    found[number] = row


def _row(number: int, content: bytes) -> Row | None:
    """A record whose checksum fits."""
    match values_of(content):
        case [bytes() as key, bytes() as data, int() as check]:
            try:
                text = key.decode()
            except UnicodeDecodeError:
                return None
            return Row(text, data, check) if checksum(number, text, data) == check else None
    return None


def _choose(newest: Pages, found: Mapping[int, Row], marks: list[Mark]) -> Salvaged:
    """Of all rows that were found, those that count."""
    named = dict(_names(newest))
    rows = {number for at, page in newest.items() if at > ABOUT_PAGE for number, _, _ in rows_of(page)}
    in_table = {number: found[number] for number in rows if number in found}
    of_names = Sums().changed((), [(number, 0) for number in named])
    of_table = Sums().changed((), [(number, row.check) for number, row in in_table.items()])
    for mark in marks:
        if (of_names.count, of_names.squares) == (mark.sums.count, mark.sums.squares):
            chosen = _named(named, found)
        elif of_table == mark.sums:
            chosen = Salvaged(_newest_of_each(in_table), is_exact=True)
        else:
            continue
        if mark.number < marks[0].number:  # pages of later commits are lost, but perhaps not all their rows
            later = {number: row for number, row in found.items() if number > mark.row}
            chosen.records |= _newest_of_each(later)
            chosen.lost, chosen.is_exact = [], False  # what is not found may have been forgotten since
        return chosen
    return Salvaged(_newest_of_each(found))


def _names(newest: Pages) -> Iterator[tuple[int, str]]:
    """The index of keys: number and key of each row."""
    for page in newest.values():
        for size, start in entries_of(page):
            match values_of(content_of(page, newest, size, start)):
                case [bytes() as key, int() as number]:
                    yield number, key.decode(errors="replace")


def _named(named: Mapping[int, str], found: Mapping[int, Row]) -> Salvaged:
    """The rows that the index names; where one is lost, the newest older version of its record."""
    chosen = _newest_of_each({number: found[number] for number in named if number in found})
    lost = {key for number, key in named.items() if number not in found}
    older = _newest_of_each({number: row for number, row in found.items() if row.key in lost}) if lost else {}
    return Salvaged({**older, **chosen}, sorted(lost), is_exact=not lost)


def _newest_of_each(rows: Mapping[int, Row]) -> dict[str, bytes]:
    return {rows[number].key: rows[number].data for number in sorted(rows)}
