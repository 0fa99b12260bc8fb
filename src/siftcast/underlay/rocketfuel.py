"""Internet provider maps of the Rocketfuel project: `router router latency` on each line, in milliseconds.

    Townsville,+Australia4282 Brisbane,+Australia1800 7

A router is a town and a number, without spaces. Each link is listed in both directions, with one latency; here it
becomes one link. A file that lists some links both ways and others one way only has lost lines and is refused, and so
is a pair with two latencies. A file that lists every link just once is accepted, so a cut that leaves only such lines
goes unnoticed.
"""

from __future__ import annotations

from siftcast.model.errors import TopologyFileError
from siftcast.underlay.network import Network
from siftcast.underlay.topology_files import AnyPath, parse_latency, read_lines


def read_rocketfuel(path: AnyPath) -> Network:
    """The network of a `latencies.intra` file, plain or gzipped."""
    routers: dict[str, int] = {}
    links: dict[tuple[int, int], tuple[float, int]] = {}
    both_ways: set[tuple[int, int]] = set()
    for line, text in read_lines(path):
        columns = text.split()
        if len(columns) != 3:
            raise TopologyFileError(
                str(path), f"{len(columns)} columns", line=line, remedy="write 'router router latency_ms'"
            )
        tail, head = (routers.setdefault(name, len(routers)) for name in columns[:2])
        latency = parse_latency(path, line, columns[2])
        if tail == head:
            raise TopologyFileError(str(path), f"a link joins {columns[0]} to itself", line=line)
        if (tail, head) in links:
            raise TopologyFileError(
                str(path), f"the link was there before, on line {links[tail, head][1]}", line=line, remedy="keep one"
            )
        if (head, tail) not in links:
            links[tail, head] = latency, line
            continue
        other, other_line = links[head, tail]
        if (head, tail) in both_ways:
            raise TopologyFileError(str(path), "the link is there a third time", line=line, remedy="keep two at most")
        if other != latency:
            raise TopologyFileError(
                str(path),
                f"the link takes {latency:g} ms, but {other:g} ms on line {other_line}",
                line=line,
                remedy="give one latency for both directions",
            )
        both_ways.add((head, tail))
    if both_ways and len(both_ways) < len(links):
        pair = next(pair for pair in links if pair not in both_ways)
        raise TopologyFileError(
            str(path),
            "the link is listed in one direction, others in both",
            line=links[pair][1],
            remedy="the file may be cut off; fetch or copy it again",
        )
    return Network.of(
        len(routers), [(tail, head, latency) for (tail, head), (latency, _) in links.items()], names=tuple(routers)
    )
