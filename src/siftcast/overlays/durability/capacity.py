"""How much a durable node keeps, and what it does when that is all it may keep.

Everything a node keeps on disk for others is in its memory, too: events in queues, dead letters, relays that wait for
neighbours, parked events. Together they may have `kept_bytes_max`, by an estimate of what they take in memory. When
that is reached:

    acknowledged events    kept only to be replayed: the oldest are dropped until there is room
    a durable publish      is refused with the reason; what was accepted before is accepted again
    a relay                is taken up to twice the limit; beyond that it is held back, so that it stays on its sender's
                           disk, and the sender fills in turn until it refuses its own publishers
    everything else        goes on: subscriptions are made and taken up, answers count, routes are learned

There is room as long as less than the limit is kept, so the last event that is accepted may go beyond it.
Nothing that was accepted is dropped. Room is made by acknowledgements, by what expires or is ended, and by neighbours
that take their relays.

Nodes must not wait for each other in a circle. So a relay is held back only for what waits for this node's subscribers,
and for what is passing through to *other* neighbours: two nodes that were cut off from each other until both were full
exchange what they have. What is parked, or kept by its publisher's node until it has landed (`order`), does not count
here, because it may wait for the very relay that would be held back; its publishers' nodes bound it. Along a tree, and
in Kyra, whatever is held back then waits for a subscriber or for a node that is down. On a ring (match-on-ring, a graph
with circles) it may wait for itself, once every node on it passes on twice its limit: the watchdog reports the links,
and a higher limit at one of the nodes lets them go on.
"""

from __future__ import annotations

from siftcast.model import Event, EventError
from siftcast.overlays.contract import Effect, NodeId, Refuse, Report
from siftcast.overlays.durability.order import Landings
from siftcast.overlays.durability.queues import Queues
from siftcast.overlays.durability.relaying import Relaying
from siftcast.overlays.durability.settings import Settings
from siftcast.overlays.wire_events import encode_event

_RELAYS_SHARE = 2


class Capacity:
    """Knows how much room there is."""

    def __init__(self, queues: Queues, landings: Landings, relaying: Relaying, settings: Settings) -> None:
        self._queues = queues
        self._landings = landings
        self._relaying = relaying
        self._bytes_max = settings.kept_bytes_max
        self._waiting_max = settings.waiting_max
        self._missed = 0

    @property
    def kept_bytes(self) -> int:
        """What the node keeps, about as many bytes as it takes in memory."""
        return self._queues.kept_bytes + self._landings.parked_bytes + self._relaying.kept_bytes

    def objection(self) -> str:
        """Why nothing new is taken from publishers; empty if it is."""
        if self._relaying.waiting >= self._waiting_max:
            return "too many events wait for nodes out of reach; try again later"
        if not self._make_room():
            return (
                f"this node keeps {self.kept_bytes:,} bytes of events, its limit is {self._bytes_max:,} "
                "(kept_bytes_max in [limits] of its configuration); it takes more once readers acknowledge what waits "
                f"for them, durable subscriptions are ended, or nodes out of reach come back{self._about_the_dead()}"
            )
        return ""

    def miss(self, event: Event, reason: str, *, own: bool) -> list[Effect]:
        """An ephemeral event is not kept for durable subscriptions: tells who published it here, or now and then all.

        `own` are events of this node's publishers.
        """
        if own:
            return [Refuse(event.id, f"durable subscriptions did not get it: {reason}")]
        self._missed += 1
        if self._missed & (self._missed - 1):  # all but the 1st, 2nd, 4th, 8th … time
            return []
        return [Report("ephemeral events were not kept", {"events": self._missed, "why": reason})]

    def _about_the_dead(self) -> str:
        """What to do about dead letters, which no reader acknowledges and no time takes away; empty without any."""
        if not self._queues.dead_bytes:
            return ""
        return (
            f"; {self._queues.dead_bytes:,} bytes of it are dead letters, which stay until their subscription is "
            "ended: siftcast subscriptions --dead-letters NAME prints them, --end NAME ends it"
        )

    def holds_back(self, peer: NodeId) -> bool:
        """Whether relays of a peer must stay with it for now."""
        if self._make_room():
            return False
        blocking = self._queues.kept_bytes + self._relaying.passing_bytes(peer)
        return blocking >= _RELAYS_SHARE * self._bytes_max

    def _make_room(self) -> bool:
        excess = self.kept_bytes - self._bytes_max
        if excess < 0:
            return True
        self._queues.drop_history(excess + 1 + self._bytes_max // 100)
        return self.kept_bytes < self._bytes_max


def objection_to(event: Event, failure: str) -> str:
    """Why a durable event cannot be taken, if it cannot; `failure` is why nothing can be written."""
    if not event.id:
        return "a durable event needs an id"
    if failure:
        return f"nothing can be kept now: {failure}"
    try:
        encode_event(event)
    except EventError as error:
        return str(error)
    return ""
