"""The certificate of a node and the authorities it believes, as its configuration names them.

A certificate that names the node's identity is shown to nodes that are called as well: it lets a node in that no list
and no token names. Others are not, because many are good for servers only.
"""

from __future__ import annotations

import ssl
from pathlib import Path

from siftcast.overlays.contract import NodeId
from siftcast.runtimes.live.errors import LiveError
from siftcast.runtimes.live.node.configuration import ConfigurationFile
from siftcast.runtimes.live.node.validity import first_certificate
from siftcast.runtimes.live.wire.tls import IDENTITY_URI, NodeTls, client_context, words

_URI_TAG = 0x86


def node_tls(file: ConfigurationFile, identity: NodeId | None = None) -> NodeTls | None:
    """What the configuration of a node names; None where nothing is encrypted. Raises ConfigurationError."""
    spec = file.configuration.tls
    if spec is None:
        return None
    for key, name in (("certificate", spec.certificate), ("key", spec.key), ("authorities", spec.authorities)):
        if name is not None and not file.beside(name).is_file():
            raise file.error(f"tls.{key}", f"there is no file {file.beside(name)}", "paths are relative to this file")
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        # The empty password keeps OpenSSL from asking for one on the terminal.
        server.load_cert_chain(file.beside(spec.certificate), file.beside(spec.key), password="")
    except (OSError, ValueError) as error:  # an SSLError is an OSError
        remedy = "both are PEM files, the key belongs to the first certificate and is not encrypted"
        raise file.error("tls.certificate", f"cannot be used with its key: {words(error)}", remedy) from None
    try:
        client = client_context(True if spec.authorities is None else file.beside(spec.authorities))
    except LiveError as error:
        raise file.error("tls.authorities", str(error)) from None
    if spec.authorities is not None:
        # Callers may show a certificate, too. The machine's own authorities sign for everybody, so they prove nothing.
        server.load_verify_locations(file.beside(spec.authorities))
        server.verify_mode = ssl.CERT_OPTIONAL
        if _names_identity(file.beside(spec.certificate), identity):
            client.load_cert_chain(file.beside(spec.certificate), file.beside(spec.key), password="")
    return NodeTls(server, client)


def _names_identity(certificate: Path, identity: NodeId | None) -> bool:
    """Whether a node's certificate, the first in its file, says that it is this node's.

    Among its names this is a URI (tag 6 of a GeneralName): its tag, its length, and the plain text.
    """
    name = f"{IDENTITY_URI}{identity}".encode()
    return bytes((_URI_TAG, len(name))) + name in first_certificate(certificate)
