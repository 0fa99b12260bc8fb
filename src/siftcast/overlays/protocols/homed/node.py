"""A HOMED node: subscriptions, the places they need, and what is passed on from there.

    SubscribeRequested ─▶ Interests ─▶ a home for each group of interests ─▶ joins, widens, moves
    PublishRequested, Cast ─▶ own subscribers, and on over the splits of the home
    all else ─▶ the home it is for

A node without subscriptions is a *guest*: it has no place, and publishes through nodes that have one. It takes a place
with its first subscription, which is how the cube is cut by interests from the beginning. Only a node that began
without contacts founds a network, and keeps its place in any case.

A home whose digest has drifted from its vertex *moves*: a new place is taken first, and the old one ends when all know
the new one (make before break). Meanwhile events may come to both; they are delivered once, by their ids.

Two networks that meet (one was founded anew, because nobody could be reached) become one: the younger realm's nodes
enter the older one, each telling those it knows. They meet because every node greets somebody it knows of now and then
(`acquaintances`), and often as long as it is alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any, ClassVar

from siftcast.model import Event
from siftcast.model.bounded_cache import remember
from siftcast.overlays.contract import (
    CancelTimer,
    ContactsFound,
    Deliver,
    Effects,
    Leave,
    LeaveRequested,
    Message,
    MessageReceived,
    NodeId,
    PeerFound,
    PeerGone,
    PeerLost,
    Protocol,
    PublishRequested,
    Refuse,
    SetTimer,
    Started,
    Stimulus,
    SubscribeRequested,
    TimerFired,
    UnsubscribeRequested,
)
from siftcast.overlays.membership import Health
from siftcast.overlays.protocols.homed.acquaintances import GATEWAYS_MAX, Acquaintances
from siftcast.overlays.protocols.homed.cover_table import Filters
from siftcast.overlays.protocols.homed.home import Home
from siftcast.overlays.protocols.homed.interests import Interests
from siftcast.overlays.protocols.homed.messages import (
    CONTROL_MESSAGES,
    Accept,
    Astray,
    Beat,
    BeatAnswer,
    Cast,
    Farewell,
    Gateways,
    Greet,
    Join,
    Older,
    Parted,
    Realm,
    Widen,
    Widened,
)
from siftcast.overlays.protocols.homed.options import HomedSettings
from siftcast.overlays.protocols.homed.post import Post
from siftcast.overlays.protocols.homed.spreading import Spreading
from siftcast.overlays.tables import TableFactory
from siftcast.space.digests import InterestDigests

_BEAT, _RETRY, _MOVE = "homed/beat", "homed/retry", "homed/move"
_SEEN_MAX = 4_096
_RELAYS_MAX = 32
_TRIES_MAX = 20
_GREETED_TURNS = 4
_WAITING_MAX = 1_000
_HANDED_OVER, _HANDED_OVER_MAX = -1, 4  # no rank: it counts how often an event came to a place that had ended


class Homed(Protocol):
    """A node."""

    messages: ClassVar[tuple[type[Message], ...]] = (*CONTROL_MESSAGES, Cast)

    def __init__(
        self, node: NodeId, digests: InterestDigests, tables: TableFactory, settings: HomedSettings | None = None
    ) -> None:
        self._settings = settings if settings is not None else HomedSettings()
        self._node = node
        self._random = Random(node)
        self._interests = Interests(node, digests, tables, self._settings.receivers)
        self._bits = self._interests.bits
        self._post = Post(node)
        self._spreading = Spreading(self._settings, self._post, 0)
        self._health = Health()
        self._homes: list[Home] = []
        """One for each group of interests, joining or placed."""
        self._former: dict[int, Home] = {}
        """Places that are moved away from or have ended, by their numbers."""
        self._known = Acquaintances(node, self._settings.forget_ms, self._random)
        self._seen: dict[str, None] = {}
        self._waiting: list[Event] = []
        self._tries = 0
        self._turn = 0
        self._clock_ms = 0.0
        self._is_timed = self._is_moving = self._leaving = self._is_started = self._is_founder = False

    # -- what happens ------------------------------------------------------------------------------------

    def handle(self, stimulus: Stimulus, now: float) -> Effects:
        kind = type(stimulus)
        if kind is MessageReceived:
            self._receive(stimulus.sender, stimulus.message, now)  # type: ignore[attr-defined]
        elif kind is PublishRequested:
            self._publish(stimulus.event, now)  # type: ignore[attr-defined]
        elif kind is TimerFired:
            self._wake(stimulus.name, now)  # type: ignore[attr-defined]
        else:
            self._meet(stimulus, now)
        post = self._post
        while post.inner:
            self._receive(self._node, post.inner.popleft(), now)
        if not self._is_timed and (self._spreading or any(home.state == "joining" for home in self._homes)):
            self._is_timed = True
            post.add(SetTimer(_RETRY, self._settings.request_ms))
        return post.take()

    def _meet(self, stimulus: Stimulus, now: float) -> None:
        match stimulus:
            case SubscribeRequested(subscriptions):
                for item in subscriptions:
                    self._interests.put(item, self._settings.positions)
                self._settle_in(now)
            case UnsubscribeRequested(ids):
                for id in ids:
                    self._interests.remove(id)
                self._settle_in(now)
            case Started():
                self._start(stimulus, now)
            case ContactsFound(nodes):
                self._known.hear_of(nodes)
                self._known.prefer(nodes)
                self._post.send_all(nodes, Greet())
            case PeerLost(peer):
                self._known.lose(peer, now)
                for home in self._all_homes():
                    home.handle_lost(peer, now)
            case PeerFound(peer):
                if self._known.is_lost(peer):
                    self._post.send(peer, Greet())
                for home in self._homes:
                    if home.state == "placed":
                        home.handle_found(peer, self._filters(home), now)
            case PeerGone(peer):
                for home in self._all_homes():
                    home.handle_gone(peer, now)
                self._known.forget(peer)
            case LeaveRequested():
                self._leave(now)

    def _start(self, started: Started, now: float) -> None:
        self._random.seed(started.nonce * 31 + self._node)
        self._spreading = Spreading(self._settings, self._post, self._random.getrandbits(60))
        self._clock_ms = (started.clock_ms if started.clock_ms is not None else now) - now
        self._known.begin(started.contacts)
        self._is_founder = not self._known.seeds
        self._post.add(SetTimer(_BEAT, self._random.random() * self._settings.heartbeat_ms))
        if self._is_founder:
            self._new_home(0).found(self._own_realm(now))
        else:
            self._post.send_all(self._known.seeds, Greet())
        self._is_started = True
        self._settle_in(now)

    def _receive(self, sender: NodeId, message: Message, now: float) -> None:
        kind = type(message)
        if kind is Cast:
            self._take_cast(sender, message, now)  # type: ignore[arg-type]
            return
        if kind is Join:
            self._pass_join(sender, message, now)  # type: ignore[arg-type]
            return
        match message:
            case Greet():
                self._known.meet(sender)
                self._post.send(sender, Gateways(self._gateways_for(sender), self._realm(), self._known.named(sender)))
            case Gateways():
                self._take_gateways(sender, message, now)
            case Widened():
                self._spreading.handle_widened(message)
                self._finish_moves(now)
            case Older(realm, through):
                self._enter(realm, through, now)
            case _:
                self._receive_at_home(sender, message, now)

    def _receive_at_home(self, sender: NodeId, message: Message, now: float) -> None:
        home = self._home(message.to)  # type: ignore[attr-defined]
        match message:
            case Accept():
                if home is not None and home.state == "joining":
                    home.handle_accept(message, now)
                    self._move_in(home, now)
            case Beat():
                if home is None or home.state != "joining":
                    self._take_beat(home, sender, message, now)
            case _ if home is None or home.state == "joining":
                pass
            case BeatAnswer():
                home.handle_answer(sender, message, now)
            case Widen():
                if home.state == "placed":  # otherwise its asker will ask another
                    self._spreading.handle_widen(home, sender, message, now)
            case Farewell():
                home.handle_farewell(sender, message, now)
            case Parted():
                home.handle_parted(sender, message)
                self._finish_leaving()
            case Astray():
                home.handle_astray(sender, message, now)
                self._enter(message.realm, sender, now)

    def _take_beat(self, home: Home | None, sender: NodeId, beat: Beat, now: float) -> None:
        if home is None:
            realm = self._realm()
            known = realm if realm is not None else beat.realm  # without a place, no realm is claimed
            self._post.send(sender, Astray(beat.serial, beat.split, beat.to, known))
        else:
            home.handle_beat(sender, beat, self._filters(home), now)
        self._enter(beat.realm, sender, now)

    # -- timers ------------------------------------------------------------------------------------------

    def _wake(self, name: str, now: float) -> None:
        if name == _BEAT:
            self._beat(now)
        elif name == _MOVE:
            self._is_moving = False
            self._move(now)
        elif name == _RETRY:
            self._is_timed = False
            self._spreading.wake(now)
            for home in self._homes:
                if home.state == "joining":
                    self._look(home, now)
            self._finish_moves(now)

    def _beat(self, now: float) -> None:
        self._turn += 1
        self._post.add(SetTimer(_BEAT, self._settings.heartbeat_ms))
        for home in self._homes:
            if home.state == "placed":
                home.tick(self._filters(home), now)
        for serial, home in tuple(self._former.items()):
            if home.state == "ended":
                if now >= home.until_ms:
                    home.close()
                    del self._former[serial]
                elif home.holders:
                    home.say_farewell()
            elif home.state == "placed":
                home.tick(self._filters(home), now)
        self._greet(now)

    # -- homes -------------------------------------------------------------------------------------------

    def _all_homes(self) -> list[Home]:
        return [*self._homes, *self._former.values()]

    def _home(self, serial: int) -> Home | None:
        """The place of a number; any that is taken, for 0."""
        for home in self._homes:
            if home.place[1] == serial or (serial == 0 and home.state == "placed"):
                return home
        if serial == 0:
            return next((home for home in self._former.values() if home.state == "placed"), None)
        return self._former.get(serial)

    def _new_home(self, digest: int) -> Home:
        place = (self._node, self._random.getrandbits(62) + 1)
        home = Home(place, digest, self._bits, self._settings, self._post, self._random, self._health)
        self._homes.append(home)
        return home

    def _realm(self) -> Realm | None:
        home = self._home(0)
        return None if home is None else home.realm

    def _own_realm(self, now: float) -> Realm:
        return now + self._clock_ms, self._node

    def _filters(self, home: Home) -> Filters:
        if not self._settings.piggyback:
            return {}
        position = self._homes.index(home) if home in self._homes else 0
        return {home.place: (self._interests.version, self._interests.filter(position))}

    def _settle_in(self, now: float) -> None:
        """Has as many homes as there are groups of interests, each with its digest."""
        if self._leaving or not self._is_started:
            return
        interests = self._interests
        wanted = max(len(interests.groups), 1 if self._is_founder else 0)
        while len(self._homes) > wanted:
            home = self._homes.pop()
            self._retire(home, now)
        while len(self._homes) < wanted:
            self._look(self._new_home(interests.digest(len(self._homes))), now)
        for position, home in enumerate(self._homes):
            self._change(home, interests.digest(position), now)
        for home in self._former.values():
            if home.state == "placed":  # it is moved away from, and stands in until that is done
                self._change(home, self._union(), now)

    def _union(self) -> int:
        union = 0
        for position in range(len(self._interests.groups)):
            union |= self._interests.digest(position)
        return union

    def _change(self, home: Home, digest: int, now: float) -> None:
        before, home.digest = home.digest, digest
        if home.state != "placed":
            return
        versioned = self._settings.piggyback and home.told_version != self._interests.version
        if digest & ~before or versioned:
            home.told_version = self._interests.version
            self._spreading.begin(home, digest, before & digest, self._interests.version if versioned else 0, now)
        drifted = ((home.vertex ^ digest) & ((1 << self._bits) - 1)).bit_count()
        if home in self._homes and drifted > self._settings.drift * self._bits and not self._is_moving:
            self._is_moving = True
            self._post.add(SetTimer(_MOVE, self._settings.move_ms))

    def _look(self, home: Home, now: float) -> None:
        """Has a home look for its place, through one of the node's own places or somebody else's."""
        placed = next((other for other in self._all_homes() if other.state == "placed"), None)
        if placed is not None and home.through is None:
            home.look(self._node, placed.place[1])
            return
        through = home.through
        if through is None:
            since_ms = now - _TRIES_MAX * self._settings.request_ms
            through = self._known.next_way(self._tries, since_ms)
            self._post.send_all(self._known.unanswered(since_ms) if self._tries else (), Greet())
        self._tries += 1
        if through is not None and self._tries <= _TRIES_MAX:
            home.look(through)
        elif home.through is None or home.replaces is None:
            home.found(self._own_realm(now))
            self._move_in(home, now)
        else:
            self._stay(home, now)

    def _stay(self, home: Home, now: float) -> None:
        """Gives up entering another network, through somebody who does not answer: the old place is kept."""
        old = home.replaces
        assert old is not None
        self._homes[self._homes.index(home)] = old
        self._former.pop(old.place[1], None)
        self._tries = 0
        self._settle_in(now)

    def _move_in(self, home: Home, now: float) -> None:
        """A home has its place: all who lack what it wants are told."""
        self._tries = 0
        version = self._interests.version if self._settings.piggyback else 0
        home.told_version = self._interests.version
        self._spreading.begin(home, home.digest, 0, version, now)
        waiting, self._waiting = self._waiting, []
        for event in waiting:
            self._cast(home, event, -1, -1, ())
        self._finish_moves(now)
        self._settle_in(now)

    def _move(self, now: float) -> None:
        """Has homes whose digests have drifted take new places."""
        for position, home in enumerate(self._homes):
            drifted = ((home.vertex ^ home.digest) & ((1 << self._bits) - 1)).bit_count()
            if home.state != "placed" or drifted <= self._settings.drift * self._bits:
                continue
            if not home.table.splits:
                home.reset_vertex()
                continue
            self._replace(position, None, now)

    def _replace(self, position: int, through: NodeId | None, now: float) -> None:
        """Begins to look for another place in the stead of a home."""
        home = self._homes[position]
        new = self._new_home(home.digest)
        self._homes.pop()
        self._homes[position] = new
        new.replaces, new.through = home, through
        self._former[home.place[1]] = home
        self._look(new, now)

    def _finish_moves(self, now: float) -> None:
        """Ends the places that are moved away from, once their successors are known to all."""
        for home in self._homes:
            if home.replaces is None or home.state != "placed" or self._spreading.is_busy(home):
                continue
            assert home.realm is not None
            old: Home | None = home.replaces
            while old is not None:
                if old.realm != home.realm:
                    known = {place[0] for split in old.table.splits for place in (*split.contacts, *split.former)}
                    self._post.send_all(known | {place[0] for place in old.holders}, Older(home.realm, self._node))
                old = old.replaces
            home.through = None
            self._retire_old(home, now)

    def _retire_old(self, home: Home, now: float) -> None:
        """Ends the place that a home takes the place of, which may have had one to take the place of itself."""
        old, home.replaces = home.replaces, None
        if old is not None:
            self._retire(old, now)

    def _retire(self, home: Home, now: float) -> None:
        self._retire_old(home, now)
        if home.state != "placed":
            return
        nodes = [contact.place[0] for split in reversed(home.table.splits) for contact in split.contacts.values()]
        self._known.prefer(nodes)
        self._former[home.place[1]] = home
        home.end(now + self._settings.linger_ms, now)

    def _enter(self, realm: Realm, through: NodeId, now: float) -> None:
        """Goes over to an older network than the node is in."""
        for position, home in enumerate(self._homes):
            if home.state == "placed" and home.realm is not None and realm < home.realm and through != self._node:
                self._replace(position, through, now)

    def _pass_join(self, sender: NodeId, join: Join, now: float) -> None:
        home = self._home(join.to)
        if home is not None and home.state != "joining" and home.place != join.joiner:
            if home.state == "ended":
                home.say_ended(sender, join.rank)
            home.handle_join(join if join.rank >= 0 else Join(join.to, join.joiner, join.digest), now)
        elif join.to == 0 and join.rank > -_RELAYS_MAX and join.joiner[0] != self._node:
            way = self._known.way(sender, join.joiner[0])
            self._post.send_all(() if way is None else (way,), Join(0, join.joiner, join.digest, join.rank - 1))

    # -- guests ------------------------------------------------------------------------------------------

    def _greet(self, now: float) -> None:
        """Guests stay in touch with somebody who has a place; everybody now and then with anybody else."""
        is_alone = not any(home.table.splits for home in self._homes)
        if self._turn % _GREETED_TURNS == 0 or (self._homes and is_alone):
            node = self._known.next_name(now)
        else:
            node = None if self._homes else self._known.next_gateway(now)
        if node is not None:
            self._post.send(node, Greet())

    def _gateways_for(self, sender: NodeId) -> tuple[NodeId, ...]:
        home = self._home(0)
        if home is None:
            return tuple(node for node in self._known.gateways if node != sender)
        nodes = [contact.place[0] for split in home.table.splits for contact in split.contacts.values()]
        known = [node for node in dict.fromkeys(nodes) if node not in (sender, self._node)]
        return tuple(self._random.sample(known, min(len(known), GATEWAYS_MAX)))

    def _take_gateways(self, sender: NodeId, answer: Gateways, now: float) -> None:
        own, theirs = self._realm(), answer.realm
        self._known.hear_places(sender, answer.nodes, is_placed=theirs is not None)
        self._known.hear_of(answer.others)
        if theirs is None:
            return
        if own is not None and own < theirs:
            self._post.send(sender, Older(own, self._node))
        self._enter(theirs, sender, now)
        if not self._homes:
            for event in self._waiting:
                self._post.send(sender, Cast(0, event, -1, -1))
            self._waiting.clear()

    # -- events ------------------------------------------------------------------------------------------

    def _publish(self, event: Event, now: float) -> None:
        if (objection := self._interests.objection(event)) is not None:
            self._post.add(Refuse(event.id, objection))
            return
        self._deliver(event)
        home = self._home(0)
        if home is not None:
            self._cast(home, event, -1, -1, ())
        elif not self._homes and (way := self._known.way()) is not None:
            self._post.send(way, Cast(0, event, -1, -1))
        elif len(self._waiting) < _WAITING_MAX:
            self._waiting.append(event)

    def _take_cast(self, sender: NodeId, cast: Cast, now: float) -> None:
        self._deliver(cast.event)
        home = self._home(cast.to)
        if home is None or home.state == "joining":
            if cast.to == 0 and cast.low > -_RELAYS_MAX and (way := self._known.way(sender)) is not None:
                self._post.send(way, Cast(0, cast.event, cast.low - 1, cast.high - 1))
        elif home.state == "ended":
            home.say_ended(sender, max(cast.low, cast.high))
            self._hand_over(home, cast)
        else:
            self._cast(home, cast.event, cast.low, cast.high, cast.skipped)

    def _hand_over(self, home: Home, cast: Cast) -> None:
        """What still comes to a place that ended is for somebody on its side, who covers the same."""
        for split in reversed(home.table.splits):
            if split.rank > (cast.low if split.side else cast.high) and split.contacts:
                node, serial = split.choose(0).place
                if cast.skipped.count(_HANDED_OVER) < _HANDED_OVER_MAX:
                    skipped = (*cast.skipped, _HANDED_OVER)
                    self._post.send(node, Cast(serial, cast.event, cast.low, cast.high, skipped))
                return

    def _cast(self, home: Home, event: Event, low: int, high: int, skipped: tuple[int, ...]) -> None:
        """Sends an event over the splits that it is to cross from here."""
        digest = self._interests.of_event(event)
        post = self._post
        for target in home.table.targets(low, high):
            via = target.via
            if via.rank in skipped or not target.may_want(event, digest):
                continue
            contact = via.choose(digest)
            beyond: tuple[int, ...] = ()
            for rank, place, summary in contact.branches:
                if not digest & ~summary:
                    post.send(place[0], Cast(place[1], event, rank, rank))
                    beyond += (rank,)
            node, serial = contact.place
            post.send(node, Cast(serial, event, target.low, target.high, beyond))

    def _deliver(self, event: Event) -> None:
        if event.id in self._seen:
            return
        remember(self._seen, event.id, None, _SEEN_MAX)
        found = self._interests.matching(event)
        if found:
            self._post.add(Deliver(event, found))

    # -- leaving and facts -------------------------------------------------------------------------------

    def _leave(self, now: float) -> None:
        self._leaving = True
        for home in self._homes:
            self._retire(home, now)
        self._homes.clear()
        for home in tuple(self._former.values()):
            if home.state == "placed":
                self._retire(home, now)
        self._post.add(CancelTimer(_MOVE))
        self._finish_leaving()

    def _finish_leaving(self) -> None:
        """Goes when all who must know have answered."""
        if self._leaving and not any(home.holders for home in self._former.values()):
            self._post.add(Leave())

    @property
    def homes(self) -> tuple[Home, ...]:
        """Its places, for checkers and people."""
        return tuple(self._homes)

    @property
    def is_settled(self) -> bool:
        """Whether it has the places it needs, and all know what is wanted there."""
        placed = all(home.state == "placed" and home.replaces is None for home in self._homes)
        return placed and not self._spreading and not self._is_moving and not self._waiting

    @property
    def is_heard(self) -> bool:
        has_homes = len(self._homes) >= len(self._interests.groups) or self._leaving
        return has_homes and all(map(self._is_heard_at, self._homes))

    def _is_heard_at(self, home: Home) -> bool:
        """Whether all know what is wanted at a place, or at the one that stands in for it."""
        stands = home.state == "placed" and not self._spreading.is_busy(home)
        return stands or (home.replaces is not None and self._is_heard_at(home.replaces))

    @property
    def can_leave(self) -> bool:
        return True

    def state(self) -> Mapping[str, Any]:
        """`entries` are the contacts it keeps; `depth` and `neighbours` are for checkers and people."""
        splits = [split for home in self._homes for split in home.table.splits]
        neighbours = {place[0] for split in splits for place in split.contacts}
        return {
            "entries": sum(len(split.contacts) for split in splits),
            "local": len(self._interests),
            "neighbours": tuple(sorted(neighbours - {self._node})),
            "places": len(self._homes),
            "depth": max((len(home.table) for home in self._homes), default=0),
            "known": 1 + sum(split.count for split in splits),
            "former": len(self._former),
        }
