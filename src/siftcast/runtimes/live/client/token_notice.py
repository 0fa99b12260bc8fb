"""Tells whoever runs a client that its token will expire, while there is time to get another.

The node says how long the token is good when it lets the client in, and again if that changes. A warning is logged a
week, a day and an hour before (`countdown`), once each however often the connection is made again. When the token has
expired the node ends the connection with `TokenExpired`, which is final.
"""

from __future__ import annotations

import asyncio
import logging
import time
from datetime import UTC, datetime

from siftcast.runtimes.live.countdown import Countdown, next_warning_s, time_left

_logger = logging.getLogger("siftcast")
_SLACK_S = 1.0
_LOOK_S_MAX = 86_400.0
"""A timer is no longer than this, in case the clock is set meanwhile."""
_SAME_S = 60.0
"""Two spans from one node differ by how long they were on their way; a token that is exchanged differs by more."""


class TokenNotice:
    """What a client knows of its token's end."""

    def __init__(self, where: str) -> None:
        self.expires: datetime | None = None
        self._where = where
        self._countdown = Countdown()
        self._end_s = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def heard(self, expires_in_ms: float | None) -> None:
        """The node said how long the token is good; for good, if that is None."""
        self.stop()
        if expires_in_ms is None:
            self.expires = None
            return
        end_s = time.time() + expires_in_ms / 1_000
        if abs(end_s - self._end_s) > _SAME_S:
            self._end_s = end_s
        try:
            self.expires = datetime.fromtimestamp(self._end_s, UTC)
        except (ValueError, OverflowError):  # so far away that no calendar has it
            self.expires = None
            return
        self._look()

    def stop(self) -> None:
        """Warns of nothing more for now."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        now_s = time.time()
        left_s = self._end_s - now_s
        if self._countdown.is_due("", self._end_s, now_s):
            _logger.warning(
                "the token of this client for %s expires in %s, at %s; ask whoever runs the node for another",
                self._where,
                time_left(left_s),
                None if self.expires is None else self.expires.isoformat(timespec="seconds"),
            )
        wait_s = next_warning_s(left_s)
        if wait_s is not None:
            wait_s = min(wait_s + _SLACK_S, _LOOK_S_MAX)
            self._timer = asyncio.get_running_loop().call_later(wait_s, self._look)
