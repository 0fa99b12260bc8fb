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
from siftcast.planning.ring_costs import NodeCosts
from siftcast.planning.ring_density import NodeEstimate
from siftcast.planning.ring_planning import plan_ring
from siftcast.planning.ring_proposal import RingBounds, RingProposal

_HOP_MS = 0.25


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
        if bounds.replicas < 1 or (bounds.nodes is not None and bounds.nodes < 1):
            raise DataError("there must be at least one node and one replica")
        if not 0 < bounds.busy < 1 or min(bounds.rate_s, bounds.subscriptions, self.handling_ms, self.hop_ms or 0) < 0:
            raise DataError("--busy is between 0 and 1, and no rate, number or time is below 0")


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
            raise DataError("there are no subscriptions to plan for")
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
