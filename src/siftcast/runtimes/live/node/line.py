"""How a node talks to whomever: its connections, and what it says about itself."""

from __future__ import annotations

import ssl
from collections.abc import Callable

from siftcast.runtimes.live.logs import Logger
from siftcast.runtimes.live.node.certificates import node_tls
from siftcast.runtimes.live.node.configuration import ConfigurationFile
from siftcast.runtimes.live.node.damage import DamageLog
from siftcast.runtimes.live.node.rights import Access, Rights
from siftcast.runtimes.live.wire.connection import Connection, Handler, Outbox, Watch
from siftcast.runtimes.live.wire.frames import HELLO_BYTES_MAX, VERSION, Hello, Welcome

_TURN_S = 0.01
"""How long one client or node may keep the others waiting, but for a single frame that takes longer."""


class NodeLine:
    """Makes connections that are watched, and whose damage is logged."""

    def __init__(self, file: ConfigurationFile, outbox: Outbox, watch: Watch, log: Logger) -> None:
        both_ends = node_tls(file)
        self.access = Access(file, log)
        self.token = self.access.token
        self.tls = None if both_ends is None else both_ends.client
        """How this node checks whom it calls; None where nothing is encrypted."""
        self.server_tls: ssl.SSLContext | None = None if both_ends is None else both_ends.server
        self._configuration = file.configuration
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

    def admit(self, hello: Hello, address: str) -> Rights:
        """The rights of whoever says Hello; raises Unauthorised."""
        return self.access.admit(hello, address)

    def welcome(self) -> Welcome:
        """What this node answers to a Hello."""
        limits, name = self._configuration.limits, self._configuration.node.name
        interval_ms = self._configuration.heartbeat.interval_ms
        return Welcome(VERSION, name, interval_ms, limits.frame_bytes_max, limits.event_bytes_max)

    def bind(self, host: str, port: int) -> None:
        """The node listens there now."""
        self._bound = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def address(self) -> str:
        """Where the node listens, or is to."""
        return self._bound or self._configuration.node.listen
