"""Where a node is: `host:port`, and whether only this machine can reach it."""

from __future__ import annotations

import ipaddress

DEFAULT_PORT = 7007


def parse_address(text: str) -> tuple[str, int]:
    """Host and port of `host:port` or `[host]:port`; raises ValueError with what would be accepted."""
    _, is_url, rest = text.partition("://")
    if is_url:  # clients write so; taken as the name of a host it would be looked up for ever
        tls = "[tls] in a configuration says whether it is encrypted"
        raise ValueError(f"nodes call each other at host:port, not at '{text}'; write {rest.strip('/')} ({tls})")
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65_535 or not host:
        raise ValueError(f"'{text}' is no address; write host:port, as in 127.0.0.1:{DEFAULT_PORT}")
    return host.strip("[]"), int(port)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a host."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
