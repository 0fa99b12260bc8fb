"""Who lies on the way to whom, from delays alone, where routes cannot be had.

    q is before s, seen from p      d(p, q) + d(q, s) ≤ (1 + ε) · d(p, s)

A peer beside the one that is asked passes the test whatever the third is, by the triangle inequality alone, as a peer
at the same router does with routes. It says nothing, so the first part of the way must be longer than the slack hides:
2 · d(p, q) > ε · d(p, s).

A route is not that exact, though: a peer beside the way may pass the test, and two peers may each lie before the other
in somebody's eyes, so that a newcomer could be handed around for ever. Hence each step must bring it nearer
(`is_nearer`): the remaining delay falls by more than rounding, and no peer is passed twice.
"""

from __future__ import annotations

_STEP_MIN = 1e-6


def is_before(to_near_ms: float, onward_ms: float, direct_ms: float, slack: float) -> bool:
    """Whether the way over a peer is hardly longer than the direct one."""
    if not slack * direct_ms < 2 * to_near_ms < 2 * direct_ms:
        return False
    return to_near_ms + onward_ms <= (1 + slack) * direct_ms


def is_nearer(remaining_ms: float, before_ms: float) -> bool:
    """Whether a step brings a newcomer nearer to its place."""
    return remaining_ms < before_ms * (1 - _STEP_MIN)
