"""Networks written by the BRITE generator.

    Topology: ( 1500 Nodes, 3060 Edges )
    Model …
    Nodes: ( 1500 )
    30  839  604  5  5  0  RT_NODE                    id, x, y, in-degree, out-degree, AS, type
    Edges: ( 3060 )
    60  34  31  354.97  1.18  16.58  0  0  E_RT  U    id, from, to, length, delay, bandwidth, AS, AS, type, direction

Delays are milliseconds: BRITE divides lengths in kilometres by the speed of light. Routers are numbered in the order
of the file and keep their BRITE id as name; domains are autonomous systems. The counts in the headings must be met,
which is how half a file is noticed. Directed edges are refused: a link here carries traffic both ways.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from siftcast.model.errors import TopologyFileError
from siftcast.underlay.network import Network
from siftcast.underlay.topology_files import AnyPath, parse_latency, parse_whole, read_lines

_HEADING = re.compile(r"(Nodes|Edges):\s*\(\s*(\d+)\s*\)")
_NODE_COLUMNS = 7
_EDGE_COLUMNS = 10

Lines = Iterator[tuple[int, str]]


def read_brite(path: AnyPath) -> Network:
    """The network of a BRITE file, plain or gzipped."""
    lines = read_lines(path)
    number, first = next(lines)
    if not first.startswith("Topology:"):
        raise TopologyFileError(
            str(path),
            f"starts with {first[:40]!r}",
            line=number,
            remedy="a BRITE file starts with 'Topology: ( n Nodes, m Edges )'",
        )
    nodes = _section(path, lines, "Nodes", _NODE_COLUMNS)
    edges = _section(path, lines, "Edges", _EDGE_COLUMNS)
    routers: dict[str, int] = {}
    for line, columns in nodes:
        if columns[0] in routers:
            raise TopologyFileError(str(path), f"node {columns[0]} is there twice", line=line)
        routers[columns[0]] = len(routers)
    ends = [_ends(path, line, columns, routers) for line, columns in edges]
    return Network(
        routers=len(routers),
        tails=np.array([tail for tail, _ in ends], dtype=np.int64),
        heads=np.array([head for _, head in ends], dtype=np.int64),
        latencies_ms=np.array([parse_latency(path, line, columns[4]) for line, columns in edges], dtype=np.float64),
        router_kinds=np.array([columns[6] for _, columns in nodes]),
        link_kinds=np.array([columns[8] for _, columns in edges], dtype=np.str_),
        domains=np.array([parse_whole(path, line, columns[5], "the AS") for line, columns in nodes], dtype=np.int64),
        names=tuple(routers),
    )


def _section(path: AnyPath, lines: Lines, title: str, columns_min: int) -> list[tuple[int, list[str]]]:
    """The rows below a heading, as many as it announces."""
    headings = ((number, match) for number, line in lines if (match := _HEADING.match(line)) and match[1] == title)
    number, heading = next(headings, (0, None))
    if heading is None:
        raise TopologyFileError(
            str(path), f"there is no heading '{title}: ( n )'", remedy="the file may be cut off; fetch or copy it again"
        )
    announced = int(heading[2])
    if announced == 0 and title == "Nodes":
        raise TopologyFileError(str(path), "the network has no nodes", line=number)
    rows: list[tuple[int, list[str]]] = []
    while len(rows) < announced:
        number, line = next(lines, (number, ""))
        if not line or _HEADING.match(line):
            raise TopologyFileError(
                str(path),
                f"{announced} {title.lower()} are announced, but only {len(rows)} are there",
                line=number,
                remedy="the file may be cut off; fetch or copy it again",
            )
        columns = line.split()
        if len(columns) < columns_min:
            raise TopologyFileError(
                str(path),
                f"{len(columns)} columns where {title.lower()} have {columns_min}",
                line=number,
                remedy="the line may be cut off",
            )
        rows.append((number, columns))
    return rows


def _ends(path: AnyPath, line: int, columns: list[str], routers: dict[str, int]) -> tuple[int, int]:
    for name in columns[1:3]:
        if name not in routers:
            raise TopologyFileError(
                str(path), f"the edge names node {name}, which is not there", line=line, remedy="list it under 'Nodes'"
            )
    if columns[1] == columns[2]:
        raise TopologyFileError(str(path), f"the edge joins node {columns[1]} to itself", line=line)
    if columns[9] != "U":
        raise TopologyFileError(
            str(path),
            f"the edge is of direction {columns[9]!r}",
            line=line,
            remedy="have BRITE write undirected edges, U",
        )
    return routers[columns[1]], routers[columns[2]]
