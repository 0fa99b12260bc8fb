"""Which id has which slot, and in which order the ids came.

Slots are small integers, reused after removal, so that arrays indexed by slot do not grow while subscriptions come
and go.

A match takes no lock. It notes `sequence`, asks the engine for slots and then looks up their ids. If the sequence is
still the same, no slot has been given to another id meanwhile. If not, `ids_before` leaves out the slots that were
given away: the subscription found there was removed or added during the match, so the match may miss it. For that, a
freed slot keeps its id until it is given away, and giving it away raises the sequence first, sets the order next and
the id last.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from sys import getsizeof
from typing import Any

import numpy as np
import pyarrow as pa

from siftcast.matching.contract import Int32Array, Int64Array
from siftcast.model import SubscriptionError
from siftcast.model.showing import shown
from siftcast.model.values import is_text

Mask = np.ndarray[Any, np.dtype[np.bool_]]
ObjectArray = np.ndarray[Any, np.dtype[np.object_]]

_NUMBER_BYTES = getsizeof(2**20)


class SlotTable:
    """Ids by slot, slots by id, and the order of addition."""

    __slots__ = ("_ascending", "_free", "_ids", "_orders", "_slots", "_used", "replacements", "sequence")

    def __init__(self) -> None:
        self._slots: dict[str, int] = {}
        self._ids: ObjectArray = np.full(16, None, object)  # by slot; a free one keeps that of its last owner
        self._orders: Int64Array = np.zeros(16, np.int64)  # by slot; ascends with the order of addition
        self._used = 0  # slots handed out so far, free ones included
        self._free: list[int] = []
        self.sequence = 0  # the order of the next addition
        self.replacements = 0
        self._ascending = True  # whether slots themselves ascend in the order of addition

    def __len__(self) -> int:
        return len(self._slots)

    def __contains__(self, id: object) -> bool:
        return isinstance(id, str) and id in self._slots

    def __getitem__(self, id: str) -> int:
        slot = self._slots.get(id) if isinstance(id, str) else None
        if slot is None:
            raise SubscriptionError(f"there is no subscription {shown(id)}")
        return slot

    @property
    def nbytes(self) -> int:
        """About how many bytes the ids take, and the tables that find them."""
        numbers = _NUMBER_BYTES * len(self._slots)
        return sum(map(getsizeof, self._slots)) + getsizeof(self._slots) + numbers + 2 * self._orders.nbytes

    def all_slots(self) -> Int32Array:
        """Every slot that is taken, in any order."""
        return np.array(list(self._slots.values()), np.int32)

    def take(self, id: str) -> int:
        """A slot for a new id."""
        self._check(id, self._slots)
        if self._free:
            slot = self._free.pop()
            self._ascending = False
        else:
            slot = self._used
            self._used += 1
            self._reserve(self._used)
        order = self.sequence
        self.sequence = order + 1
        self._orders[slot] = order
        self._ids[slot] = id
        self._slots[id] = slot
        return slot

    def take_many(self, ids: Sequence[str]) -> list[int]:
        """Slots for many new ids, all or none."""
        if not all(map(_is_id, ids)):
            self._check(next(id for id in ids if not _is_id(id)), ())
        distinct = set(ids)
        if len(distinct) < len(ids) or not self._slots.keys().isdisjoint(distinct):
            seen: set[str] = set()
            for id in ids:
                self._check(id, self._slots)
                self._check(id, seen)
                seen.add(id)
        if self._free:
            return [self.take(id) for id in ids]
        first, last = self._used, self._used + len(ids)
        slots = list(range(first, last))
        self._used = last
        self._reserve(last)
        self._slots.update(zip(ids, slots, strict=True))
        self._ids[first:last] = ids
        self._orders[first:last] = np.arange(self.sequence, self.sequence + len(ids))
        self.sequence += len(ids)
        return slots

    def release(self, id: str) -> int:
        """Frees the slot of an id and returns it."""
        slot = self[id]
        del self._slots[id]
        self._free.append(slot)
        return slot

    def ids_of(self, slots: Sequence[int] | Int32Array) -> list[str]:
        """The ids of slots, in the order of addition; an array of slots may be put into that order itself."""
        if len(slots) < 2:
            return [self._ids[slot] for slot in slots]
        found = slots if isinstance(slots, np.ndarray) else np.array(slots)
        if self._ascending:
            found.sort()
        else:
            found = found[np.argsort(self._orders[found])]
        ids: list[str] = self._ids.take(found).tolist()
        return ids

    def ids_before(self, slots: Sequence[int] | Int32Array, sequence: int) -> list[str]:
        """As `ids_of`, without those that were added since."""
        found = np.unique(np.asarray(slots, np.int64))
        ids = self._ids[found]  # first: the order of an id that is new here is new already
        orders = self._orders[found]
        return [ids[place] for place in np.argsort(orders).tolist() if orders[place] < sequence]

    def added_since(self, slots: Int32Array, sequence: int) -> Mask:
        """Which of some slots were given away since."""
        added: Mask = self._orders[slots] >= sequence
        return added

    def note_replacement(self) -> None:
        """Lets a running match know that something changed under a slot that kept its id."""
        self.replacements += 1
        self.sequence += 1

    def names_of(self, slots: Int32Array) -> pa.Array:
        """The ids of slots as an Arrow array, as they come; null where a slot was never taken."""
        return pa.array(self._ids[slots], pa.string())

    def to_table(self) -> pa.Table:
        """Ids, slots and orders, with the next order to give and the number of slots as metadata."""
        slots = self.all_slots()
        columns = {"id": pa.array(self._slots.keys(), pa.large_string()), "slot": slots, "order": self._orders[slots]}
        # An engine may still name slots that are free, beyond the last one that is taken.
        counts = {"sequence": str(self.sequence), "used": str(self._used)}
        return pa.table(columns).replace_schema_metadata(counts)

    @classmethod
    def from_table(cls, table: pa.Table) -> SlotTable:
        """The table that `to_table` wrote."""
        self = cls()
        slots = table["slot"].to_numpy()
        ids = table["id"].to_pylist()
        self.sequence = int(table.schema.metadata[b"sequence"])
        self._slots = dict(zip(ids, slots.tolist(), strict=True))
        self._used = int(table.schema.metadata[b"used"])
        self._reserve(self._used)
        self._ids[slots] = np.array(ids, object)
        self._orders[slots] = table["order"].to_numpy()
        taken = np.zeros(self._used, bool)
        taken[slots] = True
        self._free = np.flatnonzero(~taken).tolist()
        self._ascending = bool((np.diff(self._orders[np.sort(slots)]) > 0).all())
        return self

    def _check(self, id: str, known: Iterable[str]) -> None:
        if not _is_id(id):
            raise SubscriptionError(f"a subscription id is a non-empty string of Unicode characters, not {shown(id)}")
        if id in known:
            raise SubscriptionError(f"there is a subscription {shown(id)} already; ids must be distinct")

    def _reserve(self, size: int) -> None:
        if size > len(self._ids):
            more = max(size, len(self._ids) + len(self._ids) // 4) - len(self._ids)
            self._ids = np.concatenate([self._ids, np.full(more, None, object)])
            self._orders = np.concatenate([self._orders, np.zeros(more, np.int64)])


def _is_id(id: object) -> bool:
    return isinstance(id, str) and id != "" and (id.isascii() or is_text(id))
