"""Makes the default engine ready before it is first used."""

from __future__ import annotations

from collections.abc import Callable

from siftcast.matching.tiles.readiness import KERNELS
from siftcast.matching.warming import KERNEL_THREAD

__all__ = ["KERNEL_THREAD", "prepare", "wait_until_prepared"]


def prepare(call: Callable[[], None]) -> None:
    """Has kernels loaded or compiled by a thread of their own, and calls a function from there when they are ready."""
    KERNELS.start()
    KERNELS.when_ready(call)


def wait_until_prepared() -> None:
    """Until the kernels are there; half a second, or ten on a machine that has never compiled them."""
    KERNELS.wait()
