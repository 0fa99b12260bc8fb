"""Advertisements: publishers say what they will publish, and subscriptions travel only where it may come from (Siena).

Advertisements are flooded as subscriptions are without them. A server keeps those of each neighbour; a subscription
goes on to a neighbour only if it overlaps one of its advertisements. An event that nobody advertised is refused at its
source, because subscriptions for it may not have reached there.
"""

from __future__ import annotations

from collections.abc import Iterable

from siftcast.model import Event, Filter
from siftcast.overlays.contract import Effect, NodeId, SendMessage
from siftcast.overlays.keys import LOCAL, Interface, Local
from siftcast.overlays.links import Links
from siftcast.overlays.messages import Advertise, Unadvertise
from siftcast.overlays.routing_rows import Entry


class Advertisements:
    """One server's advertisements, by the interface they came from."""

    __slots__ = ("_entries", "_links")

    def __init__(self, links: Links) -> None:
        self._links = links
        self._entries: dict[Interface, dict[str, Entry]] = {LOCAL: {}, **{other: {} for other in links.neighbours}}

    def overlap(self, interface: Interface, filter_: Filter) -> bool:
        """Whether events of a filter may come from there."""
        return any(entry[1].overlaps(filter_) for entry in self._entries[interface].values())

    def allow(self, event: Event) -> bool:
        """Whether an event of this server was advertised."""
        return any(entry[1].matches(event) for entry in self._entries[LOCAL].values())

    def add(self, entries: Iterable[Entry], interface: Interface, *, anew: bool = False) -> list[Effect]:
        """Takes advertisements in and passes them on; with `anew`, those that are not among them go."""
        listed = list(entries)
        known = self._entries[interface]
        effects: list[Effect] = []
        if anew:
            kept = {entry[0] for entry in listed}
            effects += self.remove([id for id in known if id not in kept], interface)
        fresh = [entry for entry in listed if known.get(entry[0]) != entry]
        known.update((entry[0], entry) for entry in fresh)
        sender = None if isinstance(interface, Local) else interface
        for neighbour in self._links.neighbours:
            onward = tuple(entry for entry in fresh if neighbour in self._links.onward(entry[2], sender))
            if onward:
                effects.append(SendMessage(Advertise(onward), (neighbour,)))
        return effects

    def remove(self, ids: Iterable[str], interface: Interface) -> list[Effect]:
        """Forgets advertisements and has the others forget them."""
        known = self._entries[interface]
        gone = [known.pop(id) for id in list(ids) if id in known]
        sender = None if isinstance(interface, Local) else interface
        effects: list[Effect] = []
        for neighbour in self._links.neighbours:
            onward = tuple(entry[0] for entry in gone if neighbour in self._links.onward(entry[2], sender))
            if onward:
                effects.append(SendMessage(Unadvertise(onward), (neighbour,)))
        return effects

    def introduce(self, neighbour: NodeId) -> list[Effect]:
        """Tells a neighbour that came back all that may come from here."""
        told = [
            entry
            for interface, entries in self._entries.items()
            for entry in entries.values()
            if neighbour in self._links.onward(entry[2], None if isinstance(interface, Local) else interface)
        ]
        return [SendMessage(Advertise(tuple(told), anew=True), (neighbour,))]
