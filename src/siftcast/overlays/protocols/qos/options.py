"""What a QoS node can be told."""

from __future__ import annotations

from dataclasses import dataclass

_TIMES = ("round_ms", "request_ms", "grace_ms", "linger_ms", "forget_ms")


@dataclass(frozen=True, slots=True)
class QosSettings:
    """The choices of one network; all its nodes have the same."""

    degree: int = 8
    """How many children a peer has at most (m)."""
    theta: int = 16
    """How many dz-expressions a filter is mapped to at most."""
    pieces: int = 64
    """How many a peer declares at most; more are taken for fewer and coarser ones."""
    view: int = 64
    """How many peers a node remembers as possible parents."""
    round_ms: float = 1_000.0
    """How often links are refreshed and news is exchanged."""
    request_ms: float = 500.0
    """How long an answer is waited for."""
    grace_ms: float = 3_000.0
    """How long a child that was sent away is still served."""
    linger_ms: float = 5_000.0
    """How long events are kept for children that come."""
    forget_ms: float = 15_000.0
    """After so long without a word, a child, a publisher or a possible parent is forgotten."""

    def __post_init__(self) -> None:
        if not 2 <= self.degree <= 1_000:
            raise ValueError(f"degree is 2 to 1000 children, not {self.degree}")
        if not 1 <= self.theta <= 1_024:
            raise ValueError(f"theta is 1 to 1024 expressions, not {self.theta}")
        if not self.theta <= self.pieces <= 4_096:
            raise ValueError(f"pieces are theta ({self.theta}) to 4096, not {self.pieces}")
        if not 1 <= self.view <= 100_000:
            raise ValueError(f"view is 1 to 100000 peers, not {self.view}")
        for name in _TIMES:
            if not 1 <= getattr(self, name) < float("inf"):
                raise ValueError(f"{name} is a time of at least 1 ms, not {getattr(self, name)}")
        if self.forget_ms < 3 * self.round_ms:
            raise ValueError(f"forget_ms is at least three rounds ({3 * self.round_ms:g}), not {self.forget_ms:g}")
