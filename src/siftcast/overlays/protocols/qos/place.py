"""What all places of a node do: they have children, and answer them alike.

A place publishes, and then passes on all it has (`PublishingPlace`), or it subscribes for one class of bounds
(`peer.py`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Protocol as Interface

from siftcast.overlays.contract import Message, NodeId
from siftcast.overlays.protocols.qos.children import Child, Children, Told
from siftcast.overlays.protocols.qos.messages import PUBLISHING, Connect, Hint, PeerId, Profile, Status
from siftcast.overlays.protocols.qos.options import QosSettings
from siftcast.overlays.protocols.qos.regions import NOTHING
from siftcast.space.dz import DzSet

_REACH_STEP = 0.02


class Desk(Interface):
    """What a place needs of its node."""

    def send(self, node: NodeId, message: Message) -> None: ...
    def replay(self, place: int, child: PeerId, region: DzSet) -> None: ...
    def next_number(self) -> int: ...
    def profile_of(self, peer: PeerId) -> Profile | None: ...
    def rate_of(self, region: DzSet, received: DzSet) -> float: ...


class Place(ABC):
    """What all places do: they serve children."""

    def __init__(self, id: PeerId, settings: QosSettings, desk: Desk) -> None:
        self.id = id
        self.children = Children(settings.degree, settings.grace_ms)
        self._settings = settings
        self._desk = desk

    @property
    @abstractmethod
    def profile(self) -> Profile | None:
        """How others see it; None for publishing places, which come before all."""

    @abstractmethod
    def _admit(self, connect: Connect, now: float) -> DzSet:
        """What of a region can be passed on to a child; nothing, if it is not to be one."""

    @abstractmethod
    def _may_have(self, profile: Profile) -> bool:
        """Whether a peer comes after this one, and so may be its child."""

    @abstractmethod
    def _service(self, region: DzSet) -> Told:
        """What of a region it does not get itself; through whom the rest comes, how late, and through how many."""

    def _elders(self) -> tuple[Profile, ...]:
        """Its own parents."""
        return ()

    def handle_connect(self, connect: Connect, now: float) -> bool:
        """A peer wants to be a child, or says again what it wants; whether that changes anything."""
        peer = connect.child.peer
        child = self.children.links.get(peer)
        if child is not None:
            if connect.number <= child.number:
                return False
            same = connect.region == child.region and connect.child.is_like(child.profile)
            if same and child.until_ms is None and not child.was_lost and self._may_have(connect.child):
                child.number, child.heard_ms, child.profile = connect.number, now, connect.child
                self._tell(peer, child)
                return False
        region = self._admit(connect, now)
        if not region or (child is None and connect.is_modest and not self.children.has_room):
            if child is not None:
                self.children.put(connect, child.region, now)
                self.children.dismiss(peer, now)
            self._hint(connect.child, connect.region, connect.number, self._elders())
            return True
        fresh = self.children.put(connect, region, now)
        left_ms = self.children.recall(peer)
        surplus = self.children.surplus()
        if surplus == peer:
            if child is None:
                self.children.forget(peer)
            else:
                self.children.dismiss(peer, now, left_ms)
            self._hint(connect.child, connect.region, connect.number)
        else:
            if surplus is not None:
                self.children.dismiss(surplus, now)
                out = self.children.links[surplus]
                self._hint(out.profile, out.region, out.number)
            self._tell(peer, self.children.links[peer])
        if fresh and peer in self.children.links:
            self._desk.replay(self.id[1], peer, fresh)
        return True

    def tell_children(self) -> None:
        """Tells those for whom something has changed."""
        for peer, child in self.children.links.items():
            if child.until_ms is not None or child.told is None:
                continue
            lacking, above, reach, depth = child.told
            now_lacking, now_above, now_reach, now_depth = self._service(child.region)
            same = (lacking, above, depth) == (now_lacking, now_above, now_depth)
            if not same or abs(now_reach - reach) > _REACH_STEP * reach + 0.5:
                self._tell(peer, child)

    def dismiss_all(self, now: float) -> None:
        """Sends all children away, who are served for a while."""
        for child in self.children.links.values():
            if child.until_ms is None:
                child.until_ms = now + self._settings.grace_ms
                self._hint(child.profile, child.region, child.number, self._elders())

    def _tell(self, peer: PeerId, child: Child) -> None:
        child.told = lacking, above, reach, depth = self._service(child.region)
        stamp = self._desk.next_number()
        status = Status(
            to=peer[1],
            parent=self.id,
            profile=self._own_profile(),
            region=child.region,
            lacking=lacking,
            above=above,
            reach_ms=reach,
            depth=depth,
            last=self.children.last,
            number=child.number,
            stamp=stamp,
        )
        self._desk.send(peer[0], status)

    def _hint(self, profile: Profile, region: DzSet, number: int, elders: tuple[Profile, ...] = ()) -> None:
        """Names children that may do instead; and those above, to whom it cannot have below itself."""
        others = self.children.hints_for(profile, region)
        named = {each.peer for each in others}
        others += tuple(each for each in elders if each.peer not in named and each.peer != profile.peer)
        hint = Hint(
            to=profile.peer[1],
            parent=self.id,
            profile=self._own_profile(),
            last=self.children.last,
            others=others,
            number=number,
            stamp=self._desk.next_number(),
        )
        self._desk.send(profile.peer[0], hint)

    def _own_profile(self) -> tuple[Profile, ...]:
        return () if self.profile is None else (self.profile,)


class PublishingPlace(Place):
    """Where the publishers of a node are."""

    def __init__(self, node: NodeId, settings: QosSettings, desk: Desk) -> None:
        super().__init__((node, PUBLISHING), settings, desk)
        self.offered: DzSet = NOTHING

    @property
    def profile(self) -> None:
        return None

    def _admit(self, connect: Connect, now: float) -> DzSet:
        return connect.region & self.offered

    def _may_have(self, profile: Profile) -> bool:
        return True

    def _service(self, region: DzSet) -> Told:
        return NOTHING, frozenset(), 0.0, 0
