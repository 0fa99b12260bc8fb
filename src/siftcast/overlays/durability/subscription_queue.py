"""One durable subscription: what it holds, what was offered, what was answered.

    position      3  4  7  8  12 15 16 20
                  history  │open│waiting          floor 7: all up to here was acknowledged
                  ✓  ✓  ✓  ?  ✓  …  …  …          beyond the floor, 12 was too

*History* was acknowledged and is kept to be replayed. *Open* was offered and not answered. Of a subscription only the
floor, what was acknowledged beyond it, and the refusals are written down, one record a write (`cursor/name`); the rest
follows from the log.

Offers go out in the order of positions, at most a window of them unanswered. A refused event is offered again before
anything new. What was offered after it is not repeated, so a client that must not see it late takes a window of 1.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

import msgspec

from siftcast.model import Subscription
from siftcast.overlays.contract import QueuePolicy
from siftcast.overlays.durability.event_log import EventLog
from siftcast.overlays.durability.ledger import Ledger


class CursorRecord(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """How far a subscription is; it holds nothing before `low`."""

    floor: int
    low: int
    beyond: list[int]
    refusals: dict[int, int]


class SubscriptionQueue:
    """The queue behind a durable subscription."""

    __slots__ = (
        "_again", "_beyond", "_bytes", "_history", "_ledger", "_log", "_open", "_restored", "_unanswered", "_waiting",
        "born", "policy", "refusals", "subscription", "window",
    )  # fmt: skip

    def __init__(
        self, subscription: Subscription, policy: QueuePolicy, born: int, log: EventLog, ledger: Ledger
    ) -> None:
        self.subscription = subscription
        self.policy = policy
        self.born = born
        """The last position before the subscription was made."""
        self.window = 0
        """How many offers the attached client takes; 0 without a client."""
        self.refusals: dict[int, int] = {}
        self._log = log
        self._ledger = ledger
        self._bytes = 0
        self._history: dict[int, None] = {}
        self._unanswered: dict[int, None] = {}  # open or waiting, ascending
        self._open: set[int] = set()
        self._again: deque[int] = deque()
        self._waiting: deque[int] = deque()
        self._beyond: set[int] = set()
        self._restored = CursorRecord(born, 0, [], {})

    def __len__(self) -> int:
        return len(self._history) + len(self._unanswered)

    @property
    def unanswered(self) -> int:
        """How many events were not acknowledged yet."""
        return len(self._unanswered)

    @property
    def floor(self) -> int:
        """All positions up to this one are done with."""
        return next(iter(self._unanswered), self._log.last + 1) - 1

    # -- crashes -----------------------------------------------------------------------------------------

    def restore(self, data: bytes) -> None:
        """Says how far an earlier life was; before its positions are taken up."""
        self._restored = msgspec.msgpack.decode(data, type=CursorRecord)
        self.refusals = dict(self._restored.refusals)
        self._beyond = set(self._restored.beyond)

    def take_up(self, position: int) -> None:
        """Holds a position of the log again, if it was held."""
        if position <= self.born or position < self._restored.low:
            return
        done = position <= self._restored.floor or position in self._beyond
        self._hold(position, self._history if done else self._unanswered)

    def keep(self) -> None:
        """Has the cursor written down."""
        key = f"cursor/{self.subscription.id}"
        self._ledger.later(key, lambda: self._ledger.put(key, self._cursor()))

    def _cursor(self) -> bytes:
        floor = self.floor
        self._beyond = {each for each in self._beyond if each > floor}
        low = min(next(iter(self._history), self._log.last + 1), floor + 1)
        return msgspec.msgpack.encode(CursorRecord(floor, low, sorted(self._beyond), self.refusals))

    # -- events ------------------------------------------------------------------------------------------

    def append(self, position: int) -> None:
        """A new event."""
        self._hold(position, self._unanswered)
        if self.window:
            self._waiting.append(position)

    def _hold(self, position: int, among: dict[int, None]) -> None:
        among[position] = None
        entry = self._log[position]
        entry.holders += 1
        self._bytes += entry.size

    def offers(self) -> Iterator[int]:
        """Positions to offer now; they are open from then on."""
        while self.window > len(self._open) and (self._again or self._waiting):
            position = (self._again or self._waiting).popleft()
            if position in self._unanswered:
                self._open.add(position)
                yield position

    def attach(self, window: int) -> None:
        """A client takes offers from now on, from the first that was not acknowledged."""
        self.window = window
        self._open.clear()
        self._again.clear()
        self._waiting = deque(self._unanswered)

    def detach(self) -> None:
        """No client any more."""
        self.attach(0)
        self._waiting.clear()

    def rewind(self, positions: Iterable[int]) -> None:
        """Counts acknowledged positions as not answered."""
        back = [position for position in positions if position in self._history]
        for position in back:
            del self._history[position]
            self._beyond.discard(position)
        self._unanswered = dict.fromkeys(sorted([*back, *self._unanswered]))
        self.keep()

    @property
    def history(self) -> Iterable[int]:
        """Acknowledged positions that are still held."""
        return self._history.keys()

    def acknowledge(self, positions: Iterable[int]) -> None:
        """These were taken."""
        for position in positions:
            if position in self._unanswered:
                del self._unanswered[position]
                self._history[position] = None
                self._beyond.add(position)
                self._open.discard(position)
                self.refusals.pop(position, None)
        self.keep()

    def refuse(self, position: int) -> int | None:
        """One was refused: how often by now, None if it was not open."""
        if position not in self._open:
            return None
        self._open.discard(position)
        count = self.refusals[position] = self.refusals.get(position, 0) + 1
        self._again.append(position)
        self.keep()
        return count

    # -- limits ------------------------------------------------------------------------------------------

    def trim(self, clock_ms: float) -> list[int]:
        """Drops what is beyond the limits, acknowledged events first; returns the others."""
        policy, log = self.policy, self._log
        expired: list[int] = []
        oldest_ms = clock_ms - policy.age_ms_max
        for among in (self._history, self._unanswered):
            while among and (
                len(self) > policy.events_max
                or self._bytes > policy.bytes_max
                or log[next(iter(among))].time_ms < oldest_ms
            ):
                position = next(iter(among))
                if among is self._unanswered:
                    expired.append(position)
                self._drop(position, among)
        if expired:
            self.keep()
        return expired

    def _drop(self, position: int, among: dict[int, None]) -> None:
        del among[position]
        self._open.discard(position)
        self.refusals.pop(position, None)
        self._bytes -= self._log[position].size
        self._log.release(position)

    def discard(self, position: int) -> None:
        """Gives up on an event that was not acknowledged."""
        if position in self._unanswered:
            self._beyond.add(position)
            self._drop(position, self._unanswered)
            self.keep()

    def clear(self) -> None:
        """Holds nothing any more."""
        for among in (self._history, self._unanswered):
            for position in list(among):
                self._drop(position, among)

    @property
    def oldest_ms(self) -> float:
        """When the oldest event came that is held; infinity without one."""
        firsts = [next(iter(among)) for among in (self._history, self._unanswered) if among]
        return min((self._log[position].time_ms for position in firsts), default=float("inf"))
