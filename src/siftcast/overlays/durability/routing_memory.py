"""What neighbours announced, kept so that a node that restarts does not route on empty tables.

A control message changes rows of a table: it puts some, removes some, or (`anew`) names all there are. The rows are
kept one record each, `route/sender/kind/table/id`; on restart each table is handed to the
fresh scheme as one message, as if the neighbour had just introduced itself. So what is kept grows with the routing
state and not with its history.

A `RoutingMessage` says itself what it does to rows. A scheme with a control message of another kind cannot be made
durable (`check_memory`): it would forget what that message told it, and lose events it had promised to keep.

Rejected: a log of all control messages, which must be compacted, and for that understood as here; a picture of the
scheme's insides, which ties the disk to its classes; holding events back until all neighbours have introduced
themselves, which lets one neighbour that is gone stop all others.

Cost: one record, and one entry in memory beside that of the scheme, for each row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from siftcast.model import DataError
from siftcast.overlays.contract import Message, MessageReceived, NodeId, Protocol
from siftcast.overlays.delivery import Parcel
from siftcast.overlays.durability.errors import NotDurableError
from siftcast.overlays.durability.ledger import Ledger
from siftcast.overlays.envelopes import FIRST, EpochControl, opened
from siftcast.overlays.routing_rows import Entry, RoutingMessage, TableKey
from siftcast.overlays.wire_messages import parse_filter

_Place = tuple[NodeId, str, TableKey]
_EPOCH = "@"
"""Between the kind of a table and its epoch, on disk; tables of the first epoch have none."""
_OF_NO_EPOCH = ("guard",)


def forgotten_messages(scheme: Protocol | type[Protocol]) -> tuple[str, ...]:
    """The control messages of a scheme whose effect on its tables nobody could remember."""
    return tuple(
        kind.__name__
        for kind in scheme.messages
        if kind.control and not kind.repeated and not issubclass(kind, RoutingMessage)
    )


def check_memory(scheme: Protocol) -> None:
    """Raises `NotDurableError` for a scheme whose routing state would not survive."""
    if forgotten := forgotten_messages(scheme):
        raise NotDurableError(
            f"{type(scheme).__name__} cannot be made durable: what {', '.join(forgotten)} say would be forgotten in a "
            "crash; each must be a RoutingMessage, which says what it does to tables"
        )


class RoutingMemory:
    """The rows behind a node's routing tables."""

    __slots__ = ("_ledger", "_node", "_of_first", "_restating", "_tables")

    def __init__(self, ledger: Ledger, node: NodeId, messages: Sequence[type[Message]]) -> None:
        self._ledger = ledger
        self._restating = {
            kind.table_kind: kind for kind in messages if issubclass(kind, RoutingMessage) and kind.restates
        }
        self._of_first = {kind for kind in self._restating if kind not in _OF_NO_EPOCH}
        self._node = node
        self._tables: dict[_Place, dict[str, Entry]] = {}

    def __len__(self) -> int:
        return sum(len(table) for table in self._tables.values())

    def note(self, sender: NodeId, message: Message) -> None:
        """Stages what a message changes."""
        epoch, content = opened(message)
        if isinstance(content, Parcel):
            if content.destinations and self._node not in content.destinations:
                return
            try:
                content = content.content.open()
            except DataError:
                return  # the scheme reports it
        if not isinstance(content, RoutingMessage):
            return
        kind = content.table_kind if epoch is None else f"{content.table_kind}{_EPOCH}{epoch}"
        change = content.row_change
        if change.table is None:
            for place in [each for each in self._tables if each[:2] == (sender, kind)]:
                self._remove(place, change.removed)
            return
        place = sender, kind, change.table
        if change.anew:
            kept = {entry[0] for entry in change.put}
            self._remove(place, [id for id in self._tables.get(place, ()) if id not in kept])
        self._remove(place, change.removed)
        self._put(place, change.put)

    def _put(self, place: _Place, entries: tuple[Entry, ...]) -> None:
        table = self._tables.setdefault(place, {})
        for entry in entries:
            if table.get(entry[0]) != entry:
                table[entry[0]] = entry
                self._ledger.put(self._key(place, entry[0]), msgspec.msgpack.encode((str(entry[1]), entry[2])))

    def _remove(self, place: _Place, ids: tuple[str, ...] | list[str]) -> None:
        table = self._tables.get(place, {})
        for id in ids:
            if table.pop(id, None) is not None:
                self._ledger.forget(self._key(place, id))

    def forget_sender(self, sender: NodeId) -> None:
        """Drops what a node announced for no epoch; what it announced in one says where events go until that ends."""
        self._drop(lambda place: place[0] == sender and place[1] in _OF_NO_EPOCH)

    def forget_epoch(self, epoch: int) -> None:
        """Drops all that was announced in an epoch; the messages of the first are in no envelope."""
        ending = f"{_EPOCH}{epoch}"
        self._drop(lambda place: place[1].endswith(ending) if epoch != FIRST else place[1] in self._of_first)

    def _drop(self, is_meant: Callable[[_Place], bool]) -> None:
        for place in [each for each in self._tables if is_meant(each)]:
            self._remove(place, list(self._tables[place]))
            del self._tables[place]

    def restore(self, records: Mapping[str, bytes]) -> Iterator[MessageReceived]:
        """The messages that build the tables of an earlier life."""
        for key, data in records.items():
            if not key.startswith("route/"):
                continue
            _, sender, kind, table, id = key.split("/", 4)
            text, origin = msgspec.msgpack.decode(data, type=tuple[str, NodeId])
            place = int(sender), kind, tuple(map(int, table.split(".")))
            self._tables.setdefault(place, {})[id] = (id, parse_filter(text), origin)
        for (sender_, kind, table_), rows in self._tables.items():
            name, _, epoch = kind.partition(_EPOCH)
            restated = self._restating[name].restate(table_, tuple(rows.values()))
            yield MessageReceived(sender_, EpochControl(int(epoch), restated) if epoch else restated)

    @staticmethod
    def _key(place: _Place, id: str) -> str:
        sender, kind, table = place
        return f"route/{sender}/{kind}/{'.'.join(map(str, table))}/{id}"
