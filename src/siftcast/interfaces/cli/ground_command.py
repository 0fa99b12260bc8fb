"""`siftcast ground`: the nodes of a network measure each other, and a simulation can run on what they found."""

from __future__ import annotations

from collections import Counter
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from cyclopts import Parameter
from rich.text import Text

from siftcast.interfaces.cli.caller import call_node, node_at
from siftcast.interfaces.cli.options import Flag, JsonSummary
from siftcast.interfaces.cli.outcome import OK
from siftcast.interfaces.cli.progress_display import show_pairs
from siftcast.interfaces.cli.terminal import err, facts, out
from siftcast.model import DataError

if TYPE_CHECKING:
    from siftcast.runtimes.live.client.grounding import MeasuredGround
    from siftcast.underlay.ground_file import GroundFile

_NAMED_MAX = 8


def ground(
    *nodes: str,
    output: Annotated[Path, Parameter(name=["--output", "--out"])] = Path("network.ground"),
    routes: Flag = False,
    force: Flag = False,
    token: str | None = None,
    authorities: Path | None = None,
    json: JsonSummary = False,
) -> int:
    """Have the nodes of a network measure each other, and write a file that siftcast simulate reads.

    Measure once, then compare schemes on your own network. Pairs that cannot be measured are named, and stay unknown
    in the file. An interrupted measurement ends at the nodes as well, and writes nothing.

    Example: siftcast ground 127.0.0.1:7007 --out my.ground

    Parameters
    ----------
    nodes
        HOST:PORT of one node, whose whole network is measured, or of all those of one network that are to be; without
        any, SIFTCAST_URL in the environment says where a node is, or else siftcast://127.0.0.1:7007.
    output
        The file.
    routes
        Infer also which routers lie between the nodes. A node does it if it has traceroute = true in [node].
    force
        Replace a file that is there.
    token
        Says who asks; SIFTCAST_TOKEN in the environment does too. Its principal needs see = true.
    authorities
        A file with the certificates to believe, instead of the machine's, where a node's address is siftcasts://.
    """
    from siftcast.runtimes.live.client.grounding import measure_ground
    from siftcast.runtimes.live.node.node import run
    from siftcast.underlay.ground_file import ground_place, write_ground

    ground_place(output)
    if output.exists() and not force:
        raise DataError(f"{output}: exists; name another file with --out, or add --force to replace it")
    urls = [each if "://" in each else f"siftcast://{each}" for each in nodes] or [node_at(None)]

    async def measure() -> MeasuredGround:
        async with AsyncExitStack() as stack:
            buses = [
                await stack.enter_async_context(call_node(url, "siftcast ground", token=token, authorities=authorities))
                for url in urls
            ]
            with show_pairs("measuring", enabled=not json) as progress:
                return await measure_ground(buses, routes=routes, progress=progress)

    measured: MeasuredGround = run(measure())
    if not measured.measured:
        _, _, why = measured.failures()[0]
        raise DataError(f"no pair of {len(measured.hosts)} nodes could be measured, the first because it {why}")
    file = ground_file(measured, datetime.now(UTC))
    write_ground(output, file)
    if json:
        out().print(Text(msgspec.json.encode(_summary(output, measured, file)).decode()), soft_wrap=True)
    else:
        _show(output, measured, file)
    return OK


def ground_file(measured: MeasuredGround, at: datetime) -> GroundFile:
    """What was measured, as it is written."""
    from siftcast.underlay.ground_file import GroundFile, GroundHost, GroundRoute

    hosts, places = measured.hosts, {host.identity: place for place, host in enumerate(measured.hosts)}

    def delay_ms(one: int, other: int) -> float | None:
        if one == other:
            return 0.0
        row = measured.rows.get((one, other))
        return None if row is None else row.delay_ms

    found = [
        GroundRoute(places[one], places[other], row.status, row.routers, row.delays_ms)
        for (one, other), row in sorted(measured.rows.items(), key=lambda each: [places[end] for end in each[0]])
        if row.status is not None
    ]
    return GroundFile(
        at,
        tuple(GroundHost(host.name, host.identity, host.address) for host in hosts),
        tuple(tuple(delay_ms(one.identity, other.identity) for other in hosts) for one in hosts),
        tuple(found),
    )


def _summary(output: Path, measured: MeasuredGround, file: GroundFile) -> dict[str, Any]:
    return {
        "file": str(output),
        "hosts": file.hosts,
        "pairs": measured.pairs,
        "measured": measured.measured,
        "routes": Counter(route.status for route in file.routes),
        "failures": [{"from": one.name, "to": other.name, "why": why} for one, other, why in measured.failures()],
        "routes_unavailable": _routes_unavailable(measured),
        "silent": measured.silent,
    }


def _routes_unavailable(measured: MeasuredGround) -> dict[str, str]:
    """The nodes that could infer no route at all, and why not."""
    found = {}
    for host in measured.hosts:
        rows = [row for (one, _), row in measured.rows.items() if one == host.identity and row.status is not None]
        if rows and all(row.status == "unavailable" for row in rows):
            found[host.name] = rows[0].why_route
    return found


def _show(output: Path, measured: MeasuredGround, file: GroundFile) -> None:
    delays_ms = [row.delay_ms for row in measured.rows.values() if row.delay_ms is not None]
    shown = [
        ("nodes", f"{len(measured.hosts)}"),
        ("delays", f"{measured.measured} of {measured.pairs}: median {median(delays_ms):.1f} ms, at most "
                   f"{max(delays_ms):.1f} ms"),
    ]  # fmt: skip
    if file.routes:
        counts = Counter(route.status for route in file.routes)
        routers = {router for route in file.routes for router in route.routers if router is not None}
        said = ", ".join(f"{count} {status}" for status, count in counts.most_common())
        shown.append(("routes", f"{said}; routers answered from {len(routers)} addresses" if routers else said))
    out().print(facts([*shown, ("written", str(output))]))
    for one, other, why in measured.failures()[:_NAMED_MAX]:
        _warn(f"not measured: {one.name} → {other.name}: it {why}")
    if len(measured.failures()) > _NAMED_MAX:
        _warn(f"and {len(measured.failures()) - _NAMED_MAX} pairs more; --json names all")
    for name, why in _routes_unavailable(measured).items():
        _warn(f"no routes from {name}: {why}")
    if measured.silent:
        _warn(f"did not answer, and is left out: {', '.join(measured.silent)}")


def _warn(words: str) -> None:
    err().print(Text(words, "yellow"), soft_wrap=True)
