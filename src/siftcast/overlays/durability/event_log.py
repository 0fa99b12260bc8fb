"""The events that durable subscriptions of a node hold, each kept once however many hold it.

Positions ascend for as long as the node keeps its disk. A record, `log/position`, has the event, when it came, and the
names of the subscriptions that it was for; which of them still hold it is theirs to know (`subscription_queue`). An
event that nobody holds any more is dropped. In memory an event is its bytes; it is decoded when it is offered.

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


EVENT_BYTES = 300
"""What an event takes in memory beside its own bytes, about."""
DECODED_BYTES = 1_000
"""The same for one that is decoded."""
HOLDER_BYTES = 150
"""What it takes for each subscription that holds it."""


class Logged:
    """An event in the log."""

    __slots__ = ("encoded", "holders", "names", "size", "time_ms")

    def __init__(self, encoded: bytes, time_ms: float, names: Sequence[str], size: int) -> None:
        self.encoded = encoded
        self.time_ms = time_ms
        self.names = names
        self.size = size
        self.holders = 0


class EventLog:
    """Events by position."""

    __slots__ = ("_entries", "_latest", "_ledger", "kept_bytes", "last")

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._entries: dict[int, Logged] = {}
        self.last = 0
        """The position given last."""
        self.kept_bytes = 0
        """What all entries take in memory, about."""
        self._latest: tuple[int, Event] | None = None  # most are offered at once, and need not be decoded for that

    def __len__(self) -> int:
        return len(self._entries)

    def __getitem__(self, position: int) -> Logged:
        return self._entries[position]

    def event(self, position: int) -> Event:
        """The event at a position."""
        if self._latest is not None and self._latest[0] == position:
            return self._latest[1]
        return decode_event(self._entries[position].encoded)

    def restore(self, records: Mapping[str, bytes]) -> Iterator[tuple[int, Sequence[str]]]:
        """Takes up the log of an earlier life; positions, and whom each is for, ascending."""
        found = {int(key[4:]): data for key, data in records.items() if key.startswith("log/")}
        if _END in records:
            self.last = msgspec.msgpack.decode(records[_END], type=int)
        decode = msgspec.msgpack.Decoder(tuple[float, tuple[str, ...], bytes]).decode
        shared: dict[tuple[str, ...], tuple[str, ...]] = {}  # many events are for the same subscriptions
        for position in sorted(found):
            data = found[position]
            time_ms, names, event = decode(data)
            names = shared.setdefault(names, names)
            self._add(position, Logged(event, time_ms, names, len(data)))
            self.last = max(self.last, position)
            yield position, names

    def append(self, event: Event, names: Sequence[str], time_ms: float) -> int:
        """Keeps an event for some subscriptions; its position."""
        self.last += 1
        encoded = encode_event(event)
        size = self._stage(self.last, encoded, names, time_ms)
        self._ledger.later(_END, self._stage_end)
        self._add(self.last, Logged(encoded, time_ms, names, size))
        self._latest = self.last, event
        return self.last

    def _add(self, position: int, entry: Logged) -> None:
        self._entries[position] = entry
        self.kept_bytes += entry.size + EVENT_BYTES

    def _stage(self, position: int, encoded: bytes, names: Sequence[str], time_ms: float) -> int:
        data = msgspec.msgpack.encode((time_ms, names, encoded))
        self._ledger.put(f"log/{position}", data)
        return len(data)

    def _stage_end(self) -> None:
        self._ledger.put(_END, msgspec.msgpack.encode(self.last))

    def hold(self, position: int, holders: int = 1) -> Logged:
        """So many more subscriptions hold it."""
        entry = self._entries[position]
        entry.holders += holders
        self.kept_bytes += HOLDER_BYTES * holders
        return entry

    def release(self, position: int) -> None:
        """One subscription holds it no longer."""
        entry = self._entries[position]
        entry.holders -= 1
        self.kept_bytes -= HOLDER_BYTES
        if entry.holders <= 0:
            self._drop(position)

    def exclude(self, position: int, name: str) -> None:
        """Has a subscription that let go of an event not take it up after a crash, should others still hold it.

        The size stays as it was counted by those.
        """
        entry = self._entries.get(position)
        if entry is not None:
            entry.names = [each for each in entry.names if each != name]
            self._stage(position, entry.encoded, entry.names, entry.time_ms)

    def sweep(self) -> None:
        """Drops what nobody holds, after all have taken up what they held in an earlier life."""
        for position in [each for each, entry in self._entries.items() if entry.holders <= 0]:
            self._drop(position)

    def _drop(self, position: int) -> None:
        self.kept_bytes -= self._entries.pop(position).size + EVENT_BYTES
        self._ledger.forget(f"log/{position}")
