"""The matching layer at one node: it finds the nodes whose subscribers want an event, and does no more.

A finder handles what concerns subscriptions and inquiries, and names destinations by the effect `Found`, which stays
inside the node: the layer below gets the event there. Whether a destination has the event already is not its concern
either; `repeats` says that it may name a node twice for one event, so that receivers must remember what they have.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from siftcast.model import Event, Subscription
from siftcast.overlays.contract import Effect, Message, NodeId, Stimulus
from siftcast.overlays.protocols.layered.messages import Search


class Found(Effect, frozen=True, gc=False):
    """These nodes want the event of a search; with `keeper`, they confirm to this node that they have it."""

    event: Event
    origin: NodeId
    number: int
    destinations: tuple[NodeId, ...]
    keeper: NodeId | None = None


class Finder(ABC):
    """One node's part in a matching layer."""

    messages: ClassVar[tuple[type[Message], ...]]
    repeats: ClassVar[bool] = False
    """Whether one event may be found for a node more than once."""

    @abstractmethod
    def subscribe(self, subscriptions: tuple[Subscription, ...]) -> list[Effect]:
        """Subscribers of this node want something; a known id has a new filter."""

    @abstractmethod
    def unsubscribe(self, ids: tuple[str, ...]) -> list[Effect]:
        """Subscribers of this node no longer want something."""

    @abstractmethod
    def find(self, event: Event, now: float) -> list[Effect]:
        """Begins to find who wants an event of this node's publishers."""

    @abstractmethod
    def hear(self, sender: NodeId, message: Message, now: float) -> list[Effect]:
        """A message of the layer came in."""

    def meet(self, stimulus: Stimulus, now: float) -> list[Effect]:
        """Everything else that happens: a start, timers, peers."""
        return []

    def receive(self, search: Search, keeper: NodeId) -> list[Effect]:
        """An event has arrived here for which a keeper wants a receipt."""
        return []

    @property
    def is_settled(self) -> bool:
        """Whether nothing waits for an answer that can come."""
        return True

    def state(self) -> Mapping[str, Any]:
        """Facts; `entries` counts the subscriptions of others."""
        return {}
