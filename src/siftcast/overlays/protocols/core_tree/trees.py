"""The two trees that a peer has a part in, and how one knows what the other wants.

    cell     the peers of one core, along their shortest ways to it
    cores    the cores, along their shortest ways to the root core; the peers between them forward

At a core the two meet: each is a neighbour of the other (`ACROSS`), so that what a cell wants is wanted by its core
among the cores, and what other cells want is wanted from the cell. A subscription is announced on both trees as by
filter-based routing, but for those that another covers.

Where each two cores are joined by their own shortest ways, the tree of the cores carries tables only: there no
subscription stands for one of another core, so that every core knows what each other one wants.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from siftcast.overlays.contract import Effect, NodeId
from siftcast.overlays.keys import LOCAL
from siftcast.overlays.messages import Announce, Retract
from siftcast.overlays.protocols.core_tree.branch import ACROSS, Branch
from siftcast.overlays.protocols.core_tree.messages import CELL, CORES, TreeNews, Unlink
from siftcast.overlays.routing_rows import Entry
from siftcast.overlays.tables import TableFactory


@dataclass(frozen=True, slots=True)
class Position:
    """Where a peer belongs: its relay, the root core, and the next peers towards them, if there are any."""

    relay: NodeId | None
    parent: NodeId | None
    root: NodeId
    towards_root: NodeId | None
    is_core: bool


class Trees:
    """One peer's parts in both trees."""

    __slots__ = ("_is_core", "_node", "cell", "cores", "table_bytes")

    def __init__(self, node: NodeId, tables: TableFactory, next_number: Callable[[], int], *, by_origin: bool) -> None:
        self._node = node
        self._is_core = False
        self.cell = Branch(CELL, tables, next_number, self._to_cores, by_origin=False)
        self.cores = Branch(CORES, tables, next_number, self._to_cell, by_origin=by_origin)
        self.table_bytes = 0
        """What was said of tables on the tree of the cores, so far."""

    @property
    def branches(self) -> tuple[Branch, Branch]:
        """Both, by their numbers."""
        return self.cell, self.cores

    # -- where the peer belongs --------------------------------------------------------------------------------

    def settle(self, position: Position) -> list[Effect]:
        """Joins where the peer belongs, and leaves where it does not."""
        effects = self.cell.turn(position.relay) + self.cores.turn(position.root)
        if position.is_core is not self._is_core:
            self._is_core = position.is_core
            effects += self._meet() if position.is_core else self._separate()
        effects += self.cell.follow(position.parent)
        needed = position.is_core or bool(self.cores.children)
        return effects + self.cores.follow(position.towards_root if needed else None)

    def _meet(self) -> list[Effect]:
        wanted_there, wanted_here = self.cores.router.attach(ACROSS), self.cell.router.attach(ACROSS)
        return self.cores.carry(wanted_there, moved=True) + self.cell.carry(wanted_here, moved=True)

    def _separate(self) -> list[Effect]:
        effects: list[Effect] = []
        for branch in self.branches:
            branch.missed.pop(ACROSS, None)
            effects += branch.carry(branch.router.detach(ACROSS), moved=False)
        return effects

    def held(self, peer: NodeId) -> tuple[tuple[int, int], ...]:
        """The links to a neighbour that this peer holds as its child, by tree and number."""
        return tuple(
            (branch.network, link.number)
            for branch in self.branches
            if (link := branch.links.get(peer)) is not None and link.upward
        )

    # -- what is wanted ----------------------------------------------------------------------------------------

    def subscribe(self, entries: Iterable[Entry]) -> list[Effect]:
        """The peer's own subscribers want something."""
        return self.cell.carry(self.cell.router.subscribe(entries, LOCAL), moved=False)

    def unsubscribe(self, ids: Iterable[str]) -> list[Effect]:
        """They do not any more."""
        return self.cell.carry(self.cell.router.unsubscribe(ids, LOCAL), moved=False)

    def hear(self, sender: NodeId, news: TreeNews, *, is_neighbour: bool) -> list[Effect]:
        """A peer says what it wants."""
        branch = self.cores if news.network == CORES else self.cell
        if branch is self.cores:
            self.table_bytes += _size(news.content)
        return branch.hear(sender, news, is_neighbour=is_neighbour)

    def hear_unlink(self, sender: NodeId, unlink: Unlink) -> list[Effect]:
        """A peer has ended a link."""
        return (self.cores if unlink.network == CORES else self.cell).hear_unlink(sender, unlink)

    def _to_cores(self, content: Announce | Retract, moved: bool) -> list[Effect]:
        return self._hand_over(self.cores, content, moved)

    def _to_cell(self, content: Announce | Retract, moved: bool) -> list[Effect]:
        return self._hand_over(self.cell, content, moved)

    def _hand_over(self, branch: Branch, content: Announce | Retract, moved: bool) -> list[Effect]:
        if ACROSS not in branch.router.neighbours:
            return []
        if isinstance(content, Retract):
            return branch.carry(branch.router.unsubscribe(content.ids, ACROSS), moved=moved)
        if moved:
            branch.missed[ACROSS] = None
        entries = [
            (id, filter_, self._node if branch is self.cores else origin) for id, filter_, origin in content.entries
        ]
        return branch.carry(branch.router.subscribe(entries, ACROSS, anew=content.anew), moved=moved)


def _size(content: object) -> int:
    """About the bytes of what is said of a table."""
    match content:
        case Announce(entries):
            return sum(len(id) + len(str(filter_)) + 9 for id, filter_, _ in entries)
        case Retract(ids):
            return sum(map(len, ids))
    return 0
