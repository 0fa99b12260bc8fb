"""Something computed from an Arrow dictionary, once per dictionary and not once per block.

Results of matching are codes into a dictionary of subscription ids. An engine hands out the same dictionary until
its layout changes, but PyArrow wraps it in a new object each time, so identity is decided by the memory it lies in.
The memo keeps the dictionaries it knows, which keeps that memory from being used for another.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

import pyarrow as pa

T = TypeVar("T")


class DictionaryMemo(Generic[T]):
    """A function of a dictionary that remembers its last answers."""

    def __init__(self, compute: Callable[[pa.Array], T], *, kept: int = 4) -> None:
        self._compute = compute
        self._kept = kept
        self._known: dict[tuple[int, ...], tuple[pa.Array, T]] = {}

    def __call__(self, dictionary: pa.Array) -> T:
        addresses = (0 if buffer is None else buffer.address for buffer in dictionary.buffers())
        key = (len(dictionary), dictionary.offset, *addresses)
        if key not in self._known:
            if len(self._known) >= self._kept:
                self._known.pop(next(iter(self._known)))
            self._known[key] = dictionary, self._compute(dictionary)
        return self._known[key][1]
