"""Gossip: peers that find each other, and events that reach all of them; each picks out what its subscribers want.

No plan and no fixed neighbours: a node begins with a contact (`Started.contacts`), is given neighbours by `Membership`,
at random, or by `Discovery`, where they are near in the physical network (with `DiscoveryOptions` as membership), and
spreads events over them by an `EpidemicTree`. Nobody knows all nodes or anybody else's subscriptions. The protocol
joins these parts and adds nothing but the matching of its own subscribers.

    PublishRequested, Push ─▶ EpidemicTree ─▶ fresh events ─▶ own subscriptions ─▶ Deliver
                                  ▲ up, down
    all else ──────────────▶ Membership or Discovery

Delivery is at most once, and certain only as long as neighbours hold together: an event published while a network is in
two parts stays in its part, but for what new neighbours recall.

Cost: n - 1 messages per event that carry it, whoever wants it, and announcements over the other links; membership, some
4 messages a second for each node. A node keeps its views and the last few thousand events, whatever the size.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from siftcast.overlays.contract import (
    NOTHING,
    Deliver,
    Effect,
    Effects,
    Leave,
    LeaveRequested,
    Message,
    MessageReceived,
    NodeId,
    Protocol,
    PublishRequested,
    Started,
    Stimulus,
    SubscribeRequested,
    TimerFired,
    UnsubscribeRequested,
)
from siftcast.overlays.discovery import Discovery, DiscoveryOptions
from siftcast.overlays.epidemic_tree import TIMERS, TREE_MESSAGES, EpidemicTree, EpidemicTreeOptions
from siftcast.overlays.membership import Member, Membership, MembershipOptions, Neighbouring
from siftcast.overlays.tables import TableFactory

_TREE = frozenset(TREE_MESSAGES)


class Gossip(Protocol):
    """A peer."""

    messages: ClassVar[tuple[type[Message], ...]] = tuple(
        dict.fromkeys((*TREE_MESSAGES, *Membership.messages, *Discovery.messages))
    )

    __slots__ = ("_membership", "_own", "_tree")

    def __init__(
        self,
        node: NodeId,
        tables: TableFactory,
        membership: MembershipOptions | DiscoveryOptions | None = None,
        tree: EpidemicTreeOptions | None = None,
    ) -> None:
        self._own = tables()
        self._membership: Membership | Discovery
        if isinstance(membership, DiscoveryOptions):
            self._membership = Discovery(node, membership)
        else:
            self._membership = Membership(node, membership if membership is not None else MembershipOptions())
        self._tree = EpidemicTree(tree if tree is not None else EpidemicTreeOptions())

    def handle(self, stimulus: Stimulus, now: float) -> Effects:
        if type(stimulus) is MessageReceived:
            sender, message = stimulus.sender, stimulus.message
            if type(message) in _TREE:
                self._membership.hear(sender, now)
                return self._deliver(self._tree.handle_message(sender, message, now))
            return self._regroup(self._membership.handle_message(sender, message, now), now)
        match stimulus:
            case TimerFired(name) if name.startswith(TIMERS):
                return self._tree.handle_timer(name, now)
            case PublishRequested(event):
                return self._deliver(self._tree.publish(event, now))
            case SubscribeRequested(subscriptions):
                for item in subscriptions:
                    if item.id in self._own:
                        self._own.remove(item.id)
                    self._own.add(item.id, item.filter)
            case UnsubscribeRequested(ids):
                for id in ids:
                    if id in self._own:
                        self._own.remove(id)
            case LeaveRequested():
                return [*self._regroup(self._membership.handle_leaving(now), now), Leave()]
            case Started():
                self._tree.handle_started(now)
                return self._regroup(self._membership.handle(stimulus, now), now)
            case _ if self._membership.concerns(stimulus):
                return self._regroup(self._membership.handle(stimulus, now), now)
        return NOTHING

    def members(self) -> tuple[Member, ...]:
        """Everyone the node knows."""
        return self._membership.members()

    @property
    def is_settled(self) -> bool:
        """Whether it has found others, and waits for no event."""
        return self._membership.is_settled and self._tree.is_settled

    @property
    def can_leave(self) -> bool:
        return True

    def _deliver(self, effects: list[Effect]) -> Effects:
        if self._tree.fresh:
            fresh, self._tree.fresh = self._tree.fresh, []
            for event in fresh:
                found = self._own.match(event)
                if found:
                    effects.append(Deliver(event, found))
        return effects

    def _regroup(self, effects: list[Effect], now: float) -> Effects:
        """Has the tree know which neighbours came and went."""
        if self._membership.news:
            news, self._membership.news = self._membership.news, []
            for each in news:
                if type(each) is not Neighbouring:
                    continue
                if each.change == "up":
                    effects += self._tree.add(each.peer, now)
                else:
                    self._tree.remove(each.peer)
        return effects

    def state(self) -> Mapping[str, Any]:
        """`entries` are the names it keeps; the views are for checkers and people."""
        membership = self._membership
        spare, sampled = membership.spare, membership.sampled
        return {
            "entries": len(membership.neighbours) + len(spare) + len(sampled),
            "local": len(self._own),
            "neighbours": tuple(membership.neighbours),
            "spare": spare,
            "sampled": sampled,
            "eager": len(self._tree.eager),
            "health": membership.health,
            **membership.facts(),
        }
