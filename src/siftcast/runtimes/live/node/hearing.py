"""Answers to clients that wait until everybody who must know has heard what they subscribed to.

Most schemes pass a subscription on with their next message, so `Protocol.is_heard` is always true and the answer goes
out at once. In others a node first looks for its place, or has others confirm that they know: there an answer before
that would promise events that others do not send yet. No answer waits longer than WITHIN_S, because a part of the
network may be away, and a subscription that reaches the rest is better than none.

Answers wait for the node as a whole. To keep apart which of its subscriptions somebody has not confirmed yet would let
some go out earlier while others are on their way, and need a number on each confirmation.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

WITHIN_S = 8.0


class Hearing:
    """What waits to be answered; `is_heard` says whether nothing needs to."""

    def __init__(self, is_heard: Callable[[], bool]) -> None:
        self._is_heard = is_heard
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[Callable[[], None], asyncio.TimerHandle] = {}

    def answer(self, answer: Callable[[], None]) -> None:
        """Answers as soon as it is heard, or in time."""
        if self._is_heard():
            answer()
        else:
            self._waiting[answer] = self._loop.call_later(WITHIN_S, self._end, answer)

    def look(self) -> None:
        """Something has happened to the node."""
        if self._waiting and self._is_heard():
            for answer in tuple(self._waiting):
                self._end(answer)

    def _end(self, answer: Callable[[], None]) -> None:
        self._waiting.pop(answer).cancel()
        answer()
