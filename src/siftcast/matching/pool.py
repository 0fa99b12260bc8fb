"""Many matchers over the same subscriptions, when one process plays many nodes.

Five hundred simulated brokers hold a million routing entries between them, but only some thousand different
subscriptions, and an event passes hundreds of brokers unchanged. So each filter is indexed once, however many ids it
has, and an event is matched once. The result is a bit mask with one bit per subscription. A table is a bit mask as
well, and asking it is one AND.

    event ──▶ engine ──▶ 0 1 1 0 1 0 0 …        matched once, remembered for the last events
              table A    0 1 0 0 0 0 0 …  AND   any bit left?
              table B    0 0 0 0 0 1 1 …  AND

Python's integers are the masks: an AND of 10,000 bits takes a tenth of a microsecond. Listing what is left takes
longer, so for small tables, such as those of a broker's own subscribers, the matches are assigned to their holders at
once. The answers are those of one `Matcher` per table (a test compares them), except that ids come in the pool's own
order. A table has an id once, but while a subscription is being replaced some tables hold its old filter and some its
new one. Cost: N / 8 bytes per table, whatever it holds; one match per event.

Rejected: one engine per table, which costs 400 bytes for each of the million entries and one match per table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from siftcast.matching.matcher import Matcher
from siftcast.model import Event, Filter, SubscriptionError

_REMEMBERED_EVENTS = 4_096
_FEW = 64


class _Answer(NamedTuple):
    """What an event satisfies, whoever holds it."""

    event: Event  # held, so that its identity is not reused
    mask: int
    dealt: dict[PooledTable, list[str]]  # to small tables, as they were
    made_at: int  # by the pool's count of changes of small tables


class MatcherPool:
    """The subscriptions of all tables, each filter indexed once."""

    __slots__ = (
        "_alike", "_bits", "_filters", "_free", "_holders", "_ids", "_masks", "_matcher", "_named", "_names", "_small",
        "changes",
    )  # fmt: skip

    def __init__(self, engine: str = "auto") -> None:
        self._matcher = Matcher(engine)
        self._names: dict[Filter, str] = {}  # under which each filter is in the matcher
        self._alike: dict[str, set[int]] = {}  # the bits behind each of these names
        self._named = 0
        self._bits: dict[str, tuple[int, ...]] = {}
        self._ids: list[str] = []
        self._filters: list[Filter] = []
        self._holders: list[int] = []
        self._free: list[int] = []
        self._masks: dict[int, _Answer] = {}
        self._small: dict[int, list[PooledTable]] = {}  # the small tables that hold a bit
        self.changes = 0

    def table(self) -> PooledTable:
        """An empty table."""
        return PooledTable(self)

    def __len__(self) -> int:
        return len(self._ids) - len(self._free)

    def take(self, id: str, filter: Filter) -> int:
        """The bit of a subscription that a table begins to hold."""
        for bit in self._bits.get(id, ()):
            if self._filters[bit] is filter or self._filters[bit] == filter:
                self._holders[bit] += 1
                return bit
        if self._free:
            bit = self._free.pop()
            self._ids[bit], self._filters[bit], self._holders[bit] = id, filter, 1
        else:
            bit = len(self._ids)
            self._ids.append(id)
            self._filters.append(filter)
            self._holders.append(1)
        name = self._names.get(filter)
        if name is None:
            name = self._names[filter] = str(self._named)
            self._named += 1
            self._alike[name] = set()
            self._matcher.add(name, filter)
        self._alike[name].add(bit)
        self._bits[id] = (*self._bits.get(id, ()), bit)
        self._masks.clear()
        return bit

    def release(self, bit: int) -> None:
        """Notes that a table no longer holds a subscription; the last one to go takes it out of the index."""
        self._holders[bit] -= 1
        if not self._holders[bit]:
            id = self._ids[bit]
            name = self._names[self._filters[bit]]
            self._alike[name].remove(bit)
            if not self._alike[name]:
                self._matcher.remove(name)
                del self._alike[name], self._names[self._filters[bit]]
            others = tuple(other for other in self._bits[id] if other != bit)
            if others:
                self._bits[id] = others
            else:
                del self._bits[id]
            self._free.append(bit)
            self._masks.clear()

    def bit_in(self, mask: int, id: object) -> int | None:
        """The bit that a subscription has in a table's mask, None if it is not there."""
        for bit in self._bits.get(id, ()):  # type: ignore[call-overload]
            if mask >> bit & 1:
                return int(bit)
        return None

    def answer(self, event: Event) -> _Answer:
        """All subscriptions that an event satisfies."""
        known = self._masks.get(id(event))
        if known is not None:
            return known
        flags, bits = self._matched(event)
        mask = int.from_bytes(np.packbits(flags, bitorder="little").tobytes(), "little")
        dealt: dict[PooledTable, list[str]] = {}
        small, ids = self._small, self._ids
        for bit in bits:
            for table in small.get(bit, ()):
                hand = dealt.get(table)
                if hand is None:
                    dealt[table] = [ids[bit]]
                else:
                    hand.append(ids[bit])
        if len(self._masks) >= _REMEMBERED_EVENTS:
            self._masks.clear()
        found = self._masks[id(event)] = _Answer(event, mask, dealt, self.changes)
        return found

    def flags_of(self, event: Event) -> npt.NDArray[np.bool_]:
        """For each bit whether the event satisfies its subscription."""
        return self._matched(event)[0]

    def _matched(self, event: Event) -> tuple[npt.NDArray[np.bool_], list[int]]:
        bits: list[int] = []
        for name in self._matcher.match(event):
            bits += self._alike[name]
        bits.sort()
        flags = np.zeros(len(self._ids), dtype=np.bool_)
        flags[bits] = True
        return flags, bits

    def enlist(self, table: PooledTable, bit: int) -> None:
        """Notes that a small table holds a bit."""
        self._small.setdefault(bit, []).append(table)
        self.changes += 1

    def strike(self, table: PooledTable, bits: Iterable[int]) -> None:
        """Notes that a table holds bits no longer, or is not small any more."""
        for bit in bits:
            holders = self._small[bit]
            holders.remove(table)
            if not holders:
                del self._small[bit]
        self.changes += 1

    def view(self, tables: Iterable[PooledTable], without: Iterable[PooledTable] = ()) -> TableView:
        """What these tables hold, apart from what those hold, as a table of its own that cannot be changed.

        It does not count as a holder: the tables it was made of must stay as they are.
        """
        mask = gone = 0
        for table in tables:
            mask |= table._mask
        for table in without:
            gone |= table._mask
        found = TableView(self)
        found._mask, found._few = mask & ~gone, None
        return found

    def ids_in(self, mask: int) -> list[str]:
        """The ids behind the bits of a mask."""
        ids = self._ids
        if mask.bit_count() > 8:
            bits = np.frombuffer(mask.to_bytes(len(ids) // 8 + 1, "little"), dtype=np.uint8)
            return [ids[bit] for bit in np.flatnonzero(np.unpackbits(bits, bitorder="little"))]
        found = []
        while mask:
            lowest = mask & -mask
            found.append(ids[lowest.bit_length() - 1])
            mask ^= lowest
        return found


class PooledTable:
    """A set of the pool's subscriptions that answers as a `Matcher` of its own would."""

    __slots__ = ("_changed_at", "_few", "_mask", "_pool")

    def __init__(self, pool: MatcherPool) -> None:
        self._pool = pool
        self._mask = 0
        self._few: set[int] | None = set()  # the bits one by one, while they are few
        self._changed_at = 0

    def add(self, id: str, filter: Filter) -> None:
        """Adds a subscription; raises if the table has it."""
        if self._mask and id in self:
            raise SubscriptionError(f"subscription '{id}' exists already")
        bit = self._pool.take(id, filter)
        self._mask |= 1 << bit
        if self._few is not None:
            if len(self._few) < _FEW:
                self._few.add(bit)
                self._pool.enlist(self, bit)
            else:
                self._pool.strike(self, self._few)
                self._few = None
            self._changed_at = self._pool.changes

    def remove(self, id: str) -> None:
        """Removes a subscription; raises if there is none of this id."""
        bit = self._pool.bit_in(self._mask, id)
        if bit is None:
            raise SubscriptionError(f"there is no subscription '{id}'")
        self._pool.release(bit)
        self._mask ^= 1 << bit
        if self._few is not None:
            self._few.remove(bit)
            self._pool.strike(self, (bit,))
            self._changed_at = self._pool.changes

    def match(self, event: Event, limit: int | None = None) -> list[str]:
        """The ids an event satisfies; with a limit, at most that many."""
        answer = self._pool.answer(event)
        if self._few is not None and answer.made_at >= self._changed_at:
            dealt = answer.dealt.get(self)
            return [] if dealt is None else dealt[:limit]
        found = answer.mask & self._mask
        return self._pool.ids_in(found)[:limit] if found else []

    def match_any(self, event: Event) -> bool:
        """Whether the event satisfies any of them."""
        return self._pool.answer(event).mask & self._mask != 0

    def flags(self) -> npt.NDArray[np.bool_]:
        """For each bit of the pool whether the table holds it."""
        bits = np.frombuffer(self._mask.to_bytes(len(self._pool._ids) // 8 + 1, "little"), dtype=np.uint8)
        return np.unpackbits(bits, bitorder="little")[: len(self._pool._ids)].astype(np.bool_)

    def __contains__(self, id: object) -> bool:
        return self._pool.bit_in(self._mask, id) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(self._pool.ids_in(self._mask))

    def __len__(self) -> int:
        return self._mask.bit_count()


class TableView(PooledTable):
    """What other tables hold, see `MatcherPool.view`."""

    __slots__ = ()

    def add(self, id: str, filter: Filter) -> None:
        raise SubscriptionError(f"subscription '{id}' cannot be added: this table only shows what others hold")

    def remove(self, id: str) -> None:
        raise SubscriptionError(f"subscription '{id}' cannot be removed: this table only shows what others hold")
