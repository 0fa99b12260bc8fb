"""Who has a place as a contact, over which split: back-pointers, as beats tell them.

They are told when the place ends, so each costs a farewell, and each sends beats. A newcomer is handed the contacts of
whoever divides with it, and so is who joins at the newcomer: left alone, the places that came first would be contacts
of nearly everyone. So a place that more hold than its share is *crowded*. Its answers say so, and name somebody else of
its side, whom the asker takes instead; it is not counted any more. No message more is sent.

Its share of a split is what it would be if those beyond, who have `contacts` each, had chosen evenly. With half as many
again, or two more, nearly anybody who is named instead has room, so exchanges come to rest.

Cost: O(1) for each beat.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator

from siftcast.overlays.protocols.homed.cube import Place

_SHARES_MAX = 1.5
_MORE_MIN = 2


class Holders:
    """The holders of one place."""

    __slots__ = ("_counts", "_held")

    def __init__(self) -> None:
        self._held: dict[Place, tuple[int, int, float]] = {}
        """Over which split, with which digest, and when it was heard last: the latest at the end."""
        self._counts: Counter[int] = Counter()

    def __len__(self) -> int:
        return len(self._held)

    def __iter__(self) -> Iterator[Place]:
        return iter(self._held)

    def items(self) -> list[tuple[Place, int]]:
        """Each holder and its split."""
        return [(place, split) for place, (split, _, _) in self._held.items()]

    def note(self, place: Place, split: int, digest: int, now: float) -> None:
        """Somebody beyond a split has sent a beat, or is a contact itself."""
        self.forget(place)
        self._held[place] = split, digest, now
        self._counts[split] += 1

    def forget(self, place: Place) -> None:
        """Somebody has let this place go, or is about to."""
        held = self._held.pop(place, None)
        if held is not None:
            split = held[0]
            self._counts[split] -= 1
            if not self._counts[split]:
                del self._counts[split]

    def forget_silent(self, since_ms: float) -> None:
        """Those that have not been heard since."""
        for place in [place for place, (_, _, heard_ms) in self._held.items() if heard_ms < since_ms]:
            self.forget(place)

    def heard_last(self, splits: Collection[int], since_ms: float) -> list[tuple[Place, int]]:
        """The holders over these splits that have been heard since a time, the last one first, with their digests."""
        found: list[tuple[Place, int]] = []
        for place in reversed(self._held):
            split, digest, heard_ms = self._held[place]
            if heard_ms < since_ms:
                break
            if split in splits:
                found.append((place, digest))
        return found

    def is_crowded(self, split: int, contacts: int, here: int, beyond: int) -> bool:
        """Whether more than its share hold this place over a split, with so many places on either side of it."""
        share = contacts * max(1.0, beyond / here)
        return self._counts[split] > max(_SHARES_MAX * share, share + _MORE_MIN)
