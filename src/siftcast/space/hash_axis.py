"""An attribute hashed into zones: the rendezvous function for values that are names, such as the type of an event.

Equal values share a zone, and neighbours do not, so a popular prefix or a run of ids is spread evenly without knowing
how values are distributed. The price: only filters that fix the attribute to a few values have zones; a range touches
all of them and spans. (Layering paper, 4.2: "hash the event type".)

    type = 'trade'            zone crc32('trade') mod n
    type IN ('trade', 'bid')  two zones
    type LIKE 'tr%'           spans

Numbers hash alike whether they are whole or floating, because filters compare them so.
"""

from __future__ import annotations

from dataclasses import dataclass
from zlib import crc32

from siftcast.model.intervals import Cut
from siftcast.model.normal_form import Path
from siftcast.model.values import Kind
from siftcast.space.shard_axes import CutValue, Ranges


@dataclass(frozen=True)
class HashAxis:
    """An attribute, the kind of its values, and how many zones they are hashed into."""

    attribute: str
    kind: Kind
    zones: int

    @property
    def path(self) -> Path:
        return tuple(self.attribute.split("."))

    def __len__(self) -> int:
        return self.zones

    def zone_of(self, value: CutValue) -> int:
        """The zone of a value, as cuts hold it."""
        number = crc32(value.encode("utf-8", "surrogatepass")) if isinstance(value, str) else hash(value)
        return number % self.zones

    def zones_of(self, ranges: Ranges) -> list[int]:
        """The zones of ranges that are single values, ascending; all zones if one of them is longer."""
        found: set[int] = set()
        for low, high in ranges:
            if not _is_single(self.kind, low, high):
                return list(range(self.zones))
            found.add(self.zone_of(low[1]))
        return sorted(found)

    def describe(self, zone: int) -> str:
        """A zone in words."""
        return f"{self.attribute} hashed to {zone} of {self.zones}"


def _is_single(kind: Kind, low: Cut, high: Cut) -> bool:
    """Whether exactly one value of a kind lies between two cuts."""
    if len(low) < 3 or len(high) < 3 or low[2] != 0:
        return False
    if kind is Kind.NUMBER:
        return bool(low[1] == high[1] and high[2] == 1)
    following = low[1] + "\0" if kind is Kind.STRING else low[1] + 1
    return bool(high[1] == following and high[2] == 0)
