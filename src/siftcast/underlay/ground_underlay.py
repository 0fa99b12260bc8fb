"""A measured network as an underlay: its hosts are the servers, and its routes are what a traceroute finds.

Measuring leaves gaps: a host was busy, or a probe was lost. A delay that is not known is taken to be

    1. that of the other direction, else
    2. the shortest way over other hosts by delays that are known (after 1), as a message could at least go that way

and if there is no such way, some hosts were measured apart from the others. Then the file is refused or, with
`missing="drop"`, only the largest of these sets of hosts is kept, the first of equals. A route that is not known stays
unknown: the routers on the way back need not be those on the way there.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, dijkstra

from siftcast.model.errors import TopologyFileError
from siftcast.underlay.ground_file import GroundFile, GroundRoute, read_ground
from siftcast.underlay.hops import Hops
from siftcast.underlay.latency_matrix import MISSING
from siftcast.underlay.measured import MeasuredUnderlay
from siftcast.underlay.topology_files import AnyPath

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


def read_ground_underlay(path: AnyPath, *, missing: str = "refuse") -> MeasuredUnderlay:
    """An underlay whose servers are the hosts of a ground file, in its order."""
    if missing not in MISSING:
        raise TopologyFileError(str(path), f"missing is {missing!r}", remedy=f"choose one of {', '.join(MISSING)}")
    ground = read_ground(path)
    known = _either_direction(ground.matrix_ms)
    parts = _measured_together(known)
    kept = np.flatnonzero(parts == np.argmax(np.bincount(parts)))
    if len(kept) < len(parts) and missing == "refuse":
        raise _gap(path, ground, parts)
    numbers = {int(host): number for number, host in enumerate(kept)}
    return MeasuredUnderlay(
        _completed(known[np.ix_(kept, kept)]),
        names=[ground.hosts[host].name for host in numbers],
        hops={
            (numbers[route.start], numbers[route.end]): _hops(route)
            for route in ground.routes
            if route.start in numbers and route.end in numbers
        },
    )


def _either_direction(matrix: Floats) -> Floats:
    known = np.where(np.isnan(matrix), matrix.T, matrix)
    np.fill_diagonal(known, 0.0)
    return known


def _measured_together(known: Floats) -> Integers:
    """The number of the set of hosts that each belongs to, within which there is a known way between any two."""
    parts: Integers = connected_components(csr_array(~np.isnan(known)), directed=False)[1].astype(np.int64)
    return parts


def _completed(known: Floats) -> Floats:
    gaps = np.isnan(known)
    hosts = np.flatnonzero(gaps.any(axis=1))
    if not len(hosts):
        return known
    rows, columns = np.nonzero(~gaps)
    # As a sparse matrix, because a dense one would take two hosts that are 0 ms apart for not joined.
    graph = csr_array((known[rows, columns], (rows, columns)), shape=known.shape)
    complete = known.copy()
    complete[hosts] = np.where(gaps[hosts], dijkstra(graph, indices=hosts), known[hosts])
    return complete


def _gap(path: AnyPath, ground: GroundFile, parts: Integers) -> TopologyFileError:
    first, other = 0, int(np.flatnonzero(parts != parts[0])[0])
    return TopologyFileError(
        str(path),
        f"no delay is known between host {first} ('{ground.hosts[first].name}') and host {other}"
        f" ('{ground.hosts[other].name}'), in neither direction and over no other host",
        remedy='measure again, or keep only the largest set of hosts measured together with missing="drop"',
    )


def _hops(route: GroundRoute) -> Hops:
    return Hops(route.routers, route.delays_ms or (None,) * len(route.routers), route.status)
