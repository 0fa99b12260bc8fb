"""Gives memory back to the system after a large build.

Building an index for a million rows needs several arrays of temporary space. The C library and Arrow keep freed
memory for later use, which doubles the resident size of a process that only wanted to build once.
"""

from __future__ import annotations

import ctypes
import sys

import pyarrow as pa

LARGE_ROWS = 100_000


def return_memory() -> None:
    """Asks Arrow and, on Linux with glibc, the C library to return what they hold unused."""
    pa.default_memory_pool().release_unused()
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
