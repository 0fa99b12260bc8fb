"""The clients of a node: what each has subscribed to, and how events get to them.

A client's subscription has a number of the client's choosing on its connection and an id of ours in the network. When
the protocol says `Deliver(event, ids)`, the event's bytes are appended to the queues of the connections behind the ids;
nothing is encoded for a delivery, and all deliveries of a turn to one connection are one write.

A client that does not read fills its queue (`slow_consumers.queue_bytes_max`). From then on its policy decides
(`backlog`). What a client asks for is the affair of its `session`.

Cost of a delivery: about 0.3 µs, and its share of the write.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from siftcast.model import Event, Filter
from siftcast.overlays.wire_events import encode_event
from siftcast.runtimes.live.logs import Logger
from siftcast.runtimes.live.node.bounds import Bounds
from siftcast.runtimes.live.node.configuration import Configuration
from siftcast.runtimes.live.wire.connection import Connection, Outbox
from siftcast.runtimes.live.wire.frames import (
    DELIVERY_HEAD_BYTES,
    Deliver,
    delivery_head,
    encode_frame,
)

if TYPE_CHECKING:
    from siftcast.runtimes.live.node.session import ClientSubscription, Session


class Sessions:
    """All clients of a node, and the way from an id to a connection."""

    def __init__(
        self,
        configuration: Configuration,
        outbox: Outbox,
        spill_folder: Path | None,
        log: Logger,
        on_closed: Callable[[Connection], None],
        bounds: Bounds,
    ) -> None:
        self.bounds = bounds
        self.open: set[Session] = set()
        self.deliveries = 0
        self.dropped = 0
        self.slow = configuration.slow_consumers
        self.event_limits = configuration.event_limits
        self.filter_limits = configuration.filter_limits
        self.spill_folder = spill_folder
        self.outbox = outbox
        self.log = log
        self.on_closed = on_closed
        self._by_id: dict[str, ClientSubscription] = {}

    def add(self, subscription: ClientSubscription) -> None:
        """Has deliveries under an id go to a client."""
        self._by_id[subscription.id] = subscription

    def discard(self, id: str) -> None:
        """Forgets an id."""
        self._by_id.pop(id, None)
        self.bounds.forget(id)

    def count(self, principal: str) -> int:
        """How many clients a principal has."""
        return sum(session.guard.rights.principal == principal for session in self.open)

    def count_dropped(self) -> None:
        """A client did not get an event, because it does not keep up."""
        self.dropped += 1

    def deliver(self, event: Event, ids: Sequence[str]) -> None:
        """Hands an event to the clients behind ids."""
        encoded = encode_event(event)
        head, begin, difference = delivery_head(encoded), b"", -1
        mark, by_id = self.outbox.mark, self._by_id
        shared: dict[Session, list[ClientSubscription]] | None = None
        self.deliveries += len(ids)
        for id in ids:
            subscription = by_id.get(id)
            if subscription is None:  # unsubscribed while the event was under way
                continue
            if subscription.session.needs_frames:
                shared = {} if shared is None else shared
                shared.setdefault(subscription.session, []).append(subscription)
                continue
            connection = subscription.connection
            if subscription.difference is not difference:  # most clients have one subscription, of the same number
                difference = subscription.difference
                begin = (head ^ difference).to_bytes(DELIVERY_HEAD_BYTES, "big")
            if connection.blocked:
                subscription.session.backlog.add(b"".join((begin, encoded, subscription.tail)))
                continue
            pieces = connection.pieces
            if not pieces:
                mark(connection)
            pieces += (begin, encoded, subscription.tail)
        if shared is not None:
            self._deliver_shared(shared, event.id, encoded)

    def _deliver_shared(self, shared: dict[Session, list[ClientSubscription]], event: str, encoded: bytes) -> None:
        """To clients with several subscriptions: one copy each, with the numbers of all that match, and its age."""
        raw = msgspec.Raw(encoded)
        for session, matched in shared.items():
            numbers, connection = tuple([each.number for each in matched]), session.connection
            if connection.blocked:
                session.backlog.add(encode_frame(Deliver(raw, numbers)))
                continue
            bounded = [each.id for each in matched if each.wishes[0] is not None]
            age_ms = self.bounds.arrive(event, bounded, connection) if bounded else None
            connection.send_bytes(encode_frame(Deliver(raw, numbers, age_ms=age_ms)))

    def listed(self) -> list[tuple[str, str, Filter]]:
        """The id, client and filter of every subscription."""
        return [(each.id, each.session.name, each.filter) for each in self._by_id.values()]

    def filter_of(self, id: str) -> Filter | None:
        """What a subscription wants; None if there is none of this id any more."""
        subscription = self._by_id.get(id)
        return None if subscription is None else subscription.filter

    def describe(self) -> list[dict[str, Any]]:
        """All subscriptions, for people."""
        return [
            {
                "id": each.id,
                "client": each.session.name,
                "address": each.connection.address,
                "filter": str(each.filter),
                "dropped": each.session.backlog.dropped,
                "delay_ms_max": each.wishes[0],
                "bandwidth": each.wishes[1],
                "bound": self.bounds.describe(each.id),
            }
            for each in self._by_id.values()
        ]
