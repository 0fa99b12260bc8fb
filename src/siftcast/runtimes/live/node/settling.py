"""Routing tables that index what was added to them as soon as nobody is adding any more.

An engine keeps new subscriptions aside and asks them one by one, 0.2 µs each for every event, until there are enough of
them to be worth an index. Between two bursts of subscriptions a node has time, so it has its tables settled
`QUIET_MS` after the last change. An index needs kernels, which take half a second to load, and ten to compile on a
machine that has never seen them; until a thread has done so (`warm_up`), a node serves without an index. Tables beyond
`ENTRIES_MAX` are left to the engine: to join a million entries takes seconds, in which the node would serve nobody.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

from siftcast.matching import Matcher, prepare
from siftcast.model import Filter

QUIET_MS = 20.0
ENTRIES_MAX = 50_000


class SettledTables:
    """Makes tables (`SettledTables.table` is a `TableFactory`) and settles them."""

    def __init__(self, loop: asyncio.AbstractEventLoop, engine: str = "auto") -> None:
        self._loop = loop
        self._engine = engine
        self._is_warm = False
        self._changed: set[_Table] = set()
        self._timer: asyncio.TimerHandle | None = None

    def table(self) -> Matcher:
        """A table of its own."""
        return _Table(self, self._engine)

    def warm_up(self) -> None:
        """Has the kernels made ready by a thread, and then settles what was added meanwhile."""
        prepare(self._call_loop)

    def _call_loop(self) -> None:
        with suppress(RuntimeError):  # the loop has ended meanwhile
            self._loop.call_soon_threadsafe(self._warmed)

    def _warmed(self) -> None:
        self._is_warm = True
        self.settle()

    def note(self, table: _Table) -> None:
        """A table has changed."""
        self._changed.add(table)
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_later(QUIET_MS / 1_000, self.settle)

    def settle(self) -> None:
        """Settles what has changed."""
        self._timer = None
        if not self._is_warm:
            return
        changed, self._changed = self._changed, set()
        for table in changed:
            if len(table) <= ENTRIES_MAX:
                table.settle()


class _Table(Matcher):
    __slots__ = ("__weakref__", "_owner")

    def __init__(self, owner: SettledTables, engine: str) -> None:
        super().__init__(engine)
        self._owner = owner

    def add(self, id: str, filter: Filter | str) -> None:
        super().add(id, filter)
        self._owner.note(self)

    def remove(self, id: str) -> None:
        super().remove(id)
        self._owner.note(self)

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other
