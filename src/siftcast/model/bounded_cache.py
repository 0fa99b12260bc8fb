"""Remembering without growing: the older half goes when a cache is full.

Dropping one entry per new one would be fairer to the older half, but slow: a dict whose first entries are gone is
searched from its beginning for the first that is left, thousands of places each time.
"""

from __future__ import annotations

from itertools import islice
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


def remember(cache: dict[K, V], key: K, value: V, size_max: int) -> None:
    """Adds an entry; any number of threads may do so at once, since losing a race only means looking again."""
    while len(cache) >= size_max:
        try:
            oldest = list(islice(cache, (size_max + 1) // 2))
        except RuntimeError:  # another thread changed the cache meanwhile
            continue
        for old in oldest:
            cache.pop(old, None)
    cache[key] = value
