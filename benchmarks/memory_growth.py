"""Builds a matcher from a file and prints, as JSON, by how many bytes this process grew: the child of `updates`."""

from __future__ import annotations

import ctypes
import gc
import json
import os
import sys
from contextlib import suppress
from pathlib import Path

import pyarrow as pa

from benchmarks.processes import memory_of
from siftcast import Matcher


def main() -> None:
    table, events = (pa.ipc.open_file(pa.memory_map(path)).read_all() for path in sys.argv[1:])
    warmed = Matcher.from_arrow(table.slice(0, 100))
    warmed.match_batch(events)
    warmed.match(events.slice(0, 1).to_pylist()[0])
    del warmed
    before = resident_bytes()
    if before is None:
        sys.stdout.write("null")
        return
    clear_peak()
    base = peak_bytes() or before
    matcher = Matcher.from_arrow(table)
    matcher.match_batch(events)
    peak = peak_bytes() or 0
    after = resident_bytes() or 0
    sys.stdout.write(json.dumps({"kept": after - before, "peak": peak - base, "subscriptions": len(matcher)}))


def resident_bytes() -> int | None:
    """Memory that is this process's own, without mapped files, after everything freed was given back."""
    gc.collect()
    pa.default_memory_pool().release_unused()
    with suppress(OSError, AttributeError):  # another C library has none; what it holds back then counts
        ctypes.CDLL("libc.so.6").malloc_trim(0)
    return memory_of(os.getpid(), "RssAnon")


def peak_bytes() -> int | None:
    """The most this process ever held; mapped files included."""
    return memory_of(os.getpid(), "VmHWM")


def clear_peak() -> None:
    """Lets the peak be counted from here."""
    with suppress(OSError):  # the peak then includes the warm-up, which is smaller
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


if __name__ == "__main__":
    main()
