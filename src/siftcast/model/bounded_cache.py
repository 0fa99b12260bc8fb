"""Remembering without growing: the oldest entry goes when a cache is full."""

from __future__ import annotations

from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


def remember(cache: dict[K, V], key: K, value: V, size_max: int) -> None:
    """Adds an entry; any number of threads may do so at once, since losing a race only means looking again."""
    while len(cache) >= size_max:
        try:
            del cache[next(iter(cache))]
        except (KeyError, RuntimeError, StopIteration):  # another thread changed the cache meanwhile
            continue
    cache[key] = value
