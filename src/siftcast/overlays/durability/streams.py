"""Numbered streams over links that lose, delay, repeat and reorder: both ends of one.

`Outgoing` keeps what was not acknowledged and says what to send, a window at a time. `Incoming` lets each number
through once and in order, and keeps a few that came early. Neither knows what it carries.
"""

from __future__ import annotations

from collections.abc import Collection
from itertools import islice
from typing import Generic, TypeVar

Item = TypeVar("Item")
EARLY_MAX = 1_024
"""How many items that came before their turn are kept; others are dropped, and sent again."""


class Outgoing(Generic[Item]):
    """What is to arrive at the other end; numbers begin with 1."""

    __slots__ = ("_kept", "_sent", "next", "waiting")

    def __init__(self, next: int = 1) -> None:
        self.next = next
        self.waiting: dict[int, Item] = {}
        self._sent = next - 1
        self._kept = 0

    @property
    def base(self) -> int:
        """The first number that may still be asked for."""
        return next(iter(self.waiting), self.next)

    @property
    def kept(self) -> int:
        """The last number that the other end said it has."""
        return self._kept

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
        self._sent = self.base - 1

    def unsent(self, window: int) -> list[tuple[int, Item]]:
        """What to send now for the first time, so that at most `window` are under way."""
        last = min(self.next - 1, max(self._kept, self.base - 1) + window)
        if last <= self._sent:
            return []
        first, self._sent = self._sent + 1, last
        return [(number, self.waiting[number]) for number in range(first, last + 1) if number in self.waiting]

    def oldest(self, count: int) -> list[tuple[int, Item]]:
        """What to send once more, of what was sent and not acknowledged."""
        return [pair for pair in islice(self.waiting.items(), count) if pair[0] <= self._sent]

    def rewind(self) -> None:
        """Counts nothing as sent: the connection is a new one."""
        self._sent = self.base - 1
        self._kept = min(self._kept, self._sent)

    def settle(self, kept: int, open_: Collection[int] = ()) -> list[tuple[int, Item]]:
        """The other end has all up to `kept`; returns what need not be kept any longer."""
        self._kept = max(self._kept, min(kept, self.next - 1))
        self._sent = max(self._sent, self._kept)
        done = []
        for number in self.waiting:
            if number > kept:
                break
            if number not in open_:
                done.append(number)
        return [(number, self.waiting.pop(number)) for number in done]


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
