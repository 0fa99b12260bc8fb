"""Having the default engine made ready before anybody asks it."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from siftcast.matching.warming import KERNEL_THREAD, Warming

__all__ = ["KERNEL_THREAD", "prepare", "wait_until_prepared"]


def prepare(call: Callable[[], None]) -> None:
    """Has kernels loaded or compiled by a thread of their own, and calls a function from there when they are ready."""
    kernels = _kernels()
    kernels.start()
    kernels.when_ready(call)


def wait_until_prepared() -> None:
    """Until the kernels are there; half a second, or ten on a machine that has never compiled them."""
    _kernels().wait()


def _kernels() -> Warming:
    found: Warming = import_module("siftcast.matching.tiles.readiness").KERNELS
    return found
