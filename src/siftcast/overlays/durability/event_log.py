"""The events that durable subscriptions of a node hold, each kept once however many hold it.

Positions ascend for as long as the node keeps its disk. A record, `log/position`, has the event, when it came, and the
names of the subscriptions that it was for; which of them still hold it is theirs to know (`subscription_queue`). An
event that nobody holds any more is dropped.

Cost: one record an event, whatever the number of subscriptions. It is written again where one of them gives up on the
event in the midst of what it holds, and others hold it too: dead letters, and limits while an older event waits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from siftcast.model import Event
from siftcast.overlays.durability.ledger import Ledger
from siftcast.overlays.wire_events import decode_event, encode_event

_END = "log-end"


class Logged:
    """An event in the log."""

    __slots__ = ("event", "holders", "names", "size", "time_ms")

    def __init__(self, event: Event, time_ms: float, names: Sequence[str], size: int) -> None:
        self.event = event
        self.time_ms = time_ms
        self.names = names
        self.size = size
        self.holders = 0


class EventLog:
    """Events by position."""

    __slots__ = ("_entries", "_ledger", "last")

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._entries: dict[int, Logged] = {}
        self.last = 0
        """The position given last."""

    def __len__(self) -> int:
        return len(self._entries)

    def __getitem__(self, position: int) -> Logged:
        return self._entries[position]

    def restore(self, records: Mapping[str, bytes]) -> Iterator[tuple[int, Sequence[str]]]:
        """Takes up the log of an earlier life; positions, and whom each is for, ascending."""
        found = {int(key[4:]): data for key, data in records.items() if key.startswith("log/")}
        if _END in records:
            self.last = msgspec.msgpack.decode(records[_END], type=int)
        for position in sorted(found):
            data = found[position]
            time_ms, names, event = msgspec.msgpack.decode(data, type=tuple[float, list[str], bytes])
            self._entries[position] = Logged(decode_event(event), time_ms, names, len(data))
            self.last = max(self.last, position)
            yield position, names

    def append(self, event: Event, names: Sequence[str], time_ms: float) -> int:
        """Keeps an event for some subscriptions; its position."""
        self.last += 1
        size = self._stage(self.last, event, names, time_ms)
        self._ledger.later(_END, self._stage_end)
        self._entries[self.last] = Logged(event, time_ms, names, size)
        return self.last

    def _stage(self, position: int, event: Event, names: Sequence[str], time_ms: float) -> int:
        data = msgspec.msgpack.encode((time_ms, names, encode_event(event)))
        self._ledger.put(f"log/{position}", data)
        return len(data)

    def _stage_end(self) -> None:
        self._ledger.put(_END, msgspec.msgpack.encode(self.last))

    def release(self, position: int) -> None:
        """One subscription holds it no longer."""
        entry = self._entries[position]
        entry.holders -= 1
        if entry.holders <= 0:
            self._drop(position)

    def exclude(self, position: int, name: str) -> None:
        """Has a subscription that let go of an event not take it up after a crash, should others still hold it.

        The size stays as it was counted by those.
        """
        entry = self._entries.get(position)
        if entry is not None:
            entry.names = [each for each in entry.names if each != name]
            self._stage(position, entry.event, entry.names, entry.time_ms)

    def sweep(self) -> None:
        """Drops what nobody holds, after all have taken up what they held in an earlier life."""
        for position in [each for each, entry in self._entries.items() if entry.holders <= 0]:
            self._drop(position)

    def _drop(self, position: int) -> None:
        del self._entries[position]
        self._ledger.forget(f"log/{position}")
