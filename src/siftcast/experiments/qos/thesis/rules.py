"""Where the thesis leaves a choice, or prints what fails: each as an option, so that both can be run.

Fixed on 19 November 2026 after trials with 250 peers, before full sizes were measured:

- A *round* is one run of `connectionManagement` by every subscriber, in random order. Messages are answered within it.
- A peer's view is a uniform sample of `view` of all others, drawn again each round (Algorithm 1, line 2: "uniform peer
  sample derived from epidemic protocol"), and the hints it was sent. Publishers are met in the same way.
- The best parent is one that supplies the peer already, else one with a strictly tighter bound, else any of the view.
- A peer without a parent goes to the publishers it knows. Once they supply it, it looks for parents whose bounds are
  strictly tighter: with an equal one, its own could be violated.
- What is lacking for `timeout` rounds is coarsened by one division (a place for each attribute), if bandwidth allows.
- A child is evicted by the selectivity of all that it wants, the looser bound first ("a lower delay requirement" read
  as a larger Δ, as in "tight delay requirements are placed higher"), then by number.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Acceptance(Enum):
    """Who may be a child."""

    BOUNDS = "the bound of the child is at least that of the parent"
    EXPERIENCED = "or the delay of the parent and the link fit into the child's bound"
    EXPERIENCED_STRICTLY = "the same with <, as section 2.7 prints it"


class CycleCheck(Enum):
    """Whom a search for cycles goes to."""

    NONE = "nobody"
    LINE_41 = "the children of whoever sent it, as line 41 is printed: nobody beyond the first"
    EQUAL = "children with equal expressions and equal bounds"
    REPAIRED = "children with equal expressions, whatever their bounds"


class Choice(Enum):
    """Which parent of the view is the best."""

    TIGHTER = "one whose bound is strictly tighter"
    COARSEST = "the one that wants most, whatever its bound"


class Order(Enum):
    """By what children are compared when there are too many."""

    WHOLE = "by all that they want: the same everywhere"
    ASKED = "by what they ask of this parent"


@dataclass(frozen=True, slots=True)
class Rules:
    """How peers behave; the defaults are the readings that are judged."""

    view: float = 0.05
    view_size: int = 0
    """A view of so many peers instead of a share, if positive."""
    timeout: int = 10
    acceptance: Acceptance = Acceptance.BOUNDS
    cycles: CycleCheck = CycleCheck.EQUAL
    choice: Choice = Choice.TIGHTER
    order: Order = Order.WHOLE
    evicts_tighter: bool = False
    """Among equally selective children, the tighter bound goes: "lower" read as a number."""
    leaves_when_late: bool = True
    """A parent is left when events come too late (sections 2.4.4 and 2.7)."""
