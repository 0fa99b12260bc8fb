"""Whom a client calls, and as whom: what it is told is checked before anything is connected."""

from __future__ import annotations

from urllib.parse import urlsplit

from siftcast.model.showing import shown
from siftcast.model.values import is_text
from siftcast.runtimes.live.errors import LiveError
from siftcast.runtimes.live.wire.addresses import DEFAULT_PORT


def check_caller(token: object, name: object, timeout_s: object) -> None:
    """Raises LiveError for what cannot say who calls, or how long to wait."""
    if not (token is None or is_text(token)) or not is_text(name):
        wrong = ("a token", token) if token is not None and not is_text(token) else ("the name of a client", name)
        raise LiveError(f"{wrong[0]} is a text of Unicode characters, not {shown(wrong[1])}")
    if isinstance(timeout_s, bool) or not isinstance(timeout_s, int | float) or not 0 < timeout_s < 1e9:
        raise LiveError(f"timeout_s is a positive number of seconds, not {shown(timeout_s)}")


def parse_url(url: str) -> tuple[str, int]:
    """Host and port of an address; raises LiveError."""
    if not is_text(url):
        raise LiveError(f"an address is a text such as siftcast://localhost:{DEFAULT_PORT}, not {shown(url)}")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise LiveError(f"{shown(url)} is no address: {error}") from None
    if parts.scheme not in ("siftcast", "siftcasts") or not parts.hostname or parts.path not in ("", "/"):
        raise LiveError(
            f"{shown(url)} is no address; write siftcast://host:port, as in siftcast://localhost:{DEFAULT_PORT}"
        )
    return parts.hostname, DEFAULT_PORT if port is None else port
