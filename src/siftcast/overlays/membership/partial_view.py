"""A partial view that stays connected: HyParView, as a part of a protocol.

A node keeps two small lists. The *active view* are its neighbours: events go there, links are used both ways, and each
is watched, so that a broken one is noticed at once. The *passive view* are spare names that cost nothing to keep; when
a neighbour is lost, one of them is asked to take its place.

    joiner ──Join──▶ contact ──ForwardJoin, 6 hops left──▶ … 3 left: remembered … ──▶ 0 left
       ◀──NeighbourAnswer──┘                                                           │
       ◀──────────────────────────────NeighbourRequest, urgent─────────────────────────┘

    Shuffle walks likewise; where it ends, two nodes swap a few names of their passive views.

An urgent request is never refused: who has no room drops a neighbour at random (`Disconnect`), which keeps the dropper
as a spare and asks somebody else. Others are refused without room. Answers count, not requests: a peer becomes a
neighbour when it was heard from, so no dead one does (a habit of iroh-gossip; the paper adds it at once).

Invariants: never itself in a view; no view over its size; nobody in both. When messages are no longer lost, views
become symmetric: what is sent to neighbours only (`Shuffle`, `ForwardJoin`, and whatever the host reports with
`handle_stranger`) and comes from somebody who is none is answered by `Disconnect`. A host that probes neighbours hears
sooner that one is none (`handle_parted`).

What the paper leaves open, and how it is here:
- *Requests are urgent below two neighbours*, not only without any: a pair whose only link is each other is a network of
  its own as long as all others are full.
- *Mixing.* Now and then a node asks a spare urgently although it has enough neighbours. Groups that are complete among
  themselves, as after a partition, would otherwise never meet again.
- *Former neighbours.* Lost is not gone: as many as fit in an active view stay watched, and one that is found again is
  asked urgently. The paper forgets them, and two halves of a network that forgot each other stay halves.
- A `Disconnect` names a few others, because whoever is dropped may know nobody else yet.

Paper: Leitão, Pereira, Rodrigues, "HyParView: a membership protocol for reliable gossip-based broadcast", DSN 2007;
sizes and walks are those of its section 5.1 for 10,000 nodes.

Cost: for each node and `shuffle_ms` a walk of at most `active_walk` messages and a reply, of 8 names each; a join,
`active_size` walks. Views are short lists, searched in a fraction of a microsecond.

Rejected: a timer for each request, where one for all is enough.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from random import Random
from typing import Any, Literal, NamedTuple

from siftcast.overlays.contract import Effect, Message, NodeId, SendMessage, SetTimer, Unwatch, Watch
from siftcast.overlays.membership.neighbour_requests import NeighbourRequests
from siftcast.overlays.membership.spare_names import SpareNames
from siftcast.overlays.membership.view_messages import (
    Disconnect,
    ForwardJoin,
    Join,
    NeighbourAnswer,
    NeighbourRequest,
    Shuffle,
    ShuffleReply,
)

TIMERS = "view/"
_SHUFFLE = "view/shuffle"
_URGENT_BELOW = 2


class Neighbouring(NamedTuple):
    """A peer became a neighbour (`up`), or is none any more."""

    change: Literal["up", "down"]
    peer: NodeId


@dataclass(frozen=True, slots=True)
class PartialViewOptions:
    """Sizes, lengths of walks, and how often names are exchanged; every `mixing`th shuffle replaces a neighbour."""

    active_size: int = 5
    passive_size: int = 30
    active_walk: int = 6
    passive_walk: int = 3
    shuffled_active: int = 3
    shuffled_passive: int = 4
    shuffle_ms: float = 10_000.0
    request_ms: float = 2_000.0
    mixing: int = 10

    def __post_init__(self) -> None:
        if self.active_size <= _URGENT_BELOW or self.passive_size < 1:
            # With two, whoever is dropped for an urgent request would make one itself, without end.
            raise ValueError(f"views hold at least 3 and 1 nodes, not {self.active_size} and {self.passive_size}")
        if not 0 <= self.passive_walk <= self.active_walk:
            raise ValueError(f"a walk of {self.active_walk} passes no place {self.passive_walk} before its end")
        if not (0 < self.shuffle_ms < float("inf") and 0 < self.request_ms < float("inf")):
            raise ValueError("shuffle_ms and request_ms are times longer than 0")
        if self.mixing < 0:
            raise ValueError(f"mixing is a number of shuffles, or 0 for never: {self.mixing}")


class PartialView:
    """The views of one node. A host hands in what concerns them, and reads `news` after each call."""

    __slots__ = (
        "_contacts",
        "_has_entered",
        "_node",
        "_options",
        "_random",
        "_requests",
        "_shuffled",
        "active",
        "former",
        "news",
        "passive",
    )

    def __init__(self, node: NodeId, options: PartialViewOptions, random: Random) -> None:
        self.active: list[NodeId] = []
        """Neighbours."""
        self.passive = SpareNames(options.passive_size, random)
        """Spare ones."""
        self.former: list[NodeId] = []
        """Neighbours that were lost last and are still watched."""
        self.news: list[Neighbouring] = []
        """What changed; the host takes it out."""
        self._node = node
        self._options = options
        self._random = random
        self._contacts: tuple[NodeId, ...] = ()
        self._has_entered = False  # whether a contact took it in; others may have joined through this node before that
        self._requests = NeighbourRequests(options.request_ms)
        self._shuffled: tuple[NodeId, ...] = ()  # names sent away last, which may be replaced

    @property
    def is_short_of_names(self) -> bool:
        """Whether it lacks neighbours, and knows too few others to find some."""
        size = self._options.active_size
        return len(self.active) < size and len(self.active) + len(self.passive) < size

    @property
    def is_settled(self) -> bool:
        """Whether the node is part of a network, or alone, and nobody that it asked still has to answer."""
        return not self._requests and (self._has_entered or bool(self.active) or not self._contacts)

    # -- what happens to the node ------------------------------------------------------------------------

    def handle_started(self, contacts: Iterable[NodeId], now: float) -> list[Effect]:
        """Enters the network through one of the contacts; the others are spare, and need not be watched."""
        self._contacts = tuple(each for each in contacts if each != self._node)
        self._take(self._contacts)
        effects: list[Effect] = [SetTimer(_SHUFFLE, self._random.random() * self._options.shuffle_ms)]
        effects += self._enter(now)
        effects += (Unwatch(each) for each in self._contacts if each not in self._requests)
        return effects

    def handle_contacts(self, contacts: Iterable[NodeId], now: float) -> list[Effect]:
        """There are further contacts: they are spare, unless the node is still outside."""
        fresh = tuple(each for each in contacts if each != self._node and each not in self._contacts)
        self._contacts += fresh
        self._take(fresh)
        if self.active or not fresh:
            return []
        return self._requests.ask(self._random.choice(fresh), now, urgent=True, message=Join())

    def handle_message(self, sender: NodeId, message: Message, now: float) -> list[Effect]:
        """Takes in one of `VIEW_MESSAGES`."""
        return _HANDLERS[type(message)](self, sender, message, now)

    def handle_timer(self, name: str, now: float) -> list[Effect]:
        """Takes in a timer whose name begins with `TIMERS`."""
        return self._shuffle(now) if name == _SHUFFLE else self._expire_requests(now)

    def handle_lost(self, peer: NodeId, now: float) -> list[Effect]:
        """A peer cannot be reached: somebody else takes its place."""
        effects: list[Effect] = []
        self.passive.discard(peer)
        if peer in self.active:
            self.active.remove(peer)
            self.news.append(Neighbouring("down", peer))
            self.former.append(peer)
            if len(self.former) > self._options.active_size:
                effects.append(Unwatch(self.former.pop(0)))
        elif self._requests.close(peer) is not None and peer not in self.former:
            effects.append(Unwatch(peer))
        return effects + self.refill(now)

    def handle_found(self, peer: NodeId, now: float) -> list[Effect]:
        """A peer can be reached; one that was a neighbour is asked to be one again."""
        if peer not in self.former:
            return []
        return self._requests.ask(peer, now, urgent=True) if peer not in self._requests else []

    def handle_gone(self, peer: NodeId, now: float) -> list[Effect]:
        """A peer does not come back."""
        self.passive.discard(peer)
        _discard(self.former, peer)
        self._requests.close(peer)
        self._contacts = tuple(each for each in self._contacts if each != peer)
        if peer in self.active:
            self.active.remove(peer)
            self.news.append(Neighbouring("down", peer))
        return [Unwatch(peer), *self.refill(now)]

    def is_neighbour(self, peer: NodeId) -> bool:
        """Whether a peer is a neighbour, or was asked to be one and is about to be."""
        return peer in self.active or peer in self._requests

    def handle_parted(self, peer: NodeId, now: float) -> list[Effect]:
        """A neighbour says that it is none."""
        return self._on_disconnect(peer, Disconnect(), now)

    def handle_stranger(self, sender: NodeId) -> list[Effect]:
        """The host received what only neighbours are sent; if the sender is none, it learns so."""
        return [] if sender in self.active else [SendMessage(Disconnect(self._some_of_passive(sender)), (sender,))]

    def suggest(self, names: Iterable[NodeId]) -> None:
        """The host knows nodes that may be spare ones."""
        self._take(names)

    def handle_leaving(self) -> list[Effect]:
        """Says goodbye to all neighbours, with names to ask in its place."""
        leavers = self.active
        self.active = []
        self.news += (Neighbouring("down", peer) for peer in leavers)
        effects: list[Effect] = []
        for peer in leavers:
            # Neighbours of one that leaves are near each other, so they learn of each other first.
            others = [other for other in leavers if other != peer]
            effects.append(SendMessage(Disconnect((*others, *self._some_of_passive(peer)), leaving=True), (peer,)))
            effects.append(Unwatch(peer))
        return effects

    # -- joining -----------------------------------------------------------------------------------------

    def _enter(self, now: float) -> list[Effect]:
        if not self._contacts:
            return []
        return self._requests.ask(self._random.choice(self._contacts), now, urgent=True, message=Join())

    def _on_join(self, joiner: NodeId, message: Join, now: float) -> list[Effect]:
        self._requests.close(joiner)  # it has just begun, and remembers no request
        effects = self._adopt(joiner)
        effects.append(SendMessage(NeighbourAnswer(True), (joiner,)))
        others = [peer for peer in self.active if peer != joiner]
        if others:
            effects.append(SendMessage(ForwardJoin(joiner, self._options.active_walk), others))
        return effects + self.refill(now)

    def _on_forward_join(self, sender: NodeId, message: ForwardJoin, now: float) -> list[Effect]:
        effects = self.handle_stranger(sender)
        joiner, hops_left = message.joiner, message.hops_left
        if joiner == self._node:
            return effects
        onward = [peer for peer in self.active if peer not in (sender, joiner)]
        if hops_left > 0 and onward and len(self.active) > 1:
            if hops_left == self._options.passive_walk:
                self._take((joiner,))
            effects.append(SendMessage(ForwardJoin(joiner, hops_left - 1), (self._random.choice(onward),)))
        elif joiner not in self.active and joiner not in self._requests:
            effects += self._requests.ask(joiner, now, urgent=True)
        return effects

    # -- neighbours --------------------------------------------------------------------------------------

    def _expire_requests(self, now: float) -> list[Effect]:
        """Whoever has not answered in time is not asked again, and forgotten unless it was a neighbour once."""
        effects: list[Effect] = []
        for peer in self._requests.expire(now):
            self.passive.discard(peer)
            if peer not in self.former and peer not in self.active:
                effects.append(Unwatch(peer))
        effects += self.refill(now)
        if not self._has_entered and not any(each in self._requests for each in self._contacts):
            effects += self._enter(now)
        return effects + self._requests.wait(now)

    def _on_request(self, sender: NodeId, message: NeighbourRequest, now: float) -> list[Effect]:
        if not message.urgent and sender not in self.active and len(self.active) >= self._options.active_size:
            return [SendMessage(NeighbourAnswer(False), (sender,))]
        self._requests.close(sender)
        return [*self._adopt(sender), SendMessage(NeighbourAnswer(True), (sender,)), *self.refill(now)]

    def _on_answer(self, sender: NodeId, message: NeighbourAnswer, now: float) -> list[Effect]:
        was_urgent = self._requests.close(sender)
        if sender in self.active:
            return self.refill(now)
        if message.accepted:
            if was_urgent or len(self.active) < self._options.active_size:
                return [*self._adopt(sender), *self.refill(now)]
            # Others were quicker.
            self._take((sender,))
            return [*self._stop_watching(sender), SendMessage(Disconnect(), (sender,))]
        self._requests.refused.add(sender)
        return [*self._stop_watching(sender), *self.refill(now)]

    def _on_disconnect(self, sender: NodeId, message: Disconnect, now: float) -> list[Effect]:
        effects: list[Effect] = []
        self._take(message.peers)
        if sender in self.active:
            self.active.remove(sender)
            self.news.append(Neighbouring("down", sender))
            effects.append(Unwatch(sender))
        if message.leaving:
            return effects + self.handle_gone(sender, now)
        self._take((sender,))
        self._requests.refused.add(sender)  # it has just dropped this node, and is full
        return effects + self.refill(now)

    def _adopt(self, peer: NodeId) -> list[Effect]:
        """Makes a peer a neighbour, if need be in place of one drawn at random."""
        if peer in self.active or peer == self._node:
            return []
        effects: list[Effect] = []
        if len(self.active) >= self._options.active_size:
            victim = self._random.choice(self.active)
            self.active.remove(victim)
            self.news.append(Neighbouring("down", victim))
            self._take((victim,))
            effects += [SendMessage(Disconnect(self._some_of_passive(victim)), (victim,)), Unwatch(victim)]
        self.passive.discard(peer)
        _discard(self.former, peer)
        self._has_entered = self._has_entered or peer in self._contacts
        self.active.append(peer)
        self.news.append(Neighbouring("up", peer))
        effects.append(Watch(peer))
        return effects

    def refill(self, now: float) -> list[Effect]:
        """Asks spare nodes to be neighbours, as many at once as there is room."""
        room = self._options.active_size - len(self.active) - len(self._requests)
        if room <= 0:
            return []
        spare = [peer for peer in self.passive if peer not in self._requests and peer not in self._requests.refused]
        if len(spare) > room:
            spare = self._random.sample(spare, room)
        urgent = len(self.active) < _URGENT_BELOW
        return [effect for peer in spare for effect in self._requests.ask(peer, now, urgent=urgent)]

    # -- spare names -------------------------------------------------------------------------------------

    def _shuffle(self, now: float) -> list[Effect]:
        options, random = self._options, self._random
        effects: list[Effect] = [SetTimer(_SHUFFLE, options.shuffle_ms)]
        self._requests.refused.clear()
        if self.active:
            peer = random.choice(self.active)
            others = [other for other in self.active if other != peer]
            self._shuffled = self.passive.sample(options.shuffled_passive)
            names = (*random.sample(others, min(options.shuffled_active, len(others))), *self._shuffled)
            effects.append(SendMessage(Shuffle(self._node, names, options.active_walk), (peer,)))
        elif not self.passive and not self._requests:
            self._has_entered = False
            effects += self._enter(now)
        effects += self.refill(now)
        if options.mixing and self.passive and not self._requests and random.random() * options.mixing < 1:
            effects += self._requests.ask(self.passive.sample(1)[0], now, urgent=True)
        return effects

    def _on_shuffle(self, sender: NodeId, message: Shuffle, now: float) -> list[Effect]:
        effects = self.handle_stranger(sender)
        origin, hops_left = message.origin, message.hops_left - 1
        if origin == self._node:
            return effects
        onward = [peer for peer in self.active if peer not in (sender, origin)]
        if hops_left > 0 and onward:
            walk = Shuffle(origin, message.peers, hops_left)
            effects.append(SendMessage(walk, (self._random.choice(onward),)))
            return effects
        names = self.passive.sample(len(message.peers) + 1, origin)
        effects.append(SendMessage(ShuffleReply(names), (origin,)))
        self._take((origin, *message.peers), names)
        return effects + self.refill(now)

    def _on_shuffle_reply(self, sender: NodeId, message: ShuffleReply, now: float) -> list[Effect]:
        sent, self._shuffled = self._shuffled, ()
        self._take(message.peers, sent)
        return self.refill(now)

    def _take(self, names: Iterable[NodeId], sent: tuple[NodeId, ...] = ()) -> None:
        self.passive.take((name for name in names if name != self._node and name not in self.active), sent)

    def _stop_watching(self, peer: NodeId) -> list[Effect]:
        return [] if peer in self.former else [Unwatch(peer)]

    def _some_of_passive(self, but: NodeId) -> tuple[NodeId, ...]:
        return self.passive.sample(self._options.shuffled_passive, but)


def _discard(names: list[NodeId], name: NodeId) -> None:
    if name in names:
        names.remove(name)


_HANDLERS: dict[type[Message], Callable[[PartialView, NodeId, Any, float], list[Effect]]] = {
    Join: PartialView._on_join,
    ForwardJoin: PartialView._on_forward_join,
    NeighbourRequest: PartialView._on_request,
    NeighbourAnswer: PartialView._on_answer,
    Disconnect: PartialView._on_disconnect,
    Shuffle: PartialView._on_shuffle,
    ShuffleReply: PartialView._on_shuffle_reply,
}
