"""What a subscription with keys does with each event before anybody sees it: open it, or count why not.

An event that is not opened is not an error of the subscriber's, who can do nothing about it: it is counted by reason
(`EventStream.unopened`), logged when it is the first of its reason and at each doubling, and acknowledged where it must
be, so that it never comes again and holds up nothing. Neither the count nor the log says anything that was sealed.

On a durable subscription an event is offered until it is answered, and after it was refused; that is no replay. It may
be at another position then, because a queue that moves to another node, when its own leaves, is counted there. Once it
is acknowledged it is not expected again, wherever it is offered.
"""

from __future__ import annotations

import logging
from collections import Counter
from time import time
from typing import NamedTuple

from siftcast.model import EventError
from siftcast.overlays.clear_parts import clear_part_of
from siftcast.overlays.wire_events import WireEvent
from siftcast.overlays.wire_values import printable
from siftcast.security import (
    AnyKeys,
    KeyRing,
    Opened,
    Opener,
    Reason,
    Replays,
    Rings,
    Run,
    SealError,
    UnopenedError,
    is_sealed,
)

_logger = logging.getLogger("siftcast")
_UNANSWERED_MAX = 10_000


class Trusted(NamedTuple):
    """Whom a subscription believes: publishers in the groups of these keys, and everybody if plain events come too."""

    keys: AnyKeys | None = None
    allow_plain: bool = False

    def opening(self, rings: Rings, *, is_durable: bool = False) -> Opening | None:
        """What the subscription opens with: its own keys, or those of its bus; raises SealError."""
        if type(self.allow_plain) is not bool:
            raise SealError("allow_plain is True or False")
        ring = rings.of(self.keys)
        if ring is None:
            if self.allow_plain:
                raise SealError("without keys all events come as they are; allow_plain is for subscriptions with keys")
            return None
        return Opening(ring, allow_plain=self.allow_plain, is_durable=is_durable)


class Opening:
    """Opens the events of one subscription."""

    __slots__ = ("_allow_plain", "_is_durable", "_opener", "_replays", "_shown_at", "_unanswered", "unopened")

    def __init__(self, ring: KeyRing, *, allow_plain: bool, is_durable: bool) -> None:
        self.unopened: Counter[Reason] = Counter()
        self._opener = Opener(ring)
        self._replays = Replays()
        self._allow_plain = allow_plain
        self._is_durable = is_durable
        self._unanswered: dict[tuple[Run, int], None] = {}
        self._shown_at: dict[int, tuple[Run, int]] = {}

    def open(self, event: WireEvent, position: int) -> Opened | None:
        """What was sealed, or None for a plain event where they are wanted too; raises UnopenedError."""
        if self._allow_plain and not is_sealed(event.payload):
            return None
        opened = open_event(self._opener, event, kept=self._is_durable)
        run = opened.publisher, opened.run, event.source
        shown = run, opened.number
        if shown not in self._unanswered and not self._replays.admit(run, opened.number):
            raise UnopenedError("replayed", f"number {opened.number} of '{opened.publisher}' was there before")
        if self._is_durable:
            self._unanswered[shown] = None
            self._shown_at[position] = shown
            if len(self._shown_at) > _UNANSWERED_MAX:  # refused too often, they wait as dead letters
                self.settled(next(iter(self._shown_at)))
        return opened

    def settled(self, position: int) -> None:
        """An event of a durable subscription was acknowledged, and is not expected again."""
        if (shown := self._shown_at.pop(position, None)) is not None:
            self._unanswered.pop(shown, None)

    def note(self, event: WireEvent, error: UnopenedError) -> None:
        """Counts an event that is not handed out."""
        self.unopened[error.reason] = count = self.unopened[error.reason] + 1
        if not count & (count - 1):
            _logger.warning("not opened, %s so far: event %r: %s", f"{count:,}", printable(event.id), error)


def open_event(opener: Opener, event: WireEvent, *, kept: bool) -> Opened:
    """What was sealed beside the clear part of this event; raises UnopenedError."""
    try:
        clear = clear_part_of(event.encoded, event.payload)
    except EventError as error:
        raise UnopenedError("malformed", str(error)) from None
    return opener.open(clear, event.payload, time(), kept=kept)
