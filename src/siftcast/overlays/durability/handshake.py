"""What two nodes find out about their pasts when a link opens, and what a node does that has lost a part of its own.

A disk may be lost, damaged, or replaced by an older copy of itself. Then a node gives numbers a second time that its
neighbours know already, and they would take what follows for what they have; and it has forgotten what it had said that
it keeps. A clock cannot tell, because clocks go back too. The neighbours can: each says in its greeting and in every
acknowledgement which lineage of the other it has seen last, how much of it, and how much the other had taken.

    n0 (older disk)                                     n1
      lineage (1, a7), 20 relays sent ──Greet──▶
                                     ◀─Acknowledge──  known (1, a7), kept 70
      "I am behind": lineage (2, c3), relays renumbered
                                     ──Greet──▶
                                     ◀─Acknowledge──  "n0 has lost something": its relays renumbered, introduces itself

A node that is *behind* takes the next counter, gives everything that waits new numbers, introduces itself to everybody,
and reports it. Whatever it accepts from then on arrives. What only the lost part of the disk had is gone; how many
messages of each neighbour that were is reported, too.
"""

from __future__ import annotations

from collections.abc import Callable

from siftcast.overlays.contract import NodeId, Report
from siftcast.overlays.durability.messages import UNKNOWN, Acknowledge, Greet, Lineage, Relay
from siftcast.overlays.durability.order import Landings
from siftcast.overlays.durability.relaying import Relaying
from siftcast.overlays.durability.roster import Roster


class Handshake:
    """Compares pasts. `introduce` tells a peer all there is to say about routing; `keep` writes down a new lineage."""

    def __init__(
        self,
        relaying: Relaying,
        landings: Landings,
        roster: Roster,
        *,
        introduce: Callable[[NodeId, float], None],
        keep: Callable[[], None],
        report: Callable[[Report], None],
    ) -> None:
        self._relaying = relaying
        self._landings = landings
        self._roster = roster
        self._introduce = introduce
        self._keep = keep
        self._report = report

    def take_greeting(self, sender: NodeId, greet: Greet, now: float) -> None:
        """A neighbour says what it has seen of this node; it is answered."""
        link = self._relaying.link(sender)
        if self._relaying.is_behind(greet.known):
            self.go_on_behind(sender, greet.known, UNKNOWN, now)
        elif link.lacks_what_was_taken(greet):
            taken = link.relays_in.taken if greet.stream == link.stream_in else 0
            self._say_lost(sender, greet.kept - taken)
            self.go_on_behind(sender, greet.known, UNKNOWN, now)
        elif greet.stream[0] > link.stream_in[0]:
            self._relaying.take_stream(sender, greet.stream)
        self._note_keeper(sender, greet.keeper, now)
        self._relaying.greet_back(sender, greet)

    def is_good(self, sender: NodeId, told: Acknowledge, now: float) -> bool:
        """Whether an acknowledgement speaks to this node as it is; one that shows it behind is acted on."""
        link = self._relaying.link(sender)
        if self._relaying.is_behind(told.known) or link.lacks_what_was_sent(told):
            self.go_on_behind(sender, told.known, told.stream, now)
            return False
        return self._note_keeper(sender, told.keeper, now)

    def takes(self, sender: NodeId, relay: Relay, now: float) -> bool:
        """Whether a relay may be taken: not in the middle of a stream of which the beginning was taken and is gone."""
        link = self._relaying.link(sender)
        if relay.session != link.greeted or not link.lacks_beginning(relay):
            return True
        if link.is_open:  # otherwise the greeting will show it, too
            self._say_lost(sender, relay.base - 1)
            self.go_on_behind(sender, self._relaying.lineage, UNKNOWN, now)
        return False

    def go_on_behind(self, peer: NodeId, known: Lineage, stream: Lineage, now: float) -> None:
        """This node has lost a part of its past: it goes on under a lineage that nobody has seen."""
        relaying = self._relaying
        before = relaying.lineage
        relaying.take_new_lineage(max(before[0], known[0]) + 1)
        self._keep()
        for other in list(relaying.links):
            self._landings.move(relaying.begin_stream(other, stream if other == peer else UNKNOWN))
        self._report(
            Report(
                "store is behind",
                {
                    "peer": self._roster.name(peer),
                    "lineage": relaying.lineage[0],
                    "why": "a neighbour has seen more of this node than its disk knows: an older copy was restored, or "
                    "a disk lost; what only the lost part had is gone, and all that follows arrives",
                },
            )
        )
        for other, link in list(relaying.links.items()):
            if link.told:
                self._introduce(other, now)

    def _note_keeper(self, sender: NodeId, keeper: Lineage, now: float) -> bool:
        """Notices that a neighbour has lost something, and tells it again; False if this is not its latest lineage."""
        lost = self._relaying.note_keeper(sender, keeper)
        if lost:
            self._report(Report("peer lost a part of its past", {"peer": self._roster.name(sender)}))
            self._landings.move(self._relaying.begin_stream(sender))
            self._introduce(sender, now)
        return lost is not None

    def _say_lost(self, sender: NodeId, relays: int) -> None:
        if relays > 0:
            name = self._roster.name(sender)
            self._report(Report("messages that were taken are gone from the disk", {"peer": name, "messages": relays}))
