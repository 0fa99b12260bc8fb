"""The cover table of a place: the splits on its way from the whole cube, and whom it knows beyond each.

The places of a network are the leaves of a binary tree of splits. A place that joins divides what another one covers,
and both remember that split; so each place has a path of splits, mean length log2 N + 1, and beyond each split lies a
subtree that it shares no further split with.

    rank 0   run 5, side 0   contacts: four of the places beyond, with digest and cost   summary of all beyond
    rank 1   run 2, side 1   …
    rank 3   run 9, side 1   …                                   (of rank 2 nobody is left beyond)

- *Complete*: the subtrees beyond the splits of a path, with the place itself, are all places. A path grows at its end
  only, when the place is divided; so whoever passes something on to all beyond a split reaches everyone once, and a
  contact beyond a split passes it on to all beyond its own splits of a higher rank.
- *Summaries*: the summary of a split contains the digests of all beyond it. A new bit is told to everybody who lacks it
  before it counts (`spreading`); an old one lingers until all contacts have reported without it for some time.

What a receiver is to cover is said by two ranks, `low` and `high`: all beyond its splits of a rank above `low` where it
is on side 1 itself, so that smaller digits lie beyond, and above `high` where it is on side 0. In a binary table both
are the rank of the split over which it was sent.

Rows of `arity_bits` splits are the digits of a k-ary cube (section 3.2). With layout `full` a place sends to all digits
of a row itself, as far as its contact has named its own contacts there (branches). With `neighbours` it has contacts
only for the nearest smaller and the nearest bigger digit, and a message is passed along the row.

Cost: O(path) memory and time for everything here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from operator import or_

from siftcast.model import Event, Filter
from siftcast.overlays.protocols.homed.cube import Place, Run
from siftcast.overlays.protocols.homed.options import HomedSettings

Filters = dict[Place, tuple[int, Filter]]
"""What places want exactly, and the version of it."""


class Contact:
    """A place beyond a split."""

    __slots__ = ("asked_ms", "branches", "cost_ms", "digest", "missed", "place", "summary")

    def __init__(self, place: Place, digest: int, summary: int | None = None) -> None:
        self.place = place
        self.digest = digest
        self.summary = digest if summary is None else summary
        """What it reported last of its whole side of the split."""
        self.cost_ms: float | None = None
        """How far away it is, once it has answered."""
        self.asked_ms: float | None = None
        """Since when an answer is due."""
        self.missed = 0
        self.branches: tuple[tuple[int, Place, int], ...] = ()
        """Its own contacts in the same row: rank, place, summary."""


class Split:
    """A split on the path of a place."""

    __slots__ = (
        "contacts",
        "count",
        "emptied_ms",
        "filters",
        "floors",
        "former",
        "fresh",
        "held",
        "held_before",
        "held_since_ms",
        "id",
        "rank",
        "relayed",
        "run",
        "side",
        "spares",
        "summary",
        "told",
    )  # fmt: skip

    def __init__(self, id: int, rank: int, run: Run, side: int, now: float) -> None:
        self.id = id
        self.rank = rank
        self.run = run
        self.side = side
        self.contacts: dict[Place, Contact] = {}
        self.former: dict[Place, float] = {}
        """Contacts that were lost, and since when; they may come back."""
        self.spares: tuple[tuple[Place, int], ...] = ()
        """Names for later, where a row needs no contacts beyond this split for now."""
        self.relayed: int | None = None
        """The summary as another place on this side has it, where there are no contacts of our own."""
        self.emptied_ms: float | None = None
        """Since when nobody is known beyond it."""
        self.count = 0
        """How many places lie beyond, as reported last."""
        self.filters: Filters | None = None
        """What all places beyond want exactly, if that is known."""
        self.floors: dict[Place, tuple[int, float]] = {}
        """Versions before which filters are void, and since when."""
        self.held = self.held_before = 0
        self.held_since_ms = now
        self.fresh = 0
        """The union of the last reports."""
        self.told = 0
        """Bits that all on this side were told of, or are being told; reports alone may be ahead of that."""
        self.summary = 0
        """What may lie beyond: an event outside of it need not go there."""

    def refresh(self) -> None:
        """Works the summary out again after reports changed."""
        self.fresh = reduce(or_, (contact.summary for contact in self.contacts.values()), self.relayed or 0)
        self.held |= self.fresh
        self.summary = self.held | self.held_before

    def widen(self, bits: int) -> None:
        """Adds bits that somebody beyond wants from now on."""
        for contact in self.contacts.values():
            contact.summary |= bits
        if self.relayed is not None:
            self.relayed |= bits
        self.held |= bits
        self.told |= bits
        self.refresh()

    def is_told(self, bits: int) -> bool:
        """Whether all on this side know these bits."""
        return not bits & ~(self.told & self.fresh)

    def age(self, linger_ms: float, now: float) -> None:
        """Lets bits go that nobody has reported for between one and two times as long."""
        if now - self.held_since_ms >= linger_ms:
            self.held_since_ms = now
            self.held_before, self.held = self.held, self.fresh
            self.told &= self.fresh
            self.floors = {place: floor for place, floor in self.floors.items() if now - floor[1] < linger_ms}
            self.summary = self.held | self.held_before

    def take_filters(self, count: int, filters: Filters | None) -> None:
        """Takes a report in: filters count only if they are all of them, and none is void."""
        self.count = count
        if filters is None or len(filters) != count:
            self.filters = None
            return
        current = all(place in filters and filters[place][0] >= floor for place, (floor, _) in self.floors.items())
        self.filters = filters if current else None

    def may_want(self, event: Event, digest: int) -> bool:
        """Whether somebody beyond may want an event."""
        if digest & ~self.summary:
            return False
        return self.filters is None or any(wanted.matches(event) for _, wanted in self.filters.values())

    def choose(self, digest: int) -> Contact:
        """The contact to send an event to: one that wants it itself if there is one, and the nearest of those."""
        best: Contact | None = None
        best_key = (True, True, 0.0)
        for contact in self.contacts.values():
            cost_ms = contact.cost_ms
            key = (contact.missed > 0, bool(digest & ~contact.digest), 1e9 if cost_ms is None else cost_ms)
            if best is None or key < best_key:
                best, best_key = contact, key
        assert best is not None
        return best


class Target:
    """Whom to pass something on to: over which split, for which splits' sake, and what they are to cover."""

    __slots__ = ("covered", "high", "low", "via")

    def __init__(self, via: Split, covered: Sequence[Split], low: int, high: int) -> None:
        self.via = via
        self.covered = covered
        self.low = low
        self.high = high

    def may_want(self, event: Event, digest: int) -> bool:
        """Whether somebody there may want an event."""
        return any(split.may_want(event, digest) for split in self.covered)


class CoverTable:
    """The splits of one place, by rank."""

    __slots__ = ("_by_id", "_row", "next_rank", "rows_are_chains", "splits")

    def __init__(self, settings: HomedSettings) -> None:
        self.splits: list[Split] = []
        self.next_rank = 0
        self.rows_are_chains = settings.layout == "neighbours" and settings.arity_bits > 1
        self._row = settings.arity_bits
        self._by_id: dict[int, Split] = {}

    def __len__(self) -> int:
        return len(self.splits)

    def get(self, id: int) -> Split | None:
        """The split of this id."""
        return self._by_id.get(id)

    def add(self, split: Split) -> None:
        """Puts a split at the end of the path."""
        self.splits.append(split)
        self._by_id[split.id] = split
        self.next_rank = split.rank + 1

    def drop(self, split: Split) -> None:
        """Forgets a split beyond which nobody is left."""
        self.splits.remove(split)
        del self._by_id[split.id]

    def row_of(self, split: Split) -> int:
        """The number of a split's row."""
        return split.rank // self._row

    def row_news(self, split: Split) -> tuple[tuple[tuple[int, int, int], ...], tuple[tuple[int, Place, int], ...]]:
        """What others need to know of a split's row: summaries above, or contacts below."""
        if self._row == 1:
            return (), ()
        row = [other for other in self.splits if self.row_of(other) == self.row_of(split)]
        if self.rows_are_chains:
            return tuple((other.id, other.fresh, other.count) for other in row if other.rank < split.rank), ()
        below = [other for other in row if other.rank > split.rank and other.contacts]
        return (), tuple((other.rank, next(iter(other.contacts)), other.summary) for other in below)

    def is_near(self, split: Split) -> bool:
        """Whether the place is to have contacts beyond a split."""
        if not self.rows_are_chains:
            return True
        row = self.row_of(split)
        following = (other for other in reversed(self.splits) if self.row_of(other) == row and other.side == split.side)
        return next((other for other in following if other.contacts), split).rank <= split.rank

    def targets(self, low: int, high: int) -> Iterator[Target]:
        """Whom to pass on to what is for this part of the cube."""
        if self.rows_are_chains:
            yield from self._chains(low, high)
            return
        for split in self.splits:
            rank = split.rank
            if rank > (low if split.side else high) and split.contacts:
                yield Target(split, (split,), rank, rank)

    def _chains(self, low: int, high: int) -> Iterator[Target]:
        """In each row, the nearest in each direction, which passes on along the row."""
        groups: dict[tuple[int, int], list[Split]] = {}
        for split in self.splits:
            if split.rank > (low if split.side else high):
                groups.setdefault((self.row_of(split), split.side), []).append(split)
        for (_, side), group in groups.items():
            reachable = [place for place, split in enumerate(group) if split.contacts]
            if not reachable:
                continue
            via = group[reachable[-1]]
            covered = group[: reachable[-1] + 1]
            beyond = max(low if side else high, covered[0].rank - 1)
            yield Target(via, covered, beyond if side else via.rank, via.rank if side else beyond)

    def sides(self, digest: int) -> list[tuple[Split, int, int]]:
        """For each split, from the end of the path, the summary and the number of places on this side of it."""
        found: list[tuple[Split, int, int]] = []
        summary, count = digest, 1
        for split in reversed(self.splits):
            found.append((split, summary, count))
            summary |= split.fresh
            count += split.count
        return found

    def side(self, split: Split, digest: int) -> tuple[int, int]:
        """The same for one split."""
        summary, count = digest, 1
        for other in reversed(self.splits):
            if other is split:
                break
            summary |= other.fresh
            count += other.count
        return summary, count

    def filters_of_side(self, split: Split, own: Filters) -> Filters | None:
        """What all places on this side of a split want exactly; None if that is not known."""
        found = dict(own)
        for other in reversed(self.splits):
            if other is split:
                break
            if not other.contacts:
                continue
            if other.filters is None:
                return None
            found.update(other.filters)
        return found

    def members(self, split: Split) -> Iterator[Contact]:
        """Contacts on this side of a split."""
        for other in reversed(self.splits):
            if other is split:
                return
            yield from other.contacts.values()

    def known_digests(self) -> list[int]:
        """Digests of contacts, the nearest last."""
        return [contact.digest for split in self.splits for contact in split.contacts.values()]
