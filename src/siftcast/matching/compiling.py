"""Compiled loops: how they are declared, kept on disk, and announced when a user has to wait for them.

Numba compiles a kernel when it is first called and keeps the machine code beside the package, or in the user's cache
folder where the package cannot be written. Only the first use on a machine is slow; it says so after a second, unless
the machine was merely slow to load what it has.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Timer
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])
_logger = logging.getLogger("siftcast")
_PATIENCE_S = 1.0
_kernels: list[Any] = []


def kernel(function: F) -> F:
    """Compile once, keep the machine code on disk where that is possible, and let other threads run meanwhile."""
    return _compiled(function, nogil=True)


def brief_kernel(function: F) -> F:
    """Likewise for what takes microseconds: letting other threads in would take a tenth of one."""
    return _compiled(function, nogil=False)


def _compiled(function: F, *, nogil: bool) -> F:
    try:
        made = numba.njit(cache=True, nogil=nogil, boundscheck=False)(function)
    except RuntimeError:  # no folder for the cache can be written: every process compiles for itself
        made = numba.njit(nogil=nogil, boundscheck=False)(function)
    _kernels.append(made)
    return cast(F, made)


@contextmanager
def announced() -> Iterator[None]:
    """Says in one line that kernels are being compiled, if what runs inside takes over a second."""
    timer = Timer(_PATIENCE_S, _announce)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _announce() -> None:
    if any(made.stats.cache_misses for made in _kernels):  # counted before the compiler begins
        _logger.warning(
            "siftcast is compiling its matching kernels for this machine; this happens once and takes under a minute"
        )
