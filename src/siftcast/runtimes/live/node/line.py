"""How a node talks to whomever: its connections, and what it says about itself."""

from __future__ import annotations

import ssl
from collections.abc import Callable

from siftcast.overlays.contract import NodeId
from siftcast.runtimes.live.logs import Logger
from siftcast.runtimes.live.node.access import Access, Caller
from siftcast.runtimes.live.node.audit import OK, Audit
from siftcast.runtimes.live.node.certificates import node_tls
from siftcast.runtimes.live.node.configuration import ConfigurationFile
from siftcast.runtimes.live.node.damage import DamageLog
from siftcast.runtimes.live.node.principals import Credential, Principals
from siftcast.runtimes.live.wire.connection import Connection, Handler, Outbox, Watch
from siftcast.runtimes.live.wire.frames import HELLO_BYTES_MAX, VERSION, Hello, Welcome
from siftcast.runtimes.live.wire.tls import NodeTls, check_certified

_TURN_S = 0.01
"""How long one client or node may keep the others waiting, but for a single frame that takes longer."""


class NodeLine:
    """Makes connections that are watched, and whose damage is logged."""

    def __init__(
        self, file: ConfigurationFile, identity: NodeId, outbox: Outbox, watch: Watch, log: Logger, audit: Audit
    ) -> None:
        self._both_ends = node_tls(file, identity)
        self.access = Access(Principals(file), file.configuration.limits.failed_logins_per_minute, log, audit)
        self._audit = audit
        self._configuration = file.configuration
        self._identity = identity
        self._outbox = outbox
        self._watch = watch
        self._log = log
        self._damage = DamageLog(log)
        self._bound = ""

    def connection(self, handle: Callable[[Connection], Handler]) -> Connection:
        """A connection of this node, to whomever."""
        return Connection(
            self._outbox,
            handle,
            frame_bytes_max=HELLO_BYTES_MAX,
            queue_bytes_max=self._configuration.slow_consumers.queue_bytes_max,
            watch=self._watch,
            turn_s=_TURN_S,
            on_defect=lambda error: self._log.error("defect", error=str(error), exc_info=error),
            on_damage=self._damage.note,
        )

    @property
    def token(self) -> str:
        """By which this node tells others who it is."""
        return self.access.principals.own_token

    @property
    def tls(self) -> ssl.SSLContext | None:
        """How this node checks whom it calls; None where nothing is encrypted."""
        return None if self._both_ends is None else self._both_ends.client

    def server_tls(self) -> ssl.SSLContext | None:
        """How this node shows callers who it is."""
        return None if self._both_ends is None else self._both_ends.server

    def adopt_tls(self, both_ends: NodeTls | None) -> None:
        """Uses other certificates for connections from now on."""
        self._both_ends = both_ends

    def admit(self, hello: Hello, connection: Connection) -> Credential:
        """What whoever says Hello may do.

        Raises Unauthorised, TooManyFailedLogins, or UntrustedNode if it has the certificate of another node.
        """
        is_certified = hello.role != "client" and check_certified(connection.certificate, hello.identity)
        caller = Caller.of(hello, connection.address, is_certified=is_certified)
        credential = self.access.admit(caller)
        self.access.entered(connection, caller, credential)
        if hello.role != "client":  # what a client is called is only known when it has a session
            self._audit.note(caller.who.as_principal(credential.rights.principal), "login", OK, role=hello.role)
        return credential

    def welcome(self, hello: Hello, expires_in_ms: float | None = None) -> Welcome:
        """What this node answers to a Hello, in the newest version that both ends speak."""
        limits, name = self._configuration.limits, self._configuration.node.name
        interval_ms = self._configuration.heartbeat.interval_ms
        version = min(VERSION, hello.version)
        sizes = limits.frame_bytes_max, limits.event_bytes_max
        return Welcome(version, name, interval_ms, *sizes, self._identity, expires_in_ms=expires_in_ms)

    def bind(self, host: str, port: int) -> None:
        """The node listens there now."""
        self._bound = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def address(self) -> str:
        """Where the node listens, or is to."""
        return self._bound or self._configuration.node.listen

    def advertised(self) -> str:
        """Where other nodes can call this one; empty if nobody knows."""
        given = self._configuration.node.advertise
        if given is not None:
            return given
        host = self._bound.rpartition(":")[0].strip("[]")
        return "" if host in ("", "0.0.0.0", "::") else self._bound
