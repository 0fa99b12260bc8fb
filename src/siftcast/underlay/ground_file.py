"""A measured network in a file: its hosts, how far they are apart, and by which routers their messages go.

    {"format": "siftcast-ground-1", "measured": "2026-11-19T17:00:00Z",
     "hosts": [{"name": "a", "identity": 1, "address": "10.0.0.1:7400"}, …],
     "delays_ms": [[0, 1.2, null], …],                      one way, from the host of the row to that of the column
     "routes": [{"from": 0, "to": 1, "status": "ok",        hosts by their place in the list
                 "routers": ["10.0.0.1", null], "delays_ms": [0.2, null]}]}

`siftcast ground` measures nodes that run and writes it; a simulation reads it as an underlay (`ground_underlay.py`).
What was not measured is null and never a guess: whoever needs a number there decides how to come by it. A router that
does not tell its name is null too. A route says what a traceroute says: its `status` is that of `RouteInferred`, and
without names it is either `ok`, from host to host with nothing between, or `unavailable`.

Invariants, checked when a ground is made and so for every file: there are as many rows and columns as hosts, a host is
0 ms from itself, delays are finite and at least 0, a pair has at most one route in each direction, and identities
differ. Fields that are not in the format are refused, so that a misspelt one is not passed over.
"""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import Meta

from siftcast.model.errors import TopologyFileError, UnderlayError
from siftcast.underlay.topology_files import AnyPath, decode, read_bytes

FORMAT = "siftcast-ground-1"
HOSTS_MAX = 2_000
"""More hosts than anybody measures pair by pair, and few enough for a matrix of all pairs."""
BYTES_MAX = 256 * 2**20
_BYTE = re.compile(r"\(byte (\d+)\)")

HostNumber = Annotated[int, Meta(ge=0)]
Delay = float | None


class _Head(msgspec.Struct, frozen=True):
    """What every version of the format begins with; looked at first, as another version may hold anything else."""

    format: Literal["siftcast-ground-1"]


class GroundHost(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A host that was measured: the name people know it by, its identity and its address, where these are known."""

    name: Annotated[str, Meta(min_length=1)]
    identity: Annotated[int, Meta(ge=0, le=2**63 - 1)] | None = None
    address: str = ""


class GroundRoute(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The routers on the way from one host to another, and how far each is, one way; both null where unknown."""

    start: HostNumber = msgspec.field(name="from")
    end: HostNumber = msgspec.field(name="to")
    status: Literal["ok", "partial", "unavailable"] = "ok"
    routers: tuple[str | None, ...] = ()
    delays_ms: tuple[Delay, ...] = ()


class GroundFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="format", tag=FORMAT):
    """What was measured, and when."""

    measured: Annotated[datetime, Meta(tz=True)]
    hosts: tuple[GroundHost, ...]
    delays_ms: tuple[tuple[Delay, ...], ...]
    routes: tuple[GroundRoute, ...] = ()

    def __post_init__(self) -> None:
        _check_hosts(self.hosts)
        _check_delays(self.delays_ms, len(self.hosts))
        _check_routes(self.routes, len(self.hosts))

    @property
    def matrix_ms(self) -> npt.NDArray[np.float64]:
        """The delays as numbers; NaN where nothing was measured."""
        return np.array(self.delays_ms, dtype=np.float64)

    def encode(self) -> bytes:
        """The file's content: a line for each host, row and route, so that people can read and compare it."""
        head = f'{{"format": "{FORMAT}", "measured": '.encode() + msgspec.json.encode(self.measured)
        parts = (
            _list("hosts", map(msgspec.json.encode, self.hosts)),
            _list("delays_ms", map(msgspec.json.encode, self.delays_ms)),
            _list("routes", map(msgspec.json.encode, self.routes)),
        )
        return b",\n".join((head, *parts)) + b"}\n"

    @classmethod
    def decode(cls, content: bytes, path: AnyPath = "ground file") -> GroundFile:
        """A file's content; `path` is what errors call it."""
        text = decode(path, content)
        try:
            msgspec.json.decode(text, type=_Head)
            return msgspec.json.decode(text, type=cls)
        except msgspec.ValidationError as error:
            raise TopologyFileError(str(path), str(error), remedy=f"a ground file is of the format {FORMAT}") from None
        except msgspec.DecodeError as error:
            raise TopologyFileError(
                str(path),
                f"is no whole JSON: {error}",
                line=_line_of(text, str(error)),
                remedy="the file may be cut off; fetch or copy it again",
            ) from None
        except RecursionError:
            raise TopologyFileError(str(path), "is nested too deeply for a ground file") from None
        except UnderlayError as error:
            raise TopologyFileError(str(path), str(error)) from None


def read_ground(path: AnyPath) -> GroundFile:
    """The measured network of a file, plain or gzipped."""
    return GroundFile.decode(read_bytes(path, bytes_max=BYTES_MAX), path)


def write_ground(path: AnyPath, ground: GroundFile) -> None:
    """Writes a file whole or not at all; one that is there is replaced."""
    place = ground_place(path)
    draft = place.with_name(f"{place.name}.part")
    try:
        draft.write_bytes(ground.encode())
        draft.replace(place)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise TopologyFileError(str(path), f"cannot be written ({error.strerror or error})") from None


def ground_place(path: AnyPath) -> Path:
    """Where a file will be, links followed; raises TopologyFileError if none can be written there.

    It is asked before a network is measured, which may take minutes. A file is written by putting another in its place,
    so what is no file is refused: a device would be gone.
    """
    place, shown = Path(os.path.realpath(path)), str(path)
    if place.is_dir():
        raise TopologyFileError(shown, "is a folder", remedy="name a file in it")
    if place.exists() and not place.is_file():
        raise TopologyFileError(shown, "is no file but a device, a pipe or a socket", remedy="name a file")
    if not place.parent.is_dir():
        raise TopologyFileError(shown, f"cannot be written (the folder {Path(path).parent} does not exist)")
    if not os.access(place.parent, os.W_OK):
        raise TopologyFileError(shown, "cannot be written (its folder permits no new files)")
    return place


def _list(name: str, items: Iterable[bytes]) -> bytes:
    lines = b",\n  ".join(items)
    return f' "{name}": ['.encode() + (b"\n  " + lines + b"\n ]" if lines else b"]")


def _line_of(text: str, problem: str) -> int:
    """The line that an error of the JSON reader is about; the last one where the text ends too early."""
    found = _BYTE.search(problem)
    before = text.encode()[: int(found[1])] if found else text.rstrip().encode()
    return before.count(b"\n") + 1


def _check_hosts(hosts: Sequence[GroundHost]) -> None:
    if not 1 <= len(hosts) <= HOSTS_MAX:
        raise UnderlayError(f"a ground has from 1 to {HOSTS_MAX:,} hosts, not {len(hosts):,}")
    for identity, times in Counter(host.identity for host in hosts if host.identity is not None).items():
        if times > 1:
            raise UnderlayError(f"{times} hosts have the identity {identity}; a node is measured once")


def _check_delays(rows: Sequence[Sequence[Delay]], hosts: int) -> None:
    if len(rows) != hosts:
        raise UnderlayError(f"there are {len(rows)} rows of delays for {hosts} hosts")
    for number, row in enumerate(rows):
        if len(row) != hosts:
            raise UnderlayError(f"the delays from host {number} are {len(row)} numbers for {hosts} hosts")
        _check_numbers(row, f"from host {number} to host {{}}")
        if row[number]:
            raise UnderlayError(f"host {number} takes {row[number]:g} ms to reach itself, which is always 0")


def _check_routes(routes: Sequence[GroundRoute], hosts: int) -> None:
    seen: set[tuple[int, int]] = set()
    for route in routes:
        ends = route.start, route.end
        name = f"the route from host {route.start} to host {route.end}"
        if max(ends) >= hosts or min(ends) < 0:
            raise UnderlayError(f"{name} names a host that is not there; hosts are numbered 0 … {hosts - 1}")
        if route.start == route.end:
            raise UnderlayError(f"{name} goes nowhere")
        if ends in seen:
            raise UnderlayError(f"{name} is there twice")
        seen.add(ends)
        if route.status == "unavailable" and route.routers:
            raise UnderlayError(f"{name} is unavailable, and yet names {len(route.routers)} routers")
        if len(route.delays_ms) not in (0, len(route.routers)):
            raise UnderlayError(f"{name} has {len(route.delays_ms)} delays for {len(route.routers)} routers")
        if "" in route.routers:
            raise UnderlayError(f"{name} has a router whose name is empty; a router without a name is null")
        _check_numbers(route.delays_ms, f"on {name} to router {{}}")


def _check_numbers(delays_ms: Sequence[Delay], place: str) -> None:
    for number, delay_ms in enumerate(delays_ms):
        if delay_ms is not None and not (math.isfinite(delay_ms) and delay_ms >= 0):
            where = place.format(number)
            raise UnderlayError(f"the delay {where} is {delay_ms:g} ms; it is a finite number of at least 0, or null")
