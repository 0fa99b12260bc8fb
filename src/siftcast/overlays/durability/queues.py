"""All durable subscriptions of a node: events go in by name, offers come out.

An event that comes a second time, by its id, is not taken again (`IdMemory`). What is refused too often becomes a dead
letter, kept under `dead/position/name` with the last reason. What goes beyond a subscription's limits is dropped, and
that is told if it was not acknowledged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heapreplace

import msgspec

from siftcast.model import Event, Filter, Subscription
from siftcast.overlays.contract import Effect, Refuse, SetTimer
from siftcast.overlays.durability.contract import Bury, Expire, Offer, QueuePolicy
from siftcast.overlays.durability.event_log import DECODED_BYTES, EventLog
from siftcast.overlays.durability.id_memory import IdMemory
from siftcast.overlays.durability.ledger import Ledger
from siftcast.overlays.durability.subscription_queue import SubscriptionQueue
from siftcast.overlays.wire_events import decode_event, encode_event
from siftcast.overlays.wire_messages import parse_filter

RETENTION_TIMER = "durable/retention"
_RETENTION_MS_MIN = 1_000.0


class SubscriptionRecord(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A durable subscription on disk."""

    filter: str
    subscriber: str
    delay_ms_max: float | None
    policy: QueuePolicy
    born: int
    bandwidth: float | None = None


Letter = Bury
"""A dead letter is kept as what was said of it."""


class Queues:
    """Durable subscriptions by name. Effects go to `out`, which the owner holds until all is safe."""

    def __init__(self, ledger: Ledger, ids_max: int) -> None:
        self.out: list[Effect] = []
        self._ledger = ledger
        self._log = EventLog(ledger)
        self._seen = IdMemory(ledger, "logged", ids_max)
        self._queues: dict[str, SubscriptionQueue] = {}
        self._adopted: dict[str, set[str]] = {}
        """Subscriptions of other nodes before: they have not seen all that others here have, so the ids they hold."""
        self._dead: dict[str, dict[int, Letter]] = {}
        self._dead_bytes = 0
        self._due_ms = float("inf")
        """When the timer fires, by the calendar."""
        self._may_be_due_sooner = True

    def __contains__(self, name: str) -> bool:
        return name in self._queues

    def __len__(self) -> int:
        return len(self._queues)

    @property
    def names(self) -> Iterable[str]:
        """All durable subscriptions."""
        return self._queues.keys()

    def split(self, ids: list[str]) -> tuple[list[str], list[str]]:
        """Of ids those that are no durable subscriptions here, and those that are."""
        names = [id for id in ids if id in self._queues] if self._queues else []
        return ([id for id in ids if id not in self._queues] if names else ids), names

    @property
    def unanswered(self) -> dict[str, int]:
        """How many events each subscription waits for an answer to."""
        return {name: queue.unanswered for name, queue in self._queues.items()}

    @property
    def kept_bytes(self) -> int:
        """What events and dead letters take in memory, about."""
        return self._log.kept_bytes + self._dead_bytes

    @property
    def dead_bytes(self) -> int:
        """What dead letters take of it."""
        return self._dead_bytes

    def dead_letters(self, name: str) -> tuple[Letter, ...]:
        """What a subscription refused too often, the oldest first."""
        return tuple(self._dead.get(name, {}).values())

    def policy(self, name: str) -> QueuePolicy | None:
        """What a subscription keeps; None if there is none of this name."""
        queue = self._queues.get(name)
        return None if queue is None else queue.policy

    def filter(self, name: str) -> Filter:
        """What a subscription wants."""
        return self._queues[name].subscription.filter

    @property
    def adopted(self) -> Iterable[str]:
        """Those that were another node's before."""
        return self._adopted.keys()

    def subscription(self, name: str) -> Subscription:
        """A subscription as it was asked for."""
        return self._queues[name].subscription

    def contents(self, name: str) -> Iterator[tuple[Event, float, bool]]:
        """What a subscription holds, ascending: each event, when it came, and whether it was acknowledged."""
        queue = self._queues[name]
        acknowledged = set(queue.history)
        for position in sorted((*acknowledged, *queue.unanswered_positions)):
            yield self._log.event(position), self._log[position].time_ms, position in acknowledged

    def take_in(
        self, name: str, events: Iterable[tuple[Event, float, bool]], letters: Iterable[tuple[Event, int, str]]
    ) -> None:
        """Takes over what a subscription held at another node."""
        queue = self._queues[name]
        for event, time_ms, acknowledged in events:
            if event.id in self._adopted[name]:
                continue
            position = self._hold(event, (queue,), time_ms)
            self._adopted[name].add(event.id)
            queue.wait(position)
            if acknowledged:
                queue.acknowledge((position,))
        for event, refusals, reason in letters:
            position = self._hold(event, (queue,), 0.0)
            self._bury(queue, Bury(name, position, event, refusals, reason))
        self._may_be_due_sooner = True
        self._pump(queue)

    # -- subscriptions -----------------------------------------------------------------------------------

    def restore(self, records: Mapping[str, bytes]) -> list[Subscription]:
        """Takes up the subscriptions of an earlier life, with all they held."""
        for key, data in records.items():
            room, _, name = key.partition("/")
            if room == "subscription":
                record = msgspec.msgpack.decode(data, type=SubscriptionRecord)
                wishes = record.delay_ms_max, record.bandwidth
                item = Subscription(name, parse_filter(record.filter), record.subscriber, *wishes)
                self._queues[name] = SubscriptionQueue(item, record.policy, record.born, self._log, self._ledger)
            elif room == "dead":
                position, _, name = name.partition("/")
                event, refusals, reason = msgspec.msgpack.decode(data, type=tuple[bytes, int, str])
                letter = Letter(name, int(position), decode_event(event), refusals, reason)
                self._dead.setdefault(name, {})[int(position)] = letter
                self._dead_bytes += _weight(letter)
        for name, queue in self._queues.items():
            if (cursor := records.get(f"cursor/{name}")) is not None:
                queue.restore(cursor)
        for name, letters in self._dead.items():
            self._dead[name] = dict(sorted(letters.items()))
        for place, names in self._log.restore(records):
            for name in names:
                if name in self._queues:
                    self._queues[name].take_up(place)
        self._log.sweep()
        self._seen.restore(records)
        for name in [key.partition("/")[2] for key in records if key.startswith("adopted/")]:
            self._adopted[name] = {event.id for event, _, _ in self.contents(name)}
        return [queue.subscription for queue in self._queues.values()]

    def subscribe(self, subscription: Subscription, policy: QueuePolicy, *, adopted: bool = False) -> None:
        """Makes a durable subscription, or changes one; an `adopted` one was another node's before."""
        name = subscription.id
        if adopted and name not in self._adopted:
            self._adopted[name] = set()
            self._ledger.put(f"adopted/{name}", b"")
        queue = self._queues.get(name)
        if queue is None:
            queue = SubscriptionQueue(subscription, policy, self._log.last, self._log, self._ledger)
            self._queues[name] = queue
        queue.subscription, queue.policy = subscription, policy
        self._may_be_due_sooner = True
        record = SubscriptionRecord(
            str(subscription.filter),
            subscription.subscriber,
            subscription.delay_ms_max,
            policy,
            queue.born,
            subscription.bandwidth,
        )
        self._ledger.put(f"subscription/{name}", msgspec.msgpack.encode(record))
        queue.keep()

    def unsubscribe(self, name: str) -> None:
        """Ends a durable subscription and drops all it holds."""
        self._queues.pop(name).clear()
        # A cursor that is still to be written would come back after its subscription is gone.
        self._ledger.later(f"cursor/{name}", lambda: self._ledger.forget(f"cursor/{name}"))
        self._ledger.forget(f"subscription/{name}")
        if self._adopted.pop(name, None) is not None:
            self._ledger.forget(f"adopted/{name}")
        for position, letter in self._dead.pop(name, {}).items():
            self._dead_bytes -= _weight(letter)
            self._ledger.forget(f"dead/{position}/{name}")

    # -- events ------------------------------------------------------------------------------------------

    def append(self, event: Event, names: Sequence[str], clock_ms: float) -> None:
        """Takes in an event for some of the subscriptions, unless it was seen before."""
        names = self._unseen(event.id, names)
        if not names:
            return
        queues = [self._queues[name] for name in names]
        position = self._hold(event, queues, clock_ms)
        for queue in queues:  # once all hold it: one whose limits are too small for it lets go of it at once
            is_within_limits = queue.is_within_limits(clock_ms)
            if is_within_limits and queue.opens(position):
                self.out.append(Offer(queue.subscription.id, position, event))
            else:
                queue.wait(position)
                if not is_within_limits:
                    self._trim(queue, clock_ms)
                self._pump(queue)
            if clock_ms + max(queue.policy.age_ms_max, _RETENTION_MS_MIN) < self._due_ms:
                self._may_be_due_sooner = True

    def _hold(self, event: Event, queues: Sequence[SubscriptionQueue], time_ms: float) -> int:
        """Has queues hold a new event; its position."""
        position = self._log.append(event, [queue.subscription.id for queue in queues], time_ms)
        size = self._log.hold(position, len(queues)).size
        for queue in queues:
            queue.append(position, size, time_ms)
        return position

    def _unseen(self, id: str, names: Sequence[str]) -> Sequence[str]:
        """Those of the subscriptions that have not seen an event; from now on they have."""
        if not self._adopted:
            known = id in self._seen
            if id and not known:
                self._seen.add(id)
            return () if known else names
        adopted = [name for name in names if name in self._adopted and (not id or id not in self._adopted[name])]
        for name in adopted:
            self._adopted[name].add(id)
        others = [name for name in names if name not in self._adopted] if id not in self._seen else []
        if others and id:
            self._seen.add(id)
        return [*others, *adopted]

    def _pump(self, queue: SubscriptionQueue) -> None:
        for position in queue.offers():
            attempt = queue.refusals.get(position, 0) + 1
            self.out.append(Offer(queue.subscription.id, position, self._log.event(position), attempt))

    # -- clients -----------------------------------------------------------------------------------------

    def attach(self, name: str, window: int, start: int | None, since_ms: float | None) -> None:
        """A client takes offers, from where the last one was or from further back."""
        queue = self._queues.get(name)
        if queue is None:
            self.out.append(Refuse(name, f"there is no durable subscription '{name}'"))
            return
        if window < 1:
            self.out.append(Refuse(name, f"a client takes at least one offer at a time, not {window}"))
            return
        if start is not None or since_ms is not None:
            queue.rewind(
                position
                for position in list(queue.history)
                if (start is None or position >= start)
                and (since_ms is None or self._log[position].time_ms >= since_ms)
            )
        queue.attach(window)
        self._pump(queue)

    def detach(self, name: str) -> None:
        """A client is gone."""
        if name in self._queues:
            self._queues[name].detach()

    def acknowledge(self, name: str, positions: Iterable[int], clock_ms: float) -> None:
        """A client took offers."""
        queue = self._queues.get(name)
        if queue is not None:
            queue.acknowledge(positions)
            self._trim(queue, clock_ms)
            self._pump(queue)

    def refuse(self, name: str, position: int, reason: str) -> None:
        """A client refused an offer."""
        queue = self._queues.get(name)
        refusals = queue.refuse(position) if queue is not None else None
        if queue is None or refusals is None:
            return
        if refusals >= queue.policy.refusals_max:
            self._bury(queue, Bury(name, position, self._log.event(position), refusals, reason))
        self._pump(queue)

    def _bury(self, queue: SubscriptionQueue, letter: Letter) -> None:
        queue.discard(letter.position)
        self.out.append(letter)
        letters = self._dead.setdefault(letter.subscription, {})
        letters[letter.position] = letter
        self._dead_bytes += _weight(letter)
        record = msgspec.msgpack.encode((encode_event(letter.event), letter.refusals, letter.reason))
        self._ledger.put(f"dead/{letter.position}/{letter.subscription}", record)
        while len(letters) > queue.policy.dead_letters_max:
            oldest = next(iter(letters))
            self._dead_bytes -= _weight(letters.pop(oldest))
            self._ledger.forget(f"dead/{oldest}/{letter.subscription}")

    # -- limits ------------------------------------------------------------------------------------------

    def _trim(self, queue: SubscriptionQueue, clock_ms: float) -> None:
        if expired := queue.trim(clock_ms):
            self.out.append(Expire(queue.subscription.id, expired, "it held more than its policy allows"))

    def drop_history(self, wanted: int) -> None:
        """Drops acknowledged events, the oldest first, until so many bytes are free or none is left."""
        until = self._log.kept_bytes - wanted
        oldest = [(first, name) for name, queue in self._queues.items() if (first := queue.first_acknowledged())]
        heapify(oldest)
        while oldest and self._log.kept_bytes > until:
            _, name = oldest[0]
            queue = self._queues[name]
            queue.drop_first_acknowledged()
            following = queue.first_acknowledged()
            if following is None:
                heappop(oldest)
            else:
                heapreplace(oldest, (following, name))

    def expire(self, clock_ms: float) -> None:
        """The timer fired: drops what is too old, and offers what waited behind it."""
        self._due_ms, self._may_be_due_sooner = float("inf"), True
        for queue in self._queues.values():
            self._trim(queue, clock_ms)
            self._pump(queue)

    def watch(self, clock_ms: float) -> list[Effect]:
        """Sets the timer for the event that is the first to be too old; to be called after each stimulus."""
        if not self._may_be_due_sooner or not len(self._log):
            return []
        self._may_be_due_sooner = False
        first = min(queue.oldest_ms + queue.policy.age_ms_max for queue in self._queues.values())
        due = max(first, clock_ms + _RETENTION_MS_MIN)
        if due >= self._due_ms:  # never later: a timer that is put off again and again would not fire
            return []
        self._due_ms = due
        return [SetTimer(RETENTION_TIMER, due - clock_ms)]


def _weight(letter: Letter) -> int:
    """What a dead letter takes in memory, about: its event is decoded, which takes its bytes once more."""
    return 2 * len(encode_event(letter.event)) + len(letter.reason) + DECODED_BYTES
