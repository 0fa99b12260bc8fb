"""Who is let in, and who is put out again: tokens expire and are revoked while their holders are connected.

    Hello ──▶ failed logins: wait? ──▶ principals: whose token? ──▶ revoked? expired? ──▶ inside
                                                                                           │
                        the calendar passes `expires`, or other principals are adopted ──▶ put out, with the reason

Everybody who was let in is remembered with the hash of the token that was shown, so what is found at the door holds
afterwards, too: each second who is inside is held against the calendar (`look`), and against new principals when the
configuration was read again (`adopt`). The calendar is the node's own clock, looked at and not waited for: whoever
sets it forward ends what has expired by it within a second.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from siftcast.model.errors import SiftcastError
from siftcast.runtimes.live.countdown import Countdown, time_left
from siftcast.runtimes.live.errors import ConnectionLost, TokenExpired, TooManyFailedLogins, Unauthorised
from siftcast.runtimes.live.logs import Logger
from siftcast.runtimes.live.node.audit import Audit, Who
from siftcast.runtimes.live.node.failed_logins import FailedLogins
from siftcast.runtimes.live.node.principals import Credential, Principals
from siftcast.runtimes.live.node.rights import Rights, hash_token
from siftcast.runtimes.live.wire.connection import Connection
from siftcast.runtimes.live.wire.frames import Hello, Role


@dataclass(frozen=True, slots=True)
class Caller:
    """Whoever says Hello, with the hash of the token that was shown; a node may be certified instead."""

    role: Role
    name: str
    hash: str
    who: Who
    is_certified: bool = False

    @classmethod
    def of(cls, hello: Hello, address: str, *, is_certified: bool = False) -> Caller:
        """The caller behind a Hello; of a client only the connection is certain until its token is known."""
        who = Who("", hello.name, address, hello.identity or None)
        is_certified = is_certified and hello.role != "client"
        return cls(hello.role, hello.name, hash_token(hello.token) if hello.token else "", who, is_certified)


class Access:
    """The door of a node."""

    def __init__(
        self,
        principals: Principals,
        failed_logins_per_minute: int,
        log: Logger,
        audit: Audit,
        *,
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.principals = principals
        self._failed = FailedLogins(failed_logins_per_minute)
        self._log = log
        self._audit = audit
        self._clock = clock
        self._monotonic = monotonic
        self._countdown = Countdown()
        self._inside: dict[Connection, tuple[Caller, Credential]] = {}

    # -- coming in -----------------------------------------------------------------------------------

    def admit(self, caller: Caller) -> Credential:
        """What whoever calls may do; raises Unauthorised or TooManyFailedLogins, and logs it."""
        if caller.is_certified or not self.principals:
            return self._judge(caller)
        try:
            self._failed.check(caller.who.address, self._monotonic())
        except TooManyFailedLogins:
            self._audit.count_unseen_login()
            if self._failed.refused & (self._failed.refused - 1) == 0:  # the 1st, 2nd, 4th, 8th … time
                self._log.warning("logins wait", address=caller.who.address, refused=self._failed.refused)
            raise
        try:
            credential = self._judge(caller)
        except Unauthorised as error:
            self._failed.failed(caller.who.address, self._monotonic())
            known = self.principals.find(caller.hash)
            principal = None if known is None else known.rights.principal
            reason = str(error).partition(": ")[2]
            self._log.warning(
                "refused", what="connection", principal=principal, address=caller.who.address, reason=reason
            )
            self._audit.note(caller.who.as_principal(principal or ""), "login", error.code, reason=reason)
            raise
        self._failed.admitted(caller.who.address)
        return credential

    def _judge(self, caller: Caller) -> Credential:
        """What a caller may do now; raises Unauthorised."""
        if not self.principals:
            return self.principals.everybody
        if caller.is_certified:
            return Credential(Rights(caller.name, node=True), self.principals.everybody.limits)
        credential, is_client = self.principals.find(caller.hash), caller.role == "client"
        if credential is None:
            reason = "its token is not known here" if caller.hash else "it shows no token"
        elif not is_client and not (credential.rights.node and credential.rights.principal == caller.name):
            reason = f"its token is not that of node '{caller.name[:80]}'"
        elif is_client and credential.rights.node:
            reason = "its token is a node's, which clients do not use"
        elif credential.is_revoked:
            reason = "its token was revoked"
        elif credential.expires_s <= self._clock():
            raise TokenExpired(f"the {caller.role} is not let in: its token has expired ({_said(credential)})")
        else:
            return credential
        raise Unauthorised(f"the {caller.role} is not let in: {reason}")

    def expires_in_ms(self, credential: Credential) -> float | None:
        """How long a token is good; None for one that does not expire."""
        left_s = credential.expires_s - self._clock()
        return None if left_s == float("inf") else 1_000 * left_s

    # -- being inside --------------------------------------------------------------------------------

    def entered(self, connection: Connection, caller: Caller, credential: Credential) -> None:
        """Somebody was let in over a connection."""
        self._inside[connection] = caller, credential

    def left(self, connection: Connection) -> None:
        """A connection is gone."""
        self._inside.pop(connection, None)

    def look(self) -> None:
        """Ends the connections of tokens that have expired, and warns of those that soon will."""
        now_s = self._clock()
        for connection, (caller, credential) in tuple(self._inside.items()):
            if credential.expires_s <= now_s:
                self._put_out(connection, caller, TokenExpired(f"its token has expired ({_said(credential)})"))
        names = set()
        for name, credential in self.principals.expiring():
            names.add(name)
            if self._countdown.is_due(name, credential.expires_s, now_s):
                left_s, expires = credential.expires_s - now_s, _said(credential)
                said = "token has expired" if left_s <= 0 else "token expires soon"
                remedy = "siftcast token new --another makes one; siftcast reload, and hand it out"
                self._log.warning(said, token=name, expires=expires, left=time_left(left_s), remedy=remedy)
        self._countdown.keep(names)

    # -- other principals ----------------------------------------------------------------------------

    def adopt(
        self, principals: Principals, failed_logins_per_minute: int
    ) -> tuple[list[Connection], list[tuple[Connection, Credential]]]:
        """Holds everybody inside to other principals; returns who was put out, and who has other rights now."""
        self.principals = principals
        self._failed.per_minute = failed_logins_per_minute
        out, changed = [], []
        for connection, (caller, before) in tuple(self._inside.items()):
            try:
                credential = self._judge(caller)
                if credential.rights.principal != before.rights.principal:
                    # Durable names and counts are its principal's, so it comes in once more, as who it is now.
                    raise ConnectionLost("it is another principal now, as the node's configuration has it; call again")
            except SiftcastError as error:
                out.append(connection)
                self._put_out(connection, caller, error)
            else:
                self._inside[connection] = caller, credential
                if credential is not before:
                    changed.append((connection, credential))
        return out, changed

    def _put_out(self, connection: Connection, caller: Caller, error: SiftcastError) -> None:
        principal = self._inside.pop(connection)[1].rights.principal
        self._log.warning(
            "put out", principal=principal, client=caller.name, address=caller.who.address, reason=str(error)
        )
        self._audit.note(caller.who.as_principal(principal), "put out", error.code, reason=str(error))
        connection.fail(error)


def _said(credential: Credential) -> str:
    return datetime.fromtimestamp(credential.expires_s, UTC).isoformat().replace("+00:00", "Z")
