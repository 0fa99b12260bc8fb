"""Reading the configuration again while the node runs: all of it takes effect, or nothing.

    file ──read, until it rests──▶ parsed and checked ──▶ principals, certificates, audit log ──▶ adopted in one turn
             (a mistake anywhere: file, line, key, remedy, and nothing has changed)        of the loop, then drained

What takes effect: principals with their rights, tokens and limits; the limits that are asked at each request; the
certificate, its key and the authorities, for connections from then on; the node's own token; where the audit log is.
The rest of the file is compared with what the node runs by. What differs is named, and stays as it is until the node is
started again (`beyond`).

A file that is being written can be read half. It is taken once two looks SETTLE_S apart see the same. A half that rests
is mostly no TOML, and refused; principals that are missing from it are put out, so write a new file beside the old one
and rename it. A file without any principal is refused where there were some: to an accident it would open the node.

`drained`: when the answer is given, no byte that lies beyond the new rights is left in this process. What the system
has taken over by then is on its way. A client that does not read, and has lost something, is cut off with its queue.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from siftcast.model.errors import SiftcastError
from siftcast.runtimes.live.errors import ConfigurationError, Refused
from siftcast.runtimes.live.logs import Logger
from siftcast.runtimes.live.node.audit import Audit, open_audit_file
from siftcast.runtimes.live.node.certificates import node_tls
from siftcast.runtimes.live.node.configuration import (
    Configuration,
    ConfigurationFile,
    check_reach,
    check_tokens,
    load_configuration,
)
from siftcast.runtimes.live.node.line import NodeLine
from siftcast.runtimes.live.node.principals import Principals
from siftcast.runtimes.live.node.session import Session
from siftcast.runtimes.live.storage.audit_file import AuditFile
from siftcast.runtimes.live.wire.connection import Connection
from siftcast.runtimes.live.wire.frames import BOUNDS, Hello
from siftcast.runtimes.live.wire.tls import NodeTls

SETTLE_S = 0.1
_SETTLE_LOOKS = 50
_DRAIN_S = 0.25
_LOOK_S = 0.01
_FIXED_LIMITS = frozenset({"frame_bytes_max", "event_bytes_max", "event_depth_max", "kept_bytes_max"})
"""Limits that other nodes, clients or the store were told when the node started."""


@dataclass(frozen=True, slots=True)
class Reloaded:
    """What came of reading a configuration again."""

    changed: tuple[str, ...]
    """The keys that have other values now."""
    beyond: tuple[str, ...]
    """Those that differ from what the node runs by, and take effect when it is started again."""
    put_out: int
    """How many connections have ended."""
    narrowed: int
    """How many clients have lost subscriptions."""


@dataclass(frozen=True, slots=True)
class _Prepared:
    """All that can fail, before anything is changed."""

    file: ConfigurationFile
    principals: Principals
    tls: NodeTls | None
    audit: AuditFile | None


class Reloading:
    """Reads the configuration of a node again; `on_adopted` is given the file that the node runs by from then on."""

    def __init__(
        self,
        file: ConfigurationFile,
        line: NodeLine,
        audit: Audit,
        *,
        identity: int,
        listens_at: Callable[[], str],
        on_adopted: Callable[[ConfigurationFile], None],
        log: Logger,
    ) -> None:
        self._file = file
        self._line = line
        self._audit = audit
        self._identity = identity
        self._listens_at = listens_at
        self._on_adopted = on_adopted
        self._log = log
        self._one_at_a_time = asyncio.Lock()

    async def reload(self) -> Reloaded:
        """Reads the file again; raises ConfigurationError, or Refused if there is none, and then nothing has changed.

        Both are in the log as well, because nobody waits for an answer to a signal.
        """
        async with self._one_at_a_time:
            try:
                found = await self._reload()
            except SiftcastError as error:
                self._log.error("configuration not read again", reason=str(error), remedy="the node goes on as it was")
                self._audit.note(None, "configuration read again", error.code, reason=str(error))
                raise
        facts: dict[str, Any] = {"changed": list(found.changed), "put_out": found.put_out, "narrowed": found.narrowed}
        self._log.info("configuration read again", **facts)
        self._audit.note(None, "configuration read again", **facts)
        if found.beyond:
            remedy = "start the node again, and these take effect"
            self._log.warning("configuration differs", keys=list(found.beyond), remedy=remedy)
        return found

    async def _reload(self) -> Reloaded:
        if not self._file.is_read:
            raise Refused("this node was started without a configuration file, so there is nothing to read again")
        read = await read_settled(self._file.path)
        file, changed, beyond = merged(self._file, read)
        prepared = await asyncio.get_running_loop().run_in_executor(None, self._prepare, file)
        affected, put_out, narrowed = self._adopt(prepared)
        await _drain(affected)
        return Reloaded(changed, beyond, put_out, narrowed)

    def _prepare(self, file: ConfigurationFile) -> _Prepared:
        """Reads all that the configuration names; in a thread, since a thousand filters take a while."""
        if self._file.configuration.principal and not file.configuration.principal:
            problem = "there is no principal any more, so everyone on this machine could do everything"
            raise ConfigurationError(
                file.path, problem, key="principal", remedy="if that is meant, start the node again"
            )
        check_reach(file, self._listens_at().rpartition(":")[0].strip("[]"))
        check_tokens(file)
        principals, tls = Principals(file), node_tls(file, self._identity)
        return _Prepared(file, principals, tls, open_audit_file(file))  # the last: it is the one that must be closed

    def _adopt(self, prepared: _Prepared) -> tuple[list[Connection], int, int]:
        """Has everything take effect; returns the connections that lost something, and how many of which kind."""
        limits = prepared.file.configuration.limits
        self._file = prepared.file
        self._line.adopt_tls(prepared.tls)
        self._audit.adopt(prepared.file.configuration.audit, prepared.audit)
        self._on_adopted(prepared.file)
        access = self._line.access
        out, changed = access.adopt(prepared.principals, limits.failed_logins_per_minute)
        narrowed = []
        for connection, credential in changed:
            session = connection.handler
            if isinstance(session, Session):
                if session.hold_to(credential.rights, credential.limits):
                    narrowed.append(connection)
                if connection.version >= BOUNDS and not connection.closing:
                    hello = Hello(connection.version, "client")
                    connection.send(self._line.welcome(hello, access.expires_in_ms(credential)))
        return [*out, *narrowed], len(out), len(narrowed)


async def read_settled(path: str) -> ConfigurationFile:
    """A configuration that nobody is writing any more; raises ConfigurationError."""
    before = None
    for _ in range(_SETTLE_LOOKS):
        file = _attempt(path)
        if before is not None and _text(file) == _text(before):
            break
        before = file
        await asyncio.sleep(SETTLE_S)
    if isinstance(file, ConfigurationError):
        raise file
    return file


def _attempt(path: str) -> ConfigurationFile | ConfigurationError:
    try:
        return load_configuration(path)
    except ConfigurationError as error:
        return error


def _text(found: ConfigurationFile | ConfigurationError) -> str:
    return str(found) if isinstance(found, ConfigurationError) else found.text


def merged(
    before: ConfigurationFile, read: ConfigurationFile
) -> tuple[ConfigurationFile, tuple[str, ...], tuple[str, ...]]:
    """What a node runs by that has read another file; the keys that are different, and those that cannot be yet."""
    old, new = before.configuration, read.configuration
    takes_effect: dict[str, Any] = {"principal": new.principal, "audit": new.audit}
    if old.tls is not None and new.tls is not None:
        takes_effect["tls"] = new.tls
    fixed = {name: getattr(old.limits, name) for name in _FIXED_LIMITS}
    takes_effect["limits"] = msgspec.structs.replace(new.limits, **fixed)
    result = msgspec.structs.replace(old, **takes_effect)
    file = msgspec.structs.replace(read, configuration=result)
    return file, tuple(_differences(old, result)), tuple(_differences(result, new))


def _differences(old: Configuration, new: Configuration) -> list[str]:
    """The keys that have not the same values: whole tables where there is none in one of the two, or a list of them."""
    found = []
    for table in Configuration.__struct_fields__:
        one, other = getattr(old, table), getattr(new, table)
        if one == other:
            continue
        if not (isinstance(one, msgspec.Struct) and isinstance(other, msgspec.Struct)):
            found.append(table)
            continue
        fields = (name for name in one.__struct_fields__ if getattr(one, name) != getattr(other, name))
        found += [f"{table}.{name}" for name in fields]
    return found


async def _drain(connections: Sequence[Connection]) -> None:
    """Waits until what was queued is gone; cuts off who does not read it."""
    loop = asyncio.get_running_loop()
    until = loop.time() + _DRAIN_S
    left = list(connections)
    while left and loop.time() < until:
        await asyncio.sleep(_LOOK_S)
        left = [each for each in left if _has_queue(each)]
    for connection in left:
        connection.abort("its rights have changed, and it did not read what was sent to it before")


def _has_queue(connection: Connection) -> bool:
    session = connection.handler
    if isinstance(session, Session):
        return session.has_queue
    return bool(connection.pieces) or connection.queued_bytes > 0
