"""What routers answer to a probe, as the system tells it without special rights: Linux's queue of errors of a socket.

A packet that may pass N routers and no more comes back from the next one as an ICMP error. Reading ICMP needs rights
that a node must not have; but a UDP socket with IP_RECVERR is given the errors about what it sent itself:

    recvmsg(MSG_ERRQUEUE)    payload      what was sent, as far as the router quotes it; by RFC 792 it need not
                             ancillary    sock_extended_err: which error; then the address of who says so

Other systems have no such queue, and a node there says that it does not know (`is_supported`).
"""

from __future__ import annotations

import ipaddress
import socket
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from struct import Struct
from typing import Final, Literal, NamedTuple

Said = Literal["exceeded", "port unreachable", "unreachable"]
# Linux's numbers, for which the socket module has no names.
IP_RECVERR: Final = 11
IPV6_RECVERR: Final = 25
IPPROTO_IPV6: Final = 41
_ORIGINS: Final = {
    0: (2, {11: "exceeded", 3: "unreachable"}, 3),
    IPPROTO_IPV6: (3, {3: "exceeded", 1: "unreachable"}, 4),
}
"""By level: where the error comes from (ICMP), what its types are, and the code of an unreachable port."""
_RECVERR: Final = {0: IP_RECVERR, IPPROTO_IPV6: IPV6_RECVERR}
_read_error = Struct("=IBBBBII").unpack_from
_ERROR_BYTES: Final = 16
_ADDRESS_AT: Final = {0: (_ERROR_BYTES + 4, 4), IPPROTO_IPV6: (_ERROR_BYTES + 8, 16)}
"""Where in the ancillary data the address of who says it is, and how long."""
_ANCILLARY_BYTES: Final = 512
_PAYLOAD_BYTES: Final = 1_024

Ancillary = Iterable[tuple[int, int, bytes]]


class ProbeError(NamedTuple):
    """What somebody says about a probe; `quoted` is as much of its payload as came back."""

    said: Said
    address: str
    quoted: bytes


def is_supported() -> bool:
    """Whether this system tells what routers say."""
    return sys.platform == "linux" and hasattr(socket, "MSG_ERRQUEUE")


def probe_socket(family: socket.AddressFamily) -> socket.socket:
    """A socket whose errors are queued; raises OSError where that is not permitted."""
    probe = socket.socket(family, socket.SOCK_DGRAM)
    level = 0 if family == socket.AF_INET else IPPROTO_IPV6
    try:
        probe.setsockopt(level, _RECVERR[level], 1)
        probe.setblocking(False)
    except OSError:
        probe.close()
        raise
    return probe


def limit_hops(probe: socket.socket, hops: int) -> None:
    """What is sent from now on may pass so many routers, less one."""
    if probe.family == socket.AF_INET:
        probe.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, hops)
    else:
        probe.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_UNICAST_HOPS, hops)


def read_errors(probe: socket.socket) -> Iterator[ProbeError]:
    """All that waits in the queue; what is no answer of the network is left out."""
    with suppress(BlockingIOError):
        while True:
            quoted, ancillary, _, _ = probe.recvmsg(_PAYLOAD_BYTES, _ANCILLARY_BYTES, socket.MSG_ERRQUEUE)
            error = parse_error(quoted, ancillary)
            if error is not None:
                yield error


def parse_error(quoted: bytes, ancillary: Ancillary) -> ProbeError | None:
    """An entry of the queue; None if it is no answer of the network, such as an error of this machine itself."""
    for level, kind, data in ancillary:
        if _RECVERR.get(level) != kind or len(data) < sum(_ADDRESS_AT[level]):
            continue
        _, origin, type_, code, _, _, _ = _read_error(data)
        wanted, names, port = _ORIGINS[level]
        said = names.get(type_)
        if origin != wanted or said is None:
            continue
        at, length = _ADDRESS_AT[level]
        address = str(ipaddress.ip_address(data[at : at + length]))
        if said == "exceeded":
            return ProbeError("exceeded", address, quoted)
        return ProbeError("port unreachable" if code == port else "unreachable", address, quoted)
    return None
