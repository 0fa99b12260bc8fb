"""Numbered streams over links that lose, delay, repeat and reorder: both ends of one.

`Outgoing` keeps what was not acknowledged and says what to send, a window at a time. `Incoming` lets each number
through once and in order, and keeps a few that came early. Neither knows what it carries.

Invariant: what does not wait any more was kept, so `kept` has no gaps behind it that the other end could ask for.
An item is *kept* when the other end has it on disk, and *open* while it is kept there but not done with. An
acknowledgement names all open ones, so one that is lost is made good by the next.

Cost: an acknowledgement takes time in proportion to what it settles and to the runs of open numbers.
"""

from __future__ import annotations

from itertools import islice
from typing import Generic, TypeVar

from siftcast.overlays.durability.runs import Runs, both, joined, minus, numbers_in

Item = TypeVar("Item")
EARLY_MAX = 1_024
"""How many items that came before their turn are kept; others are dropped, and sent again."""


class Outgoing(Generic[Item]):
    """What is to arrive at the other end; numbers begin with 1."""

    __slots__ = ("_open", "_sent", "kept", "next", "waiting")

    def __init__(self, next: int = 1, kept: int = 0) -> None:
        self.next = next
        self.waiting: dict[int, Item] = {}
        self.kept = kept
        """The last number that the other end said it has."""
        self._sent = next - 1
        self._open: Runs = ()

    @property
    def base(self) -> int:
        """The first number that may still be asked for."""
        return next(iter(self.waiting), self.next)

    @property
    def unkept(self) -> int:
        """How many the other end has not said it has."""
        return self.next - 1 - self.kept

    def add(self, item: Item) -> int:
        """Gives an item its number."""
        number = self.next
        self.next += 1
        self.waiting[number] = item
        return number

    def restore(self, number: int, item: Item) -> None:
        """Puts back an item from an earlier life; in ascending order."""
        self.waiting[number] = item
        self.next = max(self.next, number + 1)
        if number <= self.kept:
            self._open = joined(self._open, ((number, 1),))
        self.rewind()

    def unsent(self, window: int) -> list[tuple[int, Item]]:
        """What to send now for the first time, so that at most `window` are sent and not kept."""
        last = min(self.next - 1, self.kept + window)
        if last <= self._sent:
            return []
        first, self._sent = self._sent + 1, last
        return [(number, self.waiting[number]) for number in range(first, last + 1) if number in self.waiting]

    def overdue(self, count: int) -> list[tuple[int, Item]]:
        """What to send once more: the first that were sent and are not kept; else one that is open, as a reminder."""
        numbers = range(self.kept + 1, self._sent + 1)
        found = list(islice(((each, self.waiting[each]) for each in numbers if each in self.waiting), count))
        return found or list(islice(self.waiting.items(), 1))

    def rewind(self) -> None:
        """Counts nothing as sent that is not kept: the connection is a new one."""
        self._sent = self.kept

    def settle(self, kept: int, open_: Runs) -> list[tuple[int, Item]]:
        """The other end has all up to `kept`; returns what need not be waited for any longer."""
        kept = min(kept, self.next - 1)
        judged = both(self._open, ((1, kept),)) if 0 < kept < self.kept else self._open if kept else ()
        if kept > self.kept:
            judged = joined(judged, ((self.kept + 1, kept - self.kept),))
            self.kept = kept
            self._sent = max(self._sent, kept)
        done = minus(judged, open_)
        self._open = joined(minus(self._open, judged), both(judged, open_))
        return [(number, self.waiting.pop(number)) for number in numbers_in(done) if number in self.waiting]


class Incoming(Generic[Item]):
    """What came in, up to where it is complete."""

    __slots__ = ("_early", "taken")

    def __init__(self, taken: int = 0) -> None:
        self.taken = taken
        self._early: dict[int, Item] = {}

    def skip(self, number: int) -> None:
        """All up to this number will not come any more."""
        if number > self.taken:
            self.taken = number
            self._early = {each: item for each, item in self._early.items() if each > number}

    def put_off(self, number: int, item: Item) -> None:
        """Keeps an item for later, as one that came early."""
        if number > self.taken and len(self._early) < EARLY_MAX:
            self._early[number] = item

    def next_put_off(self) -> Item | None:
        """The item whose turn it is, if it was put off."""
        return self._early.pop(self.taken + 1, None)

    def receive(self, number: int, item: Item) -> list[tuple[int, Item]]:
        """Items whose turn it is now; none for one that is known or early."""
        if number <= self.taken:
            return []
        if number != self.taken + 1:
            if len(self._early) < EARLY_MAX:
                self._early[number] = item
            return []
        turn = [(number, item)]
        while (following := self._early.pop(turn[-1][0] + 1, None)) is not None:
            turn.append((turn[-1][0] + 1, following))
        self.taken = turn[-1][0]
        return turn
