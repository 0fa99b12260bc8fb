"""What a node remembers of the events that passed it, so that one of them can be followed (`siftcast trace`).

The last `rows_max` occurrences are kept, whatever they are about: an event that was published, received, sent on,
delivered or refused here. A row holds names and numbers and never an event, and of many deliveries the first few, so
the memory is bounded by `rows_max` alone (a few MB for 10,000 rows). Events with ids longer than ID_LENGTH_MAX are not
remembered. Times are kept by the monotonic clock, which a loop reads only once a turn, so it is read here; they are
told by the calendar as it was when the node was started.

Cost: about 1 µs an event; finding an event goes through all rows.

Rejected: reading it from recordings. They are written when a node stops, and most nodes have none.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from siftcast.model import Event, Filter
from siftcast.overlays.contract import (
    Deliver,
    Effect,
    Message,
    MessageReceived,
    NodeId,
    PublishRequested,
    Refuse,
    SendMessage,
    Stimulus,
)
from siftcast.overlays.durability.contract import Offer

ID_LENGTH_MAX = 256
NAMED_MAX = 10
"""So many of the subscriptions to which an event was delivered are named; the others are counted."""
Row = tuple[str, float, str, Sequence[NodeId], type[Message] | None, Sequence[str], int]
"""Event, time, what happened, other nodes, kind of message, subscriptions (or the reason of a refusal), how many."""


class Hops:
    """The memory of one node."""

    def __init__(self, rows_max: int, calendar_ms: float) -> None:
        """`calendar_ms` is the calendar's time when the monotonic clock was 0 (`calendar_of_zero`)."""
        self._rows: deque[Row] = deque(maxlen=rows_max)
        self._calendar_ms = calendar_ms

    def __len__(self) -> int:
        return len(self._rows)

    def note(self, stimulus: Stimulus, effects: Sequence[Effect], now_ms: float) -> None:
        """A stimulus and what came of it."""
        kind = type(stimulus)
        if kind is PublishRequested:
            self._keep(stimulus.event.id, now_ms, "published")  # type: ignore[attr-defined]
        elif kind is MessageReceived:
            message = stimulus.message  # type: ignore[attr-defined]
            self._keep(message.event_id, now_ms, "received", (stimulus.sender,), type(message))  # type: ignore[attr-defined]
        offered: list[str] = []
        last: Event | None = None  # offers of an event come one after the other
        for effect in effects:
            effect_kind = type(effect)
            if effect_kind is Offer:
                if effect.event is not last:  # type: ignore[attr-defined]
                    if last is not None:
                        self._keep_offers(last, now_ms, offered)
                    last, offered = effect.event, []  # type: ignore[attr-defined]
                offered.append(effect.subscription)  # type: ignore[attr-defined]
            elif effect_kind is Deliver:
                ids = effect.subscriptions  # type: ignore[attr-defined]
                event = effect.event.id  # type: ignore[attr-defined]
                self._keep(event, now_ms, "delivered", (), None, tuple(ids[:NAMED_MAX]), len(ids))
            elif effect_kind is SendMessage:
                message = effect.message  # type: ignore[attr-defined]
                others = effect.destinations  # type: ignore[attr-defined]
                self._keep(message.event_id, now_ms, "sent", tuple(others), type(message))
            elif effect_kind is Refuse:
                self._keep(effect.request, now_ms, "refused", (), None, (effect.reason,))  # type: ignore[attr-defined]
        if last is not None:
            self._keep_offers(last, now_ms, offered)

    def _keep_offers(self, event: Event, now_ms: float, names: list[str]) -> None:
        self._keep(event.id, now_ms, "delivered", (), None, tuple(names[:NAMED_MAX]), len(names))

    def _keep(
        self,
        event: str | None,
        now_ms: float,
        what: str,
        others: Sequence[NodeId] = (),
        message: type[Message] | None = None,
        names: Sequence[str] = (),
        count: int = 0,
    ) -> None:
        if event is not None and len(event) <= ID_LENGTH_MAX:
            self._rows.append((event, now_ms, what, others, message, names, count))

    def of(
        self,
        event: str,
        nodes: Mapping[NodeId, str],
        filter_of: Callable[[str], Filter | None],
        shown: Callable[[str], str] = str,
    ) -> list[Mapping[str, Any]]:
        """What happened to an event, in order, in words that can be sent; `filter_of` knows subscriptions by id."""
        return [
            {
                "at_ms": now_ms + self._calendar_ms,
                "what": what,
                "nodes": [nodes[other] for other in others],
                "message": "" if message is None else message.__name__,
                "purpose": "" if message is None else _first_sentence(message.__doc__ or ""),
                "reason": names[0] if what == "refused" else "",
                "subscriptions": [] if what == "refused" else [_subscription(shown(id), filter_of(id)) for id in names],
                "count": count,
            }
            for found, now_ms, what, others, message, names, count in self._rows
            if found == event
        ]


def calendar_of_zero() -> float:
    """The calendar's time, in milliseconds, when the monotonic clock was 0: of several readings the most exact."""
    readings = []
    for _ in range(5):
        before, calendar, after = time.monotonic(), time.time(), time.monotonic()
        readings.append((after - before, calendar - (before + after) / 2))
    return min(readings)[1] * 1_000


def _subscription(id: str, filter: Filter | None) -> dict[str, str]:
    return {"id": id, "filter": "" if filter is None else str(filter)[:500]}


def _first_sentence(text: str) -> str:
    """What a message is for, as its class says."""
    return " ".join(text.split()).partition(". ")[0].rstrip(".")
