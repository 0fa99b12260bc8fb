"""A node of a network whose members and plan change while it runs.

    Planned ── keeps the view, answers the coordinator or is it, joins, leaves
      └─ Durable (or nothing) ── keeps promises
           └─ Epochs ── one instance of the scheme for each open epoch

`Planned` is the outermost protocol of a node. What its scheme and its clients say passes through; it hands in
`PlanChanged`, `EpochUsed`, `EpochRetired` and `PeerGone` when a later view says so, after that view is on disk.

States of a node, as the view has them: (joining) → present → absent → present …; present → leaving → left; any → gone.
A node that finds itself left or gone stops. One that finds itself absent says that it is back.

Everything that is said about views is said again until it counts (`Message.repeated`), so none of it is kept for others
or acknowledged. A network of one first plan says nothing at all: views are exchanged from the first change on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from siftcast.model import Event
from siftcast.overlays.contract import (
    ApplyRequested,
    ContactsFound,
    Effect,
    Effects,
    EpochRetired,
    EpochUsed,
    Leave,
    LeaveRequested,
    Message,
    MessageReceived,
    NodeId,
    PeerFound,
    PeerGone,
    PeerLost,
    Persist,
    Persisted,
    PersistFailed,
    PlanChanged,
    Protocol,
    Refuse,
    SendMessage,
    SetTimer,
    Started,
    Stimulus,
    TimerFired,
    Unwatch,
    Watch,
)
from siftcast.overlays.durability import Durable
from siftcast.overlays.durability.contract import HandOverRequested
from siftcast.overlays.epochs.awaited import ASKED, SILENT, awaited, successor, unheard
from siftcast.overlays.epochs.coordinator import Coordinator
from siftcast.overlays.epochs.entering import Doors
from siftcast.overlays.epochs.epochs import Epochs
from siftcast.overlays.epochs.guarding import GuardianChosen, chosen_guardian
from siftcast.overlays.epochs.messages import (
    VIEW_MESSAGES,
    AskToApply,
    AskToForget,
    AskToJoin,
    AskToLeave,
    Awaits,
    Decline,
    Issue,
    Miss,
    Progress,
)
from siftcast.overlays.epochs.progress import holdings_of, is_empty, progress_of
from siftcast.overlays.epochs.record import PlanRecord, read_record
from siftcast.overlays.epochs.settings import DEFAULTS, EpochSettings
from siftcast.overlays.epochs.view import (
    ABSENT,
    GONE,
    LEAVING,
    LEFT,
    PRESENT,
    Holdings,
    Member,
    View,
    is_expected,
    is_last,
)
from siftcast.overlays.epochs.wants import Wants
from siftcast.overlays.epochs.words import FORGOTTEN, LAST, announce, facts_of_view

JOIN, LEAVE, APPLY = "join", "leave", "apply"
"""What a person asks for; `Refuse` names it if it cannot be."""
_KEY = "plan"
_TICK, _REPORT = "plan/tick", "plan/report"
_TERM = 20
"""Versions of a coordinator that takes over begin where no former one can have been: 2^20 further on."""


class Planned(Protocol):
    """One node. `first` is the view of a list that all nodes have; a node without one joins through its contacts."""

    def __init__(
        self,
        member: Member,
        epochs: Epochs,
        body: Protocol,
        names: dict[NodeId, str],
        *,
        first: View | None = None,
        digest: str = "",
        settings: EpochSettings = DEFAULTS,
    ) -> None:
        self.messages = (*body.messages, *VIEW_MESSAGES)  # type: ignore[misc]
        self.names = names
        self.view = first
        self._member = member
        self._node = member.node
        self._epochs = epochs
        self._body = body
        self.durable = body if isinstance(body, Durable) else None
        """What keeps promises, where there is a disk."""
        self._digest = digest
        self._settings = settings
        self._life = 0
        self._nonce = 0
        self._written: View | None = None  # a later view that is on its way to the disk
        self._doors = Doors(member.node, settings.tick_ms, settings.absent_ms)
        self._found: set[NodeId] = set()
        self._watched: set[NodeId] = set()
        self._ended: set[NodeId] = set()  # members that are left or gone, and were given up here
        self._guardian: NodeId | None = None
        self._wants = Wants()
        self._has_handed_over = False
        self._heard_from: set[NodeId] = set()
        self._coordinator: Coordinator | None = None
        self._ticks = False
        self._reported = Holdings()
        self._ward_holdings: dict[NodeId, Holdings] = {}
        self._is_over = False

    # -- stimuli -----------------------------------------------------------------------------------------

    def handle(self, stimulus: Stimulus, now: float) -> Effects:
        if type(stimulus) is MessageReceived:
            if stimulus.sender in self._ended:
                return [] if self.view is None else [SendMessage(Issue(self.view), (stimulus.sender,))]
            if type(stimulus.message) not in _VIEW:
                effects = self._body.handle(stimulus, now)
                return [*effects, *self._answer_stale()] if self._epochs.stale else effects
            return self._end_turn(self._hear(stimulus.sender, stimulus.message, now), now)
        if type(stimulus) not in _MET:
            return self._body.handle(stimulus, now)
        match stimulus:
            case Started():
                effects = self._start(stimulus, now)
            case Persisted(key) if key == _KEY:
                effects = self._take_up(now)
            case PersistFailed(key) if key == _KEY:
                self._written = None  # it is issued again
                effects = []
            case TimerFired(name) if name == _TICK:
                self._ticks = False
                effects = self._tick(now)
            case TimerFired(name) if name == _REPORT:
                effects = [*self._say_holdings(), SetTimer(_REPORT, self._settings.report_ms)]
            case PeerFound(peer):
                effects = self._find(peer, stimulus, now)
            case PeerLost(peer):
                self._found.discard(peer)
                effects = [*self._body.handle(stimulus, now), *self._choose_guardian(now), *self._complain()]
            case PeerGone(peer):
                effects = self._forget(peer, now)
            case ContactsFound(nodes):
                effects = self._doors.learn(nodes)
            case LeaveRequested():
                effects = self._ask_to_leave(now)
            case ApplyRequested(wanted, over):
                self._wants.apply(wanted, self.view, over)
                effects = self._tick(now)
            case _:
                return self._body.handle(stimulus, now)
        return self._end_turn(effects, now)

    def _end_turn(self, effects: Iterable[Effect], now: float) -> list[Effect]:
        done = list(effects)
        if not self._ticks and self._is_busy(now):
            self._ticks = True
            done.append(SetTimer(_TICK, self._settings.tick_ms))
        return done

    def _start(self, started: Started, now: float) -> list[Effect]:
        self._nonce = started.nonce
        self._doors.begin(started.contacts, now)
        self._watched = set(started.contacts)
        restored = dict(started.restored)
        record = read_record(restored.pop(_KEY, None), self._digest)
        if record is not None:
            self.view, self._life, self._ended = record.view, record.life, set(record.ended)
            self.names.update(record.view.names)
        self._life += 1
        self._epochs.begin_life(self._life)
        view = self.view
        if view is not None:
            self._epochs.restore(view.epochs, view.used, self._ended)
            self._take_office(view)
        inner = Started(restored, started.clock_ms, started.damaged, started.nonce, started.contacts)
        effects = [*self._keep(), *self._body.handle(inner, now)]
        effects += [*([] if view is None else self._give_up(view, now)), *self._watch()]
        effects += [] if self.durable is None else [SetTimer(_REPORT, self._settings.report_ms)]
        return effects if view is None or view.state(self._node) == PRESENT else [*effects, *self._tick(now)]

    def _keep(self) -> list[Effect]:
        """Writes down what is to be taken up, or is."""
        view = self._written or self.view
        if self.durable is None or view is None:
            return []
        record = PlanRecord(view, self._life, tuple(sorted(self._ended)), self._digest)
        return [Persist(_KEY, msgspec.msgpack.encode(record))]

    # -- views -------------------------------------------------------------------------------------------

    def _hear(self, sender: NodeId, message: Message, now: float) -> list[Effect]:
        match message:
            case Issue(view, number):
                return self._hear_of(sender, view, number, now)
            case Progress():
                if message.round == 0:
                    self._ward_holdings[sender] = message.holdings
                if self._coordinator is None:
                    return []
                self._coordinator.note(sender, message)
                return self._coordinate(now)
            case Decline(what, reason):
                return self._decline(what, reason)
            case Awaits(nodes):
                self._wants.silent = nodes
                return []
        if self.view is None:
            return []
        if self._coordinator is None:
            return [SendMessage(Issue(self.view), (sender,))]  # it names the coordinator
        told = [] if sender == self._node else [SendMessage(Awaits(self._coordinator.silent(self.view)), (sender,))]
        return [*self._hear_wish(sender, message, self._coordinator, self.view, now), *told]

    def _hear_wish(self, sender: NodeId, message: Message, office: Coordinator, view: View, now: float) -> list[Effect]:
        """A node, or this one, wants something of the coordinator, which this one is."""
        match message:
            case AskToJoin(member):
                if reason := office.join(view, member):
                    return [SendMessage(Decline(JOIN, reason), (sender,))]
                return [SendMessage(Issue(view), (sender,)), *self._coordinate(now)]
            case AskToLeave():
                office.leave(view, sender)
            case AskToForget(node):
                office.forget(view, node)
            case AskToApply(wanted, since):
                reason = self._epochs.objection(msgspec.structs.replace(view.newest, settings=wanted))
                if reason := reason or office.apply(view, wanted, since):
                    return self._answer(sender, Decline(APPLY, reason), now)
            case Miss(nodes):
                for node in nodes:
                    office.miss(view, node)
        return self._coordinate(now)

    def _hear_of(self, sender: NodeId, view: View, number: int, now: float) -> list[Effect]:
        """A view is issued: takes it up if it is later than what is known, and says how far this node is."""
        effects: list[Effect] = []
        self._heard_from.add(sender)
        known = self._written or self.view
        if view.member(self._node) is None:
            return self._tick(now) if self._doors.hear_of(sender, view, now) else []  # not a member yet
        if known is None or view.version > known.version:
            effects = self._issue(view, now)
        elif view.version < known.version and number == 0 and self.view is not None and self._written is None:
            effects = [SendMessage(Issue(self.view), (sender,))]
        if number:
            effects.append(SendMessage(self._progress(number), (sender,)))
        return effects

    def _issue(self, view: View, now: float) -> list[Effect]:
        """Takes up a view, once it is on disk where there is one."""
        self._written = view
        return self._keep() if self.durable is not None else self._take_up(now)

    def _take_up(self, now: float) -> list[Effect]:
        """A view is safe: does what it says."""
        view, before = self._written, self.view
        if view is None:
            return []
        self.view, self._written, self._wants.silent = view, None, ()
        self.names.update(view.names)
        effects: list[Effect] = []
        known = () if before is None else tuple(epoch.number for epoch in before.epochs)
        for epoch in view.epochs:
            if epoch.number not in known:
                effects += self._body.handle(PlanChanged(epoch), now)
        effects += self._body.handle(EpochUsed(view.used), now)
        for number in known:
            if view.epoch(number) is None:
                effects += self._body.handle(EpochRetired(number), now)
        was_coordinator = self._coordinator is not None
        self._take_office(view)
        if was_coordinator or self._coordinator is not None:
            effects += self._spread(view, before, now)
        effects += [*self._give_up(view, now), *self._watch(), *self._choose_guardian(now)]
        return [*effects, *self._obey(view, now), *self._coordinate(now)]

    def _give_up(self, view: View, now: float) -> list[Effect]:
        """Gives up members that do not come back, once what is published goes by a plan without them."""
        used = view.epoch(view.used)
        effects: list[Effect] = []
        ended = False
        if not self.is_ready:
            return []  # what comes back could not be published
        for member in view.members:
            node = member.node
            if member.is_expected or node in self._ended or node == self._node or used is None or node in used.nodes:
                continue
            self._ended.add(node)
            self._found.discard(node)
            ended = True
            effects += self._body.handle(PeerGone(node, member.state == LEFT), now)
        return [*effects, *self._keep()] if ended else []

    def _obey(self, view: View, now: float) -> list[Effect]:
        """Does what the view says about this node itself."""
        state = view.state(self._node)
        if state in (LEFT, GONE) and not self._is_over:
            self._is_over = True
            return [Leave(FORGOTTEN if state == GONE else "")]
        self._epochs.is_closing = state == LEAVING and not view.has_place(self._node)
        if self._epochs.is_closing and self.durable is not None:
            heir = view.newest.stand_in(self._node)
            if heir is not None:
                return list(self._body.handle(HandOverRequested(heir), now))
        return []

    def _take_office(self, view: View) -> None:
        if view.coordinator != self._node:
            self._coordinator = None
        elif self._coordinator is None:
            durable, absent_ms = self.durable is not None, self._settings.absent_ms
            self._coordinator = Coordinator(self._node, self._epochs.objection, durable=durable, absent_ms=absent_ms)

    def _answer_stale(self) -> list[Effect]:
        """Shows those who speak in epochs that are over what has become of the network."""
        senders = tuple(sorted(self._epochs.stale))
        self._epochs.stale.clear()
        return [] if self.view is None else [SendMessage(Issue(self.view), senders)]

    def _progress(self, number: int) -> Progress:
        return progress_of(
            self._epochs,
            self.durable,
            self.view,
            number=number,
            life=self._nonce,
            missing=lambda newest: len(self._epochs.contacts_in(newest) - self._found),
            ended=self._ended,
            wards=self._ward_holdings,
        )

    # -- the coordinator ---------------------------------------------------------------------------------

    def _coordinate(self, now: float) -> list[Effect]:
        """Asks whoever has not answered in this round, and issues what follows from the answers."""
        view = self.view
        if self._coordinator is None or view is None or self._written is not None:
            return []
        if not self._coordinator.is_busy(view):
            return []
        self._coordinator.note(self._node, self._progress(self._coordinator.round))
        changed = self._coordinator.next_view(view, now)
        effects: list[Effect] = list(self._coordinator.news)
        self._coordinator.news.clear()
        if changed is None:
            return effects
        for member in changed.members:
            if member.state != view.state(member.node):
                effects.append(announce(member))
        return [*effects, *self._issue(changed, now)]

    def _spread(self, view: View, before: View | None, now: float) -> list[Effect]:
        """Shows a view to all it concerns; those who are to answer are asked in the same breath."""
        others = {each.node for each in view.members if each.is_expected or before is None or before.state(each.node)}
        others -= self._ended | {self._node}
        asked = [] if self._coordinator is None else [n for n in self._coordinator.unasked(view, now) if n in others]
        effects: list[Effect] = []
        if asked and self._coordinator is not None:
            effects.append(SendMessage(Issue(view, self._coordinator.round), tuple(asked)))
        if rest := tuple(sorted(others.difference(asked))):
            effects.append(SendMessage(Issue(view), rest))
        return effects

    # -- what this node wants ----------------------------------------------------------------------------

    def _is_busy(self, now: float) -> bool:
        if self._is_over:
            return False
        view = self.view
        if view is None or view.state(self._node) != PRESENT or self._wants:
            return True
        if self._coordinator is not None and self._coordinator.is_busy(view):
            return True
        return bool(self._missing(view)) or (bool(self._watched) and self._found.isdisjoint(self._watched))

    def _missing(self, view: View) -> tuple[NodeId, ...]:
        """Members that should be reached, and are not."""
        lost = sorted(self._watched - self._found)
        return tuple(node for node in lost if view.state(node) in (PRESENT, LEAVING) and node != view.coordinator)

    def _tick(self, now: float) -> list[Effect]:
        """Says again what has not counted yet."""
        view, node = self.view, self._node
        if self._is_over:
            return []
        if self._wants.leave and is_last(view, node):  # the others have left meanwhile
            return self._ask_to_leave(now)
        state = "" if view is None else view.state(node)
        effects: list[Effect] = []
        if state == ABSENT and self._coordinator is not None and view is not None:
            self._coordinator.join(view, self._member)
        elif view is None or state in ("", ABSENT):
            to = self._doors.ask(now) if view is None or not state else (view.coordinator,)
            effects += [SendMessage(AskToJoin(self._member), to)] if to else []
        elif self._doors.are_shut(now, self._watched, self._found):
            effects.append(SendMessage(AskToJoin(self._member), (self._doors.anybody(view),)))
        if view is None or not state:
            return effects
        if state == LEAVING:  # what it asked for is so, and it hears whom the coordinator waits for
            effects += [*self._obey(view, now), *self._answer(view.coordinator, AskToLeave(), now)]
        effects += [*self._say_wants(view, now), *self._complain()]
        if self._coordinator is not None and self._coordinator.is_busy(view):
            waiting = [other for other in self._coordinator.unasked(view, now) if other != node]
            if waiting:
                effects.append(SendMessage(Issue(view, self._coordinator.round), tuple(waiting)))
            effects += self._coordinate(now)
        return effects

    def _say_wants(self, view: View, now: float) -> list[Effect]:
        """Asks the coordinator, or itself as such, for what persons asked this node for."""
        self._wants.drop_fulfilled(view, self._node)
        if view.coordinator in self._wants.forgotten:
            return self._take_over(view, now)
        if self._coordinator is None:
            return [SendMessage(want, (view.coordinator,)) for want in self._wants.asked_of_coordinator()]
        wants = self._wants.asked_of_coordinator(besides_leaving=True)
        effects = [effect for want in wants for effect in self._hear(self._node, want, now)]
        return [*effects, *(self._hand_over_office(view, now) if self._wants.leave else ())]

    def _complain(self) -> list[Effect]:
        if self.view is None or not (missing := self._missing(self.view)):
            return []
        if (office := self._coordinator) is None:
            return [SendMessage(Miss(missing), (self.view.coordinator,))]
        for node in missing:
            office.miss(self.view, node)
        return []

    def _say_holdings(self) -> list[Effect]:
        """Lets the guardian know now and then what only this node has, should it never come back."""
        held = holdings_of(self.durable)
        if self._guardian is None or held == self._reported:
            return []
        self._reported = held
        return [SendMessage(self._progress(0), (self._guardian,))]

    def _ask_to_leave(self, now: float) -> list[Effect]:
        self._wants.leave = not is_last(self.view, self._node)
        if self._wants.leave:
            return self._tick(now)
        if is_empty(self.durable):
            self._is_over = True
            return [Leave()]
        return [Refuse(LEAVE, LAST)]

    def _hand_over_office(self, view: View, now: float) -> list[Effect]:
        """A coordinator that leaves makes another one first, which it can reach, and then asks that."""
        heir = successor(view, self._found - self._wants.forgotten)
        if heir is None or self._written is not None or self._has_handed_over:
            return []
        self._has_handed_over = True  # once: two that both want to leave would pass it to and fro
        return self._issue(msgspec.structs.replace(view, version=view.version + 1, coordinator=heir), now)

    def _forget(self, peer: NodeId, now: float) -> list[Effect]:
        """A person, or a farewell, says that a node does not come back."""
        view = self.view
        if view is None or not is_expected(view, peer) or peer == self._node:
            return []
        self._wants.forgotten.add(peer)
        self._heard_from.clear()
        return self._tick(now)

    def _take_over(self, view: View, now: float) -> list[Effect]:
        """Takes the office of a coordinator that is gone, with the latest view that most of the others know."""
        asked = unheard(view, self._node, self._heard_from, self._wants.forgotten)
        if asked or self._written is not None:
            return [SendMessage(AskToForget(view.coordinator), tuple(asked))] if asked else []
        version = ((view.version >> _TERM) + 1) << _TERM
        return self._issue(msgspec.structs.replace(view, version=version, coordinator=self._node), now)

    def _answer(self, sender: NodeId, message: Message, now: float) -> list[Effect]:
        return self._hear(sender, message, now) if sender == self._node else [SendMessage(message, (sender,))]

    def _decline(self, what: str, reason: str) -> list[Effect]:
        if what == APPLY:
            asked, self._wants.applied = self._wants.applied, None
            return [] if asked is None else [Refuse(APPLY, reason)]
        if self.view is not None and self.view.state(self._node) == PRESENT:
            return []
        self._is_over = True
        return [Leave(f"the network does not let this node {what}: {reason}")]

    # -- peers -------------------------------------------------------------------------------------------

    def _find(self, peer: NodeId, stimulus: Stimulus, now: float) -> list[Effect]:
        self._found.add(peer)
        effects = [*self._body.handle(stimulus, now), *self._choose_guardian(now)]
        if self.view is not None and self.view.version > 1:
            effects.append(SendMessage(Issue(self.view), (peer,)))
        return effects

    def _watch(self) -> list[Effect]:
        """Watches whom this node must reach, and nobody else."""
        wanted = set(self._epochs.contacts())
        if self._guardian is not None:
            wanted.add(self._guardian)
        fresh, old = sorted(wanted - self._watched), sorted(self._watched - wanted)
        self._watched = wanted
        self._found -= set(old)
        return [*(Watch(node) for node in fresh), *(Unwatch(node) for node in old)]

    def _choose_guardian(self, now: float) -> list[Effect]:
        """Has another node guard this one if the last one cannot."""
        view = self.view
        if self.durable is None or view is None:
            return []
        near = self._epochs.contacts_in(view.newest.number) or self._epochs.contacts_in(view.used)
        chosen = chosen_guardian(view, self._node, near & self._found, self._guardian)
        if chosen == self._guardian:
            return []
        self._guardian = chosen
        return [*self._watch(), *self._body.handle(GuardianChosen(chosen), now)]

    # -- facts -------------------------------------------------------------------------------------------

    can_leave = True

    @property
    def is_settled(self) -> bool:
        """Whether it is a member, its scheme is at rest, and it waits for nobody who is there."""
        view, office = self.view, self._coordinator
        if self._is_over or view is None or self._written is not None or not self.is_ready:
            return self._is_over
        is_lost = view.coordinator in self._watched - self._found
        asks = bool(self._wants) and not is_lost if office is None else office.is_at_work(view)
        return self._body.is_settled and not asks

    @property
    def is_ready(self) -> bool:
        """Whether the node is a member for which there is a place, or somebody who stands in for it."""
        view = self.view
        used = None if view is None else view.epoch(view.used)
        return used is not None and (self._node in used.nodes or used.stand_in(self._node) is not None)

    @property
    def settings(self) -> bytes:
        """What the newest plan was made by."""
        return b"" if self.view is None else self.view.newest.settings

    def way_of(self, event: Event) -> str | None:
        return self._body.way_of(event)

    def state(self) -> Mapping[str, Any]:
        """The facts of the body, and the view: its version, coordinator and members."""
        facts = {**self._body.state(), "ready": self.is_ready}
        if self.view is None:
            asked = dict.fromkeys(self._wants.silent, SILENT) | dict.fromkeys(self._doors.unanswered, ASKED)
            return {**facts, "members": [], "awaited": [{"identity": each, "why": why} for each, why in asked.items()]}
        facts["guardian"] = "" if self._guardian is None else self.names.get(self._guardian, str(self._guardian))
        facts["guards"] = [self.names.get(node, str(node)) for node, _ in self._epochs.guards]
        facts["asked_to_leave"] = self._wants.leave or self.view.state(self._node) in (LEAVING, LEFT)
        facts["planning"] = self._wants.applied not in (None, self.settings)
        facts |= facts_of_view(self.view, self._node, self.names, holdings_of(self.durable))
        facts["awaited"] = awaited(
            self.view,
            self._node,
            wants="leaving" in facts or bool(self._wants),
            forgotten=self._wants.forgotten,
            heard=self._heard_from,
            found=self._found,
            silent=self._wants.silent if self._coordinator is None else self._coordinator.silent(self.view),
        )
        return facts


_VIEW = frozenset(VIEW_MESSAGES)
_MET = frozenset({Started, Persisted, PersistFailed, TimerFired, PeerFound, PeerLost, PeerGone})
_MET |= {ContactsFound, LeaveRequested, ApplyRequested}
"""What is not for the body alone."""
