"""The routers on the way to an address, and how far each is: probes that may pass one router, two, three, ….

    node ──▶ R1 ──▶ R2 ──▶ target         hops    answer
       1 ····▶ ✗                             1    R1: exceeded
       2 ···········▶ ✗                      2    R2: exceeded
       3 ···················▶ ✗              3    target: nobody listens at this port

All probes of a walk have the same addresses and ports, so that a router which spreads flows over several ways sends
them the same way (Augustin and others, "Avoiding traceroute anomalies with Paris traceroute", IMC 2006). They are told
apart by their payload, which the error quotes. A router that quotes too little of it cannot be told from another; once
that is seen, probes go out one by one.

`WINDOW` probes are under way at a time. A hop that is silent is asked twice; after `SILENT_MAX` such hops in a row the
walk ends, and so it does after `WALK_S`. A walk that did not come to its end is `partial`, up to the last router that
said its name. Where not one did, nothing was found out: that is `unavailable`, with the reason.

It blocks (the loop of a node cannot wait for queues of errors), so it is called in a thread. It needs no rights.

Cost: about as many packets of 44 bytes as there are hops, and at most two for each hop up to `HOPS_MAX`.
"""

from __future__ import annotations

import errno
import select
import socket
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import Final, Literal

from siftcast.runtimes.live.node.error_queue import ProbeError, is_supported, limit_hops, probe_socket, read_errors

HOPS_MAX: Final = 30
WALK_S: Final = 3.0
SILENT_MAX: Final = 4
WINDOW: Final = 4
_WAIT_S: Final = 0.7
_TRIES: Final = 2
_PORT: Final = 33_434
"""Where traceroute's probes go by convention, and nobody listens."""
_TAG: Final = b"siftcast-hop"
_PAYLOAD_BYTES: Final = 16
_LOOK_S: Final = 0.05
_PENDING: Final = {errno.ECONNREFUSED, errno.EHOSTUNREACH, errno.ENETUNREACH, errno.EPROTO, errno.EACCES}
"""What sending may report although it is about an earlier probe; the queue says which."""

Status = Literal["ok", "partial", "unavailable"]


@dataclass(frozen=True, slots=True)
class Route:
    """The routers on a way, None for those that said nothing, and how far each is, one way; as `RouteInferred` has it.

    `reason` says why it is not `ok`.
    """

    status: Status
    routers: tuple[str | None, ...] = ()
    delays_ms: tuple[float | None, ...] = ()
    reason: str = ""
    probes: int = 0
    """How many were sent."""


def unavailable(reason: str) -> Route:
    """Nothing was found out."""
    return Route("unavailable", reason=reason)


def trace_route(host: str, *, is_stopped: Callable[[], bool] = lambda: False) -> Route:
    """Walks to a host; blocks for up to `WALK_S` and the time that looking up its name takes."""
    if not is_supported():
        return unavailable("this system does not tell a program what routers say about its packets")
    try:
        found = socket.getaddrinfo(host, _PORT, type=socket.SOCK_DGRAM)
    except (OSError, UnicodeError) as error:
        return unavailable(f"'{host}' is no address that could be looked up: {error}")
    family, _, _, _, address = found[0]
    try:
        with probe_socket(family) as probe:
            probe.connect(address)
            return _Walk(probe).run(is_stopped)
    except OSError as error:
        return unavailable(f"the system does not permit it: {error.strerror or error}")


class _Walk:
    """One walk; a *hop* is how many routers a probe may reach."""

    def __init__(self, probe: socket.socket) -> None:
        self._probe = probe
        self._own: str = probe.getsockname()[0]
        self._target: str = probe.getpeername()[0]
        self._sent_s: dict[tuple[int, int], float] = {}
        """When each probe was sent, by its hop and how many that hop had before."""
        self._open: set[tuple[int, int]] = set()
        self._tries: dict[int, int] = {}
        self._found: dict[int, tuple[str, float]] = {}
        self._window = WINDOW
        self._last = HOPS_MAX
        """The last hop that there is a reason to ask."""
        self._is_reached = False
        self._obstacle: tuple[str, int, float] | None = None
        """Who says that the target cannot be reached, about which hop, and how far away that is."""

    def run(self, is_stopped: Callable[[], bool]) -> Route:
        """Asks hop by hop until the target, silence or the time ends it."""
        poll = select.poll()
        poll.register(self._probe, 0)  # errors are reported without being asked for
        until_s = monotonic() + WALK_S
        while not is_stopped() and (now := monotonic()) < until_s:
            self._open = {each for each in self._open if now - self._sent_s[each] < _WAIT_S}
            while len(self._open) < self._window and (hop := self._next()) is not None:
                self._send(hop)
            if not self._open:
                break
            if poll.poll(_LOOK_S * 1_000):
                self._read()
        return self._route()

    def _next(self) -> int | None:
        """The hop to ask next: the nearest that is silent, or the first that was not asked yet."""
        silent = 0
        asked = {hop for hop, _ in self._open}
        for hop in range(1, self._last + 1):
            if hop in self._found:
                silent = 0
            elif hop not in asked and self._tries.get(hop, 0) < _TRIES:
                return hop
            else:
                silent += 1
                if silent == SILENT_MAX:
                    return None
        return None

    def _send(self, hop: int) -> None:
        """Sends a probe; an error of an earlier one that is reported instead is read, and it is sent then."""
        tried = self._tries.get(hop, 0)
        self._tries[hop] = tried + 1
        limit_hops(self._probe, hop)
        payload = _TAG + bytes((hop, tried))
        for _ in range(2 * WINDOW):
            self._sent_s[hop, tried] = monotonic()
            try:
                self._probe.send(payload.ljust(_PAYLOAD_BYTES, b"\0"))
            except BlockingIOError:  # the buffer is full; as good as lost on the way
                pass
            except OSError as error:
                if error.errno not in _PENDING or (not self._read() and not self._sent_before(hop, tried)):
                    raise
                continue
            break
        self._open.add((hop, tried))

    def _sent_before(self, hop: int, tried: int) -> bool:
        """Whether an error may be about an earlier probe."""
        return any(each != (hop, tried) for each in self._sent_s)

    def _read(self) -> bool:
        """Takes in what came; says whether anything did."""
        came_s, errors = monotonic(), list(read_errors(self._probe))
        for error in errors:
            asked = self._asked(error.quoted)
            if asked is not None:
                self._take(asked, error, (came_s - self._sent_s[asked]) * 1_000 / 2)
        return bool(errors)

    def _asked(self, quoted: bytes) -> tuple[int, int] | None:
        """Which probe an error is about; None if that cannot be told."""
        tag, rest = quoted[: len(_TAG)], quoted[len(_TAG) : len(_TAG) + 2]
        if tag == _TAG and len(rest) == 2:
            asked = rest[0], rest[1]
            return asked if asked in self._sent_s else None
        if len(self._open) == 1 and self._window == 1:
            return next(iter(self._open))
        self._window = 1
        return None

    def _take(self, asked: tuple[int, int], error: ProbeError, delay_ms: float) -> None:
        hop = asked[0]
        self._open = {each for each in self._open if each[0] != hop}
        if error.said == "port unreachable" or error.address == self._target:
            self._is_reached, self._last = True, min(self._last, hop - 1)
        elif error.said == "exceeded":
            self._find(hop, error.address, delay_ms)
        else:
            self._obstacle = error.address, hop, delay_ms
            self._last = min(self._last, hop)
        self._open = {each for each in self._open if each[0] <= self._last}

    def _find(self, hop: int, address: str, delay_ms: float) -> None:
        """Of two answers the quicker one counts: the first probe may have waited for the address of a neighbour."""
        known = self._found.get(hop)
        if known is None or (known[0] == address and delay_ms < known[1]):
            self._found[hop] = address, delay_ms

    def _route(self) -> Route:
        self._find_obstacle()
        last = self._last if self._is_reached else max((hop for hop in self._found if hop <= self._last), default=0)
        found = [self._found.get(hop, (None, None)) for hop in range(1, last + 1)]
        routers, delays_ms = tuple(router for router, _ in found), tuple(delay_ms for _, delay_ms in found)
        count = len(self._sent_s)
        if self._is_reached:
            return Route("ok", routers, delays_ms, "", count)
        said = "" if self._obstacle is None else f"{self._obstacle[0]} says that it cannot be reached"
        if found:
            return Route("partial", routers, delays_ms, said or f"silent beyond {routers[-1]}", count)
        return Route("unavailable", reason=said or "nobody on the way says anything", probes=count)

    def _find_obstacle(self) -> None:
        """Whoever gives up on a probe may be the router before the hop that was asked, or this machine itself."""
        if self._obstacle is None:
            return
        address, hop, delay_ms = self._obstacle
        if address != self._own and all(address != known for known, _ in self._found.values()):
            self._find(hop, address, delay_ms)
