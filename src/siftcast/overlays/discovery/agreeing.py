"""How two peers become neighbours: one asks, the other answers, and a link is there when both have said so.

    at ──LinkRequest(adopts s)──▶ p        p has a place here, and lies before s
       ◀──LinkAnswer(yes)────────          from now on s does not count at `at` any more
                                  p ──LinkRequest(instead of at)──▶ s
                                    ◀──LinkAnswer(yes)─────────────
                               at ◀──Part───────────────────────── s

So a peer that is adopted has its new link before it gives up the old one, and keeps the old one if the new neighbour
has no room. The thesis cuts first (NEWPARENT and DISCONNECT), and whoever misses the rest of it is alone.

A request without room for it is refused with the names of others, unless it is *urgent*: its sender, or its receiver,
has no near neighbours at all. Distant links are refused beyond `DISTANT_MAX`.
"""

from __future__ import annotations

from dataclasses import dataclass

from siftcast.overlays.contract import Effect, NodeId, SendMessage
from siftcast.overlays.discovery.links import DISTANT_MAX, Links
from siftcast.overlays.discovery.messages import LinkAnswer, LinkRequest, is_delay
from siftcast.overlays.discovery.questions import Adoption, Questions
from siftcast.overlays.discovery.routes import Route, reverse
from siftcast.overlays.discovery.whereabouts import Whereabouts


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request that was not answered yet."""

    request: LinkRequest
    route: Route | None
    until_ms: float


class Agreeing:
    """The requests of one peer, and its answers."""

    __slots__ = ("_asked", "_here", "_links", "_questions", "_request_ms")

    def __init__(self, links: Links, questions: Questions, here: Whereabouts, request_ms: float) -> None:
        self._links = links
        self._questions = questions
        self._here = here
        self._request_ms = request_ms
        self._asked: dict[NodeId, _Asked] = {}

    def __bool__(self) -> bool:
        return bool(self._asked)

    def __contains__(self, peer: object) -> bool:
        return peer in self._asked

    # -- asking --------------------------------------------------------------------------------------------

    def ask(self, peer: NodeId, request: LinkRequest, route: Route | None, now: float) -> list[Effect]:
        """Asks a peer to be a neighbour."""
        self._asked[peer] = _Asked(request, route, now + self._request_ms)
        return [SendMessage(request, (peer,))]

    def adopt(self, peer: NodeId, adoption: Adoption, delay_ms: float | None, now: float) -> list[Effect]:
        """Asks a peer to be a neighbour instead of another's, now that it is known how far it is."""
        if delay_ms is None or not (peer in self._links.near or self._links.has_room(delay_ms)):
            return []
        route = adoption.route
        back = None if route is None else reverse(route)
        request = LinkRequest(self._here.place, delay_ms, back, replaced=adoption.replaced)
        return self.ask(peer, request, route, now)

    def handle_answer(self, sender: NodeId, message: LinkAnswer) -> tuple[list[Effect], LinkRequest | None]:
        """A peer has answered; the effects, and what it was asked."""
        asked = self._asked.pop(sender, None)
        if asked is None:
            return [], None
        request, links = asked.request, self._links
        if not message.accepted:
            return [], request
        if request.distant:
            return links.add_far(sender, request.delay_ms, chosen=True), request
        links.spare(peer for peer, _ in request.adopted)
        return links.add_near(sender, request.delay_ms, asked.route), request

    def expire(self, now: float) -> None:
        """Who has not answered in time is not waited for."""
        self._asked = {peer: asked for peer, asked in self._asked.items() if asked.until_ms > now}

    def forget(self, peer: NodeId) -> None:
        """A peer cannot answer."""
        self._asked.pop(peer, None)

    # -- being asked ---------------------------------------------------------------------------------------

    def handle_request(self, sender: NodeId, request: LinkRequest) -> list[Effect]:
        """A peer asks; the answer, and what follows from it."""
        links, place = self._links, self._here.place
        if not is_delay(request.delay_ms) or not self._has_room(sender, request):
            return [SendMessage(LinkAnswer(place, False, links.names(sender)), (sender,))]
        answer = SendMessage(LinkAnswer(place, True), (sender,))
        if request.distant:
            return [*links.add_far(sender, request.delay_ms, chosen=False), answer]
        replaced = request.replaced
        if replaced is not None:
            links.spare((replaced,))
        effects = [*links.add_near(sender, request.delay_ms, request.route), answer]
        if replaced is not None and replaced != sender:
            effects += links.part(replaced, (sender,))
        for peer, route in request.adopted:
            effects += self._questions.ask(peer, Adoption(route, sender))
        return effects

    def _has_room(self, sender: NodeId, request: LinkRequest) -> bool:
        links = self._links
        if request.distant:
            return sender in links or len(links.far) < DISTANT_MAX
        if request.urgent or not links.near or sender in links.near or request.replaced in links.near:
            return True
        return links.has_room(request.delay_ms)
