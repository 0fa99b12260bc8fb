"""Per-publisher order where events of one publisher take different ways.

Links keep their order, so events that take the same way arrive in the order in which they were published. Most schemes
have but one way from a node to another. In Kyra the content decides about tree and proxies, so an event may overtake an
earlier one of its publisher on another tree. `Protocol.way_of` names an event's way. Where the way changes while
earlier events are under way, an event is *parked* at the nodes that want it, on their disks but not in their queues,
until all earlier ones have *landed*, that is are on the disks of all nodes that want them. Then the publisher's node
releases it:

    publisher's node   e1 (way a) ──▶   e2 (way b) ──▶   e1 landed ◀──   e2 landed ◀──   release e2 ──▶
    a node that wants both                e2 parked        e1 queued                       e2 queued

A node knows that a relay has landed beyond it when all relays it made of it have: a *duty*, owed to the neighbour the
relay came from. The release goes down the same relays, which stay in the outboxes until it has arrived. Duties survive
crashes (`duty/number`, with the parked event).

Invariants: an event is released only after all earlier ones of its publisher have landed. So a node that hears of one
release may queue all it has parked of that publisher up to there, in the order of their sequence. An event that is not
parked enters only while no parked one is under way, and all others take its own way.

A plan may change while a node is away that earlier events wait for (`overlays.epochs`). What is published by the new
plan does not wait for them: order holds within an epoch.

Releasing goes over the events of a publisher once, in order and without recursion, however many are parked.

Cost: nothing where there is one way. Elsewhere every relay is answered twice, and an event that another way overlaps is
queued one journey and a half later, while others go on. Publishers (`Event.source`) do not wait for each other.

Rejected: holding events back at the publisher's node until earlier ones have landed, which is simpler and allows one
change of way a journey; numbers alone, because a node gets a part of a publisher's events, chosen by content, and
cannot tell one that is late from one that is not for it; vector clocks, which tell what came before, not what will
still come.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush

import msgspec

from siftcast.model import Event
from siftcast.overlays.contract import NodeId
from siftcast.overlays.durability.event_log import EVENT_BYTES
from siftcast.overlays.durability.ledger import Ledger
from siftcast.overlays.durability.messages import Ticket
from siftcast.overlays.wire_events import decode_event, encode_event

Place = tuple[NodeId, int]
"""A relay in an outbox: neighbour and number."""
EPOCH = "@"
"""In a way, after the epoch of its plan. Events of one publisher do not wait for those of another epoch."""
OWN: NodeId = -1
"""In place of a neighbour: the duty is owed to a publisher of this node."""


class DutyRecord(msgspec.Struct, array_like=True):
    """To whom a duty is owed (a neighbour, or OWN for a publisher of this node), and what is parked with it."""

    peer: NodeId
    number: int
    publisher: str
    sequence: int
    way: str
    parked: bool
    released: bool = False
    event: bytes = b""
    names: list[str] = []


@dataclass(frozen=True, slots=True)
class Landed:
    """A neighbour's relay has landed everywhere beyond this node; with `done`, it was released everywhere too."""

    place: Place
    duty: int
    done: bool


@dataclass(frozen=True, slots=True)
class Released:
    """These relays are to be told that they are released."""

    places: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class Unparked:
    """An event may go into the queues."""

    event: Event
    names: list[str]


Outcome = Landed | Released | Unparked


@dataclass(slots=True)
class _Duty:
    record: DutyRecord
    peer: NodeId
    unlanded: set[Place] = field(default_factory=set)
    open: set[Place] = field(default_factory=set)


@dataclass(slots=True)
class _Line:
    """The events of one publisher of this node that are not done with, and those not released, by their sequence."""

    duties: dict[int, int] = field(default_factory=dict)
    unreleased: deque[int] = field(default_factory=deque)


class Landings:
    """What has not landed, and what is parked until it has. `outcomes` is what follows, for the owner to take."""

    def __init__(self, ledger: Ledger, node: NodeId) -> None:
        self.outcomes: list[Outcome] = []
        self.released = 0
        """How many parked events have gone into the queues so far."""
        self._ledger = ledger
        self._node = node
        self._duties: dict[int, _Duty] = {}
        self._own: dict[str, _Line] = {}
        self._parked: dict[str, list[tuple[int, int]]] = {}  # heaps of (sequence, duty) with a parked event
        self.parked_bytes = 0
        """What parked events take in memory, about."""
        self._last = 0
        self._sequence = 0

    @property
    def parked(self) -> int:
        """How many events are parked at this node."""
        return sum(len(each) for each in self._parked.values())

    def restore(self, records: Mapping[str, bytes], waiting: Iterable[tuple[int, Place]]) -> list[tuple[Place, int]]:
        """Takes up the duties of an earlier life; `waiting` are the relays made under each. Returns what is owed."""
        for key, data in records.items():
            if key.startswith("duty/"):
                number = int(key[5:])
                record = msgspec.msgpack.decode(data, type=DutyRecord)
                self._duties[number] = _Duty(record, record.peer)
                self._last = max(self._last, number)
        for number, place in waiting:
            self._last = max(self._last, number)
            if number in self._duties:
                self._duties[number].unlanded.add(place)
                self._duties[number].open.add(place)
        owed = []
        for number, duty in sorted(self._duties.items(), key=lambda item: item[1].record.sequence):
            self._index_own(number, duty)
            if duty.record.event:
                self._index_parked(number, duty.record)
            if duty.peer != OWN:
                owed.append(((duty.peer, duty.record.number), number))
        return owed

    def resume(self) -> None:
        """Goes on with whatever needs nobody's answer any more, as after a crash."""
        for number in list(self._duties):
            self._proceed(number)

    def _index_own(self, number: int, duty: _Duty) -> None:
        record = duty.record
        if duty.peer == OWN:
            line = self._own.setdefault(record.publisher, _Line())
            line.duties[record.sequence] = number
            if not record.released:
                line.unreleased.append(number)
            self._sequence = max(self._sequence, record.sequence)

    def _index_parked(self, number: int, record: DutyRecord) -> None:
        heappush(self._parked.setdefault(record.publisher, []), (record.sequence, number))
        self.parked_bytes += len(record.event) + EVENT_BYTES

    # -- duties begin ------------------------------------------------------------------------------------

    def begin_own(self, source: str, way: str) -> tuple[int, Ticket | None]:
        """A duty for an event of a publisher of this node, and its ticket if it must be parked."""
        epoch, at, _ = way.partition(EPOCH)
        publisher = f"{self._node}:{source}{at}{epoch if at else ''}"
        # Whatever follows a parked event is parked too, so the last one that is not done speaks for all.
        line = self._own.get(publisher)
        last = None if line is None else self._duties[next(reversed(line.duties.values()))].record
        parked = last is not None and (last.parked or last.way != way)
        self._sequence += 1
        number = self._begin(OWN, DutyRecord(OWN, 0, publisher, self._sequence, way, parked))
        return number, (publisher, self._sequence) if parked else None

    def begin(self, place: Place, ticket: Ticket | None) -> int:
        """A duty for a relay of a neighbour."""
        publisher, sequence = ticket or ("", 0)
        peer, number = place
        return self._begin(peer, DutyRecord(peer, number, publisher, sequence, "", ticket is not None))

    def _begin(self, peer: NodeId, record: DutyRecord) -> int:
        self._last += 1
        duty = self._duties[self._last] = _Duty(record, peer)
        self._index_own(self._last, duty)
        return self._last

    def park(self, number: int, event: Event, names: Sequence[str]) -> None:
        """Keeps an event with its duty, out of the queues."""
        record = self._duties[number].record
        record.event, record.names = encode_event(event), list(names)
        self._index_parked(number, record)

    def charge(self, number: int, places: Iterable[Place]) -> None:
        """Says which relays were made under a duty; nothing else will be."""
        duty = self._duties[number]
        duty.unlanded = set(places)
        duty.open = set(duty.unlanded)
        self._keep(number)
        self._proceed(number)

    # -- duties go on ------------------------------------------------------------------------------------

    def land(self, number: int, place: Place) -> None:
        """A relay of a duty has landed."""
        duty = self._duties.get(number)
        if duty is not None and place in duty.unlanded:
            duty.unlanded.discard(place)
            self._proceed(number)

    def finish(self, number: int, place: Place) -> None:
        """A relay of a duty is done with, landed and released."""
        duty = self._duties.get(number)
        if duty is not None:
            duty.unlanded.discard(place)
            duty.open.discard(place)
            self._proceed(number)

    def move(self, places: Mapping[Place, Place]) -> None:
        """Relays have new numbers: none of them has landed or was released as far as the receiver knows."""
        for duty in self._duties.values() if places else ():
            if not duty.open.isdisjoint(places):
                duty.open = {places.get(place, place) for place in duty.open}
                duty.unlanded = (duty.unlanded - places.keys()) | (duty.open & set(places.values()))

    def release(self, number: int) -> None:
        """Whoever the duty is owed to says that all earlier events have landed."""
        duty = self._duties.get(number)
        if duty is None or duty.record.released or not duty.record.parked:
            return
        self._release(number, duty)
        self._proceed(number)

    def release_all(self, numbers: Iterable[int]) -> None:
        """The same for several duties."""
        for number in numbers:
            self.release(number)

    def _release(self, number: int, duty: _Duty) -> None:
        record = duty.record
        record.released = True
        self._keep(number)
        if duty.open:
            self.outcomes.append(Released(tuple(sorted(duty.open))))
        self._unpark(record.publisher, record.sequence)

    def is_own(self, number: int) -> bool:
        """Whether a duty is owed to a publisher of this node."""
        return number in self._duties and self._duties[number].peer == OWN

    def is_released(self, number: int) -> bool:
        """Whether relays of a duty need not be parked any more; also if nobody knows the duty any longer."""
        duty = self._duties.get(number)
        return duty is None or duty.record.released

    def _unpark(self, publisher: str, sequence: int) -> None:
        waiting = self._parked.get(publisher)
        while waiting and waiting[0][0] <= sequence:
            _, number = heappop(waiting)
            self.released += 1
            record = self._duties[number].record
            self.parked_bytes -= len(record.event) + EVENT_BYTES
            self.outcomes.append(Unparked(decode_event(record.event), record.names))
            record.event, record.names = b"", []
            self._keep(number)
        if waiting is not None and not waiting:
            del self._parked[publisher]

    def _proceed(self, number: int) -> None:
        """Tells whom the duty is owed to how far it is."""
        duty = self._duties.get(number)
        if duty is None or duty.unlanded:
            return
        done = self._end_if_done(number, duty)
        if duty.peer != OWN:
            self.outcomes.append(Landed((duty.peer, duty.record.number), number, done))
        else:
            self._release_own(duty.record.publisher)

    def _end_if_done(self, number: int, duty: _Duty) -> bool:
        record = duty.record
        if duty.unlanded or duty.open or (record.parked and not record.released):
            return False
        del self._duties[number]
        self._ledger.forget(f"duty/{number}")
        line = self._own.get(record.publisher) if duty.peer == OWN else None
        if line is not None:
            line.duties.pop(record.sequence, None)
            if not line.duties:
                del self._own[record.publisher]
        return True

    def _release_own(self, publisher: str) -> None:
        """Releases events of a publisher of this node up to the first that has not landed, each of them once."""
        line = self._own.get(publisher)
        while line is not None and line.unreleased:
            number = line.unreleased[0]
            duty = self._duties.get(number)
            if duty is not None and duty.unlanded:
                return
            line.unreleased.popleft()
            if duty is not None and duty.record.parked:
                self._release(number, duty)
                self._end_if_done(number, duty)

    def _keep(self, number: int) -> None:
        self._ledger.put(f"duty/{number}", msgspec.msgpack.encode(self._duties[number].record))
