"""Encryption: who proves what to whom.

A node proves by its certificate that it is the one that was called; clients and nodes that call check it, with the host
name of the address they called. Whoever calls proves who they are by a token (`rights`), inside the encrypted
connection. A node that calls shows its certificate as well, if that names its identity. TLS 1.2 is the oldest version
spoken, 1.3 what two of ours agree on.

A certificate may name the identity of its node as well (`IDENTITY_URI`). Then no other node can use it: whoever calls
refuses a node whose certificate names another.

Certificates are read when the node starts, and when it reads its configuration again: connections that stand keep those
they were made with, and others use the new ones.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from siftcast.model.showing import shown, shown_path
from siftcast.runtimes.live.errors import LiveError, UntrustedNode
from siftcast.runtimes.live.wire.connection import Connection

HANDSHAKE_WAIT_S = 10.0
IDENTITY_URI = "siftcast:node:"
"""A certificate with the alternative name URI:siftcast:node:4729581942038695057 is that of this node alone."""
Dial = Callable[[Callable[[], Connection]], Awaitable[Any]]
"""Connects a protocol to a node; raises OSError if none is there."""
Trust = bool | str | Path | ssl.SSLContext
"""Whom a client believes: True, the machine's authorities; a file with certificates of others; or a context."""


@dataclass(frozen=True, slots=True)
class NodeTls:
    """A node's two ends of encrypted connections: those it takes, and those it makes."""

    server: ssl.SSLContext
    client: ssl.SSLContext


def client_context(trust: Trust) -> ssl.SSLContext:
    """A context that checks certificates and host names; raises LiveError if the file cannot be used."""
    if isinstance(trust, ssl.SSLContext):
        return trust
    if not isinstance(trust, bool | str | Path):
        raise LiveError(f"tls is a file of certificates, an SSLContext or True, not {shown(trust)}")
    try:
        context = ssl.create_default_context(cafile=None if isinstance(trust, bool) else str(trust))
    except (OSError, ValueError) as error:
        raise LiveError(
            f"{shown_path(trust)}: no certificates of authorities: {words(error)}; a PEM file is wanted"
        ) from None
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def dial_tcp(host: str, port: int, tls: ssl.SSLContext | None = None) -> Dial:
    """Connections over TCP, encrypted with a context; raises UntrustedNode if a node does not prove who it is."""
    options: dict[str, Any] = {}
    if tls is not None:
        options = {"ssl": tls, "server_hostname": host, "ssl_handshake_timeout": HANDSHAKE_WAIT_S}

    async def dial(make: Callable[[], Connection]) -> None:
        try:
            await asyncio.get_running_loop().create_connection(make, host, port, **options)
        except ssl.SSLCertVerificationError as error:
            raise UntrustedNode(
                f"{host} did not prove that it is the node that was called: {error.verify_message}; name the authority "
                "that signed its certificate, or call it by a name that its certificate holds"
            ) from None

    return dial


def check_certified(certificate: Mapping[str, Any], identity: int) -> bool:
    """Whether a certificate names this identity; raises UntrustedNode if it names those of other nodes only."""
    names = (value for kind, value in certificate.get("subjectAltName", ()) if kind == "URI")
    named = [name.removeprefix(IDENTITY_URI) for name in names if name.startswith(IDENTITY_URI)]
    if named and str(identity) not in named:
        raise UntrustedNode(
            f"the certificate of the node that was met is that of node {' or '.join(named)}, and not of {identity}; "
            "are two addresses or two certificates exchanged?"
        )
    return bool(named)


def words(error: Exception) -> str:
    """What OpenSSL or the system says is wrong."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
