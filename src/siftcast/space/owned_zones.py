"""Zones and their owners: which server of a clique, or which routing tree, answers for which part of the space.

There may be more candidates than zones: where one value carries more than its share of the load, a candidate goes
without. It owns nothing, and nothing is sent to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from siftcast.model import Filter
from siftcast.space.zones import Partition, Zone


@dataclass(frozen=True, slots=True)
class OwnedZones:
    """A partition and the owner of each of its zones, in the order of the zones."""

    partition: Partition
    owners: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.owners) != len(self.partition):
            raise ValueError(f"{len(self.partition)} zones have as many owners, not {len(self.owners)}")
        if len(set(self.owners)) != len(self.owners):
            raise ValueError("an owner has one zone")

    def zone_of(self, owner: int) -> Zone | None:
        """The zone of an owner; None for one who has none."""
        return self.partition.zones[self.owners.index(owner)] if owner in self.owners else None

    def owner_of_event(self, event: Mapping[str, object]) -> int | None:
        """Who answers for an event; None if it has no point in the space."""
        zone = self.partition.zone_of_event(event)
        return None if zone is None else self.owners[zone]

    def owners_of(self, interest: Filter | str) -> list[int]:
        """Whoever's zone a filter overlaps, in the order of the zones."""
        return [self.owners[zone] for zone in self.partition.zones_of(interest)]
