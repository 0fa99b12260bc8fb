"""Where a newcomer belongs: cases 1 to 3 of the thesis (section 4.4.1.1), as one peer sees them.

    Place(newcomer) ─▶ route, if it is not known ─▶ case 1    a neighbour is before the newcomer: Place goes there
                       delay, where there is none    case 2    the newcomer is before some neighbours: it adopts them
                                                     case 3    neither: it becomes a neighbour

In cases 2 and 3 the peer that is asked is the right one, and its host offers a link (`placed`). What the printed rules
leave out:

- The newcomer adopts *all* neighbours that lie beyond it. With one, as printed, the others stay beside a peer that lies
  before them (12 to 34 % of all peers in a landmark tree).
- A peer at the router of the one that is asked is before everybody there: it is a neighbour, adopts nobody and is
  handed nobody, or it would become the only neighbour.
- A newcomer comes by no peer twice. Where delays stand in for routes it must come nearer with each step (`triangle`).

Where a route is not known to its end, delays decide (`auto`), or nobody is before anybody (`traceroute`).

Cost: one inference for each newcomer that comes without a route, and one measurement where it stays; without routes,
for each step a measurement by each neighbour.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from siftcast.overlays.contract import Effect, InferRoute, NodeId, RouteInferred, SendMessage
from siftcast.overlays.discovery import routes, triangle
from siftcast.overlays.discovery.links import Links
from siftcast.overlays.discovery.messages import Adopted, DistanceRequest, Place
from siftcast.overlays.discovery.options import DiscoveryOptions
from siftcast.overlays.discovery.questions import Placement, Questions
from siftcast.overlays.discovery.routes import Route


@dataclass(frozen=True, slots=True)
class Placed:
    """A newcomer that belongs here, the way to it, and the neighbours that it is to take over."""

    request: Place
    delay_ms: float
    route: Route | None
    adopted: tuple[Adopted, ...]


@dataclass(slots=True)
class _Case:
    """A newcomer whose place is being found."""

    request: Place
    route: Route | None
    delay_ms: float | None
    until_ms: float
    is_inferred: bool = False
    distances_ms: dict[NodeId, float | None] | None = None
    """How far neighbours are from it, where routes do not say; None for those who have not answered."""
    unanswered: set[NodeId] = field(default_factory=set)


class Placing:
    """The newcomers that one peer finds places for. A host takes `placed` out after each call."""

    __slots__ = ("_cases", "_links", "_node", "_options", "_questions", "inferences", "placed", "steps")

    def __init__(self, node: NodeId, options: DiscoveryOptions, links: Links, questions: Questions) -> None:
        self.placed: list[Placed] = []
        self.inferences = 0
        self.steps = 0
        """How often newcomers were handed on or stayed."""
        self._node = node
        self._options = options
        self._links = links
        self._questions = questions
        self._cases: dict[NodeId, _Case] = {}

    def __bool__(self) -> bool:
        return bool(self._cases)

    # -- what happens --------------------------------------------------------------------------------------

    def begin(self, request: Place, now: float) -> list[Effect]:
        """Somebody is to be placed."""
        newcomer = request.newcomer
        if newcomer == self._node or newcomer in self._cases:
            return []
        if newcomer in self._links.near and not (request.entering or request.urgent):
            return []
        delay_ms = self._questions.known_ms(newcomer, now)
        if delay_ms is None:
            delay_ms = request.delay_ms
        case = _Case(request, request.route, delay_ms, now + self._options.request_ms)
        self._cases[newcomer] = case
        return self._advance(newcomer, case, now)

    def handle_route(self, inferred: RouteInferred, now: float) -> list[Effect]:
        """The route to a newcomer was inferred, or cannot be."""
        case = self._cases.get(inferred.peer)
        if case is None or not case.is_inferred:
            return []
        if inferred.status == "ok":
            case.route = inferred.routers
        return self._advance(inferred.peer, case, now)

    def handle_delay(self, newcomer: NodeId, delay_ms: float | None, now: float) -> list[Effect]:
        """A newcomer was measured; one that does not answer is not placed."""
        case = self._cases.get(newcomer)
        if case is None:
            return []
        if delay_ms is None:
            del self._cases[newcomer]
            return []
        case.delay_ms = delay_ms
        return self._advance(newcomer, case, now)

    def handle_distance(self, sender: NodeId, newcomer: NodeId, delay_ms: float | None, now: float) -> list[Effect]:
        """A neighbour says how far it is from a newcomer."""
        case = self._cases.get(newcomer)
        if case is None or case.distances_ms is None or sender not in case.unanswered:
            return []
        case.unanswered.discard(sender)
        case.distances_ms[sender] = delay_ms
        return self._advance(newcomer, case, now)

    def expire(self, now: float) -> list[Effect]:
        """Who has not answered in time is not waited for."""
        effects: list[Effect] = []
        for newcomer, case in tuple(self._cases.items()):
            if case.until_ms > now:
                continue
            if case.unanswered:
                case.unanswered.clear()
                effects += self._advance(newcomer, case, now)
            else:
                del self._cases[newcomer]
        return effects

    # -- cases 1 to 3 --------------------------------------------------------------------------------------

    def _advance(self, newcomer: NodeId, case: _Case, now: float) -> list[Effect]:
        """Goes on as far as what is known allows, and asks for the next thing that is not."""
        options = self._options
        if case.route is None and not case.is_inferred and options.routes in ("auto", "traceroute"):
            case.is_inferred = True
            self.inferences += 1
            return [InferRoute(newcomer)]
        if case.route is not None and (onward := self._before_by_route(case.request, case.route)) is not None:
            known = self._links.near[onward].route
            assert known is not None
            return self._hand_on(case, onward, route=routes.beyond(known, case.route))
        if case.delay_ms is None:
            return self._questions.ask(newcomer, Placement())
        if case.route is not None or options.routes not in ("auto", "triangle"):
            return self._stay(case, self._beyond_by_route(newcomer, case.route), case.delay_ms)
        if case.distances_ms is None:
            case.distances_ms = {}
            case.until_ms = now + options.request_ms
            case.unanswered = {peer for peer in self._links.near if peer != newcomer}
            if case.unanswered:
                return [SendMessage(DistanceRequest(newcomer), tuple(sorted(case.unanswered)))]
        if case.unanswered:
            return []
        return self._by_triangle(case, case.delay_ms, case.distances_ms)

    def _before_by_route(self, request: Place, route: Route) -> NodeId | None:
        """Case 1: the neighbour that is farthest on the way to a newcomer."""
        best: tuple[int, NodeId] | None = None
        if request.stays:
            return None
        for peer, near in self._links.near.items():
            known = near.route
            if known is None or routes.is_local(known) or peer == request.newcomer or peer in request.passed:
                continue
            if (best is None or len(known) > best[0]) and routes.is_before(known, route):
                best = len(known), peer
        return None if best is None else best[1]

    def _beyond_by_route(self, newcomer: NodeId, route: Route | None) -> tuple[Adopted, ...]:
        """Case 2: the neighbours that lie beyond a newcomer, with the rest of their routes."""
        if route is None or routes.is_local(route):
            return ()
        return tuple(
            (peer, routes.beyond(route, near.route))
            for peer, near in self._links.near.items()
            if peer != newcomer and near.route is not None and routes.is_before(route, near.route)
        )

    def _by_triangle(self, case: _Case, delay_ms: float, distances_ms: dict[NodeId, float | None]) -> list[Effect]:
        """The cases by delays; of several neighbours on the way, the one nearest to the newcomer."""
        request, slack = case.request, self._options.slack
        before: list[tuple[float, NodeId]] = []
        beyond: list[Adopted] = []
        for peer, onward_ms in distances_ms.items():
            near = self._links.near.get(peer)
            if near is None or onward_ms is None:
                continue
            if triangle.is_before(near.delay_ms, onward_ms, delay_ms, slack):
                if peer not in request.passed and triangle.is_nearer(onward_ms, delay_ms):
                    before.append((onward_ms, peer))
            elif triangle.is_before(delay_ms, onward_ms, near.delay_ms, slack):
                beyond.append((peer, None))
        if before and not request.stays:
            onward_ms, peer = min(before)
            return self._hand_on(case, peer, delay_ms=onward_ms)
        return self._stay(case, tuple(beyond), delay_ms)

    def _hand_on(
        self, case: _Case, peer: NodeId, *, route: Route | None = None, delay_ms: float | None = None
    ) -> list[Effect]:
        request = case.request
        del self._cases[request.newcomer]
        self.steps += 1
        passed = (*request.passed, self._node)
        onward = Place(request.newcomer, request.place, route, delay_ms, passed, request.urgent, request.entering)
        return [SendMessage(onward, (peer,))]

    def _stay(self, case: _Case, adopted: tuple[Adopted, ...], delay_ms: float) -> list[Effect]:
        del self._cases[case.request.newcomer]
        self.steps += 1
        self.placed.append(Placed(case.request, delay_ms, case.route, adopted))
        return []
