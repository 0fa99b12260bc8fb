"""One peer's links on a tree: to its parent, to its children, and what is wanted over each.

    child                                     parent
      │ TreeNews(link 7, JOIN_CORE: all I want) ─▶ │  the same core as mine? then 7 is a link, else Unlink(7)
      │ ◀─ TreeNews(link 7, all I want)            │
      │ TreeNews(link 7, …), Unlink(7)         ◀───▶ │

A link is of one core (`root`): a peer that turns to another core parts from all it has, so that at no time a link joins
peers of different cores. With the ways of `way.py` it follows that the links that both ends hold make no circle.

Words about a link must arrive, in order; a node on lossy links has them refreshed. If one end forgets all the same (it
has crashed and come back before anybody noticed), beats show it: they name the links that a child holds. A parent that
knows no such link twice says so, and the child joins once more; one that holds a link that the child does not drops it.

Rejected: to hold the old link until the new one is ready, as it would close a circle; what is missed meanwhile is
passed on late (`passing.py`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from siftcast.overlays.changing_router import ChangingRouter
from siftcast.overlays.contract import Effect, NodeId, SendMessage
from siftcast.overlays.messages import Announce, Retract
from siftcast.overlays.protocols.core_tree.messages import TreeNews, Unlink
from siftcast.overlays.tables import TableFactory

ACROSS: NodeId = -1
"""In place of a neighbour: the same node's part in the other tree."""
Cross = Callable[[Announce | Retract, bool], list[Effect]]


@dataclass(slots=True)
class Link:
    """One tree link; `is_heard` once the other end has said what it wants."""

    number: int
    upward: bool
    is_heard: bool = False


class Branch:
    """One peer's part in one tree; `cross` takes what is for the other tree."""

    __slots__ = ("_cross", "_next_number", "_refused", "_unknown", "links", "missed", "network", "root", "router")

    def __init__(
        self, network: int, tables: TableFactory, next_number: Callable[[], int], cross: Cross, *, by_origin: bool
    ) -> None:
        self.network = network
        self.router = ChangingRouter(tables, network=network, by_origin=by_origin)
        self.links: dict[NodeId, Link] = {}
        self.root: NodeId | None = None
        """The core that the tree is of."""
        self.missed: dict[NodeId, None] = {}
        """From which sides something is wanted that may have been wanted elsewhere before; the host takes it out."""
        self._next_number = next_number
        self._cross = cross
        self._refused: set[NodeId] = set()
        self._unknown: dict[NodeId, int] = {}

    @property
    def parent(self) -> NodeId | None:
        """The next peer towards the root, once there is a link to it."""
        return next((peer for peer, link in self.links.items() if link.upward), None)

    @property
    def children(self) -> tuple[NodeId, ...]:
        """The peers that go by this one."""
        return tuple(peer for peer, link in self.links.items() if not link.upward)

    @property
    def is_complete(self) -> bool:
        """Whether all peers with a link have said what they want."""
        return all(link.is_heard for link in self.links.values())

    # -- the peer's own place --------------------------------------------------------------------------------

    def turn(self, root: NodeId | None) -> list[Effect]:
        """The peer belongs to this core's tree now, with nobody of another one."""
        if root == self.root:
            return []
        self.root = root
        former, self.links = self.links, {}
        self.missed = {peer: None for peer in self.missed if peer == ACROSS}
        effects: list[Effect] = [
            SendMessage(Unlink(self.network, link.number), (peer,)) for peer, link in former.items()
        ]
        for peer in former:
            effects += self.carry(self.router.detach(peer), moved=False)
        return effects

    def follow(self, parent: NodeId | None) -> list[Effect]:
        """The peer goes by this neighbour, or by none."""
        before = self.parent
        if before == parent:
            return []
        effects = self.part(before) if before is not None else []
        if parent is None or parent in self._refused or parent in self.links:
            return effects
        self.links[parent] = Link(self._next_number(), upward=True)
        return effects + self.carry(self.router.attach(parent), moved=True)

    def try_again(self) -> None:
        """A beat later those that refused may be asked once more."""
        self._refused.clear()

    def part(self, peer: NodeId) -> list[Effect]:
        """Ends a link."""
        number = self.links[peer].number
        return [SendMessage(Unlink(self.network, number), (peer,)), *self.lose(peer)]

    def lose(self, peer: NodeId) -> list[Effect]:
        """A link is no more."""
        if self.links.pop(peer, None) is None:
            return []
        self.missed.pop(peer, None)
        return self.carry(self.router.detach(peer), moved=False)

    # -- what others say -------------------------------------------------------------------------------------

    def hear(self, sender: NodeId, news: TreeNews, *, is_neighbour: bool) -> list[Effect]:
        """Takes in what a peer wants over a link, or that it joins."""
        link = self.links.get(sender)
        content = news.content
        if link is not None and link.number == news.link and link.upward is not news.upward:
            link.is_heard = True
            return self._take(sender, content, news.moved)
        if not news.upward:
            return []
        is_join = isinstance(content, Announce) and content.anew and news.root == self.root and is_neighbour
        if not is_join or (link is not None and link.upward):
            return [SendMessage(Unlink(self.network, news.link), (sender,))]
        effects = self.lose(sender)
        self.links[sender] = Link(news.link, upward=False, is_heard=True)
        effects += self.carry(self.router.attach(sender), moved=True)
        return effects + self._take(sender, content, moved=True)

    def hear_unlink(self, sender: NodeId, unlink: Unlink) -> list[Effect]:
        """The other end has ended a link."""
        link = self.links.get(sender)
        if link is None or link.number != unlink.link:
            return []
        if link.upward:
            self._refused.add(sender)
        return self.lose(sender)

    def check(self, sender: NodeId, held: Mapping[int, int], number: int) -> list[Effect]:
        """A beat of a neighbour says which links it holds as a child; `number` is the beat's."""
        self._refused.discard(sender)
        link, listed = self.links.get(sender), held.get(self.network)
        if link is not None and not link.upward and listed != link.number and number > link.number:
            return self.lose(sender)
        if listed is None or (link is not None and listed == link.number):
            self._unknown.pop(sender, None)
            return []
        if self._unknown.get(sender) != listed:
            self._unknown[sender] = listed
            return []
        del self._unknown[sender]
        return [SendMessage(Unlink(self.network, listed), (sender,))]

    def _take(self, sender: NodeId, content: object, moved: bool) -> list[Effect]:
        match content:
            case Announce(entries, _, anew):
                effects = self.router.subscribe(entries, sender, anew=anew)
                if moved:
                    self.missed[sender] = None
            case Retract(ids, _):
                effects = self.router.unsubscribe(ids, sender)
            case _:
                return []
        return self.carry(effects, moved=moved)

    # -- what the router says --------------------------------------------------------------------------------

    def carry(self, effects: list[Effect], *, moved: bool) -> list[Effect]:
        """What the router wants its neighbours to know, each over its link."""
        done: list[Effect] = []
        for effect in effects:
            assert isinstance(effect, SendMessage)
            content = effect.message
            for peer in effect.destinations:
                if peer == ACROSS:
                    assert isinstance(content, Announce | Retract)
                    done += self._cross(content, moved)
                    continue
                link = self.links.get(peer)
                if link is None or self.root is None:
                    continue  # it is about to be detached as well
                news = TreeNews(self.network, link.number, self.root, link.upward, moved, content)
                done.append(SendMessage(news, (peer,)))
        return done
