"""Protocols joined without a network, for tests: effects are carried out until nobody has anything to say.

Each link keeps its order; which link moves next is drawn at random, so that whatever depends on timing shows. Messages
take no time. The clock stands still while there are any, and goes from one timer to the next when there are none:

    settle()            messages only: timers wait
    rest(within_ms)     messages and timers until all nodes are settled and nothing is on its way
    run(until_ms)       messages and timers up to a time, whatever else would follow: for nodes that tick for ever

With `contacts`, nodes begin with them and hear of those they watch, and may talk to nobody who was not introduced to
them. With `loss`, that share of messages is lost. Nodes may `crash`, `restart` from what they persisted, and `leave`.

The simulator is the place for latencies, disks and traces; this is the smallest thing that can drive a scheme.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from heapq import heappop, heappush
from random import Random

from siftcast.overlays.contract import (
    CancelTimer,
    Defer,
    DelayMeasured,
    Deliver,
    Effect,
    ExpectDelay,
    InferRoute,
    Leave,
    LeaveRequested,
    MeasureDelay,
    Message,
    MessageReceived,
    NodeId,
    PeerFound,
    PeerGone,
    PeerLost,
    Persist,
    PersistAll,
    Persisted,
    Protocol,
    Refuse,
    Report,
    RouteInferred,
    SendMessage,
    SetTimer,
    Spent,
    Started,
    Stimulus,
    TimerFired,
    Unwatch,
    Watch,
)
from siftcast.overlays.durability.contract import Accept, Bury, Expire, Offer
from siftcast.overlays.introductions import Introductions

_RUNTIME = -1
"""Stands for the sender of what the loopback itself says to a node."""
_DELAY_MS = 1.0


class Loopback:
    """Nodes, the messages between them, and what was delivered."""

    def __init__(
        self,
        nodes: Iterable[NodeId],
        factory: Callable[[NodeId], Protocol],
        seed: int = 0,
        contacts: Callable[[NodeId], Iterable[NodeId]] | None = None,
        *,
        loss: float = 0.0,
        delay_ms: Callable[[NodeId, NodeId], float] | None = None,
    ) -> None:
        self.now = 0.0
        self.delivered: list[tuple[NodeId, str, str]] = []
        self.offered: list[tuple[NodeId, Offer]] = []
        self.told: list[tuple[NodeId, Bury | Expire | Report]] = []
        self.accepted: list[tuple[NodeId, str]] = []
        self.refused: list[tuple[NodeId, str]] = []
        self.sent: list[tuple[NodeId, NodeId, Message]] = []
        self.loss = loss
        self._factory = factory
        self._contacts = contacts
        self._introductions = None if contacts is None else Introductions()
        self._delay_ms = delay_ms
        self._random = Random(seed)
        self._nonces = Random(f"nonces of {seed}")
        self._links: dict[tuple[NodeId, NodeId], deque[Message | Stimulus]] = {}
        self._timers: dict[tuple[NodeId, str], int] = {}
        self._alarms: list[tuple[float, int, NodeId, str]] = []
        self._alarms_set = 0
        self._watchers: dict[NodeId, set[NodeId]] = {}
        self._disks: dict[NodeId, dict[str, bytes]] = {}
        self.protocols = {node: factory(node) for node in nodes}
        first = {node: self._begin(node) for node in self.protocols}
        for node, peers in first.items():
            for peer in peers:
                self._watch(node, peer)

    # -- what happens --------------------------------------------------------------------------------

    def tell(self, node: NodeId, stimulus: Stimulus) -> None:
        """Gives a node a stimulus, and does what it wants done; messages wait for `settle`."""
        leaves = False
        for effect in self.protocols[node].handle(stimulus, self.now):
            match effect:
                case SendMessage(message, destinations):
                    self._send(node, message, destinations)
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
                case Persist(key, data):
                    self._write(node, ((key, data),))
                    self.tell(node, Persisted(key))
                case PersistAll(key, changes):
                    self._write(node, changes)
                    self.tell(node, Persisted(key))
                case SetTimer(name, after_ms):
                    self._set_timer(node, name, after_ms)
                case CancelTimer(name):
                    self._timers.pop((node, name), None)
                case Leave():
                    leaves = True  # after all else that it wants
                case Spent():
                    pass
                case _:
                    self._inform(node, effect)
        if leaves:
            self._depart(node)

    def step(self) -> bool:
        """Lets one message through, or loses it; False if none is left."""
        if not self._links:
            return False
        link = self._random.choice(list(self._links))
        sender, node = link
        waiting = self._links[link]
        item = waiting.popleft()
        if not waiting:
            del self._links[link]
        if isinstance(item, Stimulus):
            self.tell(node, item)
        elif node in self.protocols and not (self.loss and self._random.random() < self.loss):
            if self._introductions is not None:
                self._introductions.hear(node, sender, item)
            self.tell(node, MessageReceived(sender, item))
        return True

    def settle(self) -> None:
        """Lets messages through until none is left."""
        while self.step():
            pass

    def rest(self, within_ms: float = 600_000.0) -> None:
        """Lets messages through and timers fire until all nodes are settled; raises AssertionError if they never are.

        Without loss and timers this is `settle`.
        """
        until = self.now + within_ms
        self.settle()
        while restless := [node for node, protocol in self.protocols.items() if not protocol.is_settled]:
            if not self._fire(until):
                raise AssertionError(f"after {within_ms:g} ms, nodes {restless} have not settled")
            self.settle()

    def run(self, until_ms: float) -> None:
        """Lets messages through and timers fire up to a time."""
        self.settle()
        while self._fire(until_ms):
            self.settle()
        self.now = max(self.now, until_ms)

    def do(self, node: NodeId, stimulus: Stimulus) -> None:
        """A stimulus and all messages that follow from it."""
        self.tell(node, stimulus)
        self.settle()

    # -- nodes come and go ---------------------------------------------------------------------------

    def crash(self, node: NodeId) -> None:
        """Takes a node down, with all it did not persist and what was on its way to it."""
        self._stop(node)
        for watcher in self._running_watchers(node):
            self._say(watcher, PeerLost(node))

    def restart(self, node: NodeId) -> None:
        """Brings a node back, or adds one."""
        self.protocols[node] = self._factory(node)
        contacts = self._begin(node)
        for watcher in self._running_watchers(node):
            self._say(watcher, PeerFound(node))
        for peer in contacts:
            self._watch(node, peer)

    def leave(self, node: NodeId) -> None:
        """Asks a node to leave in peace."""
        self.tell(node, LeaveRequested())

    def _begin(self, node: NodeId) -> tuple[NodeId, ...]:
        contacts = () if self._contacts is None else tuple(self._contacts(node))
        if self._introductions is not None:
            self._introductions.meet(node, contacts)
        nonce = self._nonces.getrandbits(63)
        self.tell(node, Started(dict(self._disks.get(node, {})), nonce=nonce, contacts=contacts))
        return contacts

    def _stop(self, node: NodeId) -> None:
        del self.protocols[node]
        self._timers = {key: token for key, token in self._timers.items() if key[0] != node}
        self._links = {link: waiting for link, waiting in self._links.items() if link[1] != node}
        for watchers in self._watchers.values():
            watchers.discard(node)

    def _depart(self, node: NodeId) -> None:
        self._stop(node)
        self._disks.pop(node, None)
        if self._introductions is not None:
            self._introductions.forget(node)
        for watcher in self._running_watchers(node):
            self._say(watcher, PeerGone(node))
        self._watchers.pop(node, None)

    def _running_watchers(self, node: NodeId) -> list[NodeId]:
        return sorted(self._watchers.get(node, ()))

    # -- effects -------------------------------------------------------------------------------------

    def _send(self, node: NodeId, message: Message, destinations: Iterable[NodeId]) -> None:
        for other in destinations:
            if other == node:
                raise AssertionError(f"node {node} sends a message to itself: {message}")
            self._check(node, other, type(message).__name__)
            self.sent.append((node, other, message))
            self._links.setdefault((node, other), deque()).append(message)

    def _inform(self, node: NodeId, effect: Effect) -> None:
        match effect:
            case Watch(peer):
                self._check(node, peer, "Watch")
                self._watch(node, peer)
            case Unwatch(peer):
                self._watchers.get(peer, set()).discard(node)
            case MeasureDelay(peer):
                self._check(node, peer, "MeasureDelay")
                delay_ms = _DELAY_MS if self._delay_ms is None else self._delay_ms(node, peer)
                self._say(node, DelayMeasured(peer, delay_ms if peer in self.protocols else None))
            case InferRoute(peer):
                self._check(node, peer, "InferRoute")
                self._say(node, RouteInferred(peer, (), "unavailable"))
            case ExpectDelay() | Defer():
                pass  # nobody is there to be told
            case _:
                raise AssertionError(f"node {node} wants {effect}, which a loopback cannot do")

    def _watch(self, node: NodeId, peer: NodeId) -> None:
        watchers = self._watchers.setdefault(peer, set())
        if node not in watchers:
            watchers.add(node)
            self._say(node, PeerFound(peer) if peer in self.protocols else PeerLost(peer))

    def _check(self, node: NodeId, peer: NodeId, what: str) -> None:
        if self._introductions is not None:
            self._introductions.check(node, (peer,), what)

    def _say(self, node: NodeId, stimulus: Stimulus) -> None:
        self._links.setdefault((_RUNTIME, node), deque()).append(stimulus)

    def _write(self, node: NodeId, changes: Iterable[tuple[str, bytes | None]]) -> None:
        disk = self._disks.setdefault(node, {})
        for key, data in changes:
            if data is None:
                disk.pop(key, None)
            else:
                disk[key] = data

    def _set_timer(self, node: NodeId, name: str, after_ms: float) -> None:
        self._alarms_set += 1
        self._timers[node, name] = self._alarms_set
        heappush(self._alarms, (self.now + after_ms, self._alarms_set, node, name))

    def _fire(self, until_ms: float) -> bool:
        """Goes to the next timer, and fires it; False if there is none up to a time."""
        while self._alarms and self._alarms[0][0] <= until_ms:
            time, token, node, name = heappop(self._alarms)
            if self._timers.get((node, name)) == token:
                del self._timers[node, name]
                self.now = time
                self.tell(node, TimerFired(name))
                return True
        return False
