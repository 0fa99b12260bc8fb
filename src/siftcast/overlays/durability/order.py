"""Per-publisher order where events of one publisher take different ways.

Links keep their order, so events that take the same way arrive in the order in which they were published. Most schemes
have but one way from a node to another. In Kyra the content decides about tree and proxies, so an event may overtake an
earlier one of its publisher on another tree. `Protocol.way_of` names an event's way, and where the way changes, the
publisher's node puts up a *fence*: the event waits until all earlier ones of its publisher are *finished*, that is on
the disks of all nodes that want them.

    publisher    e1 (way a)  e2 (way a)  │ e3 (way b)  │ e4 (way a)
                 entered     entered     │ when e1, e2 finished

A node knows that a relay is finished beyond it when all relays it made of it were acknowledged as finished: a *duty*,
owed to the neighbour the relay came from. Duties and waiting events survive crashes (`duty/…`, `held/…`).

Cost: nothing where there is one way. Elsewhere an event that changes the way waits for one journey through the network
and back; the publisher was answered long before. Publishers (`Event.source`) do not wait for each other.

Rejected: numbers that the subscriber's node puts in order. It gets a part of a publisher's events, chosen by content,
and cannot tell one that is late from one that is not for it, unless every way tells every node how far it is, which
costs messages to all for events that concern few. Vector clocks tell what came before, not what will still come.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import msgspec

from siftcast.model import Event
from siftcast.overlays.contract import NodeId
from siftcast.overlays.durability.ledger import Ledger
from siftcast.overlays.wire_format import decode_event, encode_event


class DutyRecord(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """To whom a duty is owed: a neighbour and its relay's number, or (peer −1) a publisher of this node and a way."""

    peer: NodeId
    number: int
    publisher: str = ""
    way: str = ""


@dataclass(slots=True)
class _Duty:
    owed: DutyRecord
    left: int


@dataclass(slots=True)
class _Publisher:
    ways: Counter[str] = field(default_factory=Counter)
    held: deque[tuple[int, Event, str]] = field(default_factory=deque)

    def may_take(self, way: str) -> bool:
        return all(other == way for other in self.ways)


class Fence:
    """What is not finished, and what waits for it."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._duties: dict[int, _Duty] = {}
        self._publishers: dict[str, _Publisher] = {}
        self._last_duty = 0
        self._last_held = 0

    @property
    def held(self) -> int:
        """How many accepted events wait for others."""
        return sum(len(each.held) for each in self._publishers.values())

    def restore(
        self, records: Mapping[str, bytes], way_of: Callable[[Event], str], waiting: Iterable[int]
    ) -> list[tuple[int, DutyRecord]]:
        """Takes up duties and held events; `waiting` are the duties of relays that wait.

        Returns what is owed to neighbours.
        """
        left = Counter(waiting)
        owed = []
        for key, data in records.items():
            if not key.startswith("duty/"):
                continue
            place = int(key[5:])
            if not left[place]:  # only on a damaged disk: its relays are lost, and waiting brings none of them back
                self._ledger.forget(key)
                continue
            duty = self._duties[place] = _Duty(msgspec.msgpack.decode(data, type=DutyRecord), left[place])
            self._last_duty = max(self._last_duty, place)
            if duty.owed.peer >= 0:
                owed.append((place, duty.owed))
            else:
                self._publisher(duty.owed.publisher).ways[duty.owed.way] += 1
        held = {int(key[5:]): data for key, data in records.items() if key.startswith("held/")}
        for number in sorted(held):
            event = decode_event(held[number])
            self._publisher(event.source).held.append((number, event, way_of(event)))
            self._last_held = max(self._last_held, number)
        return owed

    # -- publishers of this node -------------------------------------------------------------------------

    def admit(self, event: Event, way: str) -> bool:
        """Whether an event may enter now; if not, it is held."""
        publisher = self._publisher(event.source)
        if not publisher.held and publisher.may_take(way):
            return True
        self._last_held += 1
        publisher.held.append((self._last_held, event, way))
        self._ledger.put(f"held/{self._last_held}", encode_event(event))
        return False

    def next_held(self, source: str) -> tuple[Event, str] | None:
        """The next event of a publisher that need not wait any longer."""
        publisher = self._publishers.get(source)
        if publisher is None:
            return None
        if publisher.held and publisher.may_take(publisher.held[0][2]):
            number, event, way = publisher.held.popleft()
            self._ledger.forget(f"held/{number}")
            return event, way
        if not publisher.held and not publisher.ways:
            del self._publishers[source]
        return None

    @property
    def sources(self) -> list[str]:
        """The publishers with anything unfinished."""
        return list(self._publishers)

    def _publisher(self, source: str) -> _Publisher:
        return self._publishers.setdefault(source, _Publisher())

    # -- duties ------------------------------------------------------------------------------------------

    def begin(self, owed: DutyRecord) -> int:
        """A duty that relays can be made under."""
        self._last_duty += 1
        self._duties[self._last_duty] = _Duty(owed, 0)
        if owed.peer < 0:
            self._publisher(owed.publisher).ways[owed.way] += 1
        return self._last_duty

    def charge(self, duty: int, relays: int) -> DutyRecord | None:
        """So many relays were made under a duty; what is finished by that, if there were none."""
        self._duties[duty].left = relays
        if relays:
            self._ledger.put(f"duty/{duty}", msgspec.msgpack.encode(self._duties[duty].owed))
            return None
        return self._end(duty)

    def finish(self, duty: int) -> DutyRecord | None:
        """A relay of a duty is finished; returns what is finished by that."""
        known = self._duties.get(duty)
        if known is None:
            return None
        known.left -= 1
        if known.left:
            return None
        self._ledger.forget(f"duty/{duty}")
        return self._end(duty)

    def _end(self, duty: int) -> DutyRecord:
        owed = self._duties.pop(duty).owed
        if owed.peer < 0:
            ways = self._publisher(owed.publisher).ways
            ways[owed.way] -= 1
            if not ways[owed.way]:
                del ways[owed.way]
        return owed
