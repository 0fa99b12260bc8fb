"""Protocols joined without a network or a clock, for tests: effects are carried out until nobody has anything to say.

Each link keeps its order; which link moves next is drawn at random, so that whatever depends on timing shows. Timers do
not run. The simulator is the place for time, faults and traces; this is the smallest thing that can drive a scheme.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from random import Random

from siftcast.overlays.contract import (
    CancelTimer,
    Deliver,
    Message,
    MessageReceived,
    NodeId,
    Persist,
    PersistAll,
    Persisted,
    Protocol,
    Refuse,
    Report,
    SendMessage,
    SetTimer,
    Spent,
    Started,
    Stimulus,
)
from siftcast.overlays.durability.contract import Accept, Bury, Expire, Offer


class Loopback:
    """Nodes, the messages between them, and what was delivered."""

    def __init__(self, nodes: Iterable[NodeId], factory: Callable[[NodeId], Protocol], seed: int = 0) -> None:
        self.protocols = {node: factory(node) for node in nodes}
        self.delivered: list[tuple[NodeId, str, str]] = []
        self.offered: list[tuple[NodeId, Offer]] = []
        self.told: list[tuple[NodeId, Bury | Expire | Report]] = []
        self.accepted: list[tuple[NodeId, str]] = []
        self.refused: list[tuple[NodeId, str]] = []
        self.sent: list[tuple[NodeId, NodeId, Message]] = []
        self._random = Random(seed)
        self._links: dict[tuple[NodeId, NodeId], deque[Message]] = {}
        for node in self.protocols:
            self.tell(node, Started())

    def tell(self, node: NodeId, stimulus: Stimulus) -> None:
        """Gives a node a stimulus, and does what it wants done; messages wait for `settle`."""
        for effect in self.protocols[node].handle(stimulus, 0.0):
            match effect:
                case SendMessage(message, destinations):
                    for other in destinations:
                        if other == node:
                            raise AssertionError(f"node {node} sends a message to itself: {message}")
                        self.sent.append((node, other, message))
                        self._links.setdefault((node, other), deque()).append(message)
                case Deliver(event, ids):
                    self.delivered.extend((node, event.id, id) for id in ids)
                case Refuse(request):
                    self.refused.append((node, request))
                case Accept(request):
                    self.accepted.append((node, request))
                case Offer():
                    self.offered.append((node, effect))
                case Bury() | Expire() | Report():
                    self.told.append((node, effect))
                case Persist(key) | PersistAll(key):
                    self.tell(node, Persisted(key))
                case Spent() | SetTimer() | CancelTimer():
                    pass
                case _:
                    raise AssertionError(f"node {node} wants {effect}, which a loopback cannot do")

    def step(self) -> bool:
        """Lets one message through; False if none is left."""
        if not self._links:
            return False
        link = self._random.choice(list(self._links))
        waiting = self._links[link]
        message = waiting.popleft()
        if not waiting:
            del self._links[link]
        self.tell(link[1], MessageReceived(link[0], message))
        return True

    def settle(self) -> None:
        """Lets messages through until none is left."""
        while self.step():
            pass

    def do(self, node: NodeId, stimulus: Stimulus) -> None:
        """A stimulus and all that follows from it."""
        self.tell(node, stimulus)
        self.settle()
