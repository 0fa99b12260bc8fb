"""Events that the scheme delivers to subscribers of this node: into queues, parked, on to an heir, or out at once."""

from __future__ import annotations

from collections.abc import Iterable

from siftcast.model import Event, EventError
from siftcast.overlays.contract import Deliver, Effect, Refuse
from siftcast.overlays.durability.capacity import Capacity
from siftcast.overlays.durability.handing_over import HandingOver
from siftcast.overlays.durability.messages import Ticket
from siftcast.overlays.durability.order import Landings
from siftcast.overlays.durability.queues import Queues
from siftcast.overlays.durability.relaying import Relaying


class Arrivals:
    """What becomes of a delivery. Effects go to the `out` of relays, which waits until all is safe, or to `now_out`."""

    __slots__ = ("_capacity", "_handing_over", "_landings", "_now_out", "_queues", "_relaying")

    def __init__(
        self,
        queues: Queues,
        handing_over: HandingOver,
        landings: Landings,
        capacity: Capacity,
        relaying: Relaying,
        now_out: list[Effect],
    ) -> None:
        self._queues = queues
        self._handing_over = handing_over
        self._landings = landings
        self._capacity = capacity
        self._relaying = relaying
        self._now_out = now_out

    def take(
        self,
        event: Event,
        ids: Iterable[str],
        clock_ms: float,
        *,
        durable: bool,
        duty: int,
        ticket: Ticket | None,
        own: bool,
    ) -> None:
        """Delivers an event. `own`: an ephemeral one of this node's publishers, who can be told that it is not kept."""
        others, names = self._queues.split(list(ids))
        for heir, piece in self._handing_over.pass_on(event, others, clock_ms):
            self._relaying.relay(piece, (heir,))
        if others:
            (self._relaying.out if durable else self._now_out).append(Deliver(event, others))
        if names and ticket is not None and not self._landings.is_own(duty):
            self._landings.park(duty, event, names)
        elif names and not durable and (reason := self._capacity.objection()):
            self._now_out += self._capacity.miss(event, reason, own=own)
        elif names:
            self.queue(event, names, clock_ms)

    def queue(self, event: Event, names: list[str], clock_ms: float) -> None:
        """Puts an event into queues."""
        try:
            self._queues.append(event, names, clock_ms)
        except EventError as error:  # an ephemeral event; durable ones were asked at the door
            self._now_out.append(Refuse(event.id, str(error)))
