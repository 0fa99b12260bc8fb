"""Filter-based routing on one tree (or the source trees of one graph): what Siena does at each server.

Subscriptions travel to every server and leave behind, at each, the direction they came from. An event is matched with
the table of each neighbour and goes on only where something wants it (Kyra, II.A).

        A ◀── price < 5 ── B ◀── price < 5 ── C        subscription of C
        A ── price = 3 ──▶ B ── price = 3 ──▶ C        event of A

A router is a part of a protocol, not one itself: filter-based routing has one, a Kyra server one a tree.
Invariant: an entry of interface i is told to exactly those neighbours to which what its origin sends would go on (and
from which, with advertisements, something it overlaps was advertised), reduced by the neighbour's summary.

Cost: an event, one `match_any` for each neighbour; a subscription, one table entry for each server of the tree.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

from siftcast.model import Event, Filter
from siftcast.overlays.advertising import Advertisements
from siftcast.overlays.announcements import SUMMARIES, Summary
from siftcast.overlays.contract import NOTHING, Deliver, Effect, Effects, NodeId, SendMessage, Spent
from siftcast.overlays.keys import LOCAL, Interface, KeyTable, Local
from siftcast.overlays.links import Links
from siftcast.overlays.messages import Announce, Publication, Retract
from siftcast.overlays.reuse import NEVER, Reuse, ReuseUnsafeError
from siftcast.overlays.routing_rows import Entry
from siftcast.overlays.tables import Table, TableFactory


class ContentRouter:
    """One server's tables on one network; `summary` is the name of one, or a kind of its own."""

    __slots__ = (
        "_advertisements", "_entries", "_keys", "_links", "_local", "_network", "_reuse", "_summaries",
        "_summary", "_tables", "_tells_all", "_told", "_unsafe",
    )  # fmt: skip

    def __init__(
        self,
        links: Links,
        tables: TableFactory,
        *,
        network: int = 0,
        summary: str | type[Summary] = "none",
        reuse: Reuse = NEVER,
        unsafe: bool = False,
        advertisements: Advertisements | None = None,
    ) -> None:
        if isinstance(summary, str) and summary not in SUMMARIES:
            raise ValueError(f"subscriptions are summarised by {', '.join(SUMMARIES)}, not {summary!r}")
        self._summary = SUMMARIES[summary] if isinstance(summary, str) else summary
        self._unsafe = unsafe
        self._links = links
        self._network = network
        self._reuse = self._checked(reuse)
        self._advertisements = advertisements
        self._tells_all = self._summary.exact and advertisements is None
        self._local: Table = tables()
        self._tables: dict[NodeId, Table] = {neighbour: tables() for neighbour in links.neighbours}
        self._entries: dict[Interface, dict[str, Entry]] = {LOCAL: {}, **{other: {} for other in links.neighbours}}
        self._summaries: dict[NodeId, dict[Hashable, Summary]] = {neighbour: {} for neighbour in links.neighbours}
        self._told: dict[NodeId, dict[str, Hashable]] = {neighbour: {} for neighbour in links.neighbours}
        self._keys = KeyTable() if reuse.strategy != "never" else None

    # -- subscriptions -------------------------------------------------------------------------------

    def subscribe(self, entries: Iterable[Entry], interface: Interface, *, anew: bool = False) -> list[Effect]:
        """Takes in what is wanted over an interface; with `anew`, only that. Says what the neighbours must know."""
        news = _News()
        known = self._entries[interface]
        listed = list(entries)
        if anew:
            kept = {entry[0] for entry in listed}
            for id in [id for id in known if id not in kept]:
                self._drop(id, interface, news)
        table = self._table(interface)
        sender = None if isinstance(interface, Local) else interface
        for entry in listed:
            id = entry[0]
            before = known.get(id)
            if before is not None:
                if before[1:] == entry[1:]:
                    continue
                self._drop(id, interface, news)
            known[id] = entry
            table.add(id, entry[1])
            if self._keys is not None:
                self._keys.add(id, interface)
            onward = self._links.onward(entry[2], sender)
            if before is None and self._tells_all:
                self._tell_all(onward, entry)
                news.pass_on(onward, entry)
            else:
                for neighbour in onward:
                    self._tell(neighbour, entry, news)
        return news.effects(self._network)

    def unsubscribe(self, ids: Iterable[str], interface: Interface) -> list[Effect]:
        """Forgets what is no longer wanted over an interface; unknown ids mean nothing."""
        news = _News()
        for id in ids:
            if id in self._entries[interface]:
                self._drop(id, interface, news)
        return news.effects(self._network)

    def adopt(self, tables: Mapping[Interface, Table]) -> None:
        """Takes over tables as they are once all announcements have arrived, without any having been sent.

        For measuring how events travel where the flood of subscriptions would take hours to play. Who was told what is
        not known then, so the tables are for events only.
        """
        self._local = tables[LOCAL]
        self._tables = {neighbour: tables[neighbour] for neighbour in self._links.neighbours}

    def introduce(self, neighbour: NodeId) -> list[Effect]:
        """Tells a neighbour that came back all it must know."""
        entries = [entry for summary in self._summaries[neighbour].values() for entry in summary.announced()]
        return [SendMessage(Announce(tuple(entries), self._network, anew=True), (neighbour,))]

    def reconsider(self, neighbour: NodeId) -> list[Effect]:
        """Tells a neighbour what it must know now that it advertises something else."""
        news = _News()
        for interface, entries in self._entries.items():
            sender = None if isinstance(interface, Local) else interface
            for entry in entries.values():
                if neighbour not in self._links.onward(entry[2], sender):
                    continue
                told, wanted = entry[0] in self._told[neighbour], self._is_advertised(neighbour, entry[1])
                if wanted and not told:
                    self._tell(neighbour, entry, news)
                elif told and not wanted:
                    self._untell(neighbour, entry[0], news)
        return news.effects(self._network)

    def _drop(self, id: str, interface: Interface, news: _News) -> None:
        entry = self._entries[interface].pop(id)
        self._table(interface).remove(id)
        if self._keys is not None:
            self._keys.remove(id, interface)
        sender = None if isinstance(interface, Local) else interface
        for neighbour in self._links.onward(entry[2], sender):
            if id in self._told[neighbour]:
                self._untell(neighbour, id, news)

    def _tell(self, neighbour: NodeId, entry: Entry, news: _News) -> None:
        if not self._is_advertised(neighbour, entry[1]):
            return
        scope = self._links.scope(entry[2])
        self._told[neighbour][entry[0]] = scope
        summary = self._summaries[neighbour].get(scope)
        if summary is None:
            summary = self._summaries[neighbour][scope] = self._summary()
        news.add(neighbour, *summary.add(entry))

    def _tell_all(self, neighbours: Sequence[NodeId], entry: Entry) -> None:
        """What `_tell` does where everyone is told everything, which is what floods spend their time on."""
        scope = self._links.scope(entry[2])
        for neighbour in neighbours:
            self._told[neighbour][entry[0]] = scope
            summary = self._summaries[neighbour].get(scope)
            if summary is None:
                summary = self._summaries[neighbour][scope] = self._summary()
            summary.add(entry)

    def _untell(self, neighbour: NodeId, id: str, news: _News) -> None:
        news.add(neighbour, *self._summaries[neighbour][self._told[neighbour].pop(id)].remove(id))

    def _is_advertised(self, neighbour: NodeId, filter_: Filter) -> bool:
        return self._advertisements is None or self._advertisements.overlap(neighbour, filter_)

    def _table(self, interface: Interface) -> Table:
        return self._local if isinstance(interface, Local) else self._tables[interface]

    # -- events --------------------------------------------------------------------------------------

    @property
    def reuse(self) -> Reuse:
        """How lookups are reused. A router that keeps keys may change its mind while it runs."""
        return self._reuse

    @reuse.setter
    def reuse(self, reuse: Reuse) -> None:
        if self._keys is None and reuse.strategy != "never":
            raise ValueError("this router was made without lookup reuse and keeps no keys")
        self._reuse = self._checked(reuse)

    def _checked(self, reuse: Reuse) -> Reuse:
        if reuse.strategy == "always" and not self._summary.exact and not self._unsafe:
            raise ReuseUnsafeError(
                "always-reuse with covering or merging loses events, because lists of keys are not complete then; "
                "use partial reuse, or say unsafe=True to see what is lost"
            )
        return reuse

    def route(self, event: Event, origin: NodeId, sender: NodeId | None = None) -> Effects:
        """Delivers an event and passes it on, without or (at its source) with the first lookups."""
        onward = self._links.onward(origin, sender)
        if self._reuse.strategy != "never":
            return self._match_on(event, origin, onward, {})
        effects: list[Effect] = []
        local = self._local.match(event)
        if local:
            effects.append(Deliver(event, local))
        if onward:
            tables = self._tables
            wanted = [neighbour for neighbour in onward if tables[neighbour].match_any(event)]
            effects.append(Spent(len(onward)))
            if wanted:
                effects.append(SendMessage(Publication(event, origin, self._network), wanted))
        return effects or NOTHING

    def receive(self, publication: Publication, sender: NodeId) -> Effects:
        """Delivers an event that came from a neighbour and passes it on, by lookups as far as they go."""
        event, origin, keys = publication.event, publication.origin, publication.keys
        if keys is None or self._keys is None or self._reuse.strategy == "never":
            return self.route(event, origin, sender)
        found: dict[Interface, list[int]] = {}
        complete = publication.complete
        for key in keys:
            place = self._keys.find(key)
            if place is not None:
                found.setdefault(place[0], []).append(key)
            elif self._keys.is_shared(key):
                complete = False
        onward = self._links.onward(origin, sender)
        spent = Spent(0, len(keys))
        if not complete:
            return [*self._match_on(event, origin, onward, found), spent]
        effects: list[Effect] = [spent]
        if LOCAL in found:
            ids = [place[1] for key in found[LOCAL] for place in [self._keys.find(key)] if place is not None]
            effects.append(Deliver(event, ids))
        whole = keys if self._reuse.strategy == "always" else None
        for neighbour in onward:
            if neighbour in found:
                effects.append(self._publish(event, origin, neighbour, whole or tuple(found[neighbour]), True))
        return effects

    def _match_on(
        self, event: Event, origin: NodeId, onward: Sequence[NodeId], found: dict[Interface, list[int]]
    ) -> Effects:
        """Matches on the interfaces for which no key speaks, and on the local one, where all matches count."""
        assert self._keys is not None
        always = self._reuse.strategy == "always"
        limit = None if self._reuse.limit is None else self._reuse.limit + 1
        effects: list[Effect] = []
        local = self._local.match(event)
        if local:
            effects.append(Deliver(event, local))
        matched = 0
        lists: list[tuple[NodeId, tuple[int, ...], bool]] = []
        for neighbour in onward:
            keys, whole = tuple(found.get(neighbour, ())), False
            if not keys:
                matched += 1
                ids = self._tables[neighbour].match(event, limit)
                if not ids:
                    continue
                whole = limit is None or len(ids) < limit
                keys, alone = self._keys.keys(ids if whole else ids[: self._reuse.limit])
                # Only where every wanted id is announced does a list of ids say all there is to say.
                whole = whole and alone and (self._summary.exact or always)
            lists.append((neighbour, keys, whole))
        if always:
            together = tuple(key for _, keys, _ in lists for key in keys)
            lists = [(neighbour, together, True) for neighbour, _, _ in lists]
        effects.extend(self._publish(event, origin, neighbour, keys, whole) for neighbour, keys, whole in lists)
        if matched:
            effects.append(Spent(matched))
        return effects

    def _publish(self, event: Event, origin: NodeId, to: NodeId, keys: tuple[int, ...], complete: bool) -> Effect:
        return SendMessage(Publication(event, origin, self._network, keys, complete), (to,))

    # -- facts ---------------------------------------------------------------------------------------

    @property
    def entries(self) -> int:
        """Subscriptions of others that this server keeps for routing."""
        return sum(len(table) for table in self._tables.values())

    @property
    def local_entries(self) -> int:
        """Subscriptions of this server itself."""
        return len(self._local)


class _News:
    """What each neighbour is to be told, gathered over one stimulus."""

    __slots__ = ("_announce", "_passed_on", "_retract")

    def __init__(self) -> None:
        self._passed_on: dict[tuple[NodeId, ...], list[Entry]] = {}
        self._announce: dict[NodeId, dict[str, Entry]] = {}
        self._retract: dict[NodeId, dict[str, None]] = {}

    def pass_on(self, neighbours: tuple[NodeId, ...], entry: Entry) -> None:
        """Announces what is new to all these neighbours alike."""
        if neighbours:
            self._passed_on.setdefault(neighbours, []).append(entry)

    def add(self, neighbour: NodeId, announce: Sequence[Entry], retract: Sequence[str]) -> None:
        announced = self._announce.setdefault(neighbour, {})
        retracted = self._retract.setdefault(neighbour, {})
        for id in retract:
            announced.pop(id, None)
            retracted[id] = None
        for entry in announce:
            retracted.pop(entry[0], None)
            announced[entry[0]] = entry

    def effects(self, network: int) -> list[Effect]:
        """Announcements before retractions, so that nothing is unwanted in between."""
        effects: list[Effect] = [
            SendMessage(Announce(tuple(entries), network), neighbours)
            for neighbours, entries in self._passed_on.items()
        ]
        if not self._announce and not self._retract:
            return effects
        announced = [(tuple(told.values()), other) for other, told in self._announce.items()]
        for entries, neighbours in _alike(announced):
            effects.append(SendMessage(Announce(entries, network), neighbours))
        if any(self._retract.values()):
            for ids, neighbours in _alike([(tuple(told), other) for other, told in self._retract.items()]):
                effects.append(SendMessage(Retract(ids, network), neighbours))
        return effects


def _alike(told: Iterable[tuple[tuple[Any, ...], NodeId]]) -> list[tuple[tuple[Any, ...], list[NodeId]]]:
    """Neighbours that are told the same, together; those that are told nothing are left out."""
    groups: list[tuple[tuple[Any, ...], list[NodeId]]] = []
    for content, neighbour in told:
        if not content:
            continue
        for known, neighbours in groups:
            if known == content:
                neighbours.append(neighbour)
                break
        else:
            groups.append((content, [neighbour]))
    return groups
