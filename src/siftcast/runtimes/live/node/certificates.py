"""The certificate of a node and the authorities it believes, as its configuration names them."""

from __future__ import annotations

import ssl

from siftcast.runtimes.live.errors import LiveError
from siftcast.runtimes.live.node.configuration import ConfigurationFile
from siftcast.runtimes.live.wire.tls import NodeTls, client_context, words


def node_tls(file: ConfigurationFile) -> NodeTls | None:
    """What the configuration names; None where nothing is encrypted. Raises ConfigurationError."""
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
    return NodeTls(server, client)
