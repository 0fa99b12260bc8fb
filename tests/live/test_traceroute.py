"""The routers on the way to an address: what the system tells of them, and walks through networks of namespaces."""

import socket
import struct
import time
from collections.abc import Iterator

import pytest

from siftcast.runtimes.live.node import error_queue, traceroute
from siftcast.runtimes.live.node.error_queue import IP_RECVERR, IPPROTO_IPV6, IPV6_RECVERR, ProbeError, parse_error
from siftcast.runtimes.live.node.traceroute import trace_route
from tests.live.namespaces import Ground, ground_of_namespaces

LINUX = pytest.mark.skipif(not error_queue.is_supported(), reason="only Linux tells what routers say")
EXCEEDED, UNREACHABLE, PORT = 11, 3, 3
EXCEEDED_6, UNREACHABLE_6, PORT_6 = 3, 1, 4


def entry(type_: int, code: int, address: str, *, origin: int = 2) -> list[tuple[int, int, bytes]]:
    """An error as it stands in the queue of a socket of IPv4."""
    error = struct.pack("=IBBBBII", 113, origin, type_, code, 0, 0, 0)
    return [(0, IP_RECVERR, error + struct.pack("=HH4s8x", 2, 0, socket.inet_aton(address)))]


def entry_6(type_: int, code: int, address: str) -> list[tuple[int, int, bytes]]:
    error = struct.pack("=IBBBBII", 113, 3, type_, code, 0, 0, 0)
    offender = struct.pack("=HHI16sI", 10, 0, 0, socket.inet_pton(socket.AF_INET6, address), 0)
    return [(IPPROTO_IPV6, IPV6_RECVERR, error + offender)]


def test_an_error_names_the_router_and_brings_back_what_it_quotes() -> None:
    assert parse_error(b"abc", entry(EXCEEDED, 0, "10.1.2.3")) == ProbeError("exceeded", "10.1.2.3", b"abc")
    assert parse_error(b"", entry(UNREACHABLE, PORT, "10.1.2.3")) == ProbeError("port unreachable", "10.1.2.3", b"")
    assert parse_error(b"", entry(UNREACHABLE, 1, "10.1.2.3")) == ProbeError("unreachable", "10.1.2.3", b"")
    assert parse_error(b"", entry_6(EXCEEDED_6, 0, "fd00::7")) == ProbeError("exceeded", "fd00::7", b"")
    assert parse_error(b"", entry_6(UNREACHABLE_6, PORT_6, "fd00::7")) == ProbeError("port unreachable", "fd00::7", b"")
    assert parse_error(b"", entry_6(UNREACHABLE_6, 0, "fd00::7")) == ProbeError("unreachable", "fd00::7", b"")


def test_what_is_no_answer_of_the_network_is_left_out() -> None:
    assert parse_error(b"", entry(EXCEEDED, 0, "10.1.2.3", origin=1)) is None  # this machine itself
    assert parse_error(b"", entry(5, 0, "10.1.2.3")) is None  # a redirect
    assert parse_error(b"", []) is None
    assert parse_error(b"", [(0, 8, b"")]) is None
    whole = entry(EXCEEDED, 0, "10.1.2.3")[0][2]
    assert parse_error(b"", [(0, IP_RECVERR, whole[:19])]) is None


@LINUX
def test_a_target_on_this_machine_is_reached_without_a_router() -> None:
    route = trace_route("127.0.0.1")
    assert (route.status, route.routers, route.reason) == ("ok", (), "")
    assert route.probes <= 2 * traceroute.WINDOW


def test_a_name_that_nobody_knows_is_no_route_with_nothing_on_it() -> None:
    route = trace_route("no-such-host.invalid")
    assert (route.status, route.routers) == ("unavailable", ())
    assert "no-such-host.invalid" in route.reason or not error_queue.is_supported()


def test_a_system_without_such_a_queue_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    route = trace_route("127.0.0.1")
    assert (route.status, route.routers) == ("unavailable", ())
    assert "this system" in route.reason


@LINUX
def test_a_sandbox_that_refuses_the_socket_is_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(family: int) -> socket.socket:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(traceroute, "probe_socket", refused)
    route = trace_route("127.0.0.1")
    assert (route.status, route.reason) == ("unavailable", "the system does not permit it: Operation not permitted")


# -- real routers ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ground() -> Iterator[Ground]:
    with ground_of_namespaces() as made:
        yield made


def walked(ground: Ground, host: str, target: str) -> traceroute.Route:
    return ground.inside(host, lambda: trace_route(target))


def test_routers_are_named_in_their_order_and_the_target_ends_the_route(ground: Ground) -> None:
    route = walked(ground, "h1", "10.89.3.2")
    assert (route.status, route.routers) == ("ok", ("10.89.1.2", "10.89.2.2"))
    assert all(delay_ms is not None and 0 < delay_ms < 1_000 for delay_ms in route.delays_ms)
    assert walked(ground, "h3", "10.89.1.1").routers == ("10.89.4.1",)
    assert walked(ground, "h2", "10.89.4.2").routers == ("10.89.3.1", "10.89.2.1")


def test_routers_of_the_newer_protocol_are_named_as_well(ground: Ground) -> None:
    route = walked(ground, "h1", "fd89:3::2")
    until_s = time.monotonic() + 20
    while route.status != "ok" and time.monotonic() < until_s:  # links that were just made lose what is asked first
        time.sleep(0.05)
        route = walked(ground, "h1", "fd89:3::2")
    assert (route.status, route.routers) == ("ok", ("fd89:1::2", "fd89:2::2"))


def test_a_neighbour_is_reached_over_no_router(ground: Ground) -> None:
    route = walked(ground, "h1", "10.89.1.2")
    assert (route.status, route.routers, route.delays_ms) == ("ok", (), ())


def test_a_router_that_says_nothing_has_no_name_and_no_delay(ground: Ground) -> None:
    with ground.silent("r1"):
        route = walked(ground, "h1", "10.89.3.2")
    assert (route.status, route.routers) == ("ok", (None, "10.89.2.2"))
    assert route.delays_ms[0] is None


def test_a_target_that_says_nothing_leaves_a_route_in_part_and_in_time(ground: Ground) -> None:
    begun = time.monotonic()
    with ground.silent("h2"):
        route = walked(ground, "h1", "10.89.3.2")
    assert (route.status, route.routers) == ("partial", ("10.89.1.2", "10.89.2.2"))
    assert route.reason == "silent beyond 10.89.2.2"
    assert route.probes <= 2 + 2 * traceroute.SILENT_MAX
    assert time.monotonic() - begun < traceroute.WALK_S + 2


def test_what_a_router_says_cannot_be_reached_ends_the_route_at_that_router(ground: Ground) -> None:
    route = walked(ground, "h1", "10.99.0.1")  # r1 has no way there
    assert (route.status, route.routers) == ("partial", ("10.89.1.2",))
    assert "10.89.1.2 says that it cannot be reached" in route.reason


def test_a_router_that_gives_up_on_a_probe_is_named_once(ground: Ground) -> None:
    route = walked(ground, "h1", "10.89.3.9")  # r2 looks for it in vain, and would have handed it on
    assert (route.status, route.routers) == ("partial", ("10.89.1.2", "10.89.2.2"))


def test_where_there_is_no_way_at_all_nothing_was_found_out(ground: Ground) -> None:
    route = walked(ground, "r1", "10.99.0.1")
    assert (route.status, route.routers) == ("unavailable", ())
    assert "Network is unreachable" in route.reason


def test_probes_are_told_apart_although_routers_quote_nothing_of_them(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_nothing_of_it(probe: socket.socket) -> Iterator[ProbeError]:
        return (each._replace(quoted=b"") for each in error_queue.read_errors(probe))

    monkeypatch.setattr(traceroute, "read_errors", read_nothing_of_it)
    route = walked(ground, "h1", "10.89.3.2")
    assert (route.status, route.routers) == ("ok", ("10.89.1.2", "10.89.2.2"))
