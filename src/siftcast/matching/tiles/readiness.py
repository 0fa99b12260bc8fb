"""Whether the kernels of the tile index are there; the rest of the engine asks here (see `warming`)."""

from __future__ import annotations

from importlib import import_module

from siftcast.matching.warming import Warming


def _exercise() -> None:
    import_module("siftcast.matching.tiles.exercise").run_every_kernel()


KERNELS = Warming(_exercise)
