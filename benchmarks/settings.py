"""What a run was asked for, handed to every group."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np


@dataclass(frozen=True, slots=True)
class Settings:
    """The choices of the command line that every group obeys."""

    quick: bool = False
    seed: int = 1
    output: Path = Path("docs/figures")

    def size(self, full: int, quick: int) -> int:
        """One of two sizes."""
        return quick if self.quick else full

    @property
    def rounds(self) -> int:
        """How often the contenders take turns."""
        return self.size(9, 5)

    @property
    def round_s(self) -> float:
        """How long one contender's turn lasts, about."""
        return 0.03 if self.quick else 0.2

    def generator(self, *stream: int) -> np.random.Generator:
        """Randomness of one workload: the same whichever groups run before it."""
        return np.random.default_rng([self.seed, *stream])
