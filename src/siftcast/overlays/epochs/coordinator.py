"""The one node that issues views: what it was asked for, how far everyone is, and what it issues next.

Changes are made one after the other, several at a time if they were asked for together. Each is a new epoch:

    asked: join, leave, forget, absent, back, other settings
      └─▶ issue: a plan for those who are present                everybody prepares, beside what is in use
            └─▶ use: all are prepared, and nothing is on its way that belongs to preparing
                  └─▶ retire: nothing of older epochs is on its way any more

The coordinator asks in rounds. What holds for the whole network must hold for two rounds in a row in which nothing
happened anywhere (same lives, same activity): then it held between them. A member that is asked and does not answer for
`absent_ms` is left out of the next plan, provided that at least half of the members answer (who is cut off from most
accuses nobody), that there can be a plan without it, and, where subscriptions are durable, that somebody present guards
it. It is expected back, and what waits for it is kept: only a person says that a node is gone.

An epoch in which an absent member has a place is not retired, because that member may hold messages of it. So after a
crash two epochs stay open until the node is back, or gone.

Rejected: electing coordinators by majority. While the coordinator is away nothing changes, and events flow as planned;
a person who knows that it does not come back says so to any node, which then takes its office.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from siftcast.model.bounded_cache import remember
from siftcast.overlays.contract import NodeId, Report
from siftcast.overlays.epochs.messages import Progress
from siftcast.overlays.epochs.view import (
    ABSENT,
    GONE,
    LEAVING,
    LEFT,
    PRESENT,
    Epoch,
    Holdings,
    Member,
    View,
    absent_in_old,
    is_expected,
)

SILENT_MS = 1_000.0
"""Who has not answered for so long is named as one that the others wait for."""
REPLACED = "it was planned so, and somebody has asked for another plan since, which has taken the place of this one"
_PLANNED_MAX = 64
_STILL_ROUNDS = 20
"""After so many rounds in which nothing happened, what was sent and has not arrived will not arrive."""


class Coordinator:
    """Requests and answers. `durable` networks leave nobody out whose subscriptions nobody guards."""

    def __init__(
        self, node: NodeId, objection: Callable[[Epoch], str] = lambda _: "", *, durable: bool, absent_ms: float
    ) -> None:
        self.round = 1
        self.holdings: dict[NodeId, Holdings] = {}
        """What members held that no other may have had, when they last said so."""
        self.news: list[Report] = []
        """What people should hear; whoever looks at it clears it."""
        self._node = node
        self._objection = objection
        self._objected = ""
        self._durable = durable
        self._absent_ms = absent_ms
        self._answers: dict[NodeId, Progress] = {}
        self._before: dict[NodeId, Progress] = {}
        self._silent_since: dict[NodeId, float] = {}
        self._asked_ms = 0.0
        self._joining: dict[NodeId, Member] = {}
        self._leaving: set[NodeId] = set()
        self._forgotten: set[NodeId] = set()
        self._missed: set[NodeId] = set()
        self._settings: bytes | None = None
        self._planned: dict[bytes, int] = {}
        """Settings that were asked for, and the epoch that was planned by them. Who has not heard yet asks again."""
        self._still_rounds = 0
        self._serials: dict[NodeId, int] = {}
        """Up to which each member is guarded at least, by whomever it told last."""

    # -- requests ----------------------------------------------------------------------------------------

    def join(self, view: View, member: Member) -> str:
        """A node wants to be a member, or is back; why it cannot, if it cannot."""
        known = view.member(member.node)
        if known is not None:
            if not known.is_expected:
                return f"node '{known.name}' was declared gone or has left; start it with an empty data folder"
            if known.state == ABSENT:
                self._joining[member.node] = known.as_(PRESENT)
            return ""
        same = [each for each in view.members if each.name == member.name and each.is_expected]
        same += [each for each in self._joining.values() if each.name == member.name and each.node != member.node]
        if any(each.state != ABSENT or self._durable for each in same):
            return f"there is a node '{member.name}' already; give each node a name of its own"
        self._forgotten.update(each.node for each in same)  # it keeps nothing, and is here again under a new identity
        self._joining[member.node] = member.as_(PRESENT)
        return ""

    def leave(self, view: View, node: NodeId) -> None:
        """A member wants to leave in peace."""
        if view.state(node) in (PRESENT, ABSENT):
            self._leaving.add(node)

    def forget(self, view: View, node: NodeId) -> None:
        """A member does not come back."""
        if view.state(node) in (PRESENT, ABSENT, LEAVING):
            self._forgotten.add(node)

    def miss(self, view: View, node: NodeId) -> None:
        """Somebody cannot reach a member."""
        if view.state(node) in (PRESENT, LEAVING):
            self._missed.add(node)

    def apply(self, view: View, settings: bytes, since: int) -> str:
        """The next plan is made by other settings, unless one was since it was asked for; what has become of that."""
        if self._planned.get(settings, 0) <= since:
            self._settings = settings
            return ""
        return "" if view.newest.settings == settings else REPLACED  # who has asked is about to see it

    # -- rounds ------------------------------------------------------------------------------------------

    def note(self, sender: NodeId, progress: Progress) -> None:
        """A member says how far it is."""
        self._silent_since.pop(sender, None)
        self.holdings.update(progress.wards)
        self.holdings[sender] = progress.holdings
        if progress.guarded[1]:
            self._serials[sender] = progress.guarded[0]
        if progress.round == self.round:
            self._answers[sender] = progress
            self._missed.discard(sender)

    def is_busy(self, view: View) -> bool:
        """Whether anything is to be found out or done."""
        asked = self._joining or self._leaving or self._forgotten or self._missed or self._settings is not None
        if asked or view.newest.number > view.used:
            return True
        if any(member.state == LEAVING for member in view.members):
            return True
        return len(view.epochs) > 1 and not absent_in_old(view)

    def is_at_work(self, view: View) -> bool:
        """Whether something is to be done for which it does not wait for somebody in vain."""
        return self.is_busy(view) and not self.silent(view)

    def unasked(self, view: View, now: float) -> list[NodeId]:
        """Whom to ask, once more or for the first time, in this round."""
        waiting = [node for node in self._required(view) if node not in self._answers]
        self._asked_ms = now
        for node in waiting:
            self._silent_since.setdefault(node, now)
        return waiting

    def silent(self, view: View) -> tuple[NodeId, ...]:
        """Who has been asked for a while, and has not answered."""
        since = self._silent_since
        waiting = [node for node in self._required(view) if node in since and node not in self._forgotten]
        return tuple(node for node in waiting if self._asked_ms - since[node] >= SILENT_MS)

    @staticmethod
    def _required(view: View) -> list[NodeId]:
        return [member.node for member in view.members if member.state in (PRESENT, LEAVING)]

    def next_view(self, view: View, now: float) -> View | None:
        """What to issue now, if anything; the round ends when all have answered."""
        required = self._required(view)
        self._missed.intersection_update(required)
        absent = self._absent(view, required, now)
        if any(node not in self._answers and node not in absent for node in required):
            return None
        changed = self._changed(view, absent) or self._advanced(view, required)
        self._before, self._answers = self._answers, {}
        self.round += 1
        return changed

    def _absent(self, view: View, required: list[NodeId], now: float) -> set[NodeId]:
        """Those who have been silent for too long, if most of the others are not."""
        silent = {node for node in required if now - self._silent_since.get(node, now) >= self._absent_ms}
        answering = sum(node in self._answers for node in required)
        expected = sum(member.is_expected and member.node not in self._forgotten for member in view.members)
        enough_answer = 2 * answering >= expected
        return (silent if enough_answer else set()) | (self._forgotten & set(required))

    # -- changes of members ------------------------------------------------------------------------------

    def _changed(self, view: View, absent: set[NodeId]) -> View | None:
        """A view with a plan for the members as they are from now on."""
        # Who asked twice, the second time while the first was being written down, is a member by now.
        self._joining = {node: each for node, each in self._joining.items() if view.state(node) in ("", ABSENT)}
        states = self._states(view, absent)
        members = {member.node: self._stated(member, states[member.node]) for member in view.members}
        members.update(self._joining)
        if members == {member.node: member for member in view.members} and self._settings is None:
            self._settle_requests(view)
            return None
        epoch = self._plan(view, tuple(members.values()))
        if epoch is not None and (why := self._objection(epoch)):
            self._go_without(why)
            return None
        self._objected = ""
        if epoch is not None and self._settings is not None:
            remember(self._planned, self._settings, epoch.number, _PLANNED_MAX)
        self._joining.clear()
        self._settings = None
        listed = tuple(sorted(members.values(), key=lambda member: (member.name, member.node)))
        self._leaving = {node for node in self._leaving if members[node].state in (PRESENT, ABSENT)}
        self._forgotten = {node for node in self._forgotten if members[node].is_expected}
        epochs = view.epochs if epoch is None else (*view.epochs, epoch)
        return msgspec.structs.replace(view, version=view.version + 1, members=listed, epochs=epochs)

    def _go_without(self, why: str) -> None:
        """There cannot be a plan for these members: all stays as it is, and what waits for others is kept."""
        self._joining.clear()  # who wants to join asks again
        if why != self._objected:
            self._objected = why
            self.news.append(Report("the network cannot be planned for the members that are there", {"why": why}))

    def _stated(self, member: Member, state: str) -> Member:
        if state == member.state:
            return member
        return member.as_(state, self.holdings.get(member.node) if state == GONE else None)

    def _settle_requests(self, view: View) -> None:
        """Drops what was asked for and is so already."""
        self._leaving = {node for node in self._leaving if view.state(node) in (PRESENT, ABSENT)}
        self._forgotten = {node for node in self._forgotten if view.state(node) in (PRESENT, ABSENT, LEAVING)}

    def _states(self, view: View, absent: set[NodeId]) -> dict[NodeId, str]:
        """What members are from now on. Nobody is left out if that leaves somebody without anyone to stand in."""
        states = {member.node: member.state for member in view.members}
        able = {each.node for each in view.members if each.state == PRESENT and not each.edge} - self._forgotten
        out = {node for node, state in states.items() if state in (ABSENT, LEAVING)} - self._forgotten
        for node in self._forgotten:
            orphans = {each for each in out if view.newest.stand_in(each) == node and self._durable}
            orphans = {each for each in orphans if self._guard_of(each, able) is None}
            # Who leaves and is still there stays until somebody else can take over; who is absent must be back first.
            back = {each for each in orphans if states[each] == LEAVING and each in self._answers}
            states.update(dict.fromkeys(back, PRESENT))
            able |= back
            out -= back
            if orphans <= back:
                states[node] = GONE
        for node in sorted((absent | self._leaving) - self._forgotten):
            if states[node] == LEAVING and node in absent:
                states[node] = ABSENT
            if states[node] != PRESENT or not able - {node}:
                continue
            concerned = [*out, node]
            if self._durable and any(self._guard_of(each, able - {node}) is None for each in concerned):
                continue
            states[node] = ABSENT if node in absent else LEAVING
            able.discard(node)
            out.add(node)
        return states

    def _plan(self, view: View, members: tuple[Member, ...]) -> Epoch | None:
        """The next epoch; None if the newest one serves as well."""
        newest = view.newest
        placed = sorted(
            (member for member in members if member.state == PRESENT and not member.edge),
            key=lambda member: (member.name, member.node),
        )
        nodes = tuple(member.node for member in placed)
        settings = newest.settings if self._settings is None else self._settings
        if set(nodes) == set(newest.nodes) and settings == newest.settings:
            others = [member for member in members if member.is_expected and member.node not in nodes]
            if all(newest.stand_in(member.node) in nodes for member in others):
                return None
        stand_ins = []
        for member in members:
            was_placed = member.node in newest.nodes or newest.stand_in(member.node) is not None
            if member.node in nodes or not (member.is_expected or was_placed):
                continue
            by = newest.stand_in(member.node)
            if by not in nodes:
                by = self._guard_of(member.node, set(nodes))
            if by is None and nodes and (member.edge or not self._durable):
                by = nodes[0]
            if by is not None:
                stand_ins.append((member.node, by))
        return Epoch.of(newest.number + 1, placed, tuple(stand_ins), settings)

    def _guard_of(self, node: NodeId, able: set[NodeId]) -> NodeId | None:
        """Who guards a member, of those who are able to stand in for it; the latest, if there are several."""
        found = [
            (serial, guard)
            for guard, progress in self._answers.items()
            for ward, serial in progress.guards
            if ward == node and guard in able and guard != node
        ]
        serial, guard = max(found, default=(-1, None))
        return guard if serial >= self._serials.get(node, 0) else None

    def _is_guarded(self, node: NodeId) -> bool:
        """Whether a member answers, and its guardian has all it was told."""
        return node in self._answers and self._answers[node].guarded[1]

    # -- progress ----------------------------------------------------------------------------------------

    def _advanced(self, view: View, required: list[NodeId]) -> View | None:
        """The next step of what was begun."""
        version = view.version + 1
        if any(self._answers[node].version != view.version for node in required if node in self._answers):
            return None
        still = self._is_still(required)
        if view.newest.number > view.used:
            placed = [node for node in view.newest.nodes if node in self._answers]
            if still and not any(self._answers[node].settling for node in placed) and self._nothing_sent(placed):
                self._still_rounds = 0
                return msgspec.structs.replace(view, version=version, used=view.newest.number)
            return None
        if len(view.epochs) > 1 and not absent_in_old(view):
            if still and not any(progress.draining for progress in self._answers.values()):
                used = tuple(epoch for epoch in view.epochs if epoch.number == view.used)
                return msgspec.structs.replace(view, version=version, epochs=used)
            return None
        left = [
            member.node
            for member in view.members
            if member.state == LEAVING
            and member.node in self._answers
            and self._answers[member.node].empty
            and all(self._is_guarded(heir) for heir in self._answers[member.node].heirs if is_expected(view, heir))
            and not any(member.node in epoch.nodes for epoch in view.epochs)
        ]
        if not left or not still:
            return None
        members = tuple(member.as_(LEFT) if member.node in left else member for member in view.members)
        return msgspec.structs.replace(view, version=version, members=members)

    def _is_still(self, required: list[NodeId]) -> bool:
        """Whether nothing has happened between the last round and this one, at anybody."""
        for node in required:
            now, before = self._answers.get(node), self._before.get(node)
            if now is None or before is None:
                return False
            if (now.life, now.activity, now.version) != (before.life, before.activity, before.version):
                return False
            if now.settling != before.settling or now.draining != before.draining:
                return False
        return bool(required)

    def _nothing_sent(self, placed: list[NodeId]) -> bool:
        """Whether all that was sent to prepare has arrived, as far as only counting can tell."""
        if self._durable:
            return True  # what was not acknowledged counts as settling
        answers = [self._answers[node] for node in placed]
        if sum(each.initial_sent for each in answers) <= sum(each.initial_taken for each in answers):
            return True
        self._still_rounds += 1  # a message that was lost with its connection is said again, and never counted
        return self._still_rounds >= _STILL_ROUNDS
