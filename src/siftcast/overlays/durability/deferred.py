"""Messages of durable events that the scheme has taken in and not acted on yet (`Defer`), kept over crashes.

A neighbour that is answered for a relay forgets it, and trusts that what follows from it is on disk here: other relays,
or events in queues. Where the scheme waits before it does anything, nothing follows yet. So the message itself is kept,
one record `deferred/name`, until the scheme has done with it; a node that crashes meanwhile hands it in again when it
starts. What the scheme sends then follows from a durable event, whichever stimulus has set it off.

Rejected: not answering for the relay, which would stop all that comes after it; a disk for the searches of the
publisher's node, which costs a record for every event and not only for those that wait.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from siftcast.overlays.contract import Defer, Message
from siftcast.overlays.durability.ledger import Ledger
from siftcast.overlays.envelopes import FIRST, opened
from siftcast.overlays.wire_messages import MessageCodec

ROOM = "deferred"
_PREFIX = f"{ROOM}/"


class Deferred:
    """What waits at one node, by name."""

    __slots__ = ("_codec", "_ledger", "_messages", "_waiting")

    def __init__(self, ledger: Ledger, codec: MessageCodec) -> None:
        self._ledger = ledger
        self._codec = codec
        self._messages: dict[str, Message] = {}
        self._waiting: dict[str, set[str]] = {}
        """The names under which an event waits."""

    def __contains__(self, event_id: str | None) -> bool:
        return event_id in self._waiting

    def restore(self, records: Mapping[str, bytes]) -> list[Message]:
        """Takes up what an earlier life deferred; it is to be handed in again, and what is not done then deferred."""
        found = [(key, data) for key, data in records.items() if key.startswith(_PREFIX)]
        for key, _ in found:
            self._ledger.forget(key)
        return [self._codec.decode(data) for _, data in found]

    def follow(self, effect: Defer) -> None:
        """Does what the scheme says."""
        if effect.message is None:
            self._finish(effect.name)
        else:
            self._put(effect.name, effect.message)

    def _put(self, name: str, message: Message) -> None:
        self._messages[name] = message
        if message.event_id is not None:
            self._waiting.setdefault(message.event_id, set()).add(name)
        self._ledger.put(_PREFIX + name, self._codec.encode(message))

    def _finish(self, name: str) -> None:
        message = self._messages.pop(name, None)
        if message is None:
            return
        self._ledger.forget(_PREFIX + name)
        if message.event_id is not None and (names := self._waiting.get(message.event_id)) is not None:
            names.discard(name)
            if not names:
                del self._waiting[message.event_id]

    def forget_epoch(self, epoch: int) -> None:
        """Drops what belongs to an epoch that is over; epochs do not end while durable events wait in them."""
        for name in [each for each, message in self._messages.items() if (opened(message)[0] or FIRST) == epoch]:
            self._finish(name)

    def messages(self) -> Iterator[Message]:
        """All that waits."""
        return iter(self._messages.values())
