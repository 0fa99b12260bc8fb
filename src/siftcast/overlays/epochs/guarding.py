"""Durable subscriptions that two nodes know of: the one that has them, and its guardian.

    J  ──Guard(serial 7, {x})──▶  S          J has a new durable subscription, and makes it known to the network
       ◀──────Guarded(7)────────             S has it on disk: now J answers who asked for it

Should a plan leave J out, S stands in for it with all that anybody can know J was promised. J chooses its guardian
among the nodes it is connected to, and another when that one is lost; serials ascend over all lives of J, so of two
nodes that guard it the latest is known. A node that reaches nobody has no guardian and answers at once: whoever could
hear it could also be its guardian. Nothing is promised before the answer, so the network may know earlier. Rejected: to
answer at once, and make it known when it is guarded: what the node accepted in between missed its own subscription, and
a plan prepared in between did not know it.

What a former guardian has is out of date. It says `Guarded` again when a plan is used and when it meets J, and J, once
it has another guardian that has everything, answers `Unguarded`. Otherwise a coordinator that is new in its office,
which nobody has told how far J is guarded, could let a former guardian stand in for J.

What that leaves open: a node that reaches neither its guardian nor the coordinator, but others, has a new guardian that
the coordinator may not reach either. A subscription made meanwhile can miss events that are published on the other side
until the node is back in touch.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from siftcast.model import Filter, Subscription
from siftcast.overlays.contract import Effect, NodeId, SendMessage, Stimulus
from siftcast.overlays.epochs.messages import Guard
from siftcast.overlays.epochs.view import PRESENT, View

_SERIALS_PER_LIFE = 2**32


class GuardianChosen(Stimulus, frozen=True, gc=False):
    """Another node guards this one from now on; None, if there is nobody."""

    peer: NodeId | None


def chosen_guardian(view: View, node: NodeId, near: Iterable[NodeId], current: NodeId | None) -> NodeId | None:
    """Who is to guard a node: whoever stands in for it, else the one who does, else the first of those near it."""
    if (stand_in := view.newest.stand_in(node)) is not None:
        return stand_in
    able = sorted(other for other in near if view.state(other) == PRESENT)
    return current if current in able else next(iter(able), None)


class Guardian:
    """Who guards this node, and what it has not said it has."""

    __slots__ = ("_node", "_waiting", "confirmed", "peer", "serial")

    def __init__(self, node: NodeId) -> None:
        self.peer: NodeId | None = None
        self.serial = 0
        """Of what was said last."""
        self.confirmed = 0
        """Up to which the guardian has it."""
        self._node = node
        self._waiting: dict[str, int] = {}

    def begin_life(self, number: int) -> None:
        """Counts serials on from where no earlier life can have been."""
        self.serial = number * _SERIALS_PER_LIFE

    @property
    def is_behind(self) -> bool:
        """Whether the guardian has not said yet that it has everything."""
        return self.peer is not None and self.confirmed < self.serial

    @property
    def waiting(self) -> tuple[str, ...]:
        """Subscriptions that were asked for, of which the guardian has not said that it has them."""
        return tuple(self._waiting)

    def hold(self, items: Sequence[Subscription]) -> list[Effect]:
        """Has subscriptions guarded that were asked for; where nobody can guard them, nothing is said or waits."""
        told = self.tell(items)
        if told:
            self._waiting.update((item.id, self.serial) for item in items)
        return told

    def tell(self, items: Sequence[Subscription]) -> list[Effect]:
        """Has subscriptions guarded."""
        if self.peer is None or not items:
            return []
        self.serial += 1
        return [SendMessage(Guard(self.serial, self._rows(items)), (self.peer,))]

    def drop(self, ids: Sequence[str]) -> list[Effect]:
        """Has subscriptions guarded no longer."""
        for id in ids:
            self._waiting.pop(id, None)
        if self.peer is None:
            return []
        self.serial += 1
        return [SendMessage(Guard(self.serial, removed=tuple(ids)), (self.peer,))]

    def choose(self, peer: NodeId | None) -> tuple[str, ...]:
        """Another guardian; without one, what waited for the last need not wait any more."""
        self.peer = peer
        if peer is not None:
            return ()
        released, self._waiting = tuple(self._waiting), {}
        return released

    def restate(self, items: Sequence[Subscription]) -> list[Effect]:
        """Tells the guardian everything; what waits for it waits for this."""
        if self.peer is None:
            return []
        self.serial += 1
        self._waiting = dict.fromkeys(self._waiting, self.serial)
        return [SendMessage(Guard(self.serial, self._rows(items), anew=True), (self.peer,))]

    def is_another(self, sender: NodeId) -> bool:
        """Whether a node that says it guards this one has no need to, because another does."""
        return self.peer not in (None, sender) and not self.is_behind

    def note(self, sender: NodeId, serial: int) -> tuple[str, ...]:
        """The guardian has all up to a serial; what need not wait any more."""
        if sender != self.peer:
            return ()
        self.confirmed = max(self.confirmed, serial)
        done = tuple(id for id, waited in self._waiting.items() if waited <= serial)
        for id in done:
            del self._waiting[id]
        return done

    def _rows(self, items: Sequence[Subscription]) -> tuple[tuple[str, Filter, NodeId], ...]:
        return tuple((item.id, item.filter, self._node) for item in items)


class Wards:
    """Those whom this node guards, and what they want."""

    __slots__ = ("_ward_of", "former", "rows", "serials")

    def __init__(self) -> None:
        self.rows: dict[NodeId, dict[str, Filter]] = {}
        self.serials: dict[NodeId, int] = {}
        """How far each of them has said what it wants."""
        self.former: set[NodeId] = set()
        """Those of them whom others guard by now."""
        self._ward_of: dict[str, NodeId] = {}

    def take(self, ward: NodeId, told: Guard) -> tuple[dict[str, Filter], list[str]]:
        """Takes in what a node says about its subscriptions: which are new or other, and which are no more."""
        if told.serial < self.serials.get(ward, 0):
            return {}, []  # of another guardian, from before
        self.former.discard(ward)
        known = self.rows.setdefault(ward, {})
        listed = {id: filter_ for id, filter_, _ in told.entries}
        self.serials[ward] = max(self.serials.get(ward, 0), told.serial)
        removed = [id for id in (known if told.anew else told.removed) if id in known and id not in listed]
        for id in removed:
            del known[id]
            self._let_go(id, ward)
        fresh = {id: filter_ for id, filter_ in listed.items() if known.get(id) != filter_}
        known.update(fresh)
        self._ward_of.update(dict.fromkeys(fresh, ward))
        return fresh, removed

    def __contains__(self, id: str) -> bool:
        return id in self._ward_of

    @property
    def current(self) -> tuple[tuple[NodeId, int], ...]:
        """Whom this node guards, and how far, unless they have said that another does."""
        return tuple((ward, serial) for ward, serial in self.serials.items() if ward not in self.former)

    def restate(self, ward: NodeId) -> Guard:
        """All that a node wants, for another guardian of it."""
        rows = tuple((id, filter_, ward) for id, filter_ in self.rows.get(ward, {}).items())
        return Guard(self.serials.get(ward, 0), rows, anew=True, of=ward)

    def split(self, ids: Iterable[str]) -> dict[NodeId, list[str]]:
        """Subscriptions of others by whose they are."""
        found: dict[NodeId, list[str]] = {}
        for id in ids:
            if (ward := self._ward_of.get(id)) is not None:
                found.setdefault(ward, []).append(id)
        return found

    def release(self, id: str) -> tuple[NodeId, Filter] | None:
        """A subscription is this node's own from now on; whose it was, and what it wanted."""
        ward = self._ward_of.pop(id, None)
        return None if ward is None else (ward, self.rows[ward].pop(id))

    def end(self, ward: NodeId) -> dict[str, Filter]:
        """A node is guarded no longer; what it wanted."""
        rows = self.rows.pop(ward, {})
        self.serials.pop(ward, None)
        self.former.discard(ward)
        for id in rows:
            self._let_go(id, ward)
        return rows

    def _let_go(self, id: str, ward: NodeId) -> None:
        """A subscription is not a node's any more; another may have taken it over."""
        if self._ward_of.get(id) == ward:
            del self._ward_of[id]
