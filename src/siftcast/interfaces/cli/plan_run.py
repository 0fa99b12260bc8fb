"""One run of `siftcast plan ring`: read, ask, time, propose."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from siftcast.interfaces.cli.plan_calibration import calibrate, given_times
from siftcast.interfaces.cli.plan_inputs import Log, rate_of, read_log, values_of
from siftcast.interfaces.cli.plan_network import LiveFacts, ask_network, read_members
from siftcast.interfaces.cli.terminal import err
from siftcast.model import DataError, Schema
from siftcast.planning.ring_costs import TIME_MS_MAX, NodeCosts
from siftcast.planning.ring_density import NodeEstimate
from siftcast.planning.ring_planning import NODES_GIVEN_MAX, plan_ring
from siftcast.planning.ring_proposal import RingBounds, RingProposal

_HOP_MS = 0.25
_MOST = 10**12
"""Of events per second, subscriptions and the like: more than anybody has, and far from where numbers overflow."""


@dataclass(frozen=True, slots=True)
class RingRequest:
    """What to plan from, and within what; in `bounds` a number of 0 or none is to be found out."""

    bounds: RingBounds
    subscriptions: Path | None
    events: Path | None
    network: str | None
    schema: Schema | None
    members: Path | None
    near: int | None
    time: str | None
    rendezvous: str
    key: str
    hop_ms: float | None
    handling_ms: float
    match_ms: str | None
    token: str | None
    authorities: Path | None

    def check(self) -> None:
        """Raises DataError for what cannot work."""
        bounds = self.bounds
        if self.subscriptions is None and self.network is None:
            raise DataError("name a file of subscriptions, or with --from a node of a running network")
        if bounds.nodes is not None and self.members is not None:
            raise DataError("the number of nodes is given twice: by --nodes and by --members")
        if self.near is not None and self.members is None and self.network is None:
            raise DataError("--near is about the members that --members or --from names")
        if self.time is not None and (self.events is None or bounds.rate_s):
            raise DataError("--time finds the rate of a file of events; give --events, and no --rate")
        in_range("--nodes", bounds.nodes, 1, NODES_GIVEN_MAX)
        in_range("--replicas", bounds.replicas, 1, NODES_GIVEN_MAX)
        in_range("--expected", bounds.subscriptions, 0, _MOST)
        in_range("--near", self.near, 1, _MOST)
        in_range("--rate", bounds.rate_s, 0, _MOST, "events per second")
        in_range("--busy", bounds.busy, 0.001, 0.999, "the share of its time that a node may be busy")
        in_range("--hop-ms", self.hop_ms, 0, TIME_MS_MAX, "milliseconds")
        in_range("--handling-ms", self.handling_ms, 0, TIME_MS_MAX, "milliseconds")


def in_range(option: str, value: float | None, least: float, most: float, of_what: str = "") -> None:
    """Raises DataError for a number out of its range; not a number is in none."""
    if value is not None and not least <= value <= most:
        unit = f", {of_what}" if of_what else ""
        shown = f"{value:,}" if isinstance(value, int) else f"{value:g}"
        raise DataError(f"{option} is a number from {least:,} to {most:,}{unit}, not {shown}")


@dataclass(frozen=True, slots=True)
class Proposed:
    """A proposal with what it was made from."""

    ring: RingProposal
    costs: NodeCosts
    log: Log
    live: LiveFacts | None
    estimate: NodeEstimate | None


def propose(request: RingRequest, *, progress: bool) -> Proposed:
    """Raises DataError where nothing can be proposed."""
    request.check()
    log = read_log(request.subscriptions, request.events, request.schema, progress=progress)
    with _saying(enabled=progress) as say:
        live = _live(request, say)
        filters = log.filters if request.subscriptions is not None or live is None else live.filters
        if not filters:
            raise DataError(_nothing_to_plan(request, log))
        from_network = {} if live is None else live.values
        values = from_network if request.events is None else values_of(log.rows, filters)
        estimate = _estimate(request, live)
        say("timing the matcher")
        expected = request.bounds.subscriptions or len(filters)
        given = request.match_ms
        times = calibrate(filters, log.rows, expected) if given is None else given_times(given)
        costs = NodeCosts(times, hop_ms=_hop_ms(request, live), handling_ms=request.handling_ms)
        bounds = replace(
            request.bounds,
            subscriptions=expected,
            rate_s=_rate(request, log, live),
            nodes=request.bounds.nodes if estimate is None else round(estimate.nodes),
        )
        found = plan_ring(
            filters, values, bounds, costs, rendezvous=request.rendezvous, key=request.key,
            progress=lambda doing: say(f"trying {doing}"),
        )  # fmt: skip
    return Proposed(found, costs, log, live, estimate)


def _nothing_to_plan(request: RingRequest, log: Log) -> str:
    if log.refused_at is not None:
        return (
            f"none of the {log.refused_subscriptions:,} subscriptions in {request.subscriptions} can be planned for: "
            f"all were rejected, and {log.refused_at} has the reasons"
        )
    return f"there are no subscriptions to plan for in {request.subscriptions or request.network}"


def _live(request: RingRequest, say: Callable[[str], None]) -> LiveFacts | None:
    if request.network is None:
        return None
    say(f"asking {request.network}")
    return ask_network(
        request.network, request.schema, request.near, token=request.token, authorities=request.authorities
    )


def _estimate(request: RingRequest, live: LiveFacts | None) -> NodeEstimate | None:
    """The number of nodes, unless it is given or to be proposed."""
    if request.bounds.nodes is not None:
        return None
    if request.members is not None:
        return read_members(request.members, request.near)
    return None if live is None else live.nodes


def _rate(request: RingRequest, log: Log, live: LiveFacts | None) -> float:
    if request.bounds.rate_s:
        return request.bounds.rate_s
    if request.time is not None:
        return rate_of(log.rows, request.time, log.events)
    return 0.0 if live is None else live.rate_s


def _hop_ms(request: RingRequest, live: LiveFacts | None) -> float:
    if request.hop_ms is not None:
        return request.hop_ms
    return _HOP_MS if live is None or live.hop_ms is None else live.hop_ms


@contextmanager
def _saying(*, enabled: bool) -> Iterator[Callable[[str], None]]:
    """Says what is done now, on a terminal only."""
    console = err()
    if not enabled or not console.is_terminal:
        yield lambda doing: None
        return
    with console.status("") as status:
        yield status.update
