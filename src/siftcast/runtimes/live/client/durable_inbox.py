"""The client's end of a durable subscription: what was shown and not answered, across connections.

The node offers everything anew that it has no answer to when a connection was lost. A stream that outlives the
connection must not show it twice: an event that its reader still holds is not shown again, and one that was answered is
answered again. An event is known by its position and its id, because a node that lost its disk counts anew.

A process that ends forgets all this, so its successor sees once more what was not acknowledged: at least once.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from siftcast.model import Filter, SubscriptionError
from siftcast.model.showing import shown
from siftcast.model.values import is_text
from siftcast.overlays.durability.contract import QueuePolicy
from siftcast.overlays.wire_events import decode_wire
from siftcast.runtimes.live.client.bounds import NOTHING_MORE, Wishes
from siftcast.runtimes.live.client.opening import Opening, open_event
from siftcast.runtimes.live.client.received import AnswerableEvent, AnswerLine, Inbox, ReceivedEvent
from siftcast.runtimes.live.wire.frames import Letter, Subscribe
from siftcast.security import Opener, UnopenedError

SETTLED_MAX = 10_000
"""How many answers are remembered; the node waits for fewer at a time."""
WINDOW_MAX = 256
REASON_KEPT = "refused by a subscriber with keys, who keeps the reason"
"""What nodes hear of a refusal where events are opened: an error's text may quote what was sealed."""


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """An event that a durable subscription refused too often, and the last reason."""

    event: ReceivedEvent
    position: int
    refusals: int
    reason: str

    @classmethod
    def of(cls, letter: Letter, opener: Opener | None = None) -> DeadLetter:
        """The letter as it came over the wire, open if there are keys that open it."""
        encoded = bytes(letter.event)
        event = ReceivedEvent(decode_wire(encoded), encoded)
        if opener is not None:
            with suppress(UnopenedError):
                event.open_as(open_event(opener, event, kept=True))
        return cls(event, letter.position, letter.refusals, letter.reason)


class DurableInbox(Inbox):
    """The events of a durable subscription that wait to be looked at, or for an answer."""

    __slots__ = ("_line", "_open", "_refused", "_settled", "policy", "since_ms", "start")

    def __init__(
        self,
        number: int,
        filter: Filter,
        name: str,
        buffer: int,
        *,
        start: int | None,
        since: datetime | None,
        policy: QueuePolicy | None,
        wishes: Wishes = NOTHING_MORE,
        opening: Opening | None = None,
    ) -> None:
        super().__init__(number, filter, name, buffer, wishes, opening)
        if start is not None and since is not None:
            raise SubscriptionError("a replay begins at a position (start) or at a time (since), not at both")
        self.start = start
        self.since_ms = None if since is None else _milliseconds(since)
        self.policy = policy
        self._line: AnswerLine | None = None
        self._open: dict[int, tuple[str, int]] = {}
        self._settled: dict[int, str] = {}
        self._refused: dict[int, tuple[str, int, str]] = {}

    def subscribe_frame(self, request: int) -> Subscribe:
        """Asks for the subscription, from where a replay is to begin if there was none yet."""
        return Subscribe(
            request,
            self.number,
            str(self.filter),
            self.durable,
            min(self.buffer, WINDOW_MAX),
            self.start,
            self.since_ms,
            self.policy,
            self.wishes.delay_ms_max,
            self.wishes.bandwidth,
        )

    def stand(self) -> None:
        """The subscription stands: when it is taken up again, it goes on where it was."""
        self.start = self.since_ms = self.policy = None

    def take(self, line: AnswerLine, encoded: bytes, position: int, attempt: int, age_ms: float | None) -> None:
        """An event was offered."""
        self._line = line
        event = AnswerableEvent(encoded, position, attempt, age_ms, self.wishes.delay_ms_max)
        refused = self._refused.pop(position, None)
        if self._settled.get(position) == event.id:
            line.acknowledge(self.number, position)
        elif refused is not None and refused[:2] == (event.id, attempt):
            line.reject(self.number, position, refused[2])
        elif self._open.get(position) == (event.id, attempt):
            pass  # its reader has it still
        elif not self.opens(event, position):
            self._settle(position, event.id)
            line.acknowledge(self.number, position)
        else:
            self._open[position] = event.id, attempt
            event.answer_with(partial(self._answer, position, event.id, attempt))
            self.put(event)

    def _answer(self, position: int, id: str, attempt: int, reason: str | None) -> None:
        if self._open.get(position) != (id, attempt):
            return  # answered before
        del self._open[position]
        line = self._line if self._line is not None and not self._line.is_closed else None
        if reason is not None and self.opening is not None:
            reason = REASON_KEPT
        if reason is None:
            self._settle(position, id)
            if line is not None:
                line.acknowledge(self.number, position)
        elif line is not None:
            line.reject(self.number, position, reason)
        else:
            self._refused[position] = id, attempt, reason

    def _settle(self, position: int, id: str) -> None:
        self._settled[position] = id
        if len(self._settled) > SETTLED_MAX:
            del self._settled[next(iter(self._settled))]
        if self.opening is not None:
            self.opening.settled(position)


def answered_in(event: ReceivedEvent, call: Callable[[Callable[[], None]], None]) -> ReceivedEvent:
    """The event with its answers given through `call`, which has them done where the connection lives."""
    before = event.answers
    if before is not None and isinstance(event, AnswerableEvent):
        event.answer_with(lambda reason: call(partial(before, reason)))
    return event


def _milliseconds(time: datetime) -> float:
    try:
        return (time if time.tzinfo is not None else time.replace(tzinfo=UTC)).timestamp() * 1_000
    except (ValueError, OverflowError, TypeError):  # pandas' NaT says that it is a datetime
        raise SubscriptionError(f"since is a time within the years 1 to 9999, not {shown(time)}") from None


def check_durable(name: object, start: object = None, since: object = None, policy: QueuePolicy | None = None) -> None:
    """Raises SubscriptionError for what no durable subscription can be called, begin at, or keep."""
    if type(name) is not str or not is_text(name) or not 1 <= len(name) <= 127:
        rule = "use up to 127 letters, digits, and the signs _ . -"
        raise SubscriptionError(f"{shown(name)} cannot name a durable subscription; {rule}")
    if start is not None and (type(start) is not int or not 0 <= start < 2**63):
        raise SubscriptionError(f"start is a position, a whole number, not {shown(start)}")
    if since is not None and not isinstance(since, datetime):
        raise SubscriptionError(f"since is a datetime, not {shown(since)}")
    if not (policy is None or isinstance(policy, QueuePolicy)):
        raise SubscriptionError(f"policy is a QueuePolicy, not {shown(policy)}")
