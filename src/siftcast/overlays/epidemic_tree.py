"""An epidemic broadcast tree: events go to all neighbours' neighbours once, and gossip repairs the tree. Plumtree.

Over a random graph of neighbours a flood reaches everyone and sends everything several times. So each node divides its
neighbours: *eager* ones are pushed events, *lazy* ones only hear which events there are. A link over which an event
came for the second time becomes lazy at both ends (`Prune`); what stays eager is a tree. Whoever hears of an event that
does not come asks for it, and the link it comes by is eager again (`Graft`): the tree mends itself.

    ──Push──▶ new: deliver, push on to the eager, remember for the lazy
    ──Push──▶ known: the sender is lazy now, and learns so by Prune
    ──Have(events)──▶ one is unknown after `graft_ms`: Graft to who has it, which is eager now and pushes it

A new neighbour is eager, and hears which events came in the last `recall_ms`, so that one that was between two
neighbours when an event passed gets it, too. Nobody asks for what was published before it started: an earlier life of
the node may have delivered it, and its subscribers came later. Ages do not count the time between nodes, so this is
exact but for the time that an event is on its way.

A part, as those of `membership`: a host hands in neighbours that come and go, messages and timers, and takes out of
`fresh` the events that came for the first time. It is for ephemeral events: each is pushed at most once to `fresh`, as
long as its id is among the last `remembered`.

Invariants: no neighbour is both eager and lazy; at most one graft per event is waited for.

Paper: Leitão, Pereira, Rodrigues, "Epidemic broadcast trees", SRDS 2007. Left out: its optimisation by hop counts (a
tree that is a few hops longer than need be costs delay, not messages). Added: the recall for new neighbours.

Cost: n - 1 pushes per event once the tree stands; for each lazy link, one `Have` per `lazy_ms` in which events came.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from siftcast.model import Event
from siftcast.model.bounded_cache import remember
from siftcast.overlays.contract import CancelTimer, Effect, Message, NodeId, SendMessage, SetTimer

TIMERS = "tree/"
_ANNOUNCE = "tree/announce"
_GRAFT = "tree/graft/"


class Push(Message, frozen=True, gc=False):
    """An event, from one neighbour to the next; `age_ms` is how long it has lain at nodes on its way."""

    control: ClassVar[bool] = False

    event: Event
    age_ms: float = 0.0

    @property
    def event_id(self) -> str | None:
        return self.event.id


class Have(Message, frozen=True, gc=False):
    """The sender has events of these ids, of these ages in milliseconds."""

    repeated: ClassVar[bool] = True

    events: tuple[tuple[str, float], ...]


class Graft(Message, frozen=True, gc=False):
    """The receiver is to push events again, this one first."""

    repeated: ClassVar[bool] = True

    id: str


class Prune(Message, frozen=True, gc=False):
    """The receiver is to push no more, but say what it has."""

    repeated: ClassVar[bool] = True


TREE_MESSAGES: tuple[type[Message], ...] = (Push, Have, Graft, Prune)


@dataclass(frozen=True, slots=True)
class EpidemicTreeOptions:
    """How long announcements are collected, how long a node waits before it grafts, and what it remembers."""

    lazy_ms: float = 100.0
    graft_ms: float = 300.0
    recall_ms: float = 2_000.0
    remembered: int = 4_096

    def __post_init__(self) -> None:
        if not (0 <= self.lazy_ms < float("inf") and 0 <= self.graft_ms < float("inf") and self.recall_ms >= 0):
            raise ValueError("lazy_ms, graft_ms and recall_ms are times of at least 0")
        if self.remembered < 2:
            raise ValueError(f"at least 2 events must be remembered, not {self.remembered}")


class EpidemicTree:
    """One node's part in the tree."""

    __slots__ = ("_eager", "_events", "_lazy", "_missing", "_options", "_started_ms", "_unsaid", "fresh")

    def __init__(self, options: EpidemicTreeOptions) -> None:
        self.fresh: list[Event] = []
        """Events that came for the first time; the host takes them out."""
        self._options = options
        self._started_ms = 0.0
        self._eager: list[NodeId] = []
        self._lazy: list[NodeId] = []
        self._events: dict[str, tuple[Event, float, float]] = {}
        """Each with the time it came, and when it was published as far as one can tell."""
        self._missing: dict[str, list[NodeId]] = {}
        """Events that others have, and who."""
        self._unsaid: dict[str, NodeId | None] = {}
        """Events to announce, and from whom they came."""

    @property
    def eager(self) -> tuple[NodeId, ...]:
        """Neighbours that are pushed events."""
        return tuple(self._eager)

    @property
    def lazy(self) -> tuple[NodeId, ...]:
        """Neighbours that only hear which events there are."""
        return tuple(self._lazy)

    @property
    def is_settled(self) -> bool:
        """Whether no event is waited for, and all were announced."""
        return not self._missing and not self._unsaid

    def handle_started(self, now: float) -> None:
        """A life begins."""
        self._started_ms = now

    def add(self, peer: NodeId, now: float) -> list[Effect]:
        """There is a new neighbour."""
        if peer in self._eager or peer in self._lazy:
            return []
        self._eager.append(peer)
        recent: list[tuple[str, float]] = []
        for id, (_, came_ms, published_ms) in reversed(self._events.items()):
            if came_ms < now - self._options.recall_ms:
                break
            recent.append((id, now - published_ms))
        return [SendMessage(Have(tuple(recent)), (peer,))] if recent else []

    def remove(self, peer: NodeId) -> None:
        """A neighbour is none any more."""
        for kind in (self._eager, self._lazy):
            if peer in kind:
                kind.remove(peer)

    def publish(self, event: Event, now: float) -> list[Effect]:
        """Sends an event of this node on its way."""
        return self._spread(event, None, now, now)

    def handle_message(self, sender: NodeId, message: Message, now: float) -> list[Effect]:
        """Takes in one of `TREE_MESSAGES`."""
        if type(message) is Push:
            return self._on_push(sender, message, now)
        match message:
            case Have(events):
                return self._on_have(sender, events, now)
            case Graft(id):
                self._make(self._eager, self._lazy, sender)
                known = self._events.get(id)
                return [SendMessage(Push(known[0], now - known[2]), (sender,))] if known is not None else []
            case Prune():
                self._make(self._lazy, self._eager, sender)
                return []
        raise TypeError(f"{type(message).__name__} is no message of an epidemic tree")

    def handle_timer(self, name: str, now: float) -> list[Effect]:
        """Takes in a timer whose name begins with `TIMERS`."""
        return self._announce(now) if name == _ANNOUNCE else self._graft(name[len(_GRAFT) :])

    # -- events ------------------------------------------------------------------------------------------

    def _on_push(self, sender: NodeId, push: Push, now: float) -> list[Effect]:
        if push.event.id not in self._events:
            self._make(self._eager, self._lazy, sender)
            return self._spread(push.event, sender, now, now - push.age_ms)
        if self._make(self._lazy, self._eager, sender):
            return [SendMessage(Prune(), (sender,))]
        return []

    def _spread(self, event: Event, sender: NodeId | None, now: float, published_ms: float) -> list[Effect]:
        if event.id in self._events:
            return []
        remember(self._events, event.id, (event, now, published_ms), self._options.remembered)
        self.fresh.append(event)
        effects: list[Effect] = []
        if self._missing.pop(event.id, None) is not None:
            effects.append(CancelTimer(f"{_GRAFT}{event.id}"))
        onward = [peer for peer in self._eager if peer != sender]
        if onward:
            effects.append(SendMessage(Push(event, now - published_ms), onward))
        if self._lazy:
            if not self._unsaid:
                effects.append(SetTimer(_ANNOUNCE, self._options.lazy_ms))
            self._unsaid[event.id] = sender
        return effects

    def _announce(self, now: float) -> list[Effect]:
        unsaid, self._unsaid = self._unsaid, {}
        ages = {id: now - self._events[id][2] for id in unsaid if id in self._events}
        senders = set(unsaid.values())
        effects: list[Effect] = []
        alike = [peer for peer in self._lazy if peer not in senders]
        if alike and ages:
            effects.append(SendMessage(Have(tuple(ages.items())), alike))
        for peer in self._lazy:
            if peer in senders:
                others = tuple((id, age) for id, age in ages.items() if unsaid[id] != peer)
                effects += [SendMessage(Have(others), (peer,))] if others else ()
        return effects

    # -- repair ------------------------------------------------------------------------------------------

    def _on_have(self, sender: NodeId, events: tuple[tuple[str, float], ...], now: float) -> list[Effect]:
        effects: list[Effect] = []
        for id, age_ms in events:
            if id in self._events or now - age_ms < self._started_ms:
                continue
            holders = self._missing.get(id)
            if holders is None:
                self._missing[id] = [sender]
                effects.append(SetTimer(f"{_GRAFT}{id}", self._options.graft_ms))
            elif sender not in holders:
                holders.append(sender)
        return effects

    def _graft(self, id: str) -> list[Effect]:
        """An event that others have has not come: asks one of them, and the next if that does not help."""
        holders = self._missing.get(id)
        if not holders:
            self._missing.pop(id, None)
            return []
        holder = holders.pop(0)
        self._make(self._eager, self._lazy, holder)
        return [SendMessage(Graft(id), (holder,)), SetTimer(f"{_GRAFT}{id}", self._options.graft_ms)]

    @staticmethod
    def _make(kind: list[NodeId], other: list[NodeId], peer: NodeId) -> bool:
        """Makes a neighbour one kind from the other; says whether it was."""
        if peer not in other:
            return False
        other.remove(peer)
        kind.append(peer)
        return True
