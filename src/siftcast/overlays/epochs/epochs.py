"""A node's part in all open epochs: one instance of the scheme for each, and what passes between them and the world.

A scheme knows one plan and never sees it change. A new plan is a new instance, which receives all subscriptions and
builds its tables beside the old one's; when all nodes have done so, events are published in the new epoch, and when
nothing of the old one is on its way any more, its instances are dropped:

    subscriptions ──▶ epoch 4 ──▶ Deliver          old: delivers what was published in it
                 └──▶ epoch 5 ──▶ Deliver          used: what is published now
                 └──▶ epoch 6                      being prepared

An event belongs to one epoch, so it arrives once. Messages of the first epoch travel as they are, so that a network
whose plan never changes pays nothing; those of others in an envelope.

A member without a place in a plan (it is absent, leaves, or is an edge) is *stood in for*: another node, its guardian,
holds its durable subscriptions, subscribes to them in its own instance, and hands on what matches. What such a member
publishes it consigns to the node that stands in for it. So who asks for a durable subscription is answered only when
the guardian has it, and a plan can leave out a node that has crashed without losing sight of its subscriptions.

What cannot be delivered because a node is gone (`MessageReturned`) is published again in the epoch that is used, marked
as such; it reaches durable subscriptions only, which know the events they have by their ids.

Cost: a subscription, one entry for each open epoch, and one at the guardian if it is durable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from siftcast.model import Event, SiftcastError, Subscription
from siftcast.overlays.contract import (
    AdvertiseRequested,
    Defer,
    Deliver,
    Effect,
    Effects,
    EpochRetired,
    EpochUsed,
    Message,
    MessageReceived,
    MessageReturned,
    NodeId,
    PeerFound,
    PeerGone,
    PlanChanged,
    Protocol,
    PublishRequested,
    Refuse,
    Report,
    SendMessage,
    SetTimer,
    Started,
    Stimulus,
    SubscribeRequested,
    TimerFired,
    UnadvertiseRequested,
    UnsubscribeRequested,
)
from siftcast.overlays.durability.contract import Admit, AdoptSubscriptions, Postpone
from siftcast.overlays.durability.order import EPOCH
from siftcast.overlays.envelopes import FIRST, EpochCarrier, EpochControl, enveloped
from siftcast.overlays.epochs.guarding import Guardian, GuardianChosen, Wards
from siftcast.overlays.epochs.messages import EPOCH_MESSAGES, Consign, Guard, Guarded, HandOn, Unguarded
from siftcast.overlays.epochs.view import Epoch

_TIMER = "epoch/"
_GUARD_TIMER = "guard/again"
_GUARD_AGAIN_MS = 1_000.0


@dataclass(frozen=True, slots=True)
class Instance:
    """The scheme in one epoch, and whom it talks to."""

    protocol: Protocol
    contacts: frozenset[NodeId]


Make = Callable[[Epoch], Instance]
"""Makes this node's part in an epoch that has a place for it."""


class Epochs(Protocol):
    """One node in all open epochs. `messages` are those of the scheme; `guarded` nodes have a guardian."""

    def __init__(self, node: NodeId, make: Make, messages: tuple[type[Message], ...], *, guarded: bool) -> None:
        self.messages = (*messages, *EPOCH_MESSAGES)  # type: ignore[misc]
        self.activity = 0
        """Changes with whatever happens that an epoch must wait for before it is used or retired."""
        self.initial_sent = 0
        self.initial_taken = 0
        self.is_closing = False
        """Whether the node leaves and takes nothing more from publishers."""
        self.stale: set[NodeId] = set()
        """Nodes that speak in epochs that are over; whoever looks at it clears it."""
        self._node = node
        self._make = make
        self._plans: dict[int, Epoch] = {}
        self._instances: dict[int, Instance] = {}
        self._first: Protocol | None = None
        self._used = 0
        self._newest = 0
        self._own: dict[str, Subscription] = {}
        self._durable: set[str] = set()
        self._advertisements: dict[str, Subscription] = {}
        self._guardian = Guardian(node) if guarded else None
        self._guarding = False
        self._wards = Wards()
        self._alias = f"{node}~"
        """Before the ids of what this node stands in for: their own node may have them in the same epoch."""
        self._gone: set[NodeId] = set()
        self._early: dict[int, list[MessageReceived]] = {}

    # -- epochs ------------------------------------------------------------------------------------------

    def restore(self, plans: Iterable[Epoch], used: int, gone: Iterable[NodeId]) -> None:
        """Takes up the epochs of an earlier life, or begins with the first; before anything is handled."""
        for plan in plans:
            self._begin(plan)
        self._used = used
        self._gone = set(gone)
        self._choose_first()

    def objection(self, plan: Epoch) -> str:
        """Why there cannot be such a plan, if there cannot."""
        if self._node not in plan.nodes:
            return ""  # those who have a place will see
        try:
            self._make(plan)
        except (SiftcastError, ValueError, OverflowError, MemoryError) as error:
            return str(error) or type(error).__name__
        return ""

    def _begin(self, plan: Epoch) -> None:
        self._plans[plan.number] = plan
        self._newest = max(self._newest, plan.number)
        if self._node in plan.nodes:
            self._instances[plan.number] = self._make(plan)

    def _choose_first(self) -> None:
        """Finds out whether the node runs in the first epoch alone, where nothing need be done to messages."""
        alone = len(self._plans) == 1 and self._used == FIRST and FIRST in self._instances and not self._gone
        stands_in = alone and any(other == self._node for _, other in self._plans[FIRST].stand_ins)
        self._first = self._instances[FIRST].protocol if alone and not stands_in else None

    def begin_life(self, number: int) -> None:
        """Says how many lives the node has had before, so that its serials ascend."""
        if self._guardian is not None:
            self._guardian.begin_life(number)

    def contacts(self) -> frozenset[NodeId]:
        """Whom the node has to reach: its contacts in all epochs, its guardian, and those it stands in for."""
        found = {other for instance in self._instances.values() for other in instance.contacts}
        for plan in self._plans.values():
            found.update(other for member, other in plan.stand_ins if member == self._node)
            found.update(member for member, other in plan.stand_ins if other == self._node)
        return frozenset(found - self._gone - {self._node})

    def contacts_in(self, epoch: int) -> frozenset[NodeId]:
        """Whom the node talks to in one epoch."""
        instance = self._instances.get(epoch)
        return frozenset() if instance is None else instance.contacts

    def _prepare(self, plan: Epoch, now: float) -> list[Effect]:
        if plan.number in self._plans or plan.number < self._newest:
            return []
        self._begin(plan)
        self._choose_first()
        effects: list[Effect] = []
        if plan.number in self._instances:
            wanted = list(self._own.values())
            for ward, rows in self._wards.rows.items():
                if plan.stand_in(ward) == self._node:
                    wanted += [Subscription(self._alias + id, filter_) for id, filter_ in rows.items()]
            effects += self._run(plan.number, Started(), now)
            if self._advertisements:
                ads = AdvertiseRequested(tuple(self._advertisements.values()))
                effects += self._run(plan.number, ads, now, initial=True)
            if wanted:
                effects += self._run(plan.number, SubscribeRequested(tuple(wanted)), now, initial=True)
        for early in self._early.pop(plan.number, ()):
            effects += self._receive(early, now)
        self._early = {number: kept for number, kept in self._early.items() if number > plan.number}
        return [*effects, *self._pass_on(self._stood_in_for())]

    def _retire(self, number: int) -> None:
        self._plans.pop(number, None)
        self._instances.pop(number, None)
        self._choose_first()

    # -- stimuli -----------------------------------------------------------------------------------------

    def handle(self, stimulus: Stimulus, now: float) -> Effects:
        if self._first is not None:
            kind = type(stimulus)
            if kind is PublishRequested:
                return self._first.handle(stimulus, now)
            if kind is MessageReceived and type(stimulus.message) not in _OWN:  # type: ignore[attr-defined]
                return self._first.handle(stimulus, now)
        if type(stimulus) is MessageReceived:
            return self._receive(stimulus, now)
        match stimulus:
            case PublishRequested(event):
                return self._publish(event, now)
            case SubscribeRequested():
                return self._subscribe(stimulus, now)
            case UnsubscribeRequested(ids):
                return self._unsubscribe(ids, now)
            case AdvertiseRequested(advertisements):
                self._advertisements.update((each.id, each) for each in advertisements)
                return self._run_all(stimulus, now)
            case UnadvertiseRequested(ids):
                for id in ids:
                    self._advertisements.pop(id, None)
                return self._run_all(stimulus, now)
            case PlanChanged(plan):
                return self._prepare(plan, now)
            case EpochUsed(number):
                self._used = max(self._used, number)
                self._choose_first()
                return [SendMessage(Guarded(serial), (ward,)) for ward, serial in self._wards.current]
            case EpochRetired(number):
                self._retire(number)
                return []
            case PeerFound(peer):
                return self._greet(peer, now)
            case PeerGone(peer, left):
                return self._give_up(peer, now, left=left)
            case MessageReturned(_, message):
                return self._take_back(message, now)
            case GuardianChosen(peer) if self._guardian is not None:
                released = self._guardian.choose(peer)
                return [*self._restate_guarded(), *self._admit(released)]
            case TimerFired(name) if name == _GUARD_TIMER and self._guardian is not None:
                return self._guard_again()
            case TimerFired(name) if name.startswith(_TIMER):
                of, _, inner = name[len(_TIMER) :].partition("/")
                return self._run(int(of), TimerFired(inner), now)
        return self._run_all(stimulus, now)

    def _run_all(self, stimulus: Stimulus, now: float) -> list[Effect]:
        effects: list[Effect] = []
        for number in tuple(self._instances):
            effects += self._run(number, stimulus, now)
        return effects

    def _run(
        self, number: int, stimulus: Stimulus, now: float, *, initial: bool = False, again: bool = False
    ) -> list[Effect]:
        """Has the instance of an epoch handle something, if there is one here."""
        instance = self._instances.get(number)
        if instance is None:
            return []
        done: list[Effect] = []
        for effect in instance.protocol.handle(stimulus, now):
            match effect:
                case SendMessage(message, destinations, multicast):
                    done += self._send(number, message, destinations, now, multicast, initial, again)
                case Deliver(event, ids):
                    done += self._deliver(event, ids, now, again=again)
                case Defer(name, held):
                    named = name if number == FIRST else f"{number}/{name}"
                    kept = None if held is None else self._enveloped(number, held, False, again)
                    done.append(Defer(named, kept))
                case SetTimer(name, after_ms) if number != FIRST:
                    done.append(SetTimer(f"{_TIMER}{number}/{name}", after_ms))
                case _:
                    done.append(effect)
        return done

    def _send(
        self,
        number: int,
        message: Message,
        destinations: Iterable[NodeId],
        now: float,
        multicast: bool,
        initial: bool,
        again: bool,
    ) -> list[Effect]:
        there = tuple(destinations)
        effects: list[Effect] = []
        if self._gone and not self._gone.isdisjoint(there):
            there = tuple(node for node in there if node not in self._gone)
            if message.event_id is not None:
                effects += self._take_back(message, now)
        if not there:
            return effects
        if message.control and not message.repeated and initial:
            self.initial_sent += len(there)
            self.activity += 1
        return [*effects, SendMessage(self._enveloped(number, message, initial, again), there, multicast)]

    def _enveloped(self, number: int, message: Message, initial: bool, again: bool) -> Message:
        if number == FIRST and not again:
            return message
        return enveloped(number, message, initial=initial, again=again)

    # -- events ------------------------------------------------------------------------------------------

    def _publish(self, event: Event, now: float, *, again: bool = False) -> list[Effect]:
        if self._used in self._instances:
            return self._run(self._used, PublishRequested(event), now, again=again)
        plan = self._plans.get(self._used)
        by = None if plan is None else plan.stand_in(self._node)
        if by is None:
            return [Refuse(event.id, "this node has no place in the network yet; try again, or another node")]
        if self.is_closing:
            return [Refuse(event.id, "this node leaves the network; publish at another")]
        return [SendMessage(Consign(event, again), (by,))]

    def _deliver(self, event: Event, ids: Iterable[str], now: float, *, again: bool) -> list[Effect]:
        """Hands an event to subscribers of this node, and on to those it stands in for.

        One for a node that has left since, in an epoch before that, is published again for its heir.
        """
        meant = dict.fromkeys(id.removeprefix(self._alias) for id in ids)
        own = [id for id in meant if id in self._own and (not again or id in self._durable)]
        effects: list[Effect] = [Deliver(event, own)] if own else []
        for ward, theirs in self._wards.split(id for id in meant if id not in self._own).items():
            effects.append(SendMessage(HandOn(event, tuple(theirs)), (ward,)))
        if not again and any(id.startswith(self._alias) and not self._is_known(id) for id in ids):
            effects += self._publish(event, now, again=True)
        return effects

    def _is_known(self, alias: str) -> bool:
        id = alias.removeprefix(self._alias)
        return id in self._own or id in self._wards

    def _take_back(self, message: Message, now: float) -> list[Effect]:
        """Finds another way for what was meant for a node that is gone."""
        self.activity += 1
        if isinstance(message, HandOn):  # whoever stood in for the node has its subscriptions now
            own = [id for id in message.subscriptions if id in self._own]
            return [Deliver(message.event, own)] if own else []
        event = message.carried
        return [] if event is None else self._publish(event, now, again=True)

    # -- messages ----------------------------------------------------------------------------------------

    def _receive(self, stimulus: MessageReceived, now: float) -> list[Effect]:
        sender, message = stimulus.sender, stimulus.message
        match message:
            case EpochControl(number, content, initial):
                if not self._is_open(number, stimulus):
                    return []
                if initial:
                    self.initial_taken += 1
                    self.activity += 1
                return self._run(number, MessageReceived(sender, content), now, initial=initial)
            case EpochCarrier(number, content, again):
                if not self._is_open(number, stimulus):
                    return []
                if number != self._used:
                    self.activity += 1
                return self._run(number, MessageReceived(sender, content), now, again=again)
            case HandOn(event, ids):
                own = [id for id in ids if id in self._own]
                return [Deliver(event, own)] if own else []
            case Consign(event, again):
                return self._publish(event, now, again=again)
            case Guard():
                return self._guard(sender, message, now)
            case Guarded(serial) if self._guardian is not None:
                done = self._admit(self._guardian.note(sender, serial))
                return [*done, SendMessage(Unguarded(), (sender,))] if self._guardian.is_another(sender) else done
            case Guarded():
                return []
            case Unguarded():
                self._wards.former.add(sender)
                return []
        if not self._is_open(FIRST, stimulus):
            return []
        if self._used != FIRST:
            self.activity += 1
        return self._run(FIRST, stimulus, now)

    def _is_open(self, number: int, stimulus: MessageReceived) -> bool:
        """Whether an epoch goes on; what comes too early for one waits, what comes too late is answered."""
        if number in self._plans:
            return True
        if number > self._newest:
            self._early.setdefault(number, []).append(stimulus)
        else:
            self.stale.add(stimulus.sender)
        return False

    def _greet(self, peer: NodeId, now: float) -> list[Effect]:
        """Tells a node all it must know, which has forgotten or never knew it."""
        effects: list[Effect] = []
        for number, instance in tuple(self._instances.items()):
            if peer in instance.contacts:
                effects += self._run(number, PeerFound(peer), now, initial=True)
        if self._guardian is not None and self._guardian.peer == peer:
            effects += self._restate_guarded()
        effects += [SendMessage(Guarded(serial), (ward,)) for ward, serial in self._wards.current if ward == peer]
        return effects

    # -- subscriptions -----------------------------------------------------------------------------------

    def _subscribe(self, stimulus: SubscribeRequested, now: float) -> list[Effect]:
        shown: list[Subscription] = []
        held: list[Subscription] = []
        taken: list[Subscription] = []
        effects: list[Effect] = []
        for item in stimulus.subscriptions:
            known = self._wards.release(item.id)
            is_guarded = self._is_guarded(item)
            self._own[item.id] = item
            if stimulus.durable:
                self._durable.add(item.id)
            if known is not None and known[1] == item.filter:
                taken.append(item)  # where it was stood in for here, the network knows
                effects += self._subscribe_besides(item, known[0], now)
                continue
            if known is not None:
                effects += self._run_all(UnsubscribeRequested((self._alias + item.id,)), now)
            shown.append(item)
            if stimulus.durable and not (stimulus.restored or is_guarded):
                held.append(item)
        self._choose_first()
        if shown:
            effects += self._run_all(SubscribeRequested(tuple(shown)), now)
        if self._guardian is not None:
            effects += [*self._guardian.tell(taken), *self._hold(self._guardian, held)]
        return effects

    def _subscribe_besides(self, item: Subscription, ward: NodeId, now: float) -> list[Effect]:
        """Subscribes in the epochs in which this node does not stand in for whose it was."""
        effects: list[Effect] = []
        for number, plan in tuple(self._plans.items()):
            if plan.stand_in(ward) != self._node:
                effects += self._run(number, SubscribeRequested((item,)), now)
        return effects

    def _is_guarded(self, item: Subscription) -> bool:
        """Whether the guardian is known to have a subscription as it is, because it was asked for before."""
        before = self._own.get(item.id)
        is_same = before is not None and before.filter == item.filter and item.id in self._durable
        return is_same and self._guardian is not None and not self._guardian.is_behind

    def _hold(self, guardian: Guardian, items: list[Subscription]) -> list[Effect]:
        """Has subscriptions guarded before who asked for them is answered."""
        told = guardian.hold(items)
        if not told:
            return []
        waiting: list[Effect] = [*told, Postpone(tuple(item.id for item in items))]
        if not self._guarding:
            self._guarding = True
            waiting.append(SetTimer(_GUARD_TIMER, _GUARD_AGAIN_MS))
        return waiting

    def _guard_again(self) -> list[Effect]:
        """Has subscriptions guarded once more, because an answer may be lost with its link."""
        assert self._guardian is not None
        self._guarding = False
        return self._hold(self._guardian, [self._own[id] for id in self._guardian.waiting if id in self._own])

    @staticmethod
    def _admit(ids: tuple[str, ...]) -> list[Effect]:
        return [Admit(ids)] if ids else []

    def _unsubscribe(self, ids: tuple[str, ...], now: float) -> list[Effect]:
        kept = [id for id in ids if id in self._durable]
        for id in ids:
            self._own.pop(id, None)
            self._durable.discard(id)
        aliases = tuple(self._alias + id for id in kept)
        effects = self._run_all(UnsubscribeRequested((*ids, *aliases)), now)
        if kept and self._guardian is not None:
            effects += self._guardian.drop(kept)
        return effects

    def _restate_guarded(self) -> list[Effect]:
        """Tells the guardian all that it would have to stand in for: this node, and whom this node stands in for."""
        assert self._guardian is not None
        own = self._guardian.restate([self._own[id] for id in self._own if id in self._durable])
        return [*own, *self._pass_on(self._stood_in_for())]

    def _stood_in_for(self) -> list[NodeId]:
        plan = self._plans.get(self._newest)
        return [] if plan is None else [member for member, other in plan.stand_ins if other == self._node]

    def _pass_on(self, wards: Iterable[NodeId]) -> list[Effect]:
        """Tells the guardian of those for whom this node stands in."""
        if self._guardian is None or (to := self._guardian.peer) is None:
            return []
        return [SendMessage(self._wards.restate(ward), (to,)) for ward in wards if ward in self._wards.rows]

    def _guard(self, sender: NodeId, told: Guard, now: float) -> list[Effect]:
        """Takes in what a node would want, should it be absent."""
        ward = sender if told.of is None else told.of
        if ward == self._node or ward in self._gone:
            return []
        rows, gone = self._wards.take(ward, told)
        effects: list[Effect] = []
        for number, plan in tuple(self._plans.items()):
            if plan.stand_in(ward) != self._node:
                continue
            if gone:
                aliases = tuple(self._alias + id for id in gone)
                effects += self._run(number, UnsubscribeRequested(aliases), now, initial=True)
            fresh = [(self._alias + id, filter_) for id, filter_ in rows.items() if id not in self._own]
            if items := tuple(Subscription(alias, filter_) for alias, filter_ in fresh):
                effects += self._run(number, SubscribeRequested(items), now, initial=True)
        if ward in self._stood_in_for() and (rows or gone):
            effects += self._pass_on((ward,))
        if told.of is None and told.serial:
            effects.append(SendMessage(Guarded(told.serial), (ward,)))
        return effects

    def _give_up(self, peer: NodeId, now: float, *, left: bool) -> list[Effect]:
        """A node does not come back: whoever stands in for it has its durable subscriptions from now on.

        What is left of one that left in peace was handed over to somebody else.
        """
        if peer in self._gone:
            return []
        self._gone.add(peer)
        self.activity += 1
        rows = self._wards.end(peer)
        plan = self._plans.get(self._used)
        self._choose_first()
        if not rows or plan is None or plan.stand_in(peer) != self._node:
            return []
        if left:
            ended = UnsubscribeRequested(tuple(self._alias + id for id in rows if not self._is_known(self._alias + id)))
            current = [number for number in self._instances if number >= self._used]
            return [effect for number in current for effect in self._run(number, ended, now)]
        adopted = tuple(Subscription(id, filter_) for id, filter_ in rows.items() if id not in self._own)
        if not adopted:
            return []
        for item in adopted:
            self._own[item.id] = item
            self._durable.add(item.id)
        names = ", ".join(item.id for item in adopted[:20])
        facts: dict[str, str | int | float] = {"node": peer, "subscriptions": len(adopted), "names": names}
        report = Report("durable subscriptions of a node that is gone go on here", facts)
        told = [] if self._guardian is None else self._guardian.tell(adopted)
        return [AdoptSubscriptions(adopted), report, *told]

    # -- facts -------------------------------------------------------------------------------------------

    @property
    def guardian(self) -> Guardian | None:
        """Who guards this node, and how far, to look at."""
        return self._guardian

    @property
    def guards(self) -> tuple[tuple[NodeId, int], ...]:
        """Whose subscriptions this node holds, and up to which serial."""
        return self._wards.current

    @property
    def is_settled(self) -> bool:
        """Whether the scheme has come to rest in all open epochs."""
        return all(instance.protocol.is_settled for instance in self._instances.values())

    def way_of(self, event: Event) -> str | None:
        instance = self._instances.get(self._used)
        way = None if instance is None else instance.protocol.way_of(event)
        return way if way is None or self._used == FIRST else f"{self._used}{EPOCH}{way}"

    def state(self) -> Mapping[str, Any]:
        """The facts of the epoch that is used, and which epochs are open."""
        instance = self._instances.get(self._used)
        facts = {} if instance is None else dict(instance.protocol.state())
        return {**facts, "epochs": sorted(self._plans), "epoch": self._used}


_OWN = frozenset(EPOCH_MESSAGES)
