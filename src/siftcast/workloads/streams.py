"""Named streams of random numbers, all decided by one seed.

A single generator shared by every step would make each number depend on all the draws before it: asking for
one more event would change every subscription. Instead each step names its stream, and the name and the seed
together decide the numbers. So a workload with more events keeps its subscriptions, byte for byte.

The bit generator is named (PCG64) rather than taken from `default_rng`, whose choice numpy may change.
Cost: building a stream takes some ten microseconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from zlib import crc32

import numpy as np

from siftcast.workloads.parameters import require_count


@dataclass(frozen=True, slots=True)
class Streams:
    """The random streams of one workload; equal seeds give equal streams."""

    seed: int

    def __post_init__(self) -> None:
        require_count("seed", self.seed)

    def generator(self, name: str, index: int = 0) -> np.random.Generator:
        """Return a fresh generator for the step called `name` (and its repetition `index`)."""
        sequence = np.random.SeedSequence(entropy=self.seed, spawn_key=(crc32(name.encode()), index))
        return np.random.Generator(np.random.PCG64(sequence))
