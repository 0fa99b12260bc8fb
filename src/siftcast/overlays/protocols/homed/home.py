"""A place of a node in the cube: how it joins, divides its cover with others, knows of them, and ends.

    joining ──Accept──▶ placed ──end──▶ ended (passes on what still comes, until it is forgotten)

*Joining* (section 2.3): `Join` goes from place to place; each passes it over its first split on whose other side the
vertex lies, so it crosses half of them in the mean. At the end of the way the cover is divided, and the new place gets
the other's path with the new split at its end. That is all: nobody else's table changes. The printed steps 2 and 3,
which look for each of d neighbours among the neighbours of one node, are not needed, and fail.

*Beats*: a place sends one to a contact beyond each split in turn, and both learn what the other's side holds. That
keeps summaries right, finds who is silent, measures costs and finds more contacts, where some are wanting or have too
many holders (`holders`). Who takes a contact's stead is taken to have reported what that one has, so that an exchange
makes no summary narrower.

*Ending* (2.4, 2.5): nobody inherits a cover; where nobody is left beyond a split, all on the other side forget the
split, and their covers grow by that. All who must know have the place as a contact. A place that ends in peace says
farewell to them and names others; one that crashed is missed by each of them for itself, so two that detect it agree.
A lost contact is not gone: it is asked again now and then, until it answers, says that it is another one now, or is
forgotten. So a part of the network that was cut off is as before when it comes back.
"""

from __future__ import annotations

from random import Random
from typing import Literal

from siftcast.model.bounded_cache import remember
from siftcast.overlays.contract import NodeId
from siftcast.overlays.membership import Health
from siftcast.overlays.protocols.homed.cover_table import Contact, CoverTable, Filters, Split
from siftcast.overlays.protocols.homed.cube import (
    UNDIVIDED,
    Place,
    dividing_run,
    identifying_run,
    side_of,
    vertex_of,
)
from siftcast.overlays.protocols.homed.holders import Holders
from siftcast.overlays.protocols.homed.messages import (
    Accept,
    Astray,
    Beat,
    BeatAnswer,
    Copy,
    Farewell,
    Join,
    Named,
    Parted,
    Realm,
    Wanted,
)
from siftcast.overlays.protocols.homed.options import HomedSettings
from siftcast.overlays.protocols.homed.post import Post

State = Literal["joining", "placed", "ended"]
_MISSED_MAX = 3
_FORMER_TURNS = 4
_EMPTY_BEATS = 8
_NAMED_MAX = 2
_HEARD_SHARE = 1 / 8
_ACCEPTED_MAX = 64


class Home:
    """One place."""

    __slots__ = (
        "_accepted",
        "_parted",
        "_post",
        "_random",
        "_settings",
        "_space",
        "_turn",
        "digest",
        "health",
        "holders",
        "joined_with",
        "place",
        "realm",
        "replaces",
        "state",
        "table",
        "through",
        "told_version",
        "until_ms",
        "vertex",
    )  # fmt: skip

    def __init__(
        self,
        place: Place,
        digest: int,
        space: int,
        settings: HomedSettings,
        post: Post,
        random: Random,
        health: Health,
    ) -> None:
        self.place = place
        self.digest = digest
        """What its node wants here."""
        self.joined_with = digest
        """What it wanted when it looked for its place."""
        self.vertex = vertex_of(digest, place, space)
        self.realm: Realm | None = None
        self.state: State = "joining"
        self.table = CoverTable(settings)
        self.holders = Holders()
        self.until_ms = float("inf")
        self.replaces: Home | None = None
        """The place that it is to take the place of."""
        self.through: NodeId | None = None
        """Through whom it must look for its place; None for anybody."""
        self.told_version = 0
        """The version of the node's interests that others were told last."""
        self.health = health
        self._space = space
        self._settings = settings
        self._post = post
        self._random = random
        self._turn = 0
        self._accepted: dict[Place, int] = {}
        """Who was given which split lately, because a place that has not heard asks again."""
        self._parted: dict[Place, None] = {}
        """Who has said farewell lately. Others that end at the same time may still name it in their stead."""

    # -- joining -----------------------------------------------------------------------------------------

    def found(self, realm: Realm) -> None:
        """Has the whole cube to itself."""
        self.realm, self.state = realm, "placed"

    def reset_vertex(self) -> None:
        """Lies where its digest says; nobody else cares."""
        self.vertex = vertex_of(self.digest, self.place, self._space)

    def look(self, through: NodeId, to: int = 0) -> None:
        """Looks for its place."""
        self.joined_with = self.digest
        self.reset_vertex()
        self._post.send(through, Join(to, self.place, self.digest))

    def handle_join(self, join: Join, now: float) -> None:
        """Passes a joining place on to where its vertex lies, or divides this place's cover with it."""
        known = self.table.get(self._accepted.get(join.joiner, -1))
        if known is not None and join.joiner in known.contacts:
            self._accept(join.joiner, known)  # it has not heard
            return
        vertex = vertex_of(join.digest, join.joiner, self._space)
        blocked = -1
        for split in self.table.splits:
            row = self.table.row_of(split)
            if split.rank > join.rank and row != blocked and self._is_beyond(vertex, split):
                if self._pass(join, split):
                    return
                blocked = row if self.table.rows_are_chains else -1  # its lower digits would lead back
        if self.state == "ended":
            for split in reversed(self.table.splits):
                if split.rank > join.rank and split.contacts:
                    self._send_join(join, split, split.rank)
                    return
            return
        self._accept(join.joiner, self._divide(vertex, join, now))
        self._spare_far_splits()

    def _is_beyond(self, vertex: int, split: Split) -> bool:
        if split.run == UNDIVIDED:
            return split.count < self.table.side(split, 0)[1]
        return side_of(vertex, split.run) != split.side

    def _pass(self, join: Join, split: Split) -> bool:
        """Over a split, or along its row in that direction; not where nobody is left."""
        if split.contacts:
            self._send_join(join, split, split.rank)
            return True
        if self.table.rows_are_chains:
            row = self.table.row_of(split)
            for other in self.table.splits:
                same = self.table.row_of(other) == row and other.side == split.side and other.rank > split.rank
                if same and other.contacts:
                    self._send_join(join, other, split.rank - 1)
                    return True
        return False

    def _send_join(self, join: Join, split: Split, rank: int) -> None:
        contact = split.choose(0)
        self._post.send(contact.place[0], Join(contact.place[1], join.joiner, join.digest, rank))

    def _divide(self, vertex: int, join: Join, now: float) -> Split:
        run = dividing_run(self.vertex, vertex, self._space, self.table.known_digests())
        if run == UNDIVIDED and self._settings.duplicates == "identifier":
            run = identifying_run(self.vertex, vertex, self._space)
        side = side_of(self.vertex, run) if run != UNDIVIDED else 0
        split = Split(self._random.getrandbits(62), self.table.next_rank, run, side, now)
        self.table.add(split)
        self._add(split, Contact(join.joiner, join.digest))
        split.count = 1
        split.widen(join.digest)
        remember(self._accepted, join.joiner, split.id, _ACCEPTED_MAX)
        return split

    def _accept(self, joiner: Place, last: Split) -> None:
        """Gives a place its path: that of this one up to the split between them."""
        path: list[Copy] = []
        for split in self.table.splits:
            if split is last:
                break
            listed = tuple((contact.place, contact.digest) for contact in split.contacts.values()) or split.spares
            known = (split.told, split.fresh, split.summary)
            path.append((split.id, split.rank, split.run, split.side, known, split.count, listed))
        summary, count = self.table.side(last, self.digest)
        own = ((self.place, self.digest),)
        path.append((last.id, last.rank, last.run, 1 - last.side, (summary, summary, summary), count, own))
        assert self.realm is not None
        self._post.send(joiner[0], Accept(joiner[1], self.realm, tuple(path)))

    def handle_accept(self, accept: Accept, now: float) -> None:
        """Takes its place."""
        self.realm, self.state = accept.realm, "placed"
        for id, rank, run, side, (told, fresh, summary), count, listed in accept.path:
            split = Split(id, rank, run, side, now)
            self.table.add(split)
            chosen = [named for named in listed if named[0] != self.place]
            for place, digest in self._random.sample(chosen, min(len(chosen), self._settings.contacts)):
                self._add(split, Contact(place, digest, fresh))
            split.spares = tuple(chosen[:_NAMED_MAX]) if self.table.rows_are_chains else ()
            split.count = count
            split.held, split.told = summary, told
            split.relayed = fresh if self.table.rows_are_chains else None
            split.refresh()
        self._spare_far_splits()
        for split, summary, count in self.table.sides(self.digest):
            if split.contacts:
                self._beat(split, next(iter(split.contacts.values())), summary, count, None, now)

    def _spare_far_splits(self) -> None:
        """In a row that is a chain, keeps contacts for the nearest only, and of the others some names for later."""
        if not self.table.rows_are_chains:
            return
        for split in reversed(self.table.splits):
            if self.table.is_near(split):
                for place, digest in () if split.contacts else split.spares:
                    self._add(split, Contact(place, digest, split.fresh))
                if split.contacts:
                    split.relayed = None
            else:
                split.relayed = split.fresh
                if split.contacts:
                    split.spares = tuple((contact.place, contact.digest) for contact in split.contacts.values())
                for place in (*split.contacts, *split.former):
                    self._post.unwatch(place)
                split.contacts.clear()
                split.former.clear()
            split.refresh()

    # -- beats -------------------------------------------------------------------------------------------

    def tick(self, filters: Filters, now: float) -> None:
        """Sends a beat over each split, and sees who has not answered earlier ones."""
        self._turn += 1
        settings = self._settings
        linger_ms = settings.heartbeat_ms * settings.contacts * 2 * (len(self.table) + 2)
        patience_ms = self.health.patient(settings.request_ms)
        for split in tuple(self.table.splits):
            for contact in tuple(split.contacts.values()):
                if contact.asked_ms is not None and now - contact.asked_ms >= patience_ms:
                    self.miss(split, contact, now)
            split.age(linger_ms, now)
            self._forget_former(split, now)
        self._spare_far_splits()
        for split, summary, count in self.table.sides(self.digest):
            told = self._told(split, filters)
            for contact in self._due(split):
                self._beat(split, contact, summary, count, told, now)
        if self._turn % settings.contacts == 0:
            self.holders.forget_silent(now - 4 * settings.contacts * settings.heartbeat_ms)

    def _due(self, split: Split) -> list[Contact]:
        """Those who are suspected, the one whose turn it is, and now and then one that was lost."""
        due = [contact for contact in split.contacts.values() if contact.missed]
        if not due and split.contacts:
            place = next(iter(split.contacts))
            contact = split.contacts.pop(place)
            split.contacts[place] = contact
            due.append(contact)
        if split.former and (not split.contacts or self._turn % _FORMER_TURNS == 0):
            place = next(iter(split.former))
            split.former[place] = split.former.pop(place)
            due.append(Contact(place, 0))
        return due

    def _beat(
        self, split: Split, contact: Contact, summary: int, count: int, filters: Filters | None, now: float
    ) -> None:
        if contact.asked_ms is None:
            contact.asked_ms = now
        wanted = tuple(
            other.id
            for other in self.table.splits
            if other.rank < split.rank and not other.contacts and self.table.is_near(other)
        )
        node, serial = contact.place
        listed = _listed(filters)
        own = self.place[1]
        assert self.realm is not None
        self._post.send(
            node, Beat(serial, split.id, split.side, own, self.realm, self.digest, summary, count, listed, wanted)
        )

    def handle_beat(self, sender: NodeId, beat: Beat, filters: Filters, now: float) -> None:
        """Notes what the sender's side holds, and answers."""
        place = (sender, beat.serial)
        split = self.table.get(beat.split)
        if split is None or split.side == beat.side:
            self._send_astray(place, beat.split)
            return
        if self.state == "ended":
            self._say_farewell_to(place, split)
            return
        self.holders.note(place, split.id, beat.digest, now)
        self._take_report(split, place, beat, now)
        summary, count = self.table.side(split, self.digest)
        instead = self._name_instead(split, count, now)
        if instead:
            self.holders.forget(place)
        named = instead or self._name_members(split)
        for id in beat.wanted:
            named += self._names_beyond(id)
        told = self._told(split, filters)
        relayed, branches = self.table.row_news(split)
        for id, _, _ in relayed:
            named += self._names_beyond(id)
        listed = _listed(told)
        answer = BeatAnswer(
            beat.serial,
            split.id,
            split.side,
            self.place[1],
            self.digest,
            summary,
            count,
            filters=listed,
            named=tuple(named),
            relayed=relayed,
            branches=branches,
            crowded=bool(instead),
        )
        self._post.send(sender, answer)

    def _name_members(self, split: Split) -> list[Named]:
        """Some of this side, to be contacts of somebody beyond a split."""
        members = [contact for contact in self.table.members(split) if not contact.missed]
        chosen = self._random.sample(members, min(_NAMED_MAX, len(members)))
        return [(split.id, contact.place, contact.digest) for contact in chosen]

    def _name_instead(self, split: Split, count: int, now: float) -> list[Named]:
        """Who else may be a contact of those beyond a split, if too many have this place.

        Its contacts are likely to be crowded too. Those who have just sent it a beat are anybody, and are there.
        """
        if not self.holders.is_crowded(split.id, self._settings.contacts, count, split.count):
            return []
        lower = {other.id for other in self.table.splits if other.rank > split.rank}
        heard = self.holders.heard_last(lower, now - self._settings.heartbeat_ms * _HEARD_SHARE)
        chosen = self._random.sample(heard, min(_NAMED_MAX, len(heard)))
        return [(split.id, place, digest) for place, digest in chosen]

    def _names_beyond(self, id: int) -> list[Named]:
        split = self.table.get(id)
        contacts = [] if split is None else list(split.contacts.values())
        listed = [(contact.place, contact.digest) for contact in contacts]
        if split is not None and not listed:
            listed = list(split.spares)
        return [(id, place, digest) for place, digest in listed[:_NAMED_MAX]]

    def handle_answer(self, sender: NodeId, answer: BeatAnswer, now: float) -> None:
        """Notes what the other side holds, and whom it names."""
        split = self.table.get(answer.split)
        if split is None or split.side == answer.side or self.state != "placed":
            return
        place = (sender, answer.serial)
        contact = split.contacts.get(place)
        if contact is not None and contact.asked_ms is not None:
            contact.cost_ms = (now - contact.asked_ms) / 2
            contact.asked_ms = None
            self.health.improve()
        self._take_report(split, place, answer, now)
        contact = split.contacts.get(place)
        if contact is not None:
            contact.missed = 0
            contact.branches = answer.branches
            if answer.crowded:
                self._exchange(split, contact, answer)
        for id, fresh, count in answer.relayed:
            other = self.table.get(id)
            if other is not None and other.side == split.side and not other.contacts:
                other.relayed, other.count = fresh, count
                other.refresh()
        for id, named, digest in answer.named:
            other = self.table.get(id)
            if other is None or named[0] == self.place[0]:
                continue
            if self.table.is_near(other):
                self._add(other, Contact(named, digest, digest))
                other.refresh()
            else:
                other.spares = ((named, digest), *(spare for spare in other.spares if spare[0] != named))[:_NAMED_MAX]

    def _exchange(self, split: Split, contact: Contact, answer: BeatAnswer) -> None:
        """Lets a contact go that too many have, if it names somebody else, who is asked next."""
        del split.contacts[contact.place]
        others = tuple(split.contacts.items())
        for id, named, digest in answer.named:
            if id != split.id or named[0] == self.place[0]:
                continue
            if self._add(split, Contact(named, digest, answer.summary)):
                self._post.unwatch(contact.place)
                for place, other in others:
                    del split.contacts[place]
                    split.contacts[place] = other
                return
        split.contacts[contact.place] = contact

    def _take_report(self, split: Split, place: Place, report: Beat | BeatAnswer, now: float) -> None:
        contact = split.contacts.get(place)
        if contact is None:
            if not self._add(split, Contact(place, report.digest), is_heard=True):
                return
            contact = split.contacts[place]
        contact.digest, contact.summary = report.digest, report.summary
        filters = None if report.filters is None else {
            (node, serial): (version, wanted) for (node, serial), version, wanted in report.filters
        }  # fmt: skip
        split.take_filters(report.count, filters)
        split.refresh()

    def _add(self, split: Split, contact: Contact, *, is_heard: bool = False) -> bool:
        """Takes in somebody beyond a split, if there is room and it is to have contacts.

        One that was lost must be heard itself: others may name it because they have not missed it yet.
        """
        place = contact.place
        if place == self.place or place in split.contacts or (place in split.former and not is_heard):
            return False
        if place in self._parted:
            return False
        if place not in split.former:
            if len(split.contacts) >= self._settings.contacts or not self.table.is_near(split):
                return False
            self._post.watch(place)
        split.former.pop(place, None)
        split.contacts[place] = contact
        return True

    def _told(self, split: Split, filters: Filters) -> Filters | None:
        """The filters of this side, if they are few enough to be told."""
        if not self._settings.piggyback:
            return None
        found = self.table.filters_of_side(split, filters)
        return found if found is not None and len(found) <= self._settings.piggyback else None

    # -- who is missed -----------------------------------------------------------------------------------

    def miss(self, split: Split, contact: Contact, now: float) -> None:
        """An answer did not come."""
        contact.asked_ms = None
        contact.missed += 1
        if contact.missed >= _MISSED_MAX:
            self._lose(split, contact.place, now)

    def _lose(self, split: Split, place: Place, now: float) -> None:
        if split.contacts.pop(place, None) is not None:
            split.former[place] = now
            split.filters = None
            split.refresh()
            if not split.contacts:
                self._spare_far_splits()

    def handle_lost(self, node: NodeId, now: float) -> None:
        """A node cannot be reached."""
        for split in self.table.splits:
            for place in tuple(split.contacts):
                if place[0] == node:
                    self._lose(split, place, now)

    def handle_found(self, node: NodeId, filters: Filters, now: float) -> None:
        """A node can be reached again: its places may be there, as before, or not."""
        if not any(place[0] == node for split in self.table.splits for place in split.former):
            return
        for split, summary, count in self.table.sides(self.digest):
            for place in split.former:
                if place[0] == node:
                    self._beat(split, Contact(place, 0), summary, count, self._told(split, filters), now)

    def handle_gone(self, node: NodeId, now: float) -> None:
        """A node does not come back."""
        for split in tuple(self.table.splits):
            for place in (*split.contacts, *split.former):
                if place[0] == node:
                    self.remove(split, place, now)

    def remove(self, split: Split, place: Place, now: float) -> None:
        """A place is not beyond a split, or not any more; whether anybody else is there has yet to be found out."""
        if place in split.contacts or place in split.former:
            split.contacts.pop(place, None)
            split.former.pop(place, None)
            self._post.unwatch(place)
        split.filters = None
        split.refresh()
        if not split.contacts and split.emptied_ms is None:
            split.emptied_ms = now

    def _drop(self, split: Split) -> None:
        """Forgets a split beyond which nobody is left."""
        if self.table.get(split.id) is split:
            self.table.drop(split)
            self._spare_far_splits()

    def _forget_former(self, split: Split, now: float) -> None:
        forget_ms = self._settings.forget_ms
        for place, since_ms in tuple(split.former.items()):
            if now - since_ms >= forget_ms:
                self.remove(split, place, now)
        if split.contacts or split.former or not self.table.is_near(split):
            split.emptied_ms = None
        elif split.emptied_ms is None:
            split.emptied_ms = now
        elif now - split.emptied_ms >= _EMPTY_BEATS * self._settings.heartbeat_ms:
            self._drop(split)  # others on this side were asked for somebody beyond, and know nobody

    def handle_astray(self, sender: NodeId, astray: Astray, now: float) -> None:
        """Somebody is not where this place thought."""
        split = self.table.get(astray.split)
        if split is not None:
            self.remove(split, (sender, astray.serial), now)

    def _send_astray(self, place: Place, split: int) -> None:
        assert self.realm is not None
        self._post.send(place[0], Astray(place[1], split, self.place[1], self.realm))

    # -- ending ------------------------------------------------------------------------------------------

    def end(self, until_ms: float, now: float) -> None:
        """Says farewell to all who have this place as a contact, and names others in its stead."""
        self.state, self.until_ms = "ended", until_ms
        self.say_farewell()

    def say_farewell(self) -> None:
        """To those who have not answered it yet."""
        for split in self.table.splits:
            for contact in split.contacts.values():
                self.holders.note(contact.place, split.id, contact.digest, 0.0)
        for place, id in self.holders.items():
            held = self.table.get(id)
            if held is not None:
                self._say_farewell_to(place, held)

    def _say_farewell_to(self, place: Place, split: Split) -> None:
        members = [contact for contact in self.table.members(split) if contact.place != place]
        instead = tuple((contact.place, contact.digest) for contact in members[: self._settings.contacts])
        self._post.send(place[0], Farewell(place[1], split.id, self.place[1], instead))

    def handle_farewell(self, sender: NodeId, farewell: Farewell, now: float) -> None:
        """Somebody beyond a split ends."""
        place = (sender, farewell.serial)
        remember(self._parted, place, None, _ACCEPTED_MAX)
        self.holders.forget(place)
        self._post.send(sender, Parted(farewell.serial, self.place[1]))
        split = self.table.get(farewell.split)
        if split is None:
            return
        for named, digest in farewell.instead:
            if named[0] != self.place[0] or named != self.place:
                self._add(split, Contact(named, digest, split.fresh))
        self.remove(split, place, now)
        if not farewell.instead and not split.contacts and not split.former:
            self._drop(split)  # nobody else was there

    def say_ended(self, node: NodeId, rank: int) -> None:
        """Tells whoever has sent something over its split of a rank, for this place to pass on, that nobody is here."""
        for split in self.table.splits:
            if split.rank == rank:
                self._send_astray((node, 0), split.id)

    def handle_parted(self, sender: NodeId, parted: Parted) -> None:
        """Somebody has heard the farewell."""
        self.holders.forget((sender, parted.serial))

    def close(self) -> None:
        """Watches nobody any more."""
        for split in self.table.splits:
            for place in (*split.contacts, *split.former):
                self._post.unwatch(place)


def _listed(filters: Filters | None) -> tuple[Wanted, ...] | None:
    return None if filters is None else tuple((place, version, wanted) for place, (version, wanted) in filters.items())
