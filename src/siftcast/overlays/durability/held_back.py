"""Relays that a node without room leaves with their senders, until there is room again."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from siftcast.overlays.contract import NodeId, Report
from siftcast.overlays.durability.capacity import Capacity
from siftcast.overlays.durability.messages import Relay
from siftcast.overlays.durability.relaying import Relaying
from siftcast.overlays.durability.roster import Roster


class HeldBack:
    """Neighbours whose relays wait; said the 1st, 2nd, 4th, 8th … time that it begins."""

    def __init__(
        self, relaying: Relaying, capacity: Capacity, roster: Roster, report: Callable[[Report], None]
    ) -> None:
        self.peers: set[NodeId] = set()
        self._relaying = relaying
        self._capacity = capacity
        self._roster = roster
        self._report = report
        self._times = 0

    def hold(self, sender: NodeId, relay: Relay) -> None:
        """Leaves a relay with its sender."""
        self._relaying.link(sender).put_off(relay)
        if sender not in self.peers:
            self.peers.add(sender)
            self._times += 1
            if self._times & (self._times - 1) == 0:
                facts = {"peer": self._roster.name(sender), "why": self._capacity.objection()}
                self._report(Report("relays are held back", facts))

    def ready(self) -> Iterator[tuple[NodeId, Relay]]:
        """Relays of neighbours for whom there is room again."""
        for sender in [peer for peer in self.peers if not self._capacity.holds_back(peer)]:
            self.peers.discard(sender)
            relay = self._relaying.link(sender).relays_in.next_put_off()
            if relay is not None:
                yield sender, relay
