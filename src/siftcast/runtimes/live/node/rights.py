"""Who may do what at a node: the rights of a principal are filters themselves (`principals` reads them).

    publish = F      may publish an event that matches F
    subscribe = G    may subscribe within G: to a filter of which it is certain that G covers it
    delay_ms_min     may ask for bounds on delay that are no tighter; without it, for any
    see              may ask what others subscribe to, and where events went
    operate          may have the node leave its network, others forgotten, and its configuration read again
    node             is another node of the network, and nothing else

What a principal's table does not name it may not do. Where there are no principals everyone may do everything, and the
configuration does not let such a node listen beyond its own machine.

A token is 256 random bits, so a plain SHA-256 of it is as hard to turn round as a slow one; people do not choose tokens
(`new_token`). The configuration holds hashes only. No function here puts a token into a message or a log.

Rights can change while a client is connected (`reloading`). What it asks for is judged by those that it has when it
asks, and what a durable subscription holds by those that it has when an event is shown (`may_read`).

`covers` answers "no" where it cannot decide, so a subscription is refused rather than let through; the message says how
to write it so that it can be decided. Cost: a publish is matched with one filter, and with none where all is allowed.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from typing import Any

from siftcast.model import Event, Filter
from siftcast.model.errors import SiftcastError
from siftcast.runtimes.live.errors import Forbidden
from siftcast.runtimes.live.logs import Logger
from siftcast.runtimes.live.node.audit import OK, Audit, Who
from siftcast.runtimes.live.node.audited import deed_of
from siftcast.runtimes.live.node.client_limits import ClientLimits
from siftcast.runtimes.live.wire.frames import Frame

_PREFIX = "siftcast_"


@dataclass(frozen=True, slots=True)
class Rights:
    """What one principal may do; None stands for nothing."""

    principal: str
    publish: Filter | None = None
    subscribe: Filter | None = None
    see: bool = False
    operate: bool = False
    node: bool = False
    everything: bool = False
    delay_ms_min: float | None = None

    def check_publish(self, event: Event) -> None:
        """Raises Forbidden unless the event may be published."""
        if self.everything:
            return
        if self.publish is None:
            raise Forbidden(f"principal '{self.principal}' may not publish")
        if not self.publish.matches(event):
            raise Forbidden(f"principal '{self.principal}' may publish only what matches: {self.publish}")

    def check_subscribe(self, filter: Filter) -> None:
        """Raises Forbidden unless whatever the filter lets through may be read."""
        if self.everything:
            return
        if self.subscribe is None:
            raise Forbidden(f"principal '{self.principal}' may not subscribe")
        if not self.subscribe.covers(filter):
            raise Forbidden(
                f"principal '{self.principal}' may subscribe only within: {self.subscribe}; "
                "join it to the filter with AND"
            )

    def may_read(self, event: Event) -> bool:
        """Whether an event may be shown."""
        return self.everything or (self.subscribe is not None and self.subscribe.matches(event))

    def check_bound(self, delay_ms_max: float | None) -> None:
        """Raises Forbidden if a bound on delay is tighter than what may be asked for."""
        least = self.delay_ms_min
        if delay_ms_max is not None and least is not None and delay_ms_max < least:
            raise Forbidden(
                f"principal '{self.principal}' may ask for bounds of {least:g} ms or more, not of {delay_ms_max:g} "
                "(delay_ms_min in its table)"
            )

    def check_see(self) -> None:
        """Raises Forbidden unless subscriptions of others may be shown."""
        if not (self.everything or self.see):
            raise Forbidden(f"principal '{self.principal}' may not see what others do; its table needs see = true")

    def check_operate(self) -> None:
        """Raises Forbidden unless nodes may be made to leave."""
        if not (self.everything or self.operate):
            raise Forbidden(f"principal '{self.principal}' may not operate the node; its table needs operate = true")


EVERYTHING = Rights("", everything=True)


class Guard:
    """Holds one client to its rights and limits. What its rights refuse is logged: the 1st, 2nd, 4th, 8th … time.

    A client that is refused a thousand times a second must not fill the node's disk with it. The audit log has each of
    its requests, and its publishes counted.
    """

    __slots__ = ("_audit", "_counts", "_log", "_refusals", "_who", "limits", "rights")

    def __init__(self, rights: Rights, limits: ClientLimits, log: Logger, who: Who, audit: Audit) -> None:
        self.rights = rights
        self.limits = limits
        self._log = log
        self._who = who
        self._audit = audit
        self._counts = audit.counts_of(rights.principal)
        self._refusals = 0

    def check_audited(self) -> None:
        """Raises LiveError if nothing may be done that could not be written down."""
        self._audit.check()

    def note(self, what: str, outcome: str = OK, **facts: Any) -> None:
        """Writes into the audit log what the client did."""
        self._audit.note(self._who, what, outcome, **facts)

    def note_request(self, frame: Frame, error: SiftcastError | None = None, **facts: Any) -> None:
        """Writes what the client asked for, and what came of it."""
        deed = deed_of(frame)
        reason = None if error is None else str(error)
        self.note(deed.what, OK if error is None else error.code, **deed.facts, **facts, reason=reason)

    def count_published(self) -> None:
        """A publish was taken."""
        self._counts.published += 1

    def count_refused(self, error: SiftcastError) -> None:
        """A publish was refused; the first of a minute is written, without the event."""
        if not self._counts.refused:
            self.note("publish", error.code)
        self._counts.refused += 1

    def publish(self, event: Event) -> None:
        """Raises Forbidden unless the client may publish this, and EventError if its id is too long."""
        self.limits.check_event(event)
        if self.rights.everything:
            return
        try:
            self.rights.check_publish(event)
        except Forbidden as error:
            self._note("publish", error)
            raise

    def subscribe(self, filter: Filter) -> None:
        """Raises Forbidden unless the client may subscribe to this."""
        try:
            self.rights.check_subscribe(filter)
        except Forbidden as error:
            self._note("subscribe", error)
            raise

    def bound(self, delay_ms_max: float | None) -> None:
        """Raises Forbidden unless the client may ask for such a bound on delay."""
        try:
            self.rights.check_bound(delay_ms_max)
        except Forbidden as error:
            self._note("bound", error)
            raise

    def see(self) -> None:
        """Raises Forbidden unless the client may see what others do."""
        try:
            self.rights.check_see()
        except Forbidden as error:
            self._note("see", error)
            raise

    def operate(self) -> None:
        """Raises Forbidden unless the client may have nodes leave and be forgotten."""
        try:
            self.rights.check_operate()
        except Forbidden as error:
            self._note("operate", error)
            raise

    def _note(self, what: str, error: Forbidden) -> None:
        self._refusals += 1
        if self._refusals & (self._refusals - 1) == 0:
            self._log.warning(
                "refused",
                what=what,
                principal=self.rights.principal,
                client=self._who.client,
                address=self._who.address,
                reason=str(error),
                refusals=self._refusals,
            )


def new_token() -> str:
    """A token that nobody can guess."""
    return _PREFIX + secrets.token_urlsafe(32)


def hash_token(token: str) -> str:
    """What the configuration holds in place of a token."""
    return "sha256:" + hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
