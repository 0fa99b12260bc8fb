"""The routes that a node has inferred: who asked for them, what was found, and why nothing was.

A route is walked (`traceroute`) in a thread, `WALKS_MAX` at a time, and within the budget of all probes. A node that is
asked about again while its route is walked is walked to once, and all who asked are answered.

It sends UDP packets to a port where nobody listens, at the address of another node as others have introduced it. Some
networks take that for an attack, so a node does it only if its own configuration says so (`traceroute` in `[node]`),
and not because a scheme or a person elsewhere would like to know. Otherwise the answer is `unavailable`. Why it is, is
logged once for each reason, and not each time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from siftcast.overlays.contract import NodeId
from siftcast.runtimes.live.logs import Logger
from siftcast.runtimes.live.node.probe_budget import Asker, ProbeBudget
from siftcast.runtimes.live.node.traceroute import Route, trace_route, unavailable
from siftcast.runtimes.live.wire.addresses import parse_address

WALKS_MAX: Final = 2
_PROBES: Final = 8
"""What a walk is taken to need until it is known."""
NOT_PERMITTED: Final = "routes are not probed: traceroute = true in [node] permits it"
_REASONS_MAX: Final = 1_000
_KEPT_MAX: Final = 10_000
"""So many routes are remembered, the last to be inferred."""

Hear = Callable[[Route], None]


class Routes:
    """A node's routes; `address_of` says where another node is, empty if nobody knows."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        budget: ProbeBudget,
        address_of: Callable[[NodeId], str],
        log: Logger,
        *,
        is_permitted: bool,
    ) -> None:
        self._loop = loop
        self._budget = budget
        self._address_of = address_of
        self._log = log
        self.is_permitted = is_permitted
        self._open: dict[NodeId, list[Hear]] = {}
        self._inferred: dict[NodeId, Route] = {}
        self._told: set[str] = set()
        self._walkers: ThreadPoolExecutor | None = None
        self._is_stopped = False

    @property
    def inferred(self) -> Mapping[NodeId, Route]:
        """What was found last on the way to each node."""
        return self._inferred

    def ask(self, node: NodeId, hear: Hear, asker: Asker) -> None:
        """Infers the route to a node; `hear` is given it in a later turn."""
        reason = self._obstacle(node)
        if reason:
            self._say(reason)
            self._loop.call_soon(hear, unavailable(reason))
        elif node in self._open:
            self._open[node].append(hear)
        else:
            self._open[node] = [hear]
            self._budget.ask(asker, _PROBES, lambda: self._begin(node))

    def stop(self) -> None:
        """Walks no more; nobody is answered."""
        self._is_stopped = True
        self._open.clear()
        if self._walkers is not None:
            self._walkers.shutdown(wait=False, cancel_futures=True)

    def _obstacle(self, node: NodeId) -> str:
        """Why there is no use in trying."""
        if not self.is_permitted:
            return NOT_PERMITTED
        return "" if self._address_of(node) else "nobody has said where the node is"

    def _begin(self, node: NodeId) -> bool:
        try:
            host, _ = parse_address(self._address_of(node))
        except ValueError as error:
            self._end(node, unavailable(str(error)))
            return False
        if self._walkers is None:
            self._walkers = ThreadPoolExecutor(WALKS_MAX, thread_name_prefix="traceroute")
        walk = self._loop.run_in_executor(self._walkers, lambda: trace_route(host, is_stopped=lambda: self._is_stopped))
        walk.add_done_callback(lambda done: self._walked(node, done))
        return True

    def _walked(self, node: NodeId, walk: asyncio.Future[Route]) -> None:
        if self._is_stopped or walk.cancelled():
            return
        error = walk.exception()
        route = walk.result() if error is None else unavailable(f"a defect: {type(error).__name__}: {error}")
        self._budget.charge(route.probes - _PROBES)
        self._end(node, route)

    def _end(self, node: NodeId, route: Route) -> None:
        if route.status == "unavailable":
            self._say(route.reason)
        self._inferred.pop(node, None)
        self._inferred[node] = route
        if len(self._inferred) > _KEPT_MAX:
            del self._inferred[next(iter(self._inferred))]
        for hear in self._open.pop(node):
            self._loop.call_soon(hear, route)

    def _say(self, reason: str) -> None:
        if reason not in self._told and len(self._told) < _REASONS_MAX:
            self._told.add(reason)
            self._log.warning("routes are unavailable", reason=reason)
