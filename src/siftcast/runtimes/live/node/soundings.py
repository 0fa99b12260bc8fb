"""Calls that the protocol has not asked for: to learn how far away a node is, and whether it is there at all.

For those who plan (`measured`) every node of a planned network is measured once, also those that nothing is sent to:
one in a round, so that nobody is flooded. Whoever is to be declared gone is called first (`siftcast forget`), and has
`SEEK_S` to answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from random import Random

from siftcast.overlays.contract import NodeId

SEEK_S = 3.0
Hear = Callable[[bool], None]
"""Hears whether a node is there."""


class Soundings:
    """The nodes that are called for such a reason. `call` calls one at once."""

    def __init__(self, loop: asyncio.AbstractEventLoop, random: Random, call: Callable[[NodeId], None]) -> None:
        self._loop = loop
        self._random = random
        self._call = call
        self._measured_now: NodeId | None = None
        self._in_vain: set[NodeId] = set()
        self._sought: dict[NodeId, list[Hear]] = {}

    def __contains__(self, number: NodeId) -> bool:
        return number == self._measured_now or number in self._sought

    def measure_one(self, unmeasured: Collection[NodeId]) -> None:
        """Calls one of those that were never measured, unless they were called for that in vain."""
        left = sorted(set(unmeasured) - self._in_vain)
        self._measured_now = self._random.choice(left) if left else None
        if self._measured_now is not None:
            self._call(self._measured_now)

    def seek(self, number: NodeId, hear: Hear) -> None:
        """Calls a node to find out whether it is there."""
        if number in self._sought:
            self._sought[number].append(hear)
            return
        waiting = self._sought[number] = [hear]
        self._loop.call_later(SEEK_S, self._stop_seeking, number, waiting)
        self._call(number)

    def _stop_seeking(self, number: NodeId, waiting: list[Hear]) -> None:
        if self._sought.get(number) is waiting:
            self._found_out(number, is_there=False)

    def joined(self, number: NodeId) -> None:
        """A node is connected."""
        self._in_vain.discard(number)
        if number == self._measured_now:
            self._measured_now = None
        if number in self._sought:  # in a turn of its own: the connection is not all set up
            self._loop.call_soon(lambda: self._found_out(number, is_there=True))

    def failed(self, number: NodeId) -> None:
        """A call came to nothing."""
        if number == self._measured_now:
            self._in_vain.add(number)
            self._measured_now = None
        self._found_out(number, is_there=False)

    def _found_out(self, number: NodeId, *, is_there: bool) -> None:
        for hear in self._sought.pop(number, ()):
            hear(is_there)
