"""Compiled loops: how they are declared and kept on disk.

Numba compiles a kernel when it is first called and keeps the machine code beside the package, or in the user's cache
folder where the package cannot be written. Only the first use on a machine is slow, and nobody has to wait for it:
see `warming`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar, cast

import numba
from numba import types

F = TypeVar("F", bound=Callable[..., Any])
_njit: Callable[..., Any] = numba.njit
_plain: Callable[[Any], Any] = types.unliteral
kernels: list[Any] = []  # all that are declared, to say what was compiled


def kernel(function: F) -> F:
    """Compile once, keep the machine code on disk where that is possible, and let other threads run meanwhile."""
    return _compiled(function, nogil=True)


def brief_kernel(function: F) -> F:
    """Likewise for what takes microseconds: letting other threads in would take a tenth of one."""
    return _compiled(function, nogil=False)


def piece(function: F) -> F:
    """A part of kernels that is compiled with them, as a function of its own, and that nothing else calls.

    So it needs no way in from Python. Numba would compile it again for every constant it is called with, and for what
    a variable looks like before its loop has been read to the end: a fifth of all compiling.
    """
    made = _njit(boundscheck=False, no_cpython_wrapper=True, no_cfunc_wrapper=True)(function)
    resolve = made.get_call_template

    def resolve_plainly(args: Iterable[Any], kws: Mapping[str, Any]) -> Any:
        return resolve(tuple(map(_plain, args)), {name: _plain(kind) for name, kind in kws.items()})

    made.get_call_template = resolve_plainly
    return cast(F, made)


def _compiled(function: F, *, nogil: bool) -> F:
    options = {"nogil": nogil, "boundscheck": False, "no_cfunc_wrapper": True}
    try:
        made = _njit(cache=True, **options)(function)
    except RuntimeError:  # no folder for the cache can be written: every process compiles for itself
        made = _njit(**options)(function)
    kernels.append(made)
    return cast(F, made)
