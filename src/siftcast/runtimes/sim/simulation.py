"""An event-driven simulator: one seed decides everything, and a run is a trace.

Whatever happens next lies in the `agenda`, ordered by time and, at equal times, by when it was put there; so the
same seed and the same schedule give the same trace, record for record (`Trace.digest`). The simulator knows protocols
only by their contract, and messages only as things that take time.

What a network may do to messages is in `wire`, and what nodes find out about it in `measuring`. What may happen to
nodes is scheduled: `crash`, `restart`, `join`, `leave`, `remove`, `cut` and `heal` a partition. A node that crashes
loses everything but what it persisted, and the answers it still waited for; what was on its way to the disk is for
`disks` to decide. Who hears that a node is lost, found or gone, each after `detect_ms`, is in `contacts`: those who
watch it, or for nodes that never watch, those who exchanged messages with it. A message reaches whoever runs at its
destination when it arrives, be it a later incarnation.

Cost: two or three microseconds a message beside what the protocol takes, of which the trace is the largest part; a
`Trace(messages=False)` counts messages instead of recording them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from siftcast.matching.collector import collector_paused
from siftcast.model import Event, Subscription
from siftcast.overlays.contract import (
    CancelTimer,
    ContactsFound,
    Defer,
    Deliver,
    Effect,
    ExpectDelay,
    InferRoute,
    Leave,
    LeaveRequested,
    MeasureDelay,
    MessageReceived,
    NodeId,
    PeerGone,
    PeerLost,
    Persist,
    PersistAll,
    Persisted,
    PersistFailed,
    Protocol,
    PublishRequested,
    Refuse,
    Report,
    SendMessage,
    SetTimer,
    Spent,
    Started,
    Stimulus,
    SubscribeRequested,
    TimerFired,
    UnsubscribeRequested,
    Unwatch,
    Watch,
)
from siftcast.overlays.durability.contract import Accept, Bury, Expire, Offer
from siftcast.overlays.introductions import Introductions
from siftcast.overlays.trace import Trace
from siftcast.runtimes.sim.agenda import Agenda
from siftcast.runtimes.sim.clients import DurableClient
from siftcast.runtimes.sim.contacts import Contacts, News
from siftcast.runtimes.sim.disks import Disks, Write
from siftcast.runtimes.sim.errors import SimulationError
from siftcast.runtimes.sim.measuring import EXACT, Accuracy, Measuring
from siftcast.runtimes.sim.recording import NOBODY, note_durable, note_request, tell_story
from siftcast.runtimes.sim.wire import NO_FAULTS, DelayModel, Faults, UniformNetwork, Wire

Factory = Callable[[NodeId], Protocol]
_STEPS_BETWEEN_REPORTS = 20_000
_SETTLE_STEP_MS = 50.0
_LISTED = 10
_UNSET = 0


class _Alarm(msgspec.Struct, gc=False):
    """A timer of a node's life: it runs out with the entry of this number, and with none that was put there before.

    One for all times that it is set, and the stimulus with it: most nodes set the same few timers again and again.
    """

    fired: TimerFired
    number: int = _UNSET


class _Answer(msgspec.Struct, frozen=True, gc=False):
    """A stimulus for one incarnation of a node; the next one did not ask."""

    life: int
    stimulus: Stimulus


class _Notice(msgspec.Struct, frozen=True, gc=False):
    """News about a peer, for one incarnation of a node."""

    life: int
    news: News


_Arrival = tuple[MessageReceived, str, str | None, int]
"""A message at its destination, and what the trace says about it: name, event, overhead in bytes.

A plain tuple, because there is one for every message and naming its parts would take a tenth of the whole run.
"""


class Simulation:
    """Nodes, the messages between them, and a clock.

    `contacts` says whom each node begins with, whenever it starts; such nodes hear of those they watch only. With
    `strict_introductions`, a run stops when a node talks to one that was never introduced to it.
    """

    def __init__(
        self,
        nodes: Iterable[NodeId],
        factory: Factory,
        network: DelayModel | None = None,
        *,
        seed: int = 0,
        faults: Faults = NO_FAULTS,
        accuracy: Accuracy = EXACT,
        trace: Trace | None = None,
        contacts: Callable[[NodeId], Iterable[NodeId]] | None = None,
        strict_introductions: bool = False,
    ) -> None:
        if strict_introductions and contacts is None:
            raise ValueError("strict_introductions needs contacts: without any, nobody can begin to talk")
        self.trace = trace if trace is not None else Trace()
        self.now = 0.0
        self.handled = 0
        self.refused: list[tuple[NodeId, Refuse]] = []
        self.protocols: dict[NodeId, Protocol] = {}
        self._factory = factory
        network = network if network is not None else UniformNetwork()
        self._wire = Wire(network, faults, np.random.default_rng(seed))
        self._measuring = Measuring(self._wire, accuracy, self.protocols.keys(), seed)
        self._contacts = Contacts(self.protocols.keys(), self._wire.joins)
        self._first_contacts = contacts
        self._introductions = Introductions() if strict_introductions else None
        self._agenda = Agenda()
        self._timers: dict[NodeId, dict[str, _Alarm]] = {}
        # Generators of their own, so that what a network does to messages depends neither on what nodes write nor on
        # how often they start.
        self._disks = Disks(faults.write_survives, np.random.default_rng((seed, 1)))
        self._nonces = np.random.default_rng((seed, 2))
        self._clients: dict[NodeId, dict[str, DurableClient]] = {}
        self._lives: dict[NodeId, int] = {}
        first = {node: self._start(node) for node in nodes}
        for node, peers in first.items():
            self._watch(node, *peers)

    # -- what is to happen ---------------------------------------------------------------------------

    def at(self, time_ms: float, node: NodeId, stimulus: Stimulus) -> None:
        """Schedules a stimulus."""
        self._schedule(time_ms, node, stimulus)

    def subscribe(self, node: NodeId, *subscriptions: Subscription, at_ms: float | None = None) -> None:
        """Has subscribers of a node subscribe, now or later."""
        self.at(self.now if at_ms is None else at_ms, node, SubscribeRequested(subscriptions))

    def unsubscribe(self, node: NodeId, *ids: str, at_ms: float | None = None) -> None:
        """Has subscribers of a node unsubscribe, now or later."""
        self.at(self.now if at_ms is None else at_ms, node, UnsubscribeRequested(ids))

    def publish(self, node: NodeId, event: Event, at_ms: float | None = None) -> None:
        """Has a publisher of a node publish, now or later."""
        self.at(self.now if at_ms is None else at_ms, node, PublishRequested(event))

    def serve(self, node: NodeId, client: DurableClient, at_ms: float | None = None) -> None:
        """Has a client take the offers of a durable subscription of a node, from now or later on."""

        def serve() -> None:
            self._clients.setdefault(node, {})[client.name] = client
            if node in self.protocols:
                self._answer(node, *client.attach())

        self._schedule(self.now if at_ms is None else at_ms, NOBODY, serve)

    def fill_disk(self, node: NodeId, at_ms: float) -> None:
        """Lets no write of a node succeed any more."""
        self._schedule(at_ms, NOBODY, lambda: self._disks.fill(node, full=True))

    def free_disk(self, node: NodeId, at_ms: float) -> None:
        """Lets writes of a node succeed again."""
        self._schedule(at_ms, NOBODY, lambda: self._disks.fill(node, full=False))

    def crash(self, node: NodeId, at_ms: float) -> None:
        """Takes a node down; all it did not persist is lost."""
        self._schedule(at_ms, NOBODY, lambda: self._stop(node, "crashed"))

    def leave(self, node: NodeId, at_ms: float) -> None:
        """Asks a node to leave in peace; one whose protocol cannot (`Protocol.can_leave`) is removed."""

        def leave() -> None:
            protocol = self.protocols.get(node)
            if protocol is not None and protocol.can_leave:
                self._push(self.now, node, LeaveRequested())
            else:
                self._remove(node)

        self._schedule(at_ms, NOBODY, leave)

    def remove(self, node: NodeId, at_ms: float) -> None:
        """Takes a node down for good, with all it persisted; those who watch it only know that it is lost."""
        self._schedule(at_ms, NOBODY, lambda: self._remove(node))

    def forget(self, node: NodeId, peer: NodeId, at_ms: float) -> None:
        """Has a person tell a node that a peer is gone for good."""

        def forget() -> None:
            self._contacts.forget(node, peer)
            self._push(self.now, node, PeerGone(peer))

        self._schedule(at_ms, NOBODY, forget)

    def save_disk(self, node: NodeId, at_ms: float) -> None:
        """Makes a copy of a node's disk, for `restart` to bring back."""
        self._schedule(at_ms, NOBODY, lambda: self._disks.save(node))

    def restart(self, node: NodeId, at_ms: float, *, damage: float = 0.0, from_copy: bool = False) -> None:
        """Brings a node back with what it persisted, but for a share that its disk is known to have lost.

        With `from_copy`, it comes back with the disk that `save_disk` made a copy of, and nobody tells it.
        """

        def restart() -> None:
            if from_copy:
                self._disks.put_back(node)
            if damage:
                self._disks.damage(node, damage)
            self._start(node, "restarted", damaged=damage > 0)

        self._schedule(at_ms, NOBODY, restart)

    def join(self, node: NodeId, at_ms: float) -> None:
        """Adds a node that was not there before."""
        self._schedule(at_ms, NOBODY, lambda: self._start(node, "joined"))

    def cut(self, groups: Sequence[Iterable[NodeId]], at_ms: float) -> None:
        """Cuts the network: messages pass within a group only. Nodes in no group are a group together."""
        sides = {node: number for number, group in enumerate(groups, 1) for node in group}
        self._schedule(at_ms, NOBODY, lambda: self._divide(sides, "cut"))

    def heal(self, at_ms: float) -> None:
        """Mends all cuts."""
        self._schedule(at_ms, NOBODY, lambda: self._divide({}, "healed"))

    def change_faults(self, faults: Faults, at_ms: float) -> None:
        """Has other things happen to messages and nodes from then on."""

        def change() -> None:
            self._wire.change(faults)
            self._disks.survives = faults.write_survives

        self._schedule(at_ms, NOBODY, change)

    # -- the loop ------------------------------------------------------------------------------------

    def run(self, until_ms: float | None = None, report: Callable[[Simulation], None] | None = None) -> Trace:
        """Runs until nothing is left to do, or until a time; returns the trace."""
        receive = self._receive
        node, item = NOBODY, None
        next_report = self.handled + _STEPS_BETWEEN_REPORTS
        with collector_paused():
            try:
                for entry in self._agenda.due(float("inf") if until_ms is None else until_ms):
                    self.now, number, node, item = entry
                    kind = type(item)
                    if kind is tuple:
                        receive(node, item)
                    elif kind is _Alarm:
                        self._ring(node, item, number)
                    elif node == NOBODY:
                        item()
                    else:
                        self._meet(node, item)
                    self.handled += 1
                    if self.handled == next_report:
                        next_report += _STEPS_BETWEEN_REPORTS
                        self.trace.settle()
                        if report is not None:
                            report(self)
            except Exception as error:
                raise SimulationError(tell_story(self.trace, self.now, node, _met(item), error)) from error
        if until_ms is not None:
            self.now = max(self.now, until_ms)
        return self.trace

    def settle(self, until_ms: float) -> Trace:
        """Runs until all nodes are settled and no message is on its way; raises SimulationError if not in that time.

        For nodes with timers that tick for ever, with which nothing would ever be left to do.
        """
        while True:
            waiting = {node for _, _, node, item in self._agenda if type(item) is not _Alarm}
            waiting |= {node for node, protocol in self.protocols.items() if not protocol.is_settled}
            if not waiting:
                return self.trace
            if self.now >= until_ms:
                listed = ", ".join(map(str, sorted(waiting)[:_LISTED]))
                raise SimulationError(f"at {self.now:g} ms the network has not settled: something waits at {listed}")
            self.run(min(self.now + _SETTLE_STEP_MS, until_ms))

    def _receive(self, node: NodeId, arrival: _Arrival) -> None:
        stimulus, name, event, overhead = arrival
        protocol = self.protocols.get(node)
        if protocol is None:
            self._note_message("dropped", node, stimulus.sender, name, event)
            self._tell_of_miss(stimulus.sender, node)
            return
        if self._introductions is not None:
            self._introductions.hear(node, stimulus.sender, stimulus.message)
        effects = protocol.handle(stimulus, self.now)
        trace = self.trace
        if not trace.messages:
            trace.counts["received", name] += 1
            for effect in effects:
                self._carry_out(node, effect)
            return
        records = trace.records
        place = len(records)
        received = (self.now, "received", node, stimulus.sender, name, event, 0, 0, overhead)
        records.append(received)
        if not effects:
            return
        matches = lookups = 0
        for effect in effects:
            kind = type(effect)
            if kind is SendMessage:  # what nearly all are, so it is asked here already
                self._send(node, effect)  # type: ignore[arg-type]
            elif kind is Spent:
                matches += effect.matches  # type: ignore[attr-defined]
                lookups += effect.lookups  # type: ignore[attr-defined]
            else:
                self._carry_out(node, effect)
        if matches or lookups:
            records[place] = (*received[:6], matches, lookups, overhead)

    def _ring(self, node: NodeId, alarm: _Alarm, number: int) -> None:
        if alarm.number == number:
            alarm.number = _UNSET
            for effect in self.protocols[node].handle(alarm.fired, self.now):
                self._carry_out(node, effect)

    def _meet(self, node: NodeId, item: Any) -> None:
        """Whatever may happen to a node beside messages and timers."""
        kind = type(item)
        if kind is Write or kind is _Answer:
            if self._lives[node] != item.life:
                return
            if kind is Write:
                safe = self._disks.end(node, item)
                item = Persisted(item.key) if safe else PersistFailed(item.key, "the disk is full")
            else:
                item = item.stimulus
        elif kind is _Notice:
            if self._lives[node] != item.life or not self._contacts.counts(item.news):
                return
            item = item.news.stimulus
        protocol = self.protocols.get(node)
        if protocol is None:
            note_request(self.trace, self.now, node, item, heard=False)
            return
        if kind is ContactsFound and self._introductions is not None:
            self._introductions.meet(node, item.nodes)
        effects = protocol.handle(item, self.now)
        spent = [effect for effect in effects if isinstance(effect, Spent)]
        matches, lookups = sum(each.matches for each in spent), sum(each.lookups for each in spent)
        note_request(self.trace, self.now, node, item, heard=True, matches=matches, lookups=lookups)
        for effect in effects:
            self._carry_out(node, effect)

    # -- effects -------------------------------------------------------------------------------------

    def _carry_out(self, node: NodeId, effect: Effect) -> None:
        kind = type(effect)
        if kind is SendMessage:
            self._send(node, effect)  # type: ignore[arg-type]
        elif kind is Deliver:
            self.trace.deliveries.append((self.now, node, effect.event.id, effect.subscriptions))  # type: ignore[attr-defined]
        elif kind is SetTimer:
            self._set_timer(node, effect.name, effect.after_ms)  # type: ignore[attr-defined]
        elif kind is not Spent:
            self._carry_out_rare(node, effect)

    def _send(self, node: NodeId, effect: SendMessage) -> None:
        message, destinations = effect.message, effect.destinations
        if self._introductions is not None:
            self._introductions.check(node, destinations, type(message).__name__)
        name, event, overhead = type(message).__name__, message.event_id, message.overhead_bytes
        kind = "multicast" if effect.multicast else "sent"
        package = (MessageReceived(node, message), name, event, overhead)
        if self._first_contacts is None:  # otherwise everybody watches, and nobody hears of others
            self._contacts.of(node).update(destinations)
        now, trace = self.now, self.trace
        if not trace.messages:
            trace.counts[kind, name] += len(destinations)
        if self._wire.is_calm:
            if trace.messages:
                trace.records += [(now, kind, node, other, name, event, 0, 0, overhead) for other in destinations]
            self._agenda.push_all(now, self._wire.latency_from(node), destinations, package)
            return
        for other in destinations:
            if trace.messages:
                trace.records.append((now, kind, node, other, name, event, 0, 0, overhead))
            self._send_through(node, other, package)

    def _send_through(self, node: NodeId, other: NodeId, package: _Arrival) -> None:
        arrival = self._wire.arrival_ms(node, other, self.now)
        if arrival is not None:
            self._push(arrival, other, package)
            return
        self._note_message("lost", node, other, package[1], package[2])
        if not self._wire.joins(node, other):
            self._tell_of_miss(node, other)

    def _carry_out_rare(self, node: NodeId, effect: Effect) -> None:
        match effect:
            case CancelTimer(name):
                if (alarm := self._timers.get(node, {}).get(name)) is not None:
                    alarm.number = _UNSET
            case PersistAll(key, changes):
                self._write(node, key, changes)
            case Persist(key, data):
                self._write(node, key, ((key, data),))
            case Offer(name):
                note_durable(self.trace, self.now, node, effect)
                if (client := self._clients.get(node, {}).get(name)) is not None:
                    self._answer(node, *client.answer(effect))
            case Accept() | Bury() | Expire():
                note_durable(self.trace, self.now, node, effect)
            case Report(what, facts):
                peer = facts.get("peer")  # what a report is about, if it is about another node
                self._note("reported", node, peer if isinstance(peer, int) else None, f"{what}: {dict(facts)}")
            case ExpectDelay(ids, reach_ms, direct_ms):
                self.trace.expected |= dict.fromkeys(ids, (reach_ms, direct_ms))
            case MeasureDelay(peer) | InferRoute(peer):
                self._check_introduced(node, peer, effect)
                self._answer(node, *self._measuring.answer(node, effect))
            case Watch(peer):
                self._check_introduced(node, peer, effect)
                self._watch(node, peer)
            case Unwatch(peer):
                self._contacts.unwatch(node, peer)
            case Leave():
                life = self._lives[node]  # what else it wants in this turn is done first
                self._push(self.now, NOBODY, lambda: self._depart(node, life))
            case Refuse(request):
                self.refused.append((node, effect))
                self._note("refused", node, None, None, request)
            case _ if not isinstance(effect, Defer):  # durable nodes see to what is deferred
                raise SimulationError(f"node {node} wants {effect!r}, which the simulator cannot do")

    def _write(self, node: NodeId, key: str, changes: Sequence[tuple[str, bytes | None]]) -> None:
        write = Write(self._lives[node], key, changes)
        self._disks.begin(node, write)
        self._push(self.now + self._wire.faults.disk_ms, node, write)

    def _check_introduced(self, node: NodeId, peer: NodeId, effect: Effect) -> None:
        if self._introductions is not None:
            self._introductions.check(node, (peer,), type(effect).__name__)

    # -- nodes come and go ---------------------------------------------------------------------------

    def _start(self, node: NodeId, kind: str | None = None, *, damaged: bool = False) -> tuple[NodeId, ...]:
        """Starts a node; returns its contacts."""
        if node in self.protocols:
            raise SimulationError(f"node {node} is running already")
        if node < 0:
            raise SimulationError(f"nodes are numbered from 0, so there cannot be a node {node}")
        self.protocols[node] = self._factory(node)
        self._lives[node] = self._lives.get(node, 0) + 1
        nonce = int(self._nonces.integers(1, 2**63 - 1))
        contacts: tuple[NodeId, ...] = ()
        if self._first_contacts is not None:
            contacts = tuple(self._first_contacts(node))
            self._contacts.begin(node)
        if self._introductions is not None:
            self._introductions.meet(node, contacts)
        restored = self._disks.content(node)
        self._push(self.now, node, Started(restored, damaged=damaged, nonce=nonce, contacts=contacts))
        if kind is not None:
            self._note(kind, node)
            self._tell(self._contacts.news(node))
            self._watch(node, *contacts)
        for client in self._clients.get(node, {}).values():
            self._answer(node, *client.attach())
        return contacts

    def _stop(self, node: NodeId, kind: str) -> None:
        if self.protocols.pop(node, None) is None:
            raise SimulationError(f"node {node} is not running")
        self._lives[node] += 1
        self._disks.cut_power(node)
        for alarm in self._timers.pop(node, {}).values():
            alarm.number = _UNSET
        self._contacts.end(node)
        self._note(kind, node)
        self._tell(self._contacts.news(node))

    def _remove(self, node: NodeId) -> None:
        self._stop(node, "left")
        self._disks.destroy(node)
        if self._introductions is not None:
            self._introductions.forget(node)

    def _depart(self, node: NodeId, life: int) -> None:
        """Ends a node that has handed over; whoever hears that it is gone does not hear that it is lost."""
        if self._lives[node] == life:
            self._tell(self._contacts.gone(node))
            self._remove(node)

    def _divide(self, sides: Mapping[NodeId, int], kind: str) -> None:
        self._wire.divide(sides)
        self._note(kind, NOBODY)
        self._tell(self._contacts.news())

    def _watch(self, node: NodeId, *peers: NodeId) -> None:
        """Watches peers: those that can be reached are found after a round trip, the others are missed."""
        for peer in peers:
            if (news := self._contacts.watch(node, peer)) is None:
                continue
            wait_ms = self._wire.faults.detect_ms
            if type(news.stimulus) is not PeerLost:
                # Never later than news of a crash in the meantime, which must be the last that is heard.
                wait_ms = min(wait_ms, self._wire.round_trip_ms(node, peer))
            self._push(self.now + wait_ms, node, _Notice(self._lives[node], news))

    def _tell(self, all_news: Iterable[News]) -> None:
        for news in all_news:
            self._push(self.now + self._wire.faults.detect_ms, news.node, _Notice(self._lives[news.node], news))

    def _tell_of_miss(self, node: NodeId, other: NodeId) -> None:
        if self._contacts.miss(node, other) and node in self.protocols:
            self._answer(node, self._wire.faults.detect_ms, PeerLost(other))

    # -- the agenda and the record -------------------------------------------------------------------

    def _schedule(self, time_ms: float, node: NodeId, item: Any) -> None:
        if not time_ms >= self.now:
            raise SimulationError(f"it is {self.now} ms already; nothing can be scheduled for {time_ms} ms")
        self._push(time_ms, node, item)

    def _push(self, time_ms: float, node: NodeId, item: Any) -> None:
        self._agenda.push(time_ms, node, item)

    def _set_timer(self, node: NodeId, name: str, after_ms: float) -> None:
        timers = self._timers.get(node)
        if timers is None:
            timers = self._timers[node] = {}
        alarm = timers.get(name)
        if alarm is None:
            alarm = timers[name] = _Alarm(TimerFired(name))
        alarm.number = self._agenda.push(self.now + after_ms, node, alarm)

    def _answer(self, node: NodeId, after_ms: float, stimulus: Stimulus) -> None:
        self._push(self.now + after_ms, node, _Answer(self._lives[node], stimulus))

    def _note_message(self, kind: str, node: NodeId, peer: NodeId, name: str, event: str | None) -> None:
        if self.trace.messages:
            self._note(kind, node, peer, name, event)
        else:
            self.trace.counts[kind, name] += 1

    def _note(
        self, kind: str, node: NodeId, peer: NodeId | None = None, name: str | None = None, event: str | None = None
    ) -> None:
        self.trace.records.append((self.now, kind, node, peer, name, event, 0, 0, 0))


def _met(item: Any) -> Any:
    """What a node met when it was handed something from the agenda."""
    if type(item) is _Notice:
        return item.news.stimulus
    if type(item) is _Alarm:
        return item.fired
    return item.stimulus if type(item) is _Answer else item[0] if type(item) is tuple else item
