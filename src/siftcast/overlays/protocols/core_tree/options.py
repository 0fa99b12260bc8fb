"""What can be chosen about a network of core trees; all its nodes have the same."""

from __future__ import annotations

from dataclasses import dataclass

from siftcast.space.core_scores import STRATEGIES

CHOOSABLE = tuple(each for each in STRATEGIES if each != "Rand")
ONE_TREE, ALL_PAIRS = "one-tree", "all-pairs"
CORES_MAX = 256
_TIMES = ("rebuild_ms", "beat_ms", "linger_ms")


@dataclass(frozen=True, slots=True)
class CoreTreeSettings:
    """The choices of one network."""

    cores: int = 3
    """How many cores there are (k_C)."""
    strategy: str = "SPotent"
    """What makes a peer a good core; see `space/core_scores.py`."""
    joined: str = ONE_TREE
    """Cores are joined by the shortest paths of the root core, or each two of them by their own."""
    beta: float = 0.0
    """How many mean link delays the dissimilarity of two neighbours weighs."""
    rebuild_ms: float = 30_000.0
    """How often the leader chooses cores."""
    beat_ms: float = 1_000.0
    """How often a peer tells its neighbours where it stands."""
    linger_ms: float = 15_000.0
    """How long events are kept for those that come to a tree: longer than the eight beats until a core is replaced."""

    def __post_init__(self) -> None:
        if not 1 <= self.cores <= CORES_MAX:
            raise ValueError(f"cores are 1 to {CORES_MAX}, not {self.cores}")
        if self.strategy not in CHOOSABLE:
            raise ValueError(f"strategy is one of {', '.join(CHOOSABLE)}, not {self.strategy!r}")
        if self.joined not in (ONE_TREE, ALL_PAIRS):
            raise ValueError(f"joined is {ONE_TREE} or {ALL_PAIRS}, not {self.joined!r}")
        if not 0 <= self.beta < float("inf"):
            raise ValueError(f"beta is a number of at least 0, not {self.beta}")
        for name in _TIMES:
            if not 1 <= getattr(self, name) < float("inf"):
                raise ValueError(f"{name} is a time of at least 1 ms, not {getattr(self, name)}")
        if self.rebuild_ms < 2 * self.beat_ms:
            raise ValueError(f"rebuild_ms is at least two beats ({2 * self.beat_ms:g}), not {self.rebuild_ms:g}")

    @property
    def kept(self) -> int:
        """How many candidates each peer passes on: with fewer, some that many vote for are lost on the way."""
        return max(2 * self.cores, 8)

    @property
    def scores_paths(self) -> bool:
        """Whether the leader must know all links."""
        return self.strategy in ("SPath", "MaxPath")

    @property
    def compares_interests(self) -> bool:
        """Whether neighbours must know how alike they are."""
        return self.beta > 0 or self.strategy == "Sim"
