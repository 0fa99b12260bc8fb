"""What a durable node knows about its earlier lives: how many there were, and of which lineage its disk is."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from siftcast.overlays.contract import NodeId, Report
from siftcast.overlays.durability.identity import FORMAT, SELF, SelfRecord, fit_to_network, read_self
from siftcast.overlays.durability.ledger import Ledger
from siftcast.overlays.durability.messages import Lineage
from siftcast.overlays.durability.roster import Roster


class Past:
    """The record `self`, read at the start of a life and written down again."""

    def __init__(self, node: NodeId, roster: Roster, ledger: Ledger, report: Callable[[Report], None]) -> None:
        self.life = 0
        """Which of the node's lives this is."""
        self.is_laid_out_otherwise = False
        """Whether the network was laid out otherwise in the last life."""
        self._node = node
        self._roster = roster
        self._ledger = ledger
        self._report = report

    def take_up(
        self, restored: Mapping[str, bytes], *, damaged: bool, nonce: int
    ) -> tuple[Mapping[str, bytes], Lineage]:
        """The records that are good, and the lineage to go on with; raises RestoreError if they are another's."""
        before = read_self(restored, self._node, self._roster, damaged=damaged)
        records: Mapping[str, bytes] = restored
        lineage = (1, nonce)
        if before is not None:
            records, gone = fit_to_network(restored, before, self._roster)
            for key in gone:
                self._ledger.forget(key)
            self.is_laid_out_otherwise = before.layout != self._roster.layout
            if self.is_laid_out_otherwise:
                self._report(Report("network was laid out otherwise before", {"records": len(gone)}))
            lineage, self.life = before.lineage, before.life
        if damaged:
            lineage = (lineage[0] + 1, nonce)
        self.life += 1
        return records, lineage

    def keep(self, lineage: Lineage) -> None:
        """Writes down whose the records are."""
        roster = self._roster
        name, network, layout = roster.name(self._node), roster.network, roster.layout
        record = SelfRecord(FORMAT, self._node, name, network, layout, lineage, self.life)
        self._ledger.put(SELF, msgspec.msgpack.encode(record))
