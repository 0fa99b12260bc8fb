"""Landmarks as a way to neighbours: who they are (`census`), the trees below them (`landmarks`), and links from both.

Whoever is parent or child in some tree is asked to be a neighbour; near links that no tree needs, as those by which a
peer has entered, end once it has its place in all trees. A peer begins to look for landmarks after a few exchanges:
before, it knows so few others that they would all be landmarks.
"""

from __future__ import annotations

from siftcast.overlays.contract import Effect, NodeId, RouteInferred, SendMessage
from siftcast.overlays.discovery.agreeing import Agreeing
from siftcast.overlays.discovery.census import Census as Sketch
from siftcast.overlays.discovery.landmarks import Landmarks
from siftcast.overlays.discovery.links import Links
from siftcast.overlays.discovery.messages import Census, DiscoveryMessage, LinkRequest, TreeParent
from siftcast.overlays.discovery.options import DiscoveryOptions
from siftcast.overlays.discovery.questions import Edge, Questions
from siftcast.overlays.discovery.whereabouts import Whereabouts

_EXCHANGES_BEFORE = 4


class Forest:
    """The landmark trees of one peer, as far as its neighbours follow from them."""

    __slots__ = ("_agreeing", "_exchanges", "_here", "_links", "_questions", "_sketch", "_wanted", "trees")

    def __init__(
        self,
        node: NodeId,
        options: DiscoveryOptions,
        *,
        links: Links,
        questions: Questions,
        agreeing: Agreeing,
        here: Whereabouts,
    ) -> None:
        self.trees = Landmarks(node, options.request_ms)
        self._sketch = Sketch(node)
        self._wanted = options.targets
        self._links = links
        self._questions = questions
        self._agreeing = agreeing
        self._here = here
        self._exchanges = 0

    @property
    def size(self) -> float:
        """About how many peers there are."""
        return self._sketch.size

    @property
    def landmarks(self) -> tuple[NodeId, ...]:
        """Who the landmarks are."""
        return self._sketch.landmarks(self._wanted)

    @property
    def is_settled(self) -> bool:
        """Whether it has its place in all trees."""
        return self._exchanges >= _EXCHANGES_BEFORE and self.trees.is_settled

    # -- what happens --------------------------------------------------------------------------------------

    def exchange(self, peer: NodeId, now: float) -> list[Effect]:
        """Names are exchanged with a peer, and numbers with them."""
        self._exchanges += 1
        return [SendMessage(Census(self._sketch.tell(), asks=True), (peer,)), *self._choose(now)]

    def handle_message(self, sender: NodeId, message: DiscoveryMessage, now: float) -> list[Effect]:
        """Takes in a `Census`, or one of `TREE_MESSAGES`."""
        if not isinstance(message, Census):
            return self.trees.handle_message(sender, message, now) + self.link()
        self._sketch.hear(message.beats)
        answer: list[Effect] = [SendMessage(Census(self._sketch.said), (sender,))] if message.asks else []
        return answer + self._choose(now)

    def handle_route(self, inferred: RouteInferred) -> list[Effect]:
        """A route was inferred."""
        return self.trees.handle_route(inferred) + self.link()

    def handle_edge(self, peer: NodeId, delay_ms: float | None, now: float) -> list[Effect]:
        """A parent or a child was measured, and is asked to be a neighbour."""
        if delay_ms is None or peer in self._links.near or peer not in self.trees.edges:
            return []
        return self._agreeing.ask(peer, LinkRequest(self._here.place, delay_ms, urgent=True), None, now)

    def lose(self, peer: NodeId, now: float) -> list[Effect]:
        """A peer is not there any more."""
        self._sketch.drop(peer)
        return self.trees.lose(peer, now)

    def tick(self, now: float) -> list[Effect]:
        """Asks again whoever has not answered."""
        return self.trees.ask(now) + self.link()

    def tidy(self) -> list[Effect]:
        """Ends near links that no tree needs, and tells children once more whose they are."""
        effects: list[Effect] = []
        if self.is_settled:
            edges = self.trees.edges
            for peer in [peer for peer in self._links.near if peer not in edges]:
                effects += self._links.part(peer)
        for root in self.landmarks:
            for child, route in self.trees.children(root).items():
                effects.append(SendMessage(TreeParent(root, route), (child,)))
        return effects

    def link(self) -> list[Effect]:
        """Has parents and children measured that are not neighbours yet."""
        effects: list[Effect] = []
        for peer in sorted(self.trees.edges):
            if peer not in self._links.near and peer not in self._agreeing and peer not in self._questions:
                effects += self._questions.ask(peer, Edge())
        return effects

    def _choose(self, now: float) -> list[Effect]:
        if self._exchanges < _EXCHANGES_BEFORE:
            return []
        return self.trees.choose(self.landmarks, now) + self.link()
