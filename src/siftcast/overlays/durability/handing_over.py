"""What a node that leaves gives to its heir, and what an heir takes.

A durable subscription goes over in pieces, each a relay: it is in the outbox of the node that leaves until the heir has
it on disk, so that a crash of either loses nothing. From the write on that puts the pieces into the outbox the
subscription is the heir's. What comes for it later still is passed on in the same way.

    leaving node   queue ──TakeOver, TakeOver──▶ heir: the same name, filter, policy, events, dead letters
                   HandOn ──────TakeOver───────▶

Positions are the heir's own: they ascend, and a client goes on after what was acknowledged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

import msgspec

from siftcast.model import Event, Subscription
from siftcast.overlays.contract import NodeId
from siftcast.overlays.durability.ledger import Ledger
from siftcast.overlays.durability.messages import TakeOver
from siftcast.overlays.durability.queues import Queues
from siftcast.overlays.wire_messages import MessageCodec

_PIECE_EVENTS = 64
_KEY = "handed/"


class HandingOver:
    """Subscriptions on their way from one node to another."""

    def __init__(self, ledger: Ledger, queues: Queues) -> None:
        self._ledger = ledger
        self._queues = queues
        self._handed: dict[str, tuple[NodeId, TakeOver]] = {}
        self._codec = MessageCodec((TakeOver,))

    @property
    def heirs(self) -> tuple[NodeId, ...]:
        """To whom subscriptions were given."""
        return tuple(sorted({heir for heir, _ in self._handed.values()}))

    def restore(self, records: Mapping[str, bytes]) -> None:
        """Takes up what an earlier life gave away."""
        for key, data in records.items():
            if key.startswith(_KEY):
                heir, message = msgspec.msgpack.decode(data, type=tuple[NodeId, bytes])
                told = self._codec.decode(message)
                assert isinstance(told, TakeOver)
                self._handed[told.subscription] = heir, told

    def give(self, heir: NodeId) -> Iterator[TakeOver]:
        """The pieces of everything that this node holds for its subscribers; they are its own no longer."""
        for name in tuple(self._queues.names):
            yield from self._pieces(name, heir)
            self._queues.unsubscribe(name)

    def _pieces(self, name: str, heir: NodeId) -> Iterator[TakeOver]:
        item, policy = self._queues.subscription(name), self._queues.policy(name)
        assert policy is not None
        bare = TakeOver(name, item.filter, item.subscriber, item.delay_ms_max, policy, bandwidth=item.bandwidth)
        self._handed[name] = heir, bare
        self._ledger.put(_KEY + name, msgspec.msgpack.encode((heir, self._codec.encode(bare))))
        letters = tuple((each.event, each.refusals, each.reason) for each in self._queues.dead_letters(name))
        events = iter(self._queues.contents(name))
        yield msgspec.structs.replace(bare, events=tuple(islice(events, _PIECE_EVENTS)), letters=letters)
        while piece := tuple(islice(events, _PIECE_EVENTS)):
            yield msgspec.structs.replace(bare, events=piece)

    def pass_on(self, event: Event, names: Iterable[str], clock_ms: float) -> list[tuple[NodeId, TakeOver]]:
        """An event for subscriptions that were given away, and to whom."""
        given = [self._handed[name] for name in names if name in self._handed] if self._handed else []
        return [(heir, msgspec.structs.replace(bare, events=((event, clock_ms, False),))) for heir, bare in given]

    def take(self, told: TakeOver) -> Subscription:
        """Takes a piece of a subscription that is this node's own from now on."""
        item = Subscription(told.subscription, told.filter, told.subscriber, told.delay_ms_max, told.bandwidth)
        if told.subscription not in self._queues:
            self._queues.subscribe(item, told.policy, adopted=True)
        self._queues.take_in(told.subscription, told.events, told.letters)
        return item
