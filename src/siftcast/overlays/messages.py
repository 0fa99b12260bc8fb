"""What filter-based nodes say to each other."""

from __future__ import annotations

from typing import ClassVar

from siftcast.model import Event, Filter
from siftcast.overlays.contract import Message, NodeId
from siftcast.overlays.keys import KEY_BYTES

Entry = tuple[str, Filter, NodeId]
"""A subscription on its way: its id, what is wanted, and the node it began at."""


class Announce(Message, frozen=True, gc=False):
    """Events that match these are wanted here. With `anew`, nothing else that was announced before is."""

    entries: tuple[Entry, ...]
    network: int = 0
    anew: bool = False


class Retract(Message, frozen=True, gc=False):
    """What was announced under these ids is not wanted here any more."""

    ids: tuple[str, ...]
    network: int = 0


class Advertise(Message, frozen=True, gc=False):
    """Events that match these may come from here. With `anew`, nothing else that was advertised before."""

    entries: tuple[Entry, ...]
    network: int = 0
    anew: bool = False


class Unadvertise(Message, frozen=True, gc=False):
    """What was advertised under these ids does not come from here any more."""

    ids: tuple[str, ...]
    network: int = 0


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
