"""One durable subscription: what it holds, what was offered, what was answered.

    position      3  4  7  8  12 15 16 20
                  history  │open│waiting          floor 7: all up to here was acknowledged
                  ✓  ✓  ✓  ?  ✓  …  …  …          beyond the floor, 12 was too

*History* was acknowledged and is kept to be replayed. *Open* was offered and not answered. Of a subscription only the
floor, what was acknowledged beyond it, and the refusals are written down, one record a write (`cursor/name`); the rest
follows from the log. What was dropped from among those that are held must not be taken up with them after a crash,
though another subscription holds it: the log then says that it is not for this one any more (`EventLog.exclude`).

Offers go out in the order of positions, at most a window of them unanswered. A refused event is offered again before
anything new. What was offered after it is not repeated, so a client that must not see it late takes a window of 1.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from heapq import heappop, heappush

import msgspec

from siftcast.model import Subscription
from siftcast.overlays.durability.contract import QueuePolicy
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
        "_again", "_beyond", "_bytes", "_history", "_key", "_ledger", "_log", "_oldest", "_open", "_restored",
        "_since_ms", "_unanswered", "_waiting", "born", "policy", "refusals", "subscription", "window",
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
        self._key = f"cursor/{subscription.id}"
        self._bytes = 0
        self._since_ms = float("inf")  # no first of those held came before
        self._history: dict[int, None] = {}  # in the order of answers
        self._oldest: list[int] = []  # a heap of the history, and of some that are no longer in it
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
    def unanswered_positions(self) -> Iterable[int]:
        """Those positions, ascending."""
        return self._unanswered.keys()

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
        if position <= self._restored.floor or position in self._beyond:
            self._hold(position, self._history)
            heappush(self._oldest, position)
        else:
            self._hold(position, self._unanswered)

    def keep(self) -> None:
        """Has the cursor written down."""
        self._ledger.later(self._key, self._stage_cursor)

    def _stage_cursor(self) -> None:
        floor = self.floor
        self._beyond = {each for each in self._beyond if each > floor}
        record = CursorRecord(floor, self._low, sorted(self._beyond), self.refusals)
        self._ledger.put(self._key, msgspec.msgpack.encode(record))

    @property
    def _low(self) -> int:
        """Nothing before this position is held."""
        first, beyond_floor = self.first_acknowledged(), self.floor + 1
        return beyond_floor if first is None else min(first, beyond_floor)

    # -- events ------------------------------------------------------------------------------------------

    def append(self, position: int, size: int, time_ms: float) -> None:
        """Holds a new event, which then `opens`, or has to `wait`."""
        self._unanswered[position] = None
        self._bytes += size
        if time_ms < self._since_ms:
            self._since_ms = time_ms

    def _hold(self, position: int, among: dict[int, None]) -> None:
        among[position] = None
        entry = self._log.hold(position)
        self._bytes += entry.size
        self._since_ms = min(self._since_ms, entry.time_ms)

    def opens(self, position: int) -> bool:
        """Whether an event that was just appended is to be offered at once; it is open then."""
        if self.window <= len(self._open) or self._again or self._waiting:
            return False
        self._open.add(position)
        return True

    def wait(self, position: int) -> None:
        """Has an event wait until others were offered."""
        if self.window:
            self._waiting.append(position)

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
        """Counts positions of the history as not answered."""
        back = list(positions)
        for position in back:
            del self._history[position]
        self._oldest = sorted(self._history)
        self._unanswered = dict.fromkeys(sorted([*back, *self._unanswered]))
        self._beyond = set(self._history)  # the floor may be anywhere below now; `_cursor` drops what is not beyond it
        self.keep()

    @property
    def history(self) -> Iterable[int]:
        """Acknowledged positions that are still held."""
        return self._history.keys()

    def drop_first_acknowledged(self) -> None:
        """Gives up the oldest event of the history."""
        first = self.first_acknowledged()
        if first is not None:
            self._give_up(first, self._history)

    def first_acknowledged(self) -> int | None:
        """The lowest position of the history, whatever the order of answers was."""
        while self._oldest and self._oldest[0] not in self._history:
            heappop(self._oldest)
        return self._oldest[0] if self._oldest else None

    def acknowledge(self, positions: Iterable[int]) -> None:
        """These were taken."""
        for position in positions:
            if position in self._unanswered:
                del self._unanswered[position]
                self._history[position] = None
                heappush(self._oldest, position)
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

    def is_within_limits(self, clock_ms: float) -> bool:
        """Whether there is surely nothing to trim, without a look at what is held."""
        policy = self.policy
        return (
            self._bytes <= policy.bytes_max
            and len(self._history) + len(self._unanswered) <= policy.events_max
            and self._since_ms >= clock_ms - policy.age_ms_max
        )

    def trim(self, clock_ms: float) -> list[int]:
        """Drops what is beyond the limits, acknowledged events first; returns the others."""
        while (first := self.first_acknowledged()) is not None and self._is_beyond_limits(first, clock_ms):
            self._give_up(first, self._history)
        expired: list[int] = []
        while self._unanswered and self._is_beyond_limits(lost := next(iter(self._unanswered)), clock_ms):
            expired.append(lost)
            self._give_up(lost, self._unanswered)
        self._since_ms = self.oldest_ms
        return expired

    def _is_beyond_limits(self, first: int, clock_ms: float) -> bool:
        """Whether the first of those held must go."""
        policy = self.policy
        too_much = len(self) > policy.events_max or self._bytes > policy.bytes_max
        return too_much or self._log[first].time_ms < clock_ms - policy.age_ms_max

    def discard(self, position: int) -> None:
        """Gives up on an event that was not acknowledged."""
        self._give_up(position, self._unanswered)

    def _give_up(self, position: int, among: dict[int, None]) -> None:
        """Holds an event no longer, also after a crash."""
        del among[position]
        self._open.discard(position)
        self._beyond.discard(position)
        self.refusals.pop(position, None)
        self._bytes -= self._log[position].size
        self._log.release(position)
        if position > self._low:  # else the cursor says that it is not held
            self._log.exclude(position, self.subscription.id)
        self.keep()

    def clear(self) -> None:
        """Lets go of everything, for good: who is made under this name later is born after all of it."""
        for position in (*self._history, *self._unanswered):
            self._log.release(position)

    @property
    def oldest_ms(self) -> float:
        """When the oldest event came that is held; infinity without one."""
        firsts = (self.first_acknowledged(), next(iter(self._unanswered), None))
        return min((self._log[first].time_ms for first in firsts if first is not None), default=float("inf"))
