"""When a network is worth planning again, because nodes are not as far from each other as its plan has it.

    the plan guesses    nodes have a place in it whose delays nobody knew, and now somebody does: once all pairs are
                        known, or `STILL` collections in a row have brought nothing new
    the ground moved    another plan would be better by `GAIN_MIN` of the mean delay between two nodes, and by
                        `GAIN_MS_MIN`, in `IN_A_ROW` collections in a row; both plans by the delays of that collection

A plan that has replaced another stays for `CALM` collections at least. Only the first plan by measured delays does not
wait for that.

It cannot go to and fro: each new plan is better than the one before by the same measure, on the same ground. What
noise makes of the present plan and of another, it makes of both, and two collections in a row must agree. With 15 % of
noise on each delay, networks of 5–50 nodes were planned again once at most in a hundred collections (a minimum
spanning tree that came out badly was replaced).

Rejected: to follow the aim of each planner, as the weight of its tree. A new minimum spanning tree never has more of it
than the present one, so noise always speaks for the new one, and what people notice are delays.
"""

from __future__ import annotations

from dataclasses import dataclass

GAIN_MIN = 0.2
GAIN_MS_MIN = 1.0
IN_A_ROW = 2
STILL = 3
CALM = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What one collection has found: what the plan in force costs, and another one."""

    epoch: int
    before_ms: float
    after_ms: float
    pairs: int
    """Of how many pairs of nodes the delay is known."""
    is_first: bool = False
    """Whether the plan in force knows no delays at all."""
    is_guessed: bool = False
    """Whether it guesses all delays of some node, and they are known now."""
    is_complete: bool = True
    """Whether the delay between any two nodes is known."""

    @property
    def is_gain(self) -> bool:
        """Whether the other plan would be better by enough."""
        gain_ms = self.before_ms - self.after_ms
        return gain_ms >= GAIN_MS_MIN and gain_ms >= GAIN_MIN * self.before_ms


class MovingGround:
    """Judges one collection after the other; `collect_ms` is how often there is one."""

    def __init__(self) -> None:
        self._epoch = 0
        self._since_ms = 0.0
        self._pairs = -1
        self._still = 0
        self._gains = 0

    def is_worth_a_plan(self, look: Look, now_ms: float, collect_ms: float) -> bool:
        """Whether the network should be planned again by what this collection has found."""
        if look.epoch != self._epoch:
            self._epoch, self._since_ms, self._gains, self._still = look.epoch, now_ms, 0, 0
        self._still = self._still + 1 if look.pairs == self._pairs else 1
        self._gains = self._gains + 1 if look.is_gain else 0
        self._pairs = look.pairs
        is_calm = now_ms - self._since_ms >= CALM * collect_ms
        if look.is_guessed:
            return (look.is_complete or self._still >= STILL) and (look.is_first or is_calm)
        return is_calm and self._gains >= IN_A_ROW
