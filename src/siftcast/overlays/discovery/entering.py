"""How a peer comes into the overlay, and back when it has lost all near neighbours: it asks somebody for a place.

At first its contacts are asked, one after the other, until one has taken it in. Others may have entered through this
peer before that, which does not make it part of anything, so they are not asked. Later it asks whomever it knows:
distant neighbours, who are part of the overlay for certain, then the random view. Each is asked once before all are
asked again, and then not to hand it on: a contact may reach it where those behind the contact do not.
"""

from __future__ import annotations

from collections.abc import Iterable

from siftcast.overlays.contract import Effect, NodeId, SendMessage, Unwatch
from siftcast.overlays.discovery.links import Links
from siftcast.overlays.discovery.messages import Place, Where
from siftcast.overlays.membership.random_view import RandomView


class Entering:
    """The way of one peer into the overlay."""

    __slots__ = (
        "_contacts",
        "_insists",
        "_links",
        "_node",
        "_request_ms",
        "_sample",
        "_through",
        "_tried",
        "_until_ms",
        "_watched",
        "has_entered",
        "rejoins",
    )

    def __init__(self, node: NodeId, links: Links, sample: RandomView, request_ms: float) -> None:
        self.has_entered = False
        """Whether a contact took it in, or there is none."""
        self.rejoins = 0
        """How often it has asked for a place although it had one before."""
        self._node = node
        self._links = links
        self._sample = sample
        self._request_ms = request_ms
        self._contacts: tuple[NodeId, ...] = ()
        self._tried: set[NodeId] = set()
        self._insists = False
        self._watched: tuple[NodeId, ...] = ()
        self._through: NodeId | None = None
        self._until_ms: float | None = None

    @property
    def is_settled(self) -> bool:
        """Whether it has entered or others have come to it, and it waits for nobody."""
        return (self.has_entered and self._until_ms is None) or bool(self._links.near)

    def start(self, contacts: Iterable[NodeId]) -> tuple[NodeId, ...]:
        """Begins with the contacts."""
        self.add(contacts)
        self.has_entered = not self._contacts
        self._watched = self._contacts
        return self._contacts

    def add(self, contacts: Iterable[NodeId]) -> None:
        """There are further contacts."""
        self._contacts += tuple(each for each in contacts if each != self._node and each not in self._contacts)

    def found(self, peer: NodeId) -> None:
        """A contact can be reached; it may not have been there when it was asked."""
        if peer in self._contacts and not self.has_entered:
            self._tried.discard(peer)
            self._until_ms = None

    def forget(self, peer: NodeId) -> None:
        """A contact does not come back."""
        self._contacts = tuple(each for each in self._contacts if each != peer)
        self.has_entered |= not self._contacts

    def enter(self, peer: NodeId) -> None:
        """A peer has offered it a place, on behalf of a contact or as one."""
        self.has_entered, self._through = True, peer

    def deny(self, peer: NodeId) -> None:
        """A peer says that it is no neighbour: if it has come in through that one, it has not come in."""
        if peer == self._through and self._contacts:
            self.has_entered, self._through = False, None

    def refused(self) -> None:
        """Who was asked has no room."""
        self._until_ms = None

    def expire(self, now: float) -> None:
        """Who has not answered in time is not waited for."""
        if self._until_ms is not None and self._until_ms <= now:
            self._until_ms = None
            if self._tried.issuperset(self._names()):
                self._tried.clear()
                self._insists = True

    def give_up(self) -> None:
        """It is leaving."""
        self.has_entered, self._contacts, self._until_ms = True, (), None

    def seek(self, place: Where, now: float) -> list[Effect]:
        """Asks the next one for a place, if it needs one and waits for nobody."""
        if self.has_entered and self._links.near:
            self._until_ms, self._insists = None, False
            self._tried.clear()
            return self._let_go()
        if self._until_ms is not None:
            return []
        untried = [name for name in self._names() if name not in self._tried]
        if not untried:
            return []
        self._tried.add(untried[0])
        self._until_ms = now + self._request_ms
        self.rejoins += self.has_entered
        request = Place(
            self._node,
            place,
            urgent=not self._links.near,
            entering=not self.has_entered,
            stays=self._insists,
        )
        return [SendMessage(request, untried[:1])]

    def _let_go(self) -> list[Effect]:
        """Contacts are watched by all who begin with them, until these are in: one node may be the contact of many."""
        watched, self._watched = self._watched, ()
        return [Unwatch(peer) for peer in watched if peer not in self._links and peer not in self._links.former]

    def _names(self) -> list[NodeId]:
        if not self.has_entered:
            return list(self._contacts)
        return list(dict.fromkeys((*self._links.far, *self._sample.sample(len(self._sample)), *self._contacts)))
