"""Every server knows every subscription: the flooding that match-first and multicast-based routing stand on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from siftcast.overlays.contract import Effect, NodeId, SendMessage
from siftcast.overlays.keys import LOCAL, Interface, Local
from siftcast.overlays.links import Links
from siftcast.overlays.messages import Announce, Retract
from siftcast.overlays.routing_rows import Entry


@dataclass(slots=True)
class FloodChange:
    """What became known, what is no more, and what the neighbours must hear."""

    added: list[Entry] = field(default_factory=list)
    removed: list[Entry] = field(default_factory=list)
    effects: list[Effect] = field(default_factory=list)


class SubscriptionFlood:
    """All subscriptions of the network as one server knows them."""

    __slots__ = ("_entries", "_links", "_owners")

    def __init__(self, links: Links) -> None:
        self._links = links
        self._entries: dict[Interface, dict[str, Entry]] = {LOCAL: {}, **{other: {} for other in links.neighbours}}
        self._owners: dict[str, NodeId] = {}

    def __len__(self) -> int:
        return len(self._owners)

    def owner(self, id: str) -> NodeId:
        """The server a subscription belongs to."""
        return self._owners[id]

    def announce(self, entries: Iterable[Entry], interface: Interface, *, anew: bool = False) -> FloodChange:
        """Takes subscriptions in; with `anew`, those of the interface that are not among them go."""
        listed = list(entries)
        known = self._entries[interface]
        change = FloodChange()
        if anew:
            kept = {entry[0] for entry in listed}
            change = self.retract([id for id in known if id not in kept], interface)
        fresh: list[Entry] = []
        for entry in listed:
            before = known.get(entry[0])
            if before == entry:
                continue
            if before is not None:
                change.removed.append(before)
            known[entry[0]] = entry
            self._owners[entry[0]] = entry[2]
            fresh.append(entry)
        change.added += fresh
        for neighbour in self._links.neighbours:
            onward = tuple(entry for entry in fresh if self._goes(neighbour, entry, interface))
            if onward:
                change.effects.append(SendMessage(Announce(onward), (neighbour,)))
        return change

    def retract(self, ids: Iterable[str], interface: Interface) -> FloodChange:
        """Forgets subscriptions; unknown ids mean nothing."""
        known = self._entries[interface]
        gone = [known.pop(id) for id in list(ids) if id in known]
        change = FloodChange(removed=gone)
        for entry in gone:
            del self._owners[entry[0]]
        for neighbour in self._links.neighbours:
            onward = tuple(entry[0] for entry in gone if self._goes(neighbour, entry, interface))
            if onward:
                change.effects.append(SendMessage(Retract(onward), (neighbour,)))
        return change

    def introduce(self, neighbour: NodeId) -> list[Effect]:
        """Tells a neighbour that came back all it cannot know from elsewhere; others, met by delivery, nothing."""
        if neighbour not in self._links.neighbours:
            return []
        told = [
            entry
            for interface, entries in self._entries.items()
            for entry in entries.values()
            if self._goes(neighbour, entry, interface)
        ]
        return [SendMessage(Announce(tuple(told), anew=True), (neighbour,))]

    def _goes(self, neighbour: NodeId, entry: Entry, interface: Interface) -> bool:
        return neighbour in self._links.onward(entry[2], None if isinstance(interface, Local) else interface)
