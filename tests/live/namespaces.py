"""A network of hosts and routers in namespaces of this machine's kernel: real packets, and nothing leaves the machine.

    h1 ── r1 ── r2 ── h2          10.89.1.0/24, 10.89.2.0/24, 10.89.3.0/24
          │                       fd89:1::/64,  fd89:2::/64,  fd89:3::/64
          h3                      10.89.4.0/24, fd89:4::/64

Making namespaces takes the rights of root and the program `ip`; a test that has neither is left out, with that reason.
"""

import ctypes
import os
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import pytest

T = TypeVar("T")
_CLONE_NEWNET = 0x40000000
_NAMES = ("h1", "h2", "h3", "r1", "r2")
_LINES = (("h1", "r1", 1), ("r1", "r2", 2), ("r2", "h2", 3), ("r1", "h3", 4))
"""Who is joined to whom, over which network; the first has .1 in it, the second .2."""
_ROUTES = {
    "h1": ["default via {1}.2"],
    "h2": ["default via {3}.1"],
    "h3": ["default via {4}.1"],
    "r1": ["{3}{net} via {2}.2"],
    "r2": ["{1}{net} via {2}.1", "{4}{net} via {2}.1"],
}


class Ground:
    """The network; `inside` runs something at one of its hosts."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix

    def name(self, host: str) -> str:
        """What the namespace of a host is called."""
        return f"{self._prefix}{host}"

    def inside(self, host: str, work: Callable[[], T]) -> T:
        """What a function returns that runs at a host: in a thread, which is in its namespace."""
        found: list[T | BaseException] = []

        def run() -> None:
            try:
                with open(f"/run/netns/{self.name(host)}") as namespace:
                    if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), _CLONE_NEWNET):
                        raise OSError(ctypes.get_errno(), "setns")
                found.append(work())
            except BaseException as error:
                found.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        if isinstance(found[0], BaseException):
            raise found[0]
        return found[0]

    @contextmanager
    def silent(self, host: str) -> Iterator[None]:
        """A host that answers no probe; it forwards as before."""
        self.set(host, "ipv4/icmp_ratelimit", "100000000")
        try:
            yield
        finally:
            self.set(host, "ipv4/icmp_ratelimit", "0")

    def set(self, host: str, name: str, value: str) -> None:
        """Sets one of the kernel's variables at a host."""
        self.inside(host, lambda: Path("/proc/sys/net", name).write_text(value))


def _lines(prefix: str) -> Iterator[str]:
    for name in _NAMES:
        yield f"netns add {prefix}{name}"
    for one, other, _ in _LINES:
        yield f"link add {one}-{other} netns {prefix}{one} type veth peer name {other}-{one} netns {prefix}{other}"


def _lines_of(host: str) -> Iterator[str]:
    yield "link set lo up"
    for one, other, number in _LINES:
        if host in (one, other):
            mine, last = (f"{one}-{other}", 1) if host == one else (f"{other}-{one}", 2)
            yield f"address add 10.89.{number}.{last}/24 dev {mine}"
            yield f"address add fd89:{number}::{last}/64 dev {mine} nodad"
            yield f"link set {mine} up"
    for route in _ROUTES[host]:
        numbers = [f"10.89.{number}" for number in range(5)]
        yield "route add " + route.format(*numbers, net=".0/24")
        wide = [f"fd89:{number}" for number in range(5)]
        yield "route add " + route.replace("}.", "}::").format(*wide, net="::/64")


def _run(*command: str, lines: Iterator[str]) -> None:
    done = subprocess.run([*command, "-"], input="\n".join(lines) + "\n", text=True, capture_output=True)
    if done.returncode:
        raise OSError(done.stderr.strip() or f"{command} ended with {done.returncode}")


@contextmanager
def ground_of_namespaces() -> Iterator[Ground]:
    """The network, as long as it is needed."""
    if shutil.which("ip") is None or not hasattr(os, "geteuid") or os.geteuid() != 0:
        pytest.skip("network namespaces need the program ip and the rights of root")
    prefix = f"siftcast-{os.getpid()}-"
    ground = Ground(prefix)
    try:
        try:
            _run("ip", "-batch", lines=_lines(prefix))
        except OSError as error:
            pytest.skip(f"network namespaces cannot be made here: {error}")
        for host in _NAMES:
            for scope in ("all", "default"):  # nobody else could have an address, so nobody is asked
                ground.set(host, f"ipv6/conf/{scope}/accept_dad", "0")
            _run("ip", "-n", ground.name(host), "-batch", lines=_lines_of(host))
        for pair in _LINES:  # whoever is not there is not looked for long
            for mine, other in (pair[:2], pair[1::-1]):
                for version in ("ipv4", "ipv6"):
                    ground.set(mine, f"{version}/neigh/{mine}-{other}/retrans_time_ms", "20")
        for name in _NAMES:  # what is asked often is answered as often
            ground.set(name, "ipv4/icmp_ratelimit", "0")
            ground.set(name, "ipv6/icmp/ratelimit", "0")
        for router in ("r1", "r2"):
            ground.set(router, "ipv4/ip_forward", "1")
            ground.set(router, "ipv6/conf/all/forwarding", "1")
        yield ground
    finally:
        for name in _NAMES:
            subprocess.run(["ip", "netns", "delete", ground.name(name)], capture_output=True)
