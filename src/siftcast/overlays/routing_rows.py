"""What a control message does to the receiver's routing tables, for whoever remembers them across a crash.

A message that builds routing state says so itself: which table it is about, and which rows it puts and removes, or
(`anew`) that these are all the rows there are. One kind of message of each table can restate it whole. A durable node
keeps the rows and, after a restart, hands each table to the fresh scheme as one message, as if the neighbour had just
introduced itself. So durability needs to know no scheme.
"""

from __future__ import annotations

from typing import ClassVar, Self

import msgspec

from siftcast.model import Filter
from siftcast.overlays.contract import Message, NodeId

Entry = tuple[str, Filter, NodeId]
"""A subscription on its way: its id, what is wanted, and the node it began at."""
TableKey = tuple[int, ...]
"""Which of a sender's tables of one kind is meant."""


class RowChange(msgspec.Struct, frozen=True, gc=False):
    """What a message does to the rows of a table; without a key, to all of the sender's tables of that kind."""

    table: TableKey | None
    put: tuple[Entry, ...] = ()
    removed: tuple[str, ...] = ()
    anew: bool = False


class RoutingMessage(Message, frozen=True, gc=False):
    """A control message that changes routing tables of the receiver."""

    table_kind: ClassVar[str]
    """Stands on disk, so it must not change; the same for all messages about one kind of table."""
    restates: ClassVar[bool] = False
    """Whether it can name all rows of a table."""

    @property
    def row_change(self) -> RowChange:
        """What it does to the rows."""
        raise NotImplementedError

    @classmethod
    def restate(cls, table: TableKey, entries: tuple[Entry, ...]) -> Self:
        """The message that says that these are all rows of a table."""
        raise NotImplementedError
