"""What may happen to the files of a store that is not running, one thing at a time."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from siftcast.runtimes.live.storage.sqlite_pages import PAGE_BYTES
from tests.live.stores import FRAME_BYTES, FRAME_HEADER, LOG, LOG_HEADER, MAIN

Files = dict[str, bytes]


def damage(files: Files, kind: str, draw: Random) -> Files:
    """The files after one damage of a kind."""
    changed = {name: bytearray(content) for name, content in files.items()}
    DAMAGES[kind](changed, draw)
    return {name: bytes(content) for name, content in changed.items()}


Changed = dict[str, bytearray]


def _any(files: Changed, draw: Random) -> bytearray:
    return files[draw.choice([name for name in sorted(files) if files[name]])]


def _flip_at(content: bytearray, at: int, draw: Random) -> None:
    content[at] ^= 1 << draw.randrange(8)


def _flip(files: Changed, draw: Random) -> None:
    content = _any(files, draw)
    _flip_at(content, draw.randrange(len(content)), draw)


def _flip_in_header(files: Changed, draw: Random) -> None:
    content = _any(files, draw)
    _flip_at(content, draw.randrange(min(110, len(content))), draw)


def _flip_in_frame_header(files: Changed, draw: Random) -> None:
    log = files.get(LOG)
    if log:
        frame = draw.randrange((len(log) - LOG_HEADER) // FRAME_BYTES)
        _flip_at(log, LOG_HEADER + frame * FRAME_BYTES + draw.randrange(FRAME_HEADER), draw)


def _flip_in_page_header(files: Changed, draw: Random) -> None:
    name, page = _page(files, draw)
    _flip_at(files[name], page + draw.randrange(40), draw)


def _page(files: Changed, draw: Random) -> tuple[str, int]:
    """Where some page lies, in the file or the log."""
    name = draw.choice([MAIN, LOG] if files.get(LOG) else [MAIN])
    if name == MAIN:
        return name, draw.randrange(len(files[name]) // PAGE_BYTES) * PAGE_BYTES
    frame = draw.randrange((len(files[name]) - LOG_HEADER) // FRAME_BYTES)
    return name, LOG_HEADER + frame * FRAME_BYTES + FRAME_HEADER


def _zero_page(files: Changed, draw: Random) -> None:
    name, page = _page(files, draw)
    files[name][page : page + PAGE_BYTES] = bytes(PAGE_BYTES)


def _zero(files: Changed, draw: Random) -> None:
    content = _any(files, draw)
    at, size = draw.randrange(len(content)), draw.choice([1, 16, 512, 4_096, 20_000])
    end = min(at + size, len(content))
    content[at:end] = bytes(end - at)


def _garble(files: Changed, draw: Random) -> None:
    content = _any(files, draw)
    at = draw.randrange(len(content))
    end = min(at + draw.choice([2, 50, 5_000]), len(content))
    content[at:end] = draw.randbytes(end - at)


def _cut(files: Changed, draw: Random) -> None:
    content = _any(files, draw)
    del content[draw.randrange(len(content)) :]


def _cut_log_between_frames(files: Changed, draw: Random) -> None:
    log = files.get(LOG)
    if log:
        del log[LOG_HEADER + draw.randrange((len(log) - LOG_HEADER) // FRAME_BYTES) * FRAME_BYTES :]


def _cut_between_pages(files: Changed, draw: Random) -> None:
    del files[MAIN][draw.randrange(len(files[MAIN]) // PAGE_BYTES) * PAGE_BYTES :]


def _remove(files: Changed, draw: Random) -> None:
    del files[draw.choice(sorted(files))]


def _empty(files: Changed, draw: Random) -> None:
    _any(files, draw).clear()


def _swap_pages(files: Changed, draw: Random) -> None:
    (name, first), (other, second) = _page(files, draw), _page(files, draw)
    one, two = files[name][first : first + PAGE_BYTES], files[other][second : second + PAGE_BYTES]
    files[name][first : first + PAGE_BYTES], files[other][second : second + PAGE_BYTES] = two, one


def _copy_page(files: Changed, draw: Random) -> None:
    (name, first), (other, second) = _page(files, draw), _page(files, draw)
    files[other][second : second + PAGE_BYTES] = files[name][first : first + PAGE_BYTES]


def _swap_frames(files: Changed, draw: Random) -> None:
    log = files.get(LOG)
    if log:
        first, second = (
            LOG_HEADER + draw.randrange((len(log) - LOG_HEADER) // FRAME_BYTES) * FRAME_BYTES for _ in "ab"
        )
        one, two = log[first : first + FRAME_BYTES], log[second : second + FRAME_BYTES]
        log[first : first + FRAME_BYTES], log[second : second + FRAME_BYTES] = two, one


def _drop_frame(files: Changed, draw: Random) -> None:
    log = files.get(LOG)
    if log:
        frame = LOG_HEADER + draw.randrange((len(log) - LOG_HEADER) // FRAME_BYTES) * FRAME_BYTES
        del log[frame : frame + FRAME_BYTES]


def _lose_write(files: Changed, draw: Random) -> None:
    """A page of the file is back at a version that the log has."""
    log = files.get(LOG)
    if log:
        frame = LOG_HEADER + draw.randrange((len(log) - LOG_HEADER) // FRAME_BYTES) * FRAME_BYTES
        page = (int.from_bytes(log[frame : frame + 4], "big") - 1) * PAGE_BYTES
        if 0 <= page < len(files[MAIN]):
            files[MAIN][page : page + PAGE_BYTES] = log[frame + FRAME_HEADER : frame + FRAME_BYTES]


def _append(files: Changed, draw: Random) -> None:
    _any(files, draw).extend(draw.randbytes(draw.choice([1, 100, 5_000])))


DAMAGES: dict[str, Callable[[Changed, Random], None]] = {
    function.__name__.strip("_").replace("_", " "): function
    for function in (
        _flip, _flip_in_header, _flip_in_frame_header, _flip_in_page_header, _zero_page, _zero, _garble, _cut,
        _cut_log_between_frames, _cut_between_pages, _remove, _empty, _swap_pages, _copy_page, _swap_frames,
        _drop_frame, _lose_write, _append,
    )
}  # fmt: skip
