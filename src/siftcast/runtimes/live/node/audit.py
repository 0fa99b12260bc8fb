"""Who did what at a node, and what came of it: one line of JSON for each, in the order in which it happened.

    {"time": "2026-12-01T09:30:00.123Z", "node": "a", "what": "subscribe", "outcome": "ok", "principal": "desk",
     "client": "quotes", "address": "10.0.0.7:51034", "subscription": 1, "filter": "price < 95"}

`outcome` is `ok` or the code of the error that whoever asked was given. Tokens, payloads and attributes of events are
never in it; filters are, unless `filters = false`, because what somebody wanted to read is what an audit asks.
Publishes are counted by principal and minute: a line for each would be a second copy of the traffic. Of publishes that
are refused the first of a minute has a line, and the others are counted.

Where it cannot be written, as when its disk is full, the node does not go on as if nothing was. With `when_full =
"refuse"` whatever must have a line is refused until there is room: logins of clients, subscriptions, questions, and
what an operator wants. What goes on are the events of those who are connected, and the network: a full disk must not
stop what was allowed before. With `"go-on"` nothing is refused, and the lines that were lost are counted in one when
there is room again.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

import msgspec

from siftcast.runtimes.live.errors import LiveError
from siftcast.runtimes.live.logs import Logger
from siftcast.runtimes.live.node.configuration import AuditSpec, ConfigurationFile
from siftcast.runtimes.live.storage.audit_file import AuditFile, sync

OK = "ok"
TEXT_LENGTH_MAX = 4_096
"""So much of a filter or a reason is written."""
_MINUTE_S = 60.0


@dataclass(frozen=True, slots=True)
class Who:
    """Somebody at the other end of a connection; a node has an identity."""

    principal: str
    client: str
    address: str
    identity: int | None = None

    def as_principal(self, principal: str) -> Who:
        """The same, known by a token now."""
        return replace(self, principal=principal)


class Counts:
    """What a principal published in this minute."""

    __slots__ = ("published", "refused")

    def __init__(self) -> None:
        self.published = 0
        self.refused = 0


def open_audit_file(file: ConfigurationFile) -> AuditFile | None:
    """The file that a configuration names, if it names one; raises ConfigurationError."""
    spec = file.configuration.audit
    if spec is None:
        return None
    path = file.beside(spec.file)
    try:
        return AuditFile(path, spec.bytes_max, spec.files_max)
    except OSError as error:
        remedy = "name a file that this node may write"
        raise file.error("audit.file", f"{path}: {error.strerror or error}", remedy) from None


class Audit:
    """The audit log of a node; without a file nothing is written and nothing refused."""

    def __init__(self, spec: AuditSpec | None, file: AuditFile | None, node: str, log: Logger) -> None:
        self._spec = spec
        self._file = file
        self._node = node
        self._log = log
        self._counts: dict[str, Counts] = {}
        self._unseen_logins = 0
        self._minute_s: float | None = None
        self._trouble = ""
        self._syncing: asyncio.Future[None] | None = None

    def adopt(self, spec: AuditSpec | None, file: AuditFile | None) -> None:
        """Writes to another file from now on, or to the same one as it is called now."""
        self.count_minute()
        before, self._spec, self._file, self._trouble = self._file, spec, file, ""
        if before is None:
            return
        with suppress(OSError):
            before.flush()
        if file is not None:
            file.take_over(before)
            self._flush()
        elif before.is_stuck:
            self._log.error("audit log ends", file=str(before.path), reason="what waited to be written is lost")
        before.close()

    # -- what is written -----------------------------------------------------------------------------

    def check(self) -> None:
        """Raises LiveError if what is about to be done could not be written down; not `Refused`, which is final."""
        if self._file is None or not self._file.is_stuck or self._flush():
            return
        if self._spec is not None and self._spec.when_full == "refuse":
            raise LiveError(f"the node cannot write down what is done ({self._trouble}); try again when it can")

    def note(self, who: Who | None, what: str, outcome: str = OK, **facts: Any) -> None:
        """Writes that somebody did something, or would have; the node itself, if there is nobody."""
        if self._file is None or self._spec is None:
            return
        row: dict[str, Any] = {"time": _now(), "node": self._node, "what": what, "outcome": outcome}
        if who is not None:
            named = {"principal": who.principal, "client": who.client, "address": who.address}
            row |= {name: value for name, value in named.items() if value}
            row |= {} if who.identity is None else {"identity": who.identity}
        for name, value in facts.items():
            if value is not None and (name != "filter" or self._spec.filters):
                row[name] = value[:TEXT_LENGTH_MAX] if isinstance(value, str) else value
        try:
            self._file.append(msgspec.json.encode(row) + b"\n")
        except OSError as error:
            self._say_stuck(error)
        else:
            self._say_unstuck()

    def counts_of(self, principal: str) -> Counts:
        """Where the publishes of a principal are counted."""
        counts = self._counts.get(principal)
        if counts is None:
            counts = self._counts[principal] = Counts()
        return counts

    def count_unseen_login(self) -> None:
        """A login was refused without a look, because too many had failed."""
        self._unseen_logins += 1

    def count_minute(self) -> None:
        """Writes what was counted."""
        for principal, counts in self._counts.items():
            if counts.published or counts.refused:
                who = Who(principal, "", "")
                self.note(who, "publishes", OK, published=counts.published, refused=counts.refused)
            counts.published = counts.refused = 0
        if self._unseen_logins:
            self.note(None, "logins", "too-many-failed-logins", refused=self._unseen_logins)
            self._unseen_logins = 0

    # -- as time goes by -----------------------------------------------------------------------------

    def look(self, now_s: float) -> None:
        """Writes what is due, and what waits; has the rest on the disk. Called each second."""
        if self._minute_s is None:
            self._minute_s = now_s
        elif now_s - self._minute_s >= _MINUTE_S:
            self._minute_s = now_s
            self.count_minute()
        if self._file is None:
            return
        if self._file.is_stuck:
            self._flush()
        if self._syncing is None and (descriptor := self._file.take_unsynced()) is not None:
            self._syncing = asyncio.get_running_loop().run_in_executor(None, partial(sync, descriptor))
            self._syncing.add_done_callback(self._synced)

    def _synced(self, done: asyncio.Future[None]) -> None:
        self._syncing = None
        error = None if done.cancelled() else done.exception()
        if isinstance(error, OSError):
            self._say_stuck(error)

    def _flush(self) -> bool:
        """Whether all that waited is written."""
        assert self._file is not None
        try:
            self._file.flush()
        except OSError as error:
            self._say_stuck(error)
            return False
        self._say_unstuck()
        return True

    def _say_unstuck(self) -> None:
        if self._file is None or not (self._trouble or self._file.lost):
            return
        lost, self._file.lost, self._trouble = self._file.lost, 0, ""
        self._log.warning("audit log goes on", lost=lost)
        if lost:
            self.note(None, "lines lost", OK, count=lost)

    def _say_stuck(self, error: OSError) -> None:
        trouble = error.strerror or str(error)
        if trouble != self._trouble and self._file is not None and self._spec is not None:
            self._trouble = trouble
            remedy = "make room on its disk"
            refuses = self._spec.when_full == "refuse"
            self._log.error(
                "audit log stuck", file=str(self._file.path), reason=trouble, refuses=refuses, remedy=remedy
            )

    async def close(self) -> None:
        """Writes what was counted, and has all on the disk."""
        self.count_minute()
        if self._syncing is not None:
            await asyncio.gather(self._syncing, return_exceptions=True)
        if self._file is not None:
            self._file.close()
            self._file = None


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
