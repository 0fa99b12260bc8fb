"""What a node looks at each second, because it ends by the calendar or is written down by the minute.

Tokens that expire end the connections made with them (`access`); a certificate that expires is warned of; the audit log
writes what it has counted. The calendar is looked at, since a timer set a week ahead would not see the clock being set.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

from siftcast.runtimes.live.countdown import Countdown, time_left
from siftcast.runtimes.live.logs import Logger
from siftcast.runtimes.live.node.access import Access
from siftcast.runtimes.live.node.audit import Audit
from siftcast.runtimes.live.node.configuration import ConfigurationFile
from siftcast.runtimes.live.node.validity import expiry_of

LOOK_S = 1.0
_CERTIFICATE = "certificate"


class Upkeep:
    """Looks, from `start` to `stop`."""

    def __init__(self, access: Access, audit: Audit, log: Logger) -> None:
        self._access = access
        self._audit = audit
        self._log = log
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._countdown = Countdown()
        self._certificate_expires_s: float | None = None

    def start(self, file: ConfigurationFile) -> None:
        """Begins."""
        self.adopt(file)
        self._look()

    def stop(self) -> None:
        """Looks no more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def adopt(self, file: ConfigurationFile) -> None:
        """Looks at the certificate that a configuration names."""
        spec = file.configuration.tls
        self._certificate_expires_s = None if spec is None else _expiry(file.beside(spec.certificate))

    def _look(self) -> None:
        self._timer = self._loop.call_later(LOOK_S, self._look)
        self._access.look()
        self._audit.look(self._loop.time())
        self._warn_of_certificate()

    def _warn_of_certificate(self, clock: Callable[[], float] = time.time) -> None:
        expires_s, now_s = self._certificate_expires_s, clock()
        if expires_s is None or not self._countdown.is_due(_CERTIFICATE, expires_s, now_s):
            return
        left_s = expires_s - now_s
        said = "certificate has expired" if left_s <= 0 else "certificate expires soon"
        remedy = "put another in its place, and siftcast reload"
        self._log.warning(said, left=time_left(left_s), remedy=remedy)


def _expiry(certificate: Path) -> float | None:
    """When a certificate expires; None if that cannot be made out, since it has been found good by then."""
    try:
        return expiry_of(certificate).timestamp()
    except (OSError, ValueError):
        return None
