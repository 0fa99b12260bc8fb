"""What a check comes to: it passed, it failed, or it was vacuous, because nothing was there that could have failed.

A check that found no fault among no deliveries says nothing about a network: it is neither a pass nor a failure, and
whoever counts passes must not count it. So every checker says how much it judged (`required`), and what is judged by
nothing is `vacuous`.
"""

from __future__ import annotations

from typing import Literal

Outcome = Literal["passed", "failed", "vacuous"]


def outcome_of(*, faults: int, required: int) -> Outcome:
    """The outcome of a check that found so many faults where so much was required."""
    if faults:
        return "failed"
    return "passed" if required else "vacuous"
