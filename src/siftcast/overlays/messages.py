"""What filter-based nodes say to each other."""

from __future__ import annotations

from typing import ClassVar, Self

from siftcast.model import Event
from siftcast.overlays.contract import Message, NodeId
from siftcast.overlays.keys import KEY_BYTES
from siftcast.overlays.routing_rows import Entry, RoutingMessage, RowChange, TableKey


class _Entries(RoutingMessage, frozen=True, gc=False):
    """Rows that are put into a table of the receiver's; with `anew`, all it has from here."""

    restates: ClassVar[bool] = True

    entries: tuple[Entry, ...]
    network: int = 0
    anew: bool = False

    @property
    def row_change(self) -> RowChange:
        return RowChange((self.network,), self.entries, anew=self.anew)

    @classmethod
    def restate(cls, table: TableKey, entries: tuple[Entry, ...]) -> Self:
        return cls(entries, table[0], anew=True)


class _Ids(RoutingMessage, frozen=True, gc=False):
    """Rows that go from a table of the receiver's."""

    ids: tuple[str, ...]
    network: int = 0

    @property
    def row_change(self) -> RowChange:
        return RowChange((self.network,), removed=self.ids)


class Announce(_Entries, frozen=True, gc=False):
    """Events that match these are wanted here. With `anew`, nothing else that was announced before is."""

    table_kind: ClassVar[str] = "announce"


class Retract(_Ids, frozen=True, gc=False):
    """What was announced under these ids is not wanted here any more."""

    table_kind: ClassVar[str] = "announce"


class Advertise(_Entries, frozen=True, gc=False):
    """Events that match these may come from here. With `anew`, nothing else that was advertised before."""

    table_kind: ClassVar[str] = "advertise"


class Unadvertise(_Ids, frozen=True, gc=False):
    """What was advertised under these ids does not come from here any more."""

    table_kind: ClassVar[str] = "advertise"


class Publication(Message, frozen=True, gc=False):
    """An event under way, from the node at which it entered the network.

    `keys` are those of subscriptions it is known to match beyond the receiver or at it; if `complete`, it matches no
    others there. None where lookups are not reused.
    """

    control: ClassVar[bool] = False

    event: Event
    origin: NodeId
    network: int = 0
    keys: tuple[int, ...] | None = None
    complete: bool = False

    @property
    def event_id(self) -> str | None:
        return self.event.id

    @property
    def overhead_bytes(self) -> int:
        """What the keys add to the event."""
        return KEY_BYTES * len(self.keys) if self.keys else 0
