"""What neighbours announced, kept so that a node that restarts does not route on empty tables.

A control message changes rows of a table: it puts some, removes some, or (`anew`) names all there are. The rows are
kept one record each, `route/sender/kind/table/id`, with nodes by their names; on restart each table is handed to the
fresh scheme as one message, as if the neighbour had just introduced itself. So what is kept grows with the routing
state and not with its history.

`RULES` says for each kind of message what it does to rows. A scheme with a control message that has no rule cannot be
made durable (`check_rules`): it would forget what that message told it, and lose events it had promised to keep.

Rejected: a log of all control messages, which must be compacted, and for that understood as here; a picture of the
scheme's insides, which ties the disk to its classes; holding events back until all neighbours have introduced
themselves, which lets one neighbour that is gone stop all others.

Cost: one record, and one entry in memory beside that of the scheme, for each row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import msgspec

from siftcast.overlays.contract import Message, MessageReceived, NodeId, Protocol
from siftcast.overlays.delivery import Parcel
from siftcast.overlays.durability.errors import NotDurableError
from siftcast.overlays.durability.ledger import Ledger
from siftcast.overlays.durability.roster import Roster
from siftcast.overlays.messages import Advertise, Announce, Entry, Retract, Unadvertise
from siftcast.overlays.protocols.kyra.messages import Entrust, Withdraw
from siftcast.overlays.wire_messages import parse_filter


@dataclass(frozen=True, slots=True)
class Change:
    """What a message does to the rows of a table; a table of None stands for all of the sender's of that kind."""

    kind: str
    table: tuple[int, ...] | None
    put: tuple[Entry, ...] = ()
    removed: tuple[str, ...] = ()
    anew: bool = False


Rule = Callable[[Any], Change]
_ENTRUST = "entrust"
RULES: Mapping[type[Message], Rule] = MappingProxyType(
    {
        Announce: lambda told: Change("announce", (told.network,), told.entries, anew=told.anew),
        Retract: lambda told: Change("announce", (told.network,), removed=told.ids),
        Advertise: lambda told: Change("advertise", (told.network,), told.entries, anew=told.anew),
        Unadvertise: lambda told: Change("advertise", (told.network,), removed=told.ids),
        Entrust: lambda told: Change(_ENTRUST, (told.origin, int(told.outside)), told.entries, anew=told.anew),
        Withdraw: lambda told: Change(_ENTRUST, None, removed=told.ids),
    }
)
REBUILT: Mapping[str, Callable[[tuple[int, ...], tuple[Entry, ...]], Message]] = MappingProxyType(
    {
        "announce": lambda table, entries: Announce(entries, table[0], anew=True),
        "advertise": lambda table, entries: Advertise(entries, table[0], anew=True),
        _ENTRUST: lambda table, entries: Entrust(table[0], entries, bool(table[1]), anew=True),
    }
)
_NODE_FIRST = (_ENTRUST,)
"""Kinds of tables that are known by a node; others by numbers only."""
_Place = tuple[NodeId, str, tuple[int, ...]]


def check_rules(scheme: Protocol) -> None:
    """Raises `NotDurableError` for a scheme whose routing state would not survive."""
    unknown = [kind.__name__ for kind in scheme.messages if kind.control and kind not in RULES]
    if unknown:
        raise NotDurableError(
            f"{type(scheme).__name__} cannot be made durable: what {', '.join(unknown)} say would be forgotten in a "
            "crash; each needs a rule in durability/routing_memory.py"
        )


class RoutingMemory:
    """The rows behind a node's routing tables."""

    __slots__ = ("_ledger", "_node", "_roster", "_tables")

    def __init__(self, ledger: Ledger, node: NodeId, roster: Roster) -> None:
        self._ledger = ledger
        self._node = node
        self._roster = roster
        self._tables: dict[_Place, dict[str, Entry]] = {}

    def __len__(self) -> int:
        return sum(len(table) for table in self._tables.values())

    def note(self, sender: NodeId, message: Message) -> None:
        """Stages what a message changes."""
        if isinstance(message, Parcel):
            if self._node in message.destinations or not message.destinations:
                self.note(sender, message.content)
            return
        rule = RULES.get(type(message))
        if rule is None:
            return
        change = rule(message)
        if change.table is None:
            for place in [each for each in self._tables if each[:2] == (sender, change.kind)]:
                self._remove(place, change.removed)
            return
        place = sender, change.kind, change.table
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
                origin = self._roster.name(entry[2])
                self._ledger.put(self._key(place, entry[0]), msgspec.msgpack.encode((str(entry[1]), origin)))

    def _remove(self, place: _Place, ids: tuple[str, ...] | list[str]) -> None:
        table = self._tables.get(place, {})
        for id in ids:
            if table.pop(id, None) is not None:
                self._ledger.forget(self._key(place, id))

    def restore(self, records: Mapping[str, bytes]) -> Iterator[MessageReceived]:
        """The messages that build the tables of an earlier life."""
        for key, data in records.items():
            if not key.startswith("route/"):
                continue
            _, sender, kind, table, id = key.split("/", 4)
            text, origin = msgspec.msgpack.decode(data, type=tuple[str, str])
            place = self._roster.number(sender), kind, self._table_of(kind, table)
            self._tables.setdefault(place, {})[id] = (id, parse_filter(text), self._roster.number(origin))
        for (sender_, kind, table_), rows in self._tables.items():
            yield MessageReceived(sender_, REBUILT[kind](table_, tuple(rows.values())))

    def _key(self, place: _Place, id: str) -> str:
        sender, kind, table = place
        first = self._roster.name(table[0]) if kind in _NODE_FIRST else str(table[0])
        return f"route/{self._roster.name(sender)}/{kind}/{'.'.join((first, *map(str, table[1:])))}/{id}"

    def _table_of(self, kind: str, text: str) -> tuple[int, ...]:
        first, *others = text.split(".")
        return (self._roster.number(first) if kind in _NODE_FIRST else int(first), *map(int, others))
