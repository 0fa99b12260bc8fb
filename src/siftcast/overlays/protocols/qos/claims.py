"""The bound of a place: whether it is kept, since when it is not, whether anybody could keep it, and what it claims.

A peer whose bound is missed first looks for a parent that keeps it and has a place for it. If there is none, it may
*claim*: it moves up in the order of all peers (`order.py`), to where its bound leaves least over beside the direct
delay, and those whom it pushes out go below it or below others, who take on what they want. That is the thesis's
remedy: a peer stands higher, and receives more than it wants.

    missed for a while, and a known place would be had with a claim        ─▶ claims
    claimed, and missed all the same for some rounds; or impossible        ─▶ gives the claim back, and waits twice as
                                                                              long as before until it claims again

A claim is kept as long as it helps, and its value is that of the moment in which it was made: what is measured again
does not change the order. Waiting times double, so within a time T a peer claims log T times, and between two claims
the order stands still. Rejected: claims for which nobody knows a use. Those that nothing could help pushed out others,
who claimed in turn.
"""

from __future__ import annotations

from math import inf

_PATIENCE_ROUNDS, _VAIN_ROUNDS, _WAIT_ROUNDS = 2, 12, 16
_DIGITS = 1


class Bound:
    """How late events may come to one place, and what is claimed for it."""

    __slots__ = (
        "_claimed_ms",
        "_next_ms",
        "_round_ms",
        "_wait_ms",
        "bound_ms",
        "claim_ms",
        "is_impossible",
        "missed_since_ms",
    )

    def __init__(self, bound_ms: float, round_ms: float) -> None:
        self.bound_ms = bound_ms
        self.claim_ms = inf
        """What it claims; infinite, if it does not."""
        self.missed_since_ms: float | None = None
        """Since when it has been missed; None while it is kept."""
        self.is_impossible = False
        """Whether a publisher itself is farther away, and no way over others is known that is shorter."""
        self._round_ms = round_ms
        self._wait_ms = _WAIT_ROUNDS * round_ms
        self._claimed_ms = 0.0
        self._next_ms = 0.0

    @property
    def is_finite(self) -> bool:
        """Whether there is one."""
        return self.bound_ms < inf

    @property
    def is_worth_trying(self) -> bool:
        """Whether it is missed, and could be kept for all that is known: whether a claim may help."""
        return self.missed_since_ms is not None and not self.is_impossible

    def check(self, reach_ms: float, direct_ms: float, now: float) -> None:
        """Events come after `reach_ms`, and could come after `direct_ms` at best."""
        self.is_impossible = min(direct_ms, reach_ms) > self.bound_ms
        if reach_ms <= self.bound_ms:
            self.missed_since_ms = None
        elif self.missed_since_ms is None:
            self.missed_since_ms = now
        since_ms = inf if self.missed_since_ms is None else max(self._claimed_ms, self.missed_since_ms)
        vain = now - since_ms >= _VAIN_ROUNDS * self._round_ms
        if self.claim_ms < inf and (self.is_impossible or vain):
            self.claim_ms = inf
            self._next_ms = now + self._wait_ms
            self._wait_ms *= 2

    def claimable(self, direct_ms: float, now: float) -> float | None:
        """What it may claim now, if it may."""
        since = self.missed_since_ms
        if not self.is_worth_trying or self.claim_ms < inf or since is None:
            return None
        if now < self._next_ms or now - since < _PATIENCE_ROUNDS * self._round_ms:
            return None
        return round(self.bound_ms - direct_ms, _DIGITS)

    def claim(self, claim_ms: float, now: float) -> None:
        """Claims."""
        self.claim_ms, self._claimed_ms = claim_ms, now
