"""How patient a durable node is, and how much it remembers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Settings:
    """`window` relays are under way to a neighbour at a time; `waiting_max` may wait before publishers are refused.

    `ids_max` is how many ids of events a node recognises when they come again, of those accepted and of those in its
    queues each. `kept_bytes_max` is how much a node keeps in all (`capacity`). What makes no progress for `stall_ms`
    although nothing keeps it from going on is reported. Without `ordered`, events of one publisher may overtake each
    other where they take different ways.
    """

    window: int = 256
    resend_ms: float = 500.0
    resend_ms_max: float = 30_000.0
    retry_ms: float = 1_000.0
    waiting_max: int = 1_000_000
    kept_bytes_max: int = 2**30
    ids_max: int = 100_000
    stall_ms: float = 30_000.0
    ordered: bool = True

    def __post_init__(self) -> None:
        if min(self.window, self.waiting_max, self.kept_bytes_max, self.ids_max) < 1:
            raise ValueError("window, waiting_max, kept_bytes_max and ids_max are at least 1")
        if not 0 < self.resend_ms <= self.resend_ms_max or not min(self.retry_ms, self.stall_ms) > 0:
            raise ValueError("delays are positive, and resend_ms is at most resend_ms_max")


DEFAULTS = Settings()
