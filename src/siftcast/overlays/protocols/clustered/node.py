"""A node of a clustered network: a publisher's and subscribers' node, a place in trees, perhaps a rendezvous.

Parts that one node plays talk to each other by messages too, which do not leave it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any, ClassVar

from siftcast.model import Event, Filter
from siftcast.overlays.contract import (
    NOTHING,
    Deliver,
    Effect,
    Effects,
    Message,
    MessageReceived,
    NodeId,
    PeerFound,
    PeerLost,
    Protocol,
    PublishRequested,
    SendMessage,
    Spent,
    Stimulus,
    SubscribeRequested,
    UnsubscribeRequested,
)
from siftcast.overlays.protocols.clustered.coordinator import Coordinator
from siftcast.overlays.protocols.clustered.membership import Membership, Onward
from siftcast.overlays.protocols.clustered.messages import (
    Cast,
    ClustersPlanned,
    Commit,
    Enrol,
    Flush,
    Prepare,
    Prepared,
    Resign,
    Submit,
)
from siftcast.overlays.protocols.clustered.rendezvous import Rendezvous
from siftcast.overlays.tables import TableFactory
from siftcast.space import ClusterLayout

VARIANTS = ("multicast", "filtering")


class Clustered(Protocol):
    """A node; `variant` says whether events go to all of a cluster or are filtered on their way."""

    messages: ClassVar[tuple[type[Message], ...]] = (
        Submit, Cast, Enrol, Resign, Prepare, Prepared, Commit, Flush,
    )  # fmt: skip

    __slots__ = (
        "_coordinator", "_filtering", "_filters", "_layout", "_local", "_memberships", "_node",
        "_rendezvous", "_tables", "_version",
    )  # fmt: skip

    def __init__(
        self, node: NodeId, layout: ClusterLayout, tables: TableFactory, *, variant: str = "multicast"
    ) -> None:
        if variant not in VARIANTS:
            raise ValueError(f"variant is one of {', '.join(VARIANTS)}, not {variant!r}")
        self._node = node
        self._layout = layout
        self._tables = tables
        self._filtering = variant == "filtering"
        self._local = tables()  # what subscribers of this node want, for events that are published here
        self._filters: dict[str, Filter] = {}
        self._memberships: dict[int, Membership] = {}
        self._version = 0
        self._rendezvous = Rendezvous(tables) if node in layout.rendezvous else None
        self._coordinator = Coordinator(layout, filtering=self._filtering) if node == layout.coordinator else None

    def handle(self, stimulus: Stimulus, now: float) -> Effects:
        waiting = deque(self._react(stimulus))
        effects: list[Effect] = []
        while waiting:
            effect = waiting.popleft()
            if type(effect) is SendMessage and self._node in effect.destinations:
                others = tuple(other for other in effect.destinations if other != self._node)
                if others:
                    effects.append(SendMessage(effect.message, others))
                waiting.extend(self._receive(effect.message, self._node))
            else:
                effects.append(effect)
        return effects

    def _react(self, stimulus: Stimulus) -> Effects:
        if type(stimulus) is MessageReceived:
            return self._receive(stimulus.message, stimulus.sender)
        match stimulus:
            case PublishRequested(event):
                offer = SendMessage(Submit(event), (self._layout.rendezvous_of(self._node),))
                return [*self._deliver(event, self._local.match(event)), offer]
            case SubscribeRequested(subscriptions):
                for item in subscriptions:
                    self._hold(item.id, item.filter)
                return self._enrol(tuple(dict.fromkeys(item.id for item in subscriptions)))
            case UnsubscribeRequested(ids):
                return self._release(tuple(id for id in dict.fromkeys(ids) if id in self._filters))
            case ClustersPlanned(assignment) if self._coordinator is not None:
                return self._coordinator.request(assignment)
            case PeerFound(peer):
                return self._find(peer)
            case PeerLost(peer):
                return self._lose(peer)
        return NOTHING

    def _receive(self, message: Message, sender: NodeId) -> Effects:
        match message:
            case Cast():
                return self._pass_on(message)
            case Submit(event) if self._rendezvous is not None:
                return self._rendezvous.offer(event, sender)
            case Prepare():
                return self._prepare(message, sender)
            case Flush():
                return self._flush(message, sender)
            case Commit() if self._rendezvous is not None:
                return self._rendezvous.commit(message)
        return self._coordinate(message, sender) if self._coordinator is not None else NOTHING

    def _coordinate(self, message: Message, sender: NodeId) -> Effects:
        assert self._coordinator is not None
        match message:
            case Enrol():
                return self._coordinator.request((sender, message))
            case Resign(ids):
                return self._coordinator.request((sender, ids))
            case Prepared(version):
                return self._coordinator.prepared(sender, version)
        return NOTHING

    def _find(self, peer: NodeId) -> list[Effect]:
        if peer in self._layout.rendezvous:
            for membership in self._memberships.values():
                membership.find(peer)
        again = self._enrol(tuple(self._filters), anew=True) if peer == self._layout.coordinator else []
        return again if self._coordinator is None else [*again, *self._coordinator.find(peer)]

    def _lose(self, peer: NodeId) -> list[Effect]:
        effects: list[Effect] = []
        for cluster, membership in list(self._memberships.items()):
            effects += self._flush_on(cluster, membership.lose(peer))
        return effects if self._coordinator is None else [*effects, *self._coordinator.lose(peer)]

    # -- events ------------------------------------------------------------------------------------------

    def _pass_on(self, cast: Cast) -> Effects:
        membership = self._memberships.get(cast.cluster)
        if membership is None:
            return NOTHING
        effects: list[Effect] = []
        # The publisher's node has handed it to its own subscribers already.
        if cast.publisher != self._node:
            effects += self._deliver(cast.event, membership.own_matches(cast.event, cast.version))
        onward: list[NodeId] | tuple[NodeId, ...] = membership.children(cast.version)
        if self._filtering and onward:
            effects.append(Spent(len(onward)))
            onward = membership.wanting(cast.event, onward)
        if onward:
            effects.append(SendMessage(cast, onward))
        return effects

    def _deliver(self, event: Event, ids: list[str]) -> list[Effect]:
        return [Deliver(event, ids)] if ids else []

    # -- subscribers of this node ------------------------------------------------------------------------

    def _hold(self, id: str, filter_: Filter) -> None:
        if id in self._filters:
            self._local.remove(id)
        self._local.add(id, filter_)
        self._filters[id] = filter_
        for membership in self._memberships.values():
            membership.hold(id, filter_)

    def _release(self, ids: tuple[str, ...]) -> list[Effect]:
        for id in ids:
            del self._filters[id]
            self._local.remove(id)
            for membership in self._memberships.values():
                membership.release(id)
        return [SendMessage(Resign(ids), (self._layout.coordinator,))] if ids else []

    def _enrol(self, ids: tuple[str, ...], *, anew: bool = False) -> list[Effect]:
        if not ids:
            return []
        entries = tuple((id, self._filters[id]) for id in ids)
        return [SendMessage(Enrol(entries, self._version, anew), (self._layout.coordinator,))]

    # -- changes -----------------------------------------------------------------------------------------

    def _prepare(self, prepare: Prepare, sender: NodeId) -> Effects:
        self._version = max(self._version, prepare.version)
        if prepare.anew:
            self._memberships.clear()
        for change in prepare.changes:
            membership = self._memberships.setdefault(change.cluster, Membership(self._tables, self._layout.rendezvous))
            membership.prepare(change, prepare.version, self._filters)
            self._leave_if_over(change.cluster)
        effects: list[Effect] = [SendMessage(Prepared(prepare.version), (sender,))]
        return [*effects, *self._correct(prepare)] if prepare.anew else effects

    def _correct(self, prepare: Prepare) -> list[Effect]:
        """After a loss on either side: what the coordinator does not know of, and what is no more."""
        named = dict.fromkeys(id for change in prepare.changes for id in change.own_added)
        gone = tuple(id for id in named if id not in self._filters)
        effects: list[Effect] = [SendMessage(Resign(gone), (self._layout.coordinator,))] if gone else []
        return [*effects, *self._enrol(tuple(id for id in self._filters if id not in named))]

    def _flush(self, flush: Flush, sender: NodeId) -> Effects:
        membership = self._memberships.get(flush.cluster)
        if membership is None:
            return NOTHING
        return self._flush_on(flush.cluster, membership.flush(flush.version, sender, entering=flush.entering))

    def _flush_on(self, cluster: int, onward: list[Onward]) -> list[Effect]:
        self._leave_if_over(cluster)
        return [SendMessage(Flush(version, cluster), children) for version, children in onward if children]

    def _leave_if_over(self, cluster: int) -> None:
        if self._memberships[cluster].is_over:
            del self._memberships[cluster]

    def state(self) -> Mapping[str, Any]:
        entries = sum(membership.entries for membership in self._memberships.values())
        found = {
            "entries": entries + (len(self._rendezvous) if self._rendezvous is not None else 0),
            "local": len(self._local),
            "memberships": len(self._memberships),
        }
        return found if self._coordinator is None else {**found, **self._coordinator.state()}
