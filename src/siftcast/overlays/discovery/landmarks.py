"""Landmark trees: every peer in a tree below each landmark, placed by its route from there (thesis, section 4.4.1).

    root ──TreePlace(newcomer, route)──▶ child before it ──▶ … ──▶ its parent
                                                                    │
    newcomer ◀──TreeParent(route, adopted)──────────────────────────┘
         └──TreeParent(route)──▶ each adopted child ──TreeLeave──▶ its old parent

A landmark infers the route to whoever asks for a place in its tree; from then on the route travels along, and each peer
compares it with those of its children, all seen from the landmark. The rule that must hold: no child stands beside
another that lies before it. So a newcomer adopts *all* children beyond it; a peer at the landmark's own router has
neither anybody handed to it nor adopts anybody, as it is before all others.

A peer that has lost its parent in a tree asks the landmark for a new place and takes its own children along. A landmark
that is none any more takes its tree with it (`census`), and the next one grows its own.

The trees are bookkeeping; what becomes a link is `edges`. Degree limits do not count: the stress near landmarks is what
the thesis blames this approach for, and walks are the cure.

Cost: one inference for each peer and tree, all of them at the landmarks; one message for each level of the tree.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from siftcast.overlays.contract import Effect, InferRoute, NodeId, RouteInferred, SendMessage
from siftcast.overlays.discovery import routes
from siftcast.overlays.discovery.messages import DiscoveryMessage, TreeLeave, TreeParent, TreePlace
from siftcast.overlays.discovery.routes import Route


@dataclass(slots=True)
class _Tree:
    """A peer's place in the tree of a landmark."""

    parent: NodeId | None = None
    route: Route = ()
    children: dict[NodeId, Route] = field(default_factory=dict)
    """Children, and the routes to them from the landmark."""
    until_ms: float | None = None
    """Until when it waits for the place it has asked for."""


class Landmarks:
    """The places of one peer in the trees of all landmarks."""

    __slots__ = ("_inferring", "_node", "_request_ms", "_trees", "inferences", "rejoins", "steps")

    def __init__(self, node: NodeId, request_ms: float) -> None:
        self.inferences = 0
        self.rejoins = 0
        """How often it has lost a parent or a landmark."""
        self.steps = 0
        """How often others were handed on or taken in."""
        self._node = node
        self._request_ms = request_ms
        self._trees: dict[NodeId, _Tree] = {}
        self._inferring: dict[NodeId, TreePlace] = {}

    @property
    def is_settled(self) -> bool:
        """Whether it has its place in all trees."""
        return not self._inferring and all(tree.until_ms is None for tree in self._trees.values())

    @property
    def edges(self) -> set[NodeId]:
        """Parents and children in all trees."""
        found: set[NodeId] = set()
        for tree in self._trees.values():
            found.update(tree.children)
            if tree.parent is not None:
                found.add(tree.parent)
        return found

    def parents(self) -> dict[NodeId, NodeId | None]:
        """The parent in each tree, by landmark; None for its own tree and where it waits for a place."""
        return {root: tree.parent for root, tree in self._trees.items()}

    def children(self, root: NodeId) -> dict[NodeId, Route]:
        """The children in the tree of a landmark, and the routes to them from there."""
        return dict(self._trees[root].children) if root in self._trees else {}

    # -- which trees ---------------------------------------------------------------------------------------

    def choose(self, roots: Iterable[NodeId], now: float) -> list[Effect]:
        """These are the landmarks now: places in other trees are given up, and places in new ones asked for."""
        wanted = set(roots)
        for root in [root for root in self._trees if root not in wanted]:
            del self._trees[root]
            self.rejoins += 1
        for root in sorted(wanted):
            self._trees.setdefault(root, _Tree())
        return self.ask(now)

    def ask(self, now: float) -> list[Effect]:
        """Asks for a place wherever there is none and nobody was asked lately."""
        effects: list[Effect] = []
        for root, tree in self._trees.items():
            if root == self._node or tree.parent is not None or (tree.until_ms is not None and tree.until_ms > now):
                continue
            tree.until_ms = now + self._request_ms
            effects.append(SendMessage(TreePlace(root, self._node), (root,)))
        return effects

    def lose(self, peer: NodeId, now: float) -> list[Effect]:
        """A peer cannot be reached: its children look for another place."""
        self._inferring.pop(peer, None)
        for tree in self._trees.values():
            tree.children.pop(peer, None)
            if tree.parent == peer:
                tree.parent = None
                self.rejoins += 1
        return self.ask(now)

    def leave(self) -> list[Effect]:
        """Is in no tree any more."""
        self._trees, self._inferring = {}, {}
        return []

    # -- places --------------------------------------------------------------------------------------------

    def handle_message(self, sender: NodeId, message: DiscoveryMessage, now: float) -> list[Effect]:
        """Takes in one of `TREE_MESSAGES`."""
        match message:
            case TreePlace(root, newcomer, route):
                if root == self._node and route is None:
                    return self._infer(newcomer, message)
                return [] if route is None else self._place(root, newcomer, route)
            case TreeParent():
                return self._take_parent(sender, message)
            case TreeLeave(root):
                if root in self._trees:
                    self._trees[root].children.pop(sender, None)
        return []

    def handle_route(self, inferred: RouteInferred) -> list[Effect]:
        """The route to a newcomer of the own tree was inferred; one that has none is the landmark's own child."""
        if self._inferring.pop(inferred.peer, None) is None:
            return []
        route = inferred.routers if inferred.status == "ok" else ()
        return self._place(self._node, inferred.peer, route)

    def _infer(self, newcomer: NodeId, message: TreePlace) -> list[Effect]:
        if newcomer == self._node or newcomer in self._inferring:
            return []
        self._trees.setdefault(self._node, _Tree())
        self._inferring[newcomer] = message
        self.inferences += 1
        return [InferRoute(newcomer)]

    def _place(self, root: NodeId, newcomer: NodeId, route: Route) -> list[Effect]:
        """Cases 1 to 3, by routes from the landmark."""
        tree = self._trees.get(root)
        if tree is None or newcomer == self._node:
            return []
        self.steps += 1
        tree.children.pop(newcomer, None)  # it has lost this parent, or it would not ask
        others = {child: known for child, known in tree.children.items() if not routes.is_local(known)}
        before = [child for child, known in others.items() if routes.is_before(known, route)]
        if before:
            best = max(before, key=lambda child: (len(others[child]), child))
            return [SendMessage(TreePlace(root, newcomer, route), (best,))]
        beyond = (
            () if routes.is_local(route) else tuple(c for c, known in others.items() if routes.is_before(route, known))
        )
        adopted = tuple((child, others[child]) for child in beyond)
        for child in beyond:
            del tree.children[child]
        tree.children[newcomer] = route
        return [SendMessage(TreeParent(root, route, adopted), (newcomer,))]

    def _take_parent(self, sender: NodeId, message: TreeParent) -> list[Effect]:
        root, route = message.root, message.route
        tree = self._trees.get(root)
        if tree is None or root == self._node:
            return [SendMessage(TreeLeave(root), (sender,))]
        effects: list[Effect] = []
        if tree.parent is not None and tree.parent != sender:
            effects.append(SendMessage(TreeLeave(root), (tree.parent,)))
        tree.parent, tree.route, tree.until_ms = sender, route, None
        tree.children.pop(sender, None)
        for child, known in message.adopted:
            if child != self._node and known is not None:
                tree.children[child] = known
                effects.append(SendMessage(TreeParent(root, known), (child,)))
        return effects
