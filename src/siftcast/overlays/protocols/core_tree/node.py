"""A peer of a core tree: it finds its leader, its core and its place on the trees, and routes events over them.

    neighbours and delays (`near.py`) ──▶ weights ──▶ leader and tree to it ──▶ votes up, cores down (`votes.py`)
                                             └─────▶ ways to the cores ──▶ relay, parent ──▶ links of the two trees
    subscriptions, events ───────────────────────────────────────────────────────────────▶ `trees.py`, `passing.py`

What neighbours must know of a peer is in its `Beat`, which is sent every `beat_ms`, and at once when anything but a
round has changed. Whatever happened, a peer decides once, at the end of the turn (`_settle`), and acts on what is
different.

Cost: for each node and beat a message to each neighbour and a ballot, of some hundred bytes; more while something
changes. Tables and events as in filter-based routing on a tree.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from random import Random
from typing import Any, ClassVar

from msgspec import structs

from siftcast.overlays.contract import (
    NOTHING,
    Effect,
    Effects,
    Leave,
    LeaveRequested,
    Message,
    MessageReceived,
    NodeId,
    PeerLost,
    Protocol,
    PublishRequested,
    Refuse,
    SendMessage,
    SetTimer,
    Started,
    Stimulus,
    SubscribeRequested,
    TimerFired,
    UnsubscribeRequested,
)
from siftcast.overlays.discovery import Discovery
from siftcast.overlays.membership import Finding, Member, Neighbouring
from siftcast.overlays.messages import Announce, Retract
from siftcast.overlays.protocols.core_tree.beats import ROUND_MAX, Beats
from siftcast.overlays.protocols.core_tree.messages import (
    CORE_TREE_MESSAGES,
    Ballot,
    Beat,
    CoreParcel,
    Passed,
    Seek,
    TreeNews,
    Unlink,
)
from siftcast.overlays.protocols.core_tree.near import Neighbourhood, Sampled
from siftcast.overlays.protocols.core_tree.options import ALL_PAIRS, CoreTreeSettings
from siftcast.overlays.protocols.core_tree.passing import Passing
from siftcast.overlays.protocols.core_tree.relays import Relays
from siftcast.overlays.protocols.core_tree.spanning import Spanning
from siftcast.overlays.protocols.core_tree.trees import Position, Trees
from siftcast.overlays.protocols.core_tree.votes import Standing, Votes
from siftcast.overlays.protocols.core_tree.weights import LinkWeights
from siftcast.overlays.tables import TableFactory

_BEAT = "core-tree/beat"
_ALIVE_BEATS = 6
_BALLOT_BEATS = 4
_SOUGHT_BEATS = 3


class CoreTree(Protocol):
    """A peer."""

    messages: ClassVar[tuple[type[Message], ...]] = tuple(
        dict.fromkeys((*CORE_TREE_MESSAGES, Announce, Retract, *Sampled.messages, *Discovery.messages))
    )

    __slots__ = (
        "_ballot", "_beats", "_clock_ms", "_left", "_near", "_node", "_now", "_number", "_passing", "_random",
        "_relays", "_settings", "_sought", "_spanning", "_trees", "_turned_ms", "_votes", "_weights", "_words",
    )  # fmt: skip

    def __init__(self, node: NodeId, tables: TableFactory, settings: CoreTreeSettings, near: Neighbourhood) -> None:
        self._node = node
        self._settings = settings
        self._near = near
        self._random = Random(node)
        self._weights = LinkWeights(settings.beta)
        self._spanning = Spanning(node)
        self._votes = Votes(node, settings)
        all_pairs = settings.joined == ALL_PAIRS
        self._relays = Relays(node, prunes=not all_pairs)
        self._trees = Trees(node, tables, self._next_number, by_origin=all_pairs)
        self._passing = Passing(node, self._trees, self._relays.towards, settings.linger_ms, all_pairs=all_pairs)
        self._words = Beats()
        self._ballot: tuple[NodeId | None, Ballot | None] = None, None
        self._sought: dict[NodeId, int] = {}
        self._left = False
        self._beats = 0
        self._number = 0
        self._clock_ms = 0.0
        self._now = 0.0
        self._turned_ms = 0.0

    # -- what happens ----------------------------------------------------------------------------------------

    def handle(self, stimulus: Stimulus, now: float) -> Effects:
        if self._left:
            return [Refuse(stimulus.event.id, "the node leaves")] if type(stimulus) is PublishRequested else NOTHING
        self._now = now
        if type(stimulus) is MessageReceived:
            sender, message = stimulus.sender, stimulus.message
            kind = type(message)
            if kind is Passed:
                self._near.hear(sender, now)
                return self._passing.receive(sender, message, self._delay_ms(sender), now)  # type: ignore[arg-type]
            if kind is CoreParcel:
                self._near.hear(sender, now)
                return self._passing.receive_parcel(message, self._delay_ms(sender), now)  # type: ignore[arg-type]
            if kind in _OWN:
                self._near.hear(sender, now)
                return self._receive(sender, message)
        match stimulus:
            case PublishRequested(event):
                return self._passing.publish(event, now)
            case SubscribeRequested(subscriptions):
                self._passing.begin((item.id for item in subscriptions), now)
                return self._trees.subscribe([(item.id, item.filter, self._node) for item in subscriptions])
            case UnsubscribeRequested(ids):
                self._passing.end(ids)
                return self._trees.unsubscribe(ids)
            case TimerFired(name) if name == _BEAT:
                return self._beat()
            case LeaveRequested():
                return self._leave()
            case Started():
                return self._start(stimulus)
            case PeerLost(peer):
                self._passing.lose(peer)
                return self._settle(self._near.handle(stimulus, now), regroups=True)
            case _ if self._near.concerns(stimulus):
                return self._settle(self._near.handle(stimulus, now), regroups=True)
        return NOTHING

    def _start(self, started: Started) -> Effects:
        self._clock_ms = started.clock_ms or 0.0
        self._clock_ms -= self._now if started.clock_ms is not None else 0.0
        self._random.seed(started.nonce * 31 + self._node)
        self._spanning.round = self._relays.round = self._next_number()
        effects = self._near.handle(started, self._now)
        effects.append(SetTimer(_BEAT, self._random.random() * self._settings.beat_ms))
        return self._settle(effects, regroups=True)

    def _leave(self) -> Effects:
        effects: list[Effect] = []
        for branch in self._trees.branches:
            effects += branch.turn(None)
        self._left = True
        return [*effects, *self._near.handle_leaving(self._now), Leave()]

    def _receive(self, sender: NodeId, message: Message) -> Effects:
        match message:
            case Beat():
                return self._settle(self._hear(sender, message))
            case Ballot():
                self._votes.take(sender, message)
            case Seek(target, round) if round < ROUND_MAX:
                effects = self._seek(target, round)
                return effects + self._tell(says_all=False)
            case TreeNews():
                is_neighbour = sender in self._weights.weights
                return self._arrange(self._trees.hear(sender, message, is_neighbour=is_neighbour))
            case Unlink():
                return self._arrange(self._trees.hear_unlink(sender, message))
        return NOTHING

    # -- beats -----------------------------------------------------------------------------------------------

    def _hear(self, sender: NodeId, beat: Beat) -> list[Effect]:
        """A neighbour says where it stands."""
        if not self._words.hear(sender, beat):
            return []
        self._spanning.hear(sender, beat.leader, self._now)
        self._relays.hear(sender, beat.reaches, self._now)
        effects = [] if sender in self._near.neighbours else self._near.handle_stranger(sender)
        held = dict(beat.links)
        for branch in self._trees.branches:
            effects += branch.check(sender, held, beat.number)
        return effects

    def _beat(self) -> Effects:
        """Says where the peer stands, votes, and forgets what is over."""
        self._beats += 1
        self._passing.expire(self._now)
        self._spanning.round = self._relays.round = self._next_number()
        if self._now - self._turned_ms >= self._settings.rebuild_ms:
            self._turned_ms = self._now
            if self._settings.compares_interests:
                self._weights.compare(
                    self._passing.matched.to_bytes(), {peer: beat.matched for peer, beat in self._words.heard.items()}
                )
            self._passing.matched.turn()
        self._sought = {core: beat for core, beat in self._sought.items() if beat + _SOUGHT_BEATS >= self._beats}
        for branch in self._trees.branches:
            branch.try_again()
        for peer in self._words.strangers(self._near.neighbours):
            self._forget(peer)
        self._votes.keep(self._spanning.children)
        if self._spanning.is_leader:
            self._votes.lead(self._standing, self._now)
        else:
            self._votes.rest()
        effects = self._settle([SetTimer(_BEAT, self._settings.beat_ms)], regroups=True, says_all=True)
        return [*effects, *self._vote()]

    def _vote(self) -> list[Effect]:
        parent = self._spanning.parent
        if parent is None:
            return []
        ballot = self._votes.ballot(self._standing, 0)
        if (parent, ballot) == self._ballot and self._beats % _BALLOT_BEATS:
            return []
        self._ballot = parent, ballot
        return [SendMessage(structs.replace(ballot, number=self._next_number()), (parent,))]

    @property
    def _standing(self) -> Standing:
        weights = self._weights
        unlike = {peer: weights.unlike.get(peer, 0.0) for peer in weights.weights}
        return Standing(weights.delays_ms, weights.weights, unlike, self._near.distant)

    # -- the end of a turn -----------------------------------------------------------------------------------

    def _settle(self, effects: list[Effect], *, regroups: bool = False, says_all: bool = False) -> Effects:
        """Decides what follows from all that is known, does it, and tells the neighbours."""
        if regroups:
            effects = effects + self._regroup()
        alive_ms = self._now - _ALIVE_BEATS * self._settings.beat_ms
        links = self._weights.weights
        self._spanning.choose(links, alive_ms)
        self._follow()
        self._relays.cores = self._votes.choice.cores
        self._relays.choose(links, alive_ms)
        return self._arrange(effects, says_all=says_all)

    def _arrange(self, effects: list[Effect], *, says_all: bool = False) -> Effects:
        """Acts on where the peer belongs."""
        effects = effects + self._trees.settle(self._position)
        effects += self._ask_for_ways()
        effects += self._passing.make_up(self._now)
        return effects + self._tell(says_all=says_all)

    def _regroup(self) -> list[Effect]:
        """Forgets those who are neighbours no more."""
        news, self._near.news = self._near.news, []
        effects: list[Effect] = []
        for each in news:
            if type(each) is Finding and each.state == "lost":
                self._passing.lose(each.peer)
            if type(each) is Neighbouring and each.change == "down":
                peer = each.peer
                self._forget(peer)
                for branch in self._trees.branches:
                    effects += branch.lose(peer)
        self._weights.measure(self._near.neighbours, self._votes.choice.delay_ms)
        return effects

    def _forget(self, peer: NodeId) -> None:
        """What a peer has said counts no more."""
        self._words.forget(peer)
        self._spanning.forget(peer)
        self._relays.forget(peer)

    def _follow(self) -> None:
        """Takes the choice of the leader from the parent on its tree."""
        parent = self._spanning.parent
        beat = None if parent is None else self._words.heard.get(parent)
        if beat is not None and beat.choice != self._votes.choice:
            self._votes.follow(beat.choice)

    @property
    def _position(self) -> Position:
        relays, heard = self._relays, self._words.heard
        parent, towards_root = relays.parent, relays.towards(relays.root)
        if parent is not None and (parent not in heard or heard[parent].relay != relays.relay):
            parent = None
        if towards_root is not None and heard[towards_root].choice.cores[0] != relays.root:
            towards_root = None
        return Position(relays.relay, parent, relays.root, towards_root, relays.is_core)

    def _ask_for_ways(self) -> list[Effect]:
        """Has a core begin a new round if the peer has lost its way, once for each beat."""
        if self._relays.relay is not None and not self._trees.cores.children:
            return []
        lost = [self._relays.root] if self._relays.relay is not None else list(self._relays.cores)
        effects: list[Effect] = []
        for core in lost:
            if core != self._node and self._relays.towards(core) is None and self._relays.best_round(core) >= 0:
                effects += self._seek(core, self._relays.best_round(core) + 1)
        return effects

    def _seek(self, target: NodeId, round: int) -> list[Effect]:
        """A new round of a core is asked for: begins one, or asks those who may know the way."""
        if target == self._node:
            if round > self._relays.round:
                self._number = max(self._number, round)
                self._relays.round = self._spanning.round = self._next_number()
                self._words.repeat()
            return []
        if self._sought.get(target, -1) >= self._beats:
            return []
        self._sought[target] = self._beats
        onward = self._relays.towards(target)
        to = [onward] if onward is not None else sorted(self._weights.weights)
        return [SendMessage(Seek(target, round), to)] if to else []

    # -- what neighbours are told ----------------------------------------------------------------------------

    def _tell(self, *, says_all: bool) -> list[Effect]:
        """What neighbours are to know, for whom it is news."""
        matched = self._passing.matched.to_bytes() if self._settings.compares_interests else b""
        relays = self._relays
        beat = Beat(0, self._spanning.reach, self._votes.choice, relays.relay, relays.reaches, (), matched)
        return self._words.tell(
            self._weights.weights,
            beat,
            self._sought,
            links=self._trees.held,
            next_number=self._next_number,
            says_all=says_all,
        )

    def _next_number(self) -> int:
        """Grows with every call, and over restarts."""
        self._number = max(self._number + 1, int(self._now + self._clock_ms))
        return self._number

    def _delay_ms(self, peer: NodeId) -> float:
        return self._near.neighbours.get(peer, 0.0)

    # -- facts -----------------------------------------------------------------------------------------------

    def members(self) -> tuple[Member, ...]:
        """Everyone the node knows."""
        return self._near.members()

    @property
    def is_settled(self) -> bool:
        """Whether it has neighbours, a core, and the links it needs, and heard what is wanted over them."""
        trees, position = self._trees, self._position
        needs_root = (position.is_core or bool(trees.cores.children)) and position.root != self._node
        return (
            self._near.is_settled
            and position.relay is not None
            and (position.is_core or trees.cell.parent is not None)
            and (not needs_root or trees.cores.parent is not None)
            and trees.cell.is_complete
            and trees.cores.is_complete
        )

    @property
    def can_leave(self) -> bool:
        return True

    def state(self) -> Mapping[str, Any]:
        """`entries` are subscriptions of others; where it stands is for checkers and people."""
        trees, relays = self._trees, self._relays
        return {
            "entries": trees.cell.router.entries + trees.cores.router.entries,
            "local": trees.cell.router.local_entries,
            "neighbours": tuple(sorted(self._near.neighbours)),
            "leader": self._spanning.leader,
            "leader_parent": self._spanning.parent,
            "cores": relays.cores,
            "version": self._votes.choice.version,
            "relay": relays.relay,
            "parent": trees.cell.parent,
            "children": trees.cell.children,
            "cores_parent": trees.cores.parent,
            "cores_children": trees.cores.children,
            "weight_ms": relays.weight if isfinite(relays.weight) else -1.0,
            "round": relays.round,
            "kept": len(self._passing),
            "table_bytes": trees.table_bytes,
        }


_OWN = frozenset((Beat, Ballot, Seek, TreeNews, Unlink))
